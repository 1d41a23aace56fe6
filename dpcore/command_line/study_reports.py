"""The output of ``dpcore study``: the list of studies, and the results of one."""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..studies import Results, Study
from .reports import lines, shown
from .study_settings import known_values

__all__ = ["study_list", "study_summary"]

_MEANS: Final = ("mean", "mean_low", "mean_high")
# As many of these as fit.
_OTHERS: Final = ("deviation", "q0.5", "q0.05", "q0.95", "q0.25", "q0.75")
_ORDER: Final = (*_MEANS, "undefined", "deviation", "q0.05", "q0.25", "q0.5", "q0.75", "q0.95")
_GAP: Final = "  "
_MOST: Final = 100  # characters in a line of a list

Row = Mapping[str, Any]


def study_list(studies: Mapping[str, Study]) -> str:
    """Return the names of studies, their descriptions and their parameters."""
    width, report = min(shutil.get_terminal_size().columns, _MOST), []
    indent = max(map(len, studies)) + 2
    for name, study in studies.items():
        title = (inspect.getdoc(study.function) or "").partition("\n")[0]
        parameters = " ".join(
            f"{parameter}={','.join(map(_label, values))}"  # in the form that --set takes
            for parameter, values in known_values(study).items()
        )
        head, *rest = [
            line
            for text in (title or repr(study), parameters)
            for line in textwrap.wrap(text, max(width - indent, 20), break_on_hyphens=False)
        ]
        report += [f"{name:<{indent}}{head}", *(" " * indent + line for line in rest)]
    return "\n".join(report)


def study_summary(results: Results, level: float, out: Path | None) -> str:
    """Return a few lines about a run, and a table of means for each quantity."""
    rows = results.summary(level=level).to_pylist()
    parameters = {name: [row[name] for row in rows] for name in results.parameters}
    fixed = {name: values[0] for name, values in parameters.items() if len(set(values)) == 1}
    varied = [name for name in parameters if name not in fixed]
    cells = len(results.table["cell"].unique())
    about: dict[str, object] = {
        "study": results.study,
        "replicates": f"{len(results) // cells} of {cells} cells each",
        "seed": results.seed,
        "interval": f"{100 * level:g} % of the mean, mean_low to mean_high",
    }
    if fixed:
        about["parameters"] = ", ".join(f"{name} = {_label(v)}" for name, v in fixed.items())
    if out is not None:
        about["kept in"] = shown(str(out))
    keys = [*varied, *(["position"] if any("position" in row for row in rows) else [])]
    columns = _fitting(rows, keys, shutil.get_terminal_size().columns)
    report = lines(about)
    for quantity in results.quantities:
        table = [row for row in rows if row["quantity"] == quantity]
        if table:
            report += ["", quantity, *_table(table, _shown(table, keys), columns)]
    return "\n".join(report)


def _fitting(rows: Sequence[Row], keys: Sequence[str], width: int) -> list[str]:
    """Return the columns of numbers that fit; means and their intervals are always shown."""
    taken = [*_MEANS, *(["undefined"] if any(row["undefined"] for row in rows) else [])]
    left = width - sum(_width(rows, name) for name in [*keys, *taken])
    for name in _OTHERS:
        left -= _width(rows, name)
        if left < 0:
            break
        taken.append(name)
    return [name for name in _ORDER if name in taken]


def _shown(rows: Sequence[Row], keys: Sequence[str]) -> list[str]:
    """Return the parameters and positions that a table shows, without those that it lacks."""
    return [name for name in keys if any(row.get(name) is not None for row in rows)]


def _width(rows: Sequence[Row], name: str) -> int:
    return len(_GAP) + max(len(name), *(len(_text(row.get(name))) for row in rows))


def _table(rows: Sequence[Row], keys: Sequence[str], columns: Sequence[str]) -> list[str]:
    names = [*keys, *columns]
    texts = [names, *([_text(row.get(name)) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    words = {name for name in keys if any(isinstance(row[name], str) for row in rows)}
    return [
        _GAP
        + _GAP.join(
            f"{text:<{size}}" if name in words else f"{text:>{size}}"
            for name, text, size in zip(names, row, widths, strict=True)
        ).rstrip()
        for row in texts
    ]


def _text(value: object) -> str:
    if not isinstance(value, float):
        return _label(value)
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def _label(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else shown(str(value))
