"""The smallest evaluation of phantoms, which all tests draw once."""

SMALL = {
    "data.size": 32,
    "generator.levels": 2,
    "data.patients": 40,
    "data.images": 120,
    "data.workers": 1,
    "evaluation.utility": False,
    "evaluation.resamplings": 10,
}
# With a learnt metric that looks once and coarsely.
FEW = SMALL | {
    "evaluation.histogram_metric.cells": [4],
    "evaluation.histogram_metric.components": [10],
    "evaluation.histogram_metric.copies": 0,
}
