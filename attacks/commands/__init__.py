"""One module a subcommand of ``attacks``."""
