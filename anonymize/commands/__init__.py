"""One module a subcommand; each parses, calls one library function and prints."""
