"""Names that somebody chose to do harm, and results that have them everywhere."""

import json

from test_results import made_up, matched

from attacks.results import Results

SCRIPT = '"><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'
NAMES = (
    SCRIPT,
    "=HYPERLINK(1)|cell|<b>",
    "{{ 7*7 }}{% raw %}",
    "a'b\"c`d`",
    "two\nlines\r\n\x1b[31mred\x07\x00",
    "right \u202e\u2066to left\u200f",
    "x" * 10_000,
    "$\\frac{$ $$",
    "../../etc/passwd",
    "\u0301" * 300,
)


def hostile_results():
    """Made-up results whose names, labels, messages and paths are hostile, each another one."""
    raw = json.loads(matched(made_up()).model_dump_json(by_alias=True))
    given = iter(NAMES * 50)
    raw["methods"] = raw["methods"][:5]
    raw["source"]["name"] = next(given)
    raw["command"] = "attacks evaluate " + SCRIPT + "\x1b]0;title\x07"
    for number, method in enumerate(raw["methods"][1:]):
        method["name"] = f"{next(given)}{number}"
        method["options"] = {next(given): next(given)}
    for method in raw["methods"]:
        method["privacy"] = {f"{n}{NAMES[n]}": a for n, a in enumerate(method["privacy"].values())}
        for attack in method["privacy"].values():
            attack["scenario"] = next(given)
        for kind in ("frozen", "retrained"):
            auc = method["utility"][kind]["auc"]
            auc["per_class"] = {f"{n}{v}": 0.5 + n / 50 for n, v in enumerate(NAMES)}
    raw["checks"] = [
        {"name": name, "passed": n % 2 == 0, "message": f"`{name}` {name}"}
        for n, name in enumerate(NAMES)
    ]
    raw["matched_by"] = ["findings", SCRIPT]
    return Results.model_validate(raw)
