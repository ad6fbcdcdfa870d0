"""Every row of PS3.15 Table E.1-1, marked at five places of a file, one case at a time.

    python tests/benchmarks/reliability_dicom_table.py [OUT.json]

Counts the cases in which the marker is found in the released file, or in which the file is not
released, for the Basic Profile and with every option; a few minutes on one core.
"""

import sys
from importlib.metadata import version

from reliability import finish

# isort: split

from dicom_planting import POSITIONS, marked, rows
from dicom_specimens import SECRET

from anonymize.release import encode
from anonymize.release.dicom import profile, read, scan
from anonymize.release.dicom.deidentify import Deidentifier
from anonymize.release.dicom.options import RETAINABLE, DicomOptions
from anonymize.release.reasons import Refused

OPTIONS = {
    "basic": DicomOptions(),
    **{name: DicomOptions(frozenset({name})) for name in RETAINABLE},
    "clean-descriptors": DicomOptions(clean_descriptors=True),
}


def case(planted, position, options):
    """ "gone", "retained" (as the option's column says), "survived" or "refused"."""
    data = marked([planted], position)
    try:
        made = encode.encode(read.decode(data, Deidentifier(SECRET, options)))
    except Refused:
        return "refused"
    scan.check(made)
    if planted.needle not in made:
        return "gone"
    retained = profile.action(planted.tag, options) is profile.Action.RETAIN
    return "retained" if retained else "survived"


def main(out: str | None = None) -> None:
    plants = rows()
    found = {}
    for name, options in OPTIONS.items():
        places = POSITIONS if name == "basic" else POSITIONS[:1]
        for position in places:
            outcomes = [case(p, position, options) for p in plants]
            counts = {o: outcomes.count(o) for o in ("gone", "retained", "survived", "refused")}
            found[f"{name}, {position}"] = {"cases": len(plants), **counts}
            print(f"{name}, {position}: {counts}", flush=True)
    result = {
        "table": f"PS3.15 E.1-1, {profile.EDITION} (dicom-anonymizer "
        f"{version('dicom-anonymizer')})",
        "rows": len(profile.rows()) + len(profile.ranges()) + 1,
        "cases": sum(f["cases"] for f in found.values()),
        "survived": sum(f["survived"] for f in found.values()),
        "refused": sum(f["refused"] for f in found.values()),
        "by option and position": found,
    }
    finish(result, out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
