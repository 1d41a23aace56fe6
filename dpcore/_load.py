"""``dpcore.load``: above the rooms, because it knows where each kind of result is defined.

A file may be read before the class of its content is imported. Only that class is then imported:
all of them would double the time of a first ``load``.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, Final

from .curves.stored import made, parsed, registered
from .errors import DtypeError, FormatError
from .records.atomic import failure

__all__ = ["load"]

_HOMES: Final = {
    "dpcore.advice": "trust.advice",
    "dpcore.binormal-roc": "statistics.binormal",
    "dpcore.bounds": "releases.bounds",
    "dpcore.box-plot": "releases.box_plot",
    "dpcore.cdf": "curves.cdf",
    "dpcore.classwise-calibration": "statistics.classwise_calibration",
    "dpcore.comparison": "planning.compare",
    "dpcore.count": "curves.counts",
    "dpcore.counts": "curves.counts",
    "dpcore.cumulative-incidence": "curves.cumulative_incidence",
    "dpcore.cumulative-incidence-groups": "curves.cumulative_incidence_groups",
    "dpcore.distribution-test": "planning.distribution_tests",
    "dpcore.groups": "curves.groups",
    "dpcore.hosmer-lemeshow": "statistics.hosmer_lemeshow",
    "dpcore.mean": "curves.mean",
    "dpcore.pairwise-tests": "planning.pairwise",
    "dpcore.plan": "planning.plan",
    "dpcore.projection": "curves.projection",
    "dpcore.quantiles": "releases.quantiles",
    "dpcore.reliability": "statistics.calibration",
    "dpcore.residual-plot": "curves.residual_plot",
    "dpcore.restricted-mean-difference": "curves.restricted_means",
    "dpcore.roc": "statistics.roc",
    "dpcore.roc-groups": "statistics.roc_groups",
    "dpcore.score-groups": "curves.score_groups",
    "dpcore.score-histogram": "statistics.score_histograms",
    "dpcore.scores": "curves.scores",
    "dpcore.sum": "trust.protocol.released_sums",
    "dpcore.suggestion": "planning.suggest",
    "dpcore.survival": "curves.survival",
    "dpcore.survival-groups": "curves.survival_groups",
    "dpcore.survival-scores": "statistics.survival_scores",
    "dpcore.table": "curves.table",
}


def load(path_or_text: str | bytes | os.PathLike[str]) -> Any:
    """Read any stored release or result, from a file or from its JSON.

    Parameters
    ----------
    path_or_text
        The path of a file, or what ``to_json`` returned: a text that begins with a brace.

    Returns
    -------
    CDF, GroupedCDF, ScoreCurves, Table, Projection, Quantiles or another result
        An object of the class that the text names. Classes of your own must have been imported.

    Raises
    ------
    DtypeError
        The argument is neither a path nor a text.
    FileError
        The file cannot be read.
    FormatError
        It is not a stored result, it is damaged, or this version cannot read it. For a file, the
        error names it.

    Examples
    --------
    >>> import dpcore as dp
    >>> text = dp.cdf([21, 34, 55], dp.Grid([20, 40, 60]), epsilon=50.0).to_json()
    >>> dp.load(text).n
    3
    """
    if isinstance(path_or_text, bytes) or (
        isinstance(path_or_text, str) and path_or_text.lstrip().startswith("{")
    ):
        return _of_any_kind(parsed("path_or_text", path_or_text))
    if not isinstance(path_or_text, str | os.PathLike):
        given = type(path_or_text).__name__
        raise DtypeError("path_or_text", given, "must be a path, or a text from to_json")
    path = Path(path_or_text)
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise failure(path, error, "read") from None
    try:
        return _of_any_kind(parsed("path_or_text", content))
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def _of_any_kind(data: Any) -> Any:
    kind = str(data.get("format")) if isinstance(data, dict) else ""
    if registered(kind) is None and kind in _HOMES:
        importlib.import_module(f"dpcore.{_HOMES[kind]}")
    cls = registered(kind)
    if cls is None:
        raise FormatError('not a release: the field "format" has to name a stored result')
    return made(cls, data)
