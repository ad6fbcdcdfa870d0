"""What the tests of evaluations share."""

import pytest

from anonymize.configuration import train_options
from anonymize.data.dataset import Dataset


@pytest.fixture(scope="session")
def smaller(tiny):
    """Options of an even smaller run."""
    data = tiny["data"] | {"size": 32, "patients": 40, "images": 120, "pairs": 40}
    return tiny | {"data": data, "samples": 0}


@pytest.fixture(scope="session")
def options(smaller):
    """Of attackers without a network."""
    evaluation = smaller["evaluation"] | {"resamplings": 20}
    return train_options("prichexy-net")(data=smaller["data"], evaluation=evaluation)


@pytest.fixture(scope="session")
def few(smaller):
    """Options of classifiers that learn a little within a second."""
    evaluation = smaller["evaluation"] | {"resamplings": 30, "utility_repeats": 2}
    return train_options("prichexy-net")(**{**smaller, "evaluation": evaluation})


@pytest.fixture(scope="session")
def data(few):
    return Dataset.open(few.data)
