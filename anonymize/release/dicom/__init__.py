"""DICOM radiographs: strict parser, de-identification (PS3.15 Annex E), pixels, writer, scan."""
