"""Whitening by what varies within patients (within-class covariance normalization, Hatch et al.
2006)."""

import numpy as np


def scatter(vectors: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Covariance (D, D) of vectors (N, D) around the means of their groups, unbiased; ValueError
    where no group has two members."""
    _, index, counts = np.unique(group, return_inverse=True, return_counts=True)
    freedom = len(vectors) - len(counts)
    if not freedom:
        raise ValueError("a scatter within groups needs a group of two or more")
    sums = np.zeros((len(counts), vectors.shape[1]))
    np.add.at(sums, index, vectors)
    apart = vectors - (sums / counts[:, None])[index]
    return apart.T @ apart / freedom


def whitening(covariance: np.ndarray, shrinkage: float) -> np.ndarray:
    """A with Aᵀ C A = 1, float32, of C shrunk towards a multiple of the identity."""
    side = len(covariance)
    shrunk = (1 - shrinkage) * covariance
    shrunk = shrunk + shrinkage * np.trace(covariance) / side * np.eye(side)
    values, vectors = np.linalg.eigh(shrunk)
    return (vectors / np.sqrt(values)).astype(np.float32)
