"""Write one self-contained page of HTML about any releases."""

from __future__ import annotations

import base64
import io
import math
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np

from .. import _check
from ..curves.field_tables import Rows, html_of, line_of
from ..curves.reported import guarantees, picture, tables
from ..curves.stored import Stored, header
from ..errors import DtypeError, ParameterError
from ..privacy.budgets import Budget
from ..privacy.guarantees import Privacy
from ..records.atomic import write_together
from .words import guarantee

__all__ = ["report"]

_STYLE: Final = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 1rem/1.5 system-ui, sans-serif; color: #222; background: #fff; margin: 0 auto;
  max-width: 52rem; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; border-top: 1px solid #bbb; padding-top: 1rem; }
img { display: block; max-width: 100%; height: auto; margin: 1rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.75rem 0; min-width: 14rem; font-size: 0.9rem;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 0.25rem 0; }
th, td { border-bottom: 1px solid #ddd; padding: 0.2rem 0.8rem 0.2rem 0; text-align: left;
  vertical-align: top; }
td:first-child { overflow-wrap: break-word; }
.guarantee { background: #f2f5f9; border-left: 4px solid #0072b2; padding: 0.5rem 0.75rem; }
.simulated { background: #fdf0e6; border-left-color: #d55e00; }
@media print { body { max-width: none; font-size: 10pt; } img { max-height: 9cm; }
  img, tr, .guarantee, .wide { break-inside: avoid; }
  h2, h2 + p, .guarantee { break-after: avoid; }
  .wide { overflow: visible; } }
"""
# Nothing is fetched and nothing runs, whatever stands in a name.
_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_ABOUT: Final = (
    "All numbers are released or public. Reading them, and this page, cost no further privacy. "
    "Intervals hold one at a time."
)


def report(
    results: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "Private releases",
    budget: Budget | None = None,
    level: float = 0.95,
) -> str:
    """Return a page of HTML about releases, in one file; needs the extra ``plot``.

    It shows for each release its guarantee in words, a picture, tables with intervals, and the
    public choices: grid, number of records, groups and mechanism.

    Parameters
    ----------
    results
        A mapping from names to results; or a list of results, or one. A result is what a release
        returned, or what was read off releases, such as a ``ROC``, a ``Comparison`` or a test.
    path
        A file to write the page to, or None.
    title
        The title of the page.
    budget
        A budget whose cap, rest and charges are shown, or None.
    level
        The level of all intervals, between 0 and 1.

    Returns
    -------
    str
        The page. It has no scripts and fetches nothing. The same arguments, with the same versions
        of dpcore and Matplotlib, give the same text.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above; or a result has no finite guarantee, so that it shows records.
    FileError
        The file cannot be written.
    MissingExtraError
        Matplotlib is not installed.

    Notes
    -----
    This costs no privacy. Intervals of areas are simulated, which takes some time.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> ages = np.random.default_rng(1).normal(40, 12, 5000)
    >>> with dp.Budget(epsilon=2.0) as budget:
    ...     curve = dp.cdf(ages, dp.Grid.uniform(0, 120, 120), epsilon=1.0)
    ...     mean = dp.mean(ages, (0, 120), epsilon=0.5)
    >>> page = dp.report({"Ages": curve, "Mean age": mean}, title="A survey", budget=budget)
    >>> page.count("<section"), page.count("<img"), "<script" in page
    (4, 1, False)
    """
    named = _named(results)
    _check.instance("title", title, str, "must be a string")
    if budget is not None:
        _check.instance("budget", budget, Budget, "must be a Budget, or None")
    level = _check.proportion("level", level)
    target = None if path is None else Path(_check.path("path", path, "must be a file's path"))
    sections = [_section(name, result, level) for name, result in named.items()]
    if budget is not None:
        sections.append(_of_budget(budget))
    sections.append(_versions())
    # Names may hold half of a surrogate pair, as those of files that are not UTF-8 do.
    page = _page(title, sections).encode("utf-8", "backslashreplace")
    if target is not None:
        write_together({target: page})
    return page.decode()


def _named(results: Any) -> dict[str, Any]:
    """Return the results by name, checked."""
    if isinstance(results, Stored) or not isinstance(results, Mapping | Sequence):
        results = [results]
    if isinstance(results, Mapping):
        for name in results:
            _check.instance("results", name, str, "must have names that are strings")
        named = dict(results)
    else:
        listed = _check.items("results", results, "must be results of dpcore")
        named = {f"{at}. {type(one).__name__}": one for at, one in enumerate(listed, 1)}
    if not named:
        raise ParameterError("results", 0, "must hold one result or more")
    for result in named.values():
        _check_released(result)
    return named


def _check_released(result: Any) -> None:
    """Refuse what is no result, and what shows records."""
    if not (isinstance(result, Stored) and header(type(result))):
        what = "must be results of dpcore: true values do not belong in a report"
        raise DtypeError("results", type(result).__name__, what)
    for privacy in guarantees(result):
        if not isinstance(privacy, Privacy) or privacy.epsilon == math.inf:
            what = "must be private: a result without noise is no release"
            raise ParameterError("results", type(result).__name__, what)


def _section(name: str, result: Stored, level: float) -> str:
    said = [_told(privacy) for privacy in dict.fromkeys(guarantees(result))]
    if not said:
        said = ["<p>Made from public numbers alone; it cost no privacy.</p>"]
    parts = [f"<h2>{escape(name)}</h2>", f"<p>{escape(line_of(result))}</p>", *said]
    return _wrapped([*parts, _picture(name, result), *map(html_of, tables(result, level))])


def _told(privacy: Privacy) -> str:
    kind = "guarantee simulated" if privacy.simulated else "guarantee"
    return f'<p class="{kind}">{escape(guarantee(privacy))}</p>'


def _picture(name: str, result: Stored) -> str:
    """Return an image of what the result draws, or nothing if it draws nothing.

    An image keeps its names to itself. Its text is in outlines, so it looks alike everywhere.
    """
    pyplot = _check.extra("matplotlib.pyplot", "pictures in a report", "plot")
    drawn = io.BytesIO()
    with pyplot.rc_context(), pyplot.style.context("default"):
        pyplot.rcParams["svg.hashsalt"] = "dpcore"  # or names in the file are random
        axes = picture(result)
        if axes is None:
            return ""
        figure = np.ravel(axes)[0].figure
        try:
            figure.savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None})
        finally:
            pyplot.close(figure)
    data = base64.b64encode(drawn.getvalue()).decode("ascii")
    alternative = escape(f"Picture of {name}")
    return f'<img alt="{alternative}" src="data:image/svg+xml;base64,{data}">'


def _of_budget(budget: Budget) -> str:
    pairs = (("cap", budget.cap), ("spent", budget.spent), ("remaining", budget.remaining))
    sums = Rows("Sums", ("", "cost"), [(name, str(privacy)) for name, privacy in pairs])
    charges = [
        (time.strftime("%Y-%m-%d %H:%M:%S"), what, label, str(privacy))
        for time, what, privacy, label in budget.log
    ]
    ledger = Rows("Charges", ("time (UTC)", "release", "label", "cost"), charges)
    return _wrapped(["<h2>Budget</h2>", html_of(sums), html_of(ledger)])


def _versions() -> str:
    matplotlib = _check.extra("matplotlib", "pictures in a report", "plot")
    versions = [
        ("dpcore", sys.modules["dpcore"].__version__),  # an import would be one of all rooms
        ("Python", platform.python_version()),
        ("NumPy", np.__version__),
        ("Matplotlib", str(matplotlib.__version__)),
    ]
    return _wrapped(["<h2>Versions</h2>", html_of(Rows("", ("", "version"), versions))])


def _wrapped(parts: Sequence[str]) -> str:
    return "\n".join(["<section>", *filter(None, parts), "</section>"])


def _page(title: str, sections: Sequence[str]) -> str:
    head = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{_ABOUT}</p>",
    ]
    return "\n".join([*head, *sections, "</body>", "</html>", ""])
