"""Variances of other streams' counts, and numerical optima, for scripts/studies/streams.py."""

import numpy as np

__all__ = ["best_of_any", "binary_tree", "honaker", "largest_of_any", "odd_digits", "square_root"]


def binary_tree(steps: int) -> np.ndarray:
    """Return the variances of Chan, Shi & Song 2011: the binary digits of the step, with a root."""
    levels = int(steps).bit_length()
    ones = np.array([int(t).bit_count() for t in range(1, steps + 1)])
    return 2.0 * levels**2 * ones


def honaker(steps: int) -> np.ndarray:
    """Return those of Honaker 2015, in a stream: each node of this tree is refined from below."""
    levels = int(steps).bit_length()
    refined = 2.0 ** np.arange(levels) / (2.0 ** (np.arange(levels) + 1) - 1)
    digits = np.arange(1, steps + 1)[:, None] >> np.arange(levels) & 1
    return 2.0 * levels**2 * (digits @ refined)


def odd_digits(steps: int) -> np.ndarray:
    """Return those of Andersson, Pagh & Torkamani 2024, for the best odd number of children k.

    The digits are -(k - 1) / 2 to (k - 1) / 2.
    """
    best = np.full(steps, np.inf)
    for base in range(3, 64, 2):
        height = 1
        while (base**height - 1) // 2 < steps:
            height += 1
        numbers, terms = np.arange(1, steps + 1), np.zeros(steps)
        for _ in range(height):
            digit = (numbers + base // 2) % base - base // 2
            terms += np.abs(digit)
            numbers = (numbers - digit) // base
        variances = 2.0 * height**2 * terms
        if variances.mean() < best.mean():
            best = variances
    return best


def square_root(steps: int) -> np.ndarray:
    """Return those of the square root of the prefix sum, for rho = 1/2.

    Of all Toeplitz factorisations, it has the least largest deviation.
    """
    k = np.arange(1, steps)
    squares = np.cumsum(np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))]) ** 2)
    return np.asarray(squares[-1] * squares)


def best_of_any(
    steps: int, weights: np.ndarray | None = None, rounds: int = 100, window: int | None = None
) -> np.ndarray:
    """Return the variances of the factorisation with the least (weighted) mean, for rho = 1/2.

    Of the sums of all steps so far, or of a window. By the fixed point of Denisov, McMahan, Rush,
    Smith & Thakurta 2022. It needs all steps' noise at once, T^2 numbers.
    """
    weights = np.ones(steps) if weights is None else weights
    prefix = np.tril(np.ones((steps, steps)))
    if window is not None:
        prefix -= np.tril(prefix, -window)
    workload = prefix.T @ (weights[:, None] * prefix)
    v = np.ones(steps)
    for _ in range(rounds):
        half = np.sqrt(v)
        v = np.diag(_root(half[:, None] * workload * half))
    half = np.sqrt(v)
    gram = _root(half[:, None] * workload * half) / (half[:, None] * half)
    gram /= np.diag(gram).max()
    return np.asarray(np.einsum("ij,ij->i", prefix @ np.linalg.inv(gram), prefix))


def largest_of_any(steps: int, rounds: int = 60) -> np.ndarray:
    """Return the variances of the factorisation with the least largest variance, nearly."""
    weights = np.full(steps, 1.0 / steps)
    best = np.full(steps, np.inf)
    for at in range(rounds):
        variances = best_of_any(steps, weights, rounds=15)
        if variances.max() < best.max():
            best = variances
        weights = weights * (variances / variances.mean()) ** (2.0 if at < rounds // 2 else 0.5)
        weights /= weights.sum()
    return best


def _root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
