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
        (n,) the records, one real number each; n >= 1 if n is public. A NumPy array of any real
        dtype, a sequence, a pandas or polars series, or an Arrow array. A Dask array or one column
        of a Dask dataframe is counted where it lies. Objects may be integers of any size, fractions
        and decimals. On a grid of times or durations, the column holds times or durations
        (docs/guides/dates.md). Values out of bounds, including infinities, count in the nearest
        cell.""",
    "thresholds": """
        The thresholds. They are public, so they must not come from the data. Whole numbers and days
        have grids of their own: ``Grid.integers`` and ``Grid.days``.""",
    "labels": """
        (n,) labels, n >= 1: numbers, booleans or strings, all of one kind. As in scikit-learn, an
        array of shape (n, 1) or a data frame with one column will do, too. Labels other than
        ``pos_label`` are negative. Columns of pandas must have the same index.""",
    "scores": """
        (n,) real numbers. A higher score means that the record is more likely positive. Scores
        beyond the grid, including infinities, count in its first or last cell.""",
    "pos_label": """
        The label of the positives; None: 1, or True. It must be given if the labels are
        strings, or if they are floats and the scores are integers.""",
    "score_thresholds": "Public thresholds of the scores, which must not come from the data.",
    "score_thresholds_or_none": """
        Public thresholds of the scores, which must not come from the data. None: cells of [0, 1],
        narrow near both ends, whose number grows with the public number of records and the budget,
        released by the mechanism that suits them; or as many as the noise of a given mechanism
        allows. With groups, the cells are those for 10,000 records.""",
    "by_groups": """
        (n,) labels of the records, all of one kind. The function then releases the curves of each
        label in ``groups``; a record whose label is not in ``groups`` is not counted. Columns of
        pandas must have the same index.""",
    "groups": """
        The labels of the groups. They are public, so they must not come from the data. None: the
        categories of ``by``, if it is a polars Enum. As in ``cdf``, each record counts in one group
        at most.""",
    "neighbours_of_groups": """
        For groups, if no mechanism is given. None: "add-or-remove-one", so all groups together cost
        as much as one, and their sizes are released with noise. With "replace-one-within-group" the
        size of each group is public, and is published exactly; a mechanism for "replace-one" gives
        this guarantee, too. Without groups it must be None: the guarantee is for "replace-one".""",
    "mechanism": """
        The mechanism that adds the noise; None: the most accurate one for this grid, budget and
        public number of records, according to ``dpcore.plan``.""",
    "score_mechanism": """
        The mechanism that adds the noise; None: the most accurate one for this grid, budget and
        number of records, according to ``dpcore.plan``. A pair of mechanisms, for negatives and
        positives, releases each class alone; their guarantees are then added up.""",
    "budget": """
        What the release may spend, if no mechanism is given: epsilon for pure differential
        privacy, epsilon with delta for (epsilon, delta)-differential privacy, or rho for
        zero-concentrated differential privacy. All are positive numbers, and delta is below 1. A
        Fraction is used exactly for epsilon or rho.""",
    "gaussian_budget": """
        What the release may spend, if no mechanism is given: epsilon with delta for (epsilon,
        delta)-differential privacy, or rho for zero-concentrated differential privacy. Epsilon
        alone is refused, because the noise is Gaussian. All are positive numbers, and delta is
        below 1. A Fraction is used exactly for epsilon or rho.""",
    "neighbours": """
        The relation of neighbours, if no mechanism is given: "replace-one" or
        "add-or-remove-one"; None: "replace-one".""",
    "isotonic": """
        Whether to make the release monotone by isotonic regression. This costs no privacy, and
        hardly ever costs accuracy. If False, the raw release is returned. A raw release of
        ``mechanisms.Dyadic`` can be smoothed instead.""",
    "rng": """
        None for a release: noise from a cryptographic source. A NumPy generator is for studies;
        the release then has ``privacy.simulated`` set. Integer seeds are refused.""",
    "nan_policy": """
        What to do with missing values, which are NaN, None, nulls and masked entries: "raise",
        before anything is spent, or "omit" them (docs/guides/limitations.md).""",
    "integers": """
        Whether the records are whole numbers, or whole days on a grid of times. If so, quantiles
        and samples are whole, too. This is public: state it from knowledge of the column, and not
        from the records.""",
    "weights": """
        Must be None. Records have no weights: a record of weight 5 would change the counts by 5,
        but the noise hides a change of 1. Integer weights would mean repeated records, and need
        the guarantee for a group of records (docs/guides/limitations.md).""",
    "epsilon": """
        The parameter of pure differential privacy, with discrete Laplace noise: a positive number.
        A Fraction is used exactly.""",
    "rho": """
        The parameter of zero-concentrated differential privacy, with discrete Gaussian noise. Give
        it instead of epsilon.""",
    "delta": """
        Together with epsilon: the parameter of (epsilon, delta)-differential privacy, with discrete
        Gaussian noise.""",
}


def documented(described: _Documented) -> _Documented:
    """Replace the names of paragraphs in a docstring, such as ``{rng}`` alone on a line."""
    if described.__doc__:  # python -OO removes docstrings
        described.__doc__ = filled_in(described.__doc__)
    return described


def filled_in(docstring: str) -> str:
    """Return a docstring in which the paragraphs replace their names."""
    return re.sub(r"^( *)\{(\w+)\}$", _paragraph, docstring, flags=re.M)


def _paragraph(match: re.Match[str]) -> str:
    indent, name = match.groups()
    text = " ".join(_PARAGRAPHS[name].split())
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)
