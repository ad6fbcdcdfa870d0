"""``python -m anonymize``."""

from anonymize.cli import main

main()
