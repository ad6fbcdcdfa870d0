"""``python -m attacks``."""

from attacks.cli import main

main()
