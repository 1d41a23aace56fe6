"""``dpcore compare``: two stored distributions."""

from __future__ import annotations

import argparse
from typing import Final

import numpy as np

import dpcore

from ..curves.cdf import CDF
from ..planning.compare import Comparison
from ..records.files import FileError
from .arguments import UsageError
from .options import Command, given, option
from .reports import lines, percent

__all__ = ["COMMAND"]


def _run(options: argparse.Namespace) -> str:
    first, second = _stored(options.first, "FIRST"), _stored(options.second, "SECOND")
    own = given(options, dpcore.compare) | {"first": first, "second": second}
    found = dpcore.compare(**own | {"probabilities": _probabilities(options.probabilities)})
    return _summary(found, options)


def _stored(path: str, name: str) -> CDF:
    """Return the distribution in a file that ``dpcore cdf --json`` wrote."""
    try:
        stored = dpcore.load(path)
    except FileError as error:
        raise UsageError(f"{name} {error}") from None
    except dpcore.FormatError as error:
        raise UsageError(f"{name} must be a stored distribution: {error}") from None
    if not isinstance(stored, CDF):
        kind = type(stored).__name__
        raise UsageError(f"{name} {path!r} must hold a CDF, as dpcore cdf --json does; got {kind}")
    return stored


def _probabilities(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        what = f"must be numbers within [0, 1], between commas; got {text!r}"
        raise UsageError(f"--probabilities {what}") from None


def _summary(found: Comparison, options: argparse.Namespace) -> str:
    """Return a few lines about the comparison, and the difference of each quantile."""
    first, second = found.privacy
    rows: dict[str, object] = {
        "first": f"{options.first}, {found.n[0]} records, {first}",
        "second": f"{options.second}, {found.n[1]} records, {second}",
        "K-S": f"{found.statistic:.4g}, the largest distance of the curves",
        "p-value": f"{found.p_value:.3g}, of the same population, by {found.simulations} "
        "simulated pairs of releases",
    }
    low, high = found.population_interval
    level = f"{percent(found.level)} (population)"
    columns = found.probabilities, found.differences, low, high, found.p_values
    table = [
        f"{100 * p:>7g} %  {_text(value):>16}  {_text(least):>16} to {_text(most):>16}  {own:>8.3g}"
        for p, value, least, most, own in zip(*map(np.atleast_1d, columns), strict=True)
    ]
    heading = f"{'share':>9}  {'first - second':>16}  {level:>36}  {'p-value':>8}"
    return "\n".join([*lines(rows), "", heading, *table])


def _text(difference: float | np.timedelta64) -> str:
    """Return a difference as a text: to the second for times."""
    if isinstance(difference, np.timedelta64):
        return str(difference.astype("m8[s]").item())
    return f"{difference:.6g}"


COMMAND: Final = Command(
    _run,
    "Compare two distributions that dpcore cdf stored with --json: are the records samples of one "
    "population, and how far apart are quantiles? This reads no records, and costs no privacy. The "
    "two must be of different records, on one grid: give both the same bounds and --size.",
    functions=(dpcore.compare,),
    options={
        "first": option("a file with a distribution", "FIRST", flag="first"),
        "second": option("another one", "SECOND", flag="second"),
        "probabilities": option(
            "of the quantiles to compare, between commas (0.25,0.5,0.75)",
            "P",
            default="0.25,0.5,0.75",
        ),
    },
)
