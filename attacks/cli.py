"""The ``attacks`` command: one module of ``attacks.commands`` a subcommand, imported on use."""

import click

from anonymize.commands.group import LazyGroup

main = click.version_option(package_name="anonymize-cxr")(
    LazyGroup(
        "attacks",
        package="attacks.commands",
        commands={
            "evaluate": "Attack released images and draw the privacy-utility trade-off.",
            "report": "Build the report of an evaluation again, without computing.",
            "compare": "Set several evaluations side by side.",
            "watch": "Show a running evaluation in the terminal.",
            "verify": "Say how probable it is that two images show the same person.",
            "retrieve": "Rank a gallery by how probably it shows the person of a probe.",
            "link": "Link released images to real ones, as an adversary does.",
            "release": "Attack the files of a release, and say one verdict.",
            "overlap": "Find patients who occur in two data sets.",
            "explain": "Show what a siamese verifier looks at.",
            "scaling": "Train verifiers on growing numbers of pairs.",
            "check": "Test the attackers themselves, on drawn radiographs.",
        },
        help="What an adversary can still do to released radiographs.\n\n"
        "Start with `attacks evaluate`, which takes the newest run.",
    )
)

if __name__ == "__main__":
    main()
