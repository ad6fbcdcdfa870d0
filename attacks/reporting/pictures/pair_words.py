"""What pairs are called that the strongest attacker of a method finds, misses and takes for one."""

TITLES = {
    "found": "the same patient, surest",
    "missed": "the same patient, missed",
    "mistaken": "two patients, taken for one",
}
SHOWN = 2  # pairs of a kind


def in_words(ahead: float) -> str:
    """ "2.3 % of strangers score as high"."""
    if not ahead:
        return "no stranger scores as high"
    percent = 100 * ahead
    digits = 0 if percent >= 10 else 1 if percent >= 0.1 else 3
    return f"{percent:.{digits}f} % of strangers score as high"
