"""Pages of the documentation that scripts write: tables in Markdown, and where they go."""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _environment import ROOT
from _pictures import stands_alone

if TYPE_CHECKING:
    from dpcore.studies import Results

where = ROOT / "docs"  # with --quick, scripts/study.py puts another folder here
START, END = "<!-- study: start -->", "<!-- study: end -->"


def line(*cells: object) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return a table: its head, and a line for each row."""
    return [line(*head), "|---" * len(head) + "|", *(line(*row) for row in rows)]


def pivot(
    results: "Results",
    rows: Mapping[str, str],
    columns: Mapping[str, str],
    cell: Callable[..., object],
    **shown: Sequence[object],
) -> list[str]:
    """Return a table by the parameters of a study.

    Parameters
    ----------
    results
        The results of the study.
    rows, columns
        Parameters, and the formats of their labels: ``{"n": "{:,}"}``. Each parameter of rows has
        its own column, under its name. All combinations are shown.
    cell
        A function that takes a label of each parameter, by name, and returns the text of the cell:
        ``lambda **at: f"{results.array('error', **at).mean():.2g}"``.
    **shown
        The labels of a parameter, if not all are shown. Also labels that are not of a parameter of
        the study, such as the names of its results.
    """
    known: dict[str, Sequence[object]] = {**results.parameters, **shown}
    across = _combinations(columns, known)
    head = [
        *(name.replace("_", " ") for name in rows),
        *(", ".join(_written(columns, at)) for at in across),
    ]
    lines = [
        [*_written(rows, down), *(cell(**down, **at) for at in across)]
        for down in _combinations(rows, known)
    ]
    return table(head, lines)


def _combinations(
    names: Iterable[str], known: Mapping[str, Sequence[object]]
) -> list[dict[str, object]]:
    return [dict(zip(names, each, strict=True)) for each in product(*(known[n] for n in names))]


def _written(formats: Mapping[str, str], labels: Mapping[str, object]) -> list[str]:
    return [how.format(labels[name]) for name, how in formats.items()]


def parts(*given: str | Iterable[str]) -> list[str]:
    """Return the lines of a page: paragraphs and tables, with an empty line between them.

    A text becomes a paragraph of lines that fit, unless it has line breaks.
    """
    lines: list[str] = []
    for each in given:
        if isinstance(each, str):
            fits = "\n" in each or each.startswith("#")
            each = each.split("\n") if fits else textwrap.wrap(each, 100, break_on_hyphens=False)
        lines += ["", *each]
    return lines[1:]


def write(name: str, lines: Iterable[str]) -> Path:
    """Write a page of docs/, print its path, and return it."""
    page = where / name
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(lines).rstrip("\n") + "\n", "utf-8")
    return said(page)


def fill(name: str, *blocks: Iterable[str], of: str = "") -> Path:
    """Write into the places that a page of docs/ keeps for a script, and return the page.

    Where several scripts fill a page, ``of`` names the script, and its places are marked with it.
    """
    page = ROOT / "docs" / name
    start, end = (
        mark.replace("study", f"study of {of}" if of else "study") for mark in (START, END)
    )
    first, *rest = page.read_text("utf-8").split(start)
    if len(rest) != len(blocks) or not all(end in text for text in rest):
        raise SystemExit(f"{page} must have {len(blocks)} places for tables: {start} ... {end}")
    whole = first
    for lines, after in zip(blocks, rest, strict=True):
        whole += "\n".join([start, *lines, end]) + after.partition(end)[2]
    return write(name, whole.split("\n"))


def save(picture: Any, name: str) -> Path:
    """Write a picture of Matplotlib into docs/, print its path, and return it."""
    import matplotlib.pyplot as plt

    stands_alone(picture)
    path = where / name
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(picture)
    return said(path)


def said(path: Path) -> Path:
    """Print the path that was written, and return it."""
    print(f"written: {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    return path
