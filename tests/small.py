"""The smallest evaluation of phantoms."""

SMALL = {
    "data.size": 32,
    "generator.levels": 2,
    "data.patients": 40,
    "data.images": 120,
    "data.workers": 1,
    "evaluation.utility": False,
    "evaluation.resamplings": 10,
}
