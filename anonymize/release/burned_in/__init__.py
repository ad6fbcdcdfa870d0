"""Text burned into a picture: found, removed, and looked for again.

``views`` what is looked at · ``places`` and ``gate`` where · ``reader`` the OCR · ``find`` what is
text · ``along`` the rest of a line · ``remove`` what is put in its place · ``policy`` what a
release asks for and what was done.
"""
