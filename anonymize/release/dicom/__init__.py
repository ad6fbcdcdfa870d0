"""DICOM radiographs: read, de-identified, written, and looked at again.

Reading: ``elements`` a strict parser · ``header`` values · ``syntax`` transfer syntaxes ·
``pixels`` and ``codestream`` stored values · ``view`` what a viewer shows · ``read`` all of it.
De-identification (PS3.15 Annex E): ``profile`` Table E.1-1 · ``options`` · ``attributes``,
``rules`` and ``terms`` what may stay · ``pseudonyms`` keyed replacements ·
``identifiers`` what must not be found · ``deidentify`` the walk.
Release: ``write`` the file · ``scan`` the independent look.
"""
