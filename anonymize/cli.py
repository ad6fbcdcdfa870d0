"""The ``anonymize`` command: one module of ``anonymize.commands`` a subcommand, imported on use."""

import click

from anonymize.commands.group import LazyGroup

main = click.version_option(package_name="anonymize-cxr")(
    LazyGroup(
        "anonymize",
        package="anonymize.commands",
        commands={
            "train": "Train an anonymizer on a data set, or a classifier or verifier alone.",
            "recommend": "Say which method for your radiographs, what it hides and what it costs.",
            "apply": "Anonymize every radiograph of a folder.",
            "merge": "Make one release of what several machines anonymized.",
            "review": "Look at a release picture by picture, and take some out.",
            "receive": "Be a DICOM node: receive radiographs, anonymize and forward them.",
            "verify": "Look at every file of a finished release.",
            "data": "Prepare and show data sets.",
            "model": "Show a model file, or convert published weights into one.",
        },
        help="Adversarial anonymization of chest radiographs.\n\n"
        "Start with `anonymize train --mu 0.01`, then `anonymize apply IN OUT`.",
    )
)

if __name__ == "__main__":
    main()
