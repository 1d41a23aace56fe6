"""Descriptions of parameters that many functions have: written once, shown in full by ``help``."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["documented", "filled_in"]

_Documented = TypeVar("_Documented", bound=Callable[..., Any])

_WIDTH: Final = 100
_PARAGRAPHS: Final = {
    "values": """
        (n,) the records, one real number each, n >= 1 where n is public: a NumPy array of any real
        dtype, a sequence, a pandas or polars series, an Arrow array; or a Dask array, or one column
        of a Dask dataframe, which is counted where it lies. Objects may be integers of any size,
        fractions and decimals. On a grid of times or durations, columns of these (docs/dates.md).
        Out-of-bounds values, infinities among them, count in the nearest cell.""",
    "thresholds": "The thresholds. They are public, so they must not come from the data.",
    "labels": """
        (n,) labels, n >= 1: numbers, booleans or strings, all of one kind; or a column of them,
        (n, 1), or a data frame with one column, as scikit-learn takes them. What is not
        ``pos_label`` is negative.""",
    "scores": """
        (n,) real numbers, the higher the more likely positive. Those beyond the grid, infinities
        among them, count in its end cells.""",
    "pos_label": """
        The label of the positives; None: 1, or True. It has to be given for labels that are
        strings.""",
    "score_thresholds": "Public thresholds of the scores, which must not come from the data.",
    "score_thresholds_or_none": """
        Public thresholds of the scores, which must not come from the data; None: 1,024 cells over
        [0, 1].""",
    "mechanism": """
        What adds the noise; None: the most accurate for this grid, budget and public number of
        records, by ``dpcore.plan``.""",
    "score_mechanism": """
        What adds the noise; None: the most accurate one for this grid, budget and number of
        records, by ``dpcore.plan``. Two of them, for negatives and positives: each class is then
        released alone, and the guarantees add up.""",
    "budget": """
        What the release may spend, if no mechanism is given: epsilon for pure differential
        privacy, epsilon with delta for (epsilon, delta)-differential privacy, or rho for
        zero-concentrated differential privacy. Positive numbers, delta below 1; a Fraction of
        epsilon or rho is taken exactly.""",
    "gaussian_budget": """
        What the release may spend, if no mechanism is given: epsilon with delta for (epsilon,
        delta)-differential privacy, or rho for zero-concentrated differential privacy. Epsilon
        alone is refused: noise is Gaussian. Positive numbers, delta below 1; a Fraction of epsilon
        or rho is taken exactly.""",
    "neighbours": """
        If no mechanism is given: "replace-one", which is what None means, or
        "add-or-remove-one".""",
    "isotonic": """
        Whether to make what is released monotone by isotonic regression, at no cost in privacy and
        hardly ever one in accuracy. Off: the raw release; that of ``mechanisms.Dyadic`` can be
        smoothed instead.""",
    "rng": """
        None for a release: noise from a cryptographic source. A NumPy generator is for studies:
        ``privacy.simulated`` is then set. Integer seeds are refused.""",
    "nan_policy": """
        What to do with missing values, which are NaN, None, nulls and what is masked: "raise",
        before anything is spent, or "omit" them (docs/limitations.md).""",
    "weights": """
        Must be None. Records have no weights: one of weight 5 would change the counts by 5, and
        the noise is for a change of 1. Whole weights would be repeated records, and need the
        guarantee for a group of them (docs/limitations.md).""",
    "epsilon": """
        For pure differential privacy, by discrete Laplace noise: a positive number (a Fraction is
        taken exactly).""",
    "rho": """
        For zero-concentrated differential privacy, by discrete Gaussian noise; instead of
        epsilon.""",
    "delta": """
        Beside epsilon: for (epsilon, delta)-differential privacy, by discrete Gaussian noise.""",
}


def documented(described: _Documented) -> _Documented:
    """Put the paragraphs in a docstring in the place of their names: ``{rng}``, alone on a line."""
    if described.__doc__:  # there is none under python -OO
        described.__doc__ = filled_in(described.__doc__)
    return described


def filled_in(docstring: str) -> str:
    """Return a docstring with paragraphs in the place of their names."""
    return re.sub(r"^( *)\{(\w+)\}$", _paragraph, docstring, flags=re.M)


def _paragraph(found: re.Match[str]) -> str:
    indent, name = found.groups()
    text = " ".join(_PARAGRAPHS[name].split())
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)
