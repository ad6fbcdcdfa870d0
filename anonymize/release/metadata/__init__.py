"""A table of findings, age, sex, view and patients that travels with a release (`--table`).

``columns`` what may stand in it · ``table`` the user's, read and put to images · ``written`` the
one that is released, and whom it sets apart.
"""
