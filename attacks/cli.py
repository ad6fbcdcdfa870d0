"""The ``attacks`` command: one module of ``attacks.commands`` a subcommand, imported on use."""

import click

from anonymize.commands.group import LazyGroup

main = click.version_option(package_name="anonymize-cxr")(
    LazyGroup(
        "attacks",
        package="attacks.commands",
        commands={
            "evaluate": "Attack released images and draw the privacy-utility trade-off.",
            "check": "Test the attackers themselves, on drawn radiographs.",
        },
        help="What an adversary can still do to released radiographs.\n\n"
        "Start with `attacks evaluate`, which takes the newest run.",
    )
)

if __name__ == "__main__":
    main()
