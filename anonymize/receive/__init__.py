"""A DICOM node that takes radiographs in, releases them and hands them on."""
