"""PNG, JPEG and TIFF: ``containers`` strict parsers and allow-lists · ``read`` · ``write``."""
