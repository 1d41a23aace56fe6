"""Finds all figures, makes them one by one, and writes their page.

The page and the pictures of docs/measured/ are made with the papers' data sets only. Those with
stand-ins go into another folder, and their page says so.
"""

import importlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _environment import ROOT
from _pages import table

import dpcore

from ._figure import PAPERS, Figure, Made
from ._files import WrongDataError, check, listed

__all__ = ["make", "names", "place"]

HERE = Path(__file__).parent
KEPT = ROOT / ".figures"
WITHOUT = "without-data"


def names(wished: Sequence[str] = ()) -> list[str]:
    """Return the names of the figures that begin with one of ``wished``, or of all figures."""
    known = sorted(path.stem for path in HERE.glob("[!_]*.py"))
    found = [name for name in known if not wished or name.startswith(tuple(wished))]
    missing = [wish for wish in wished if not any(name.startswith(wish) for name in known)]
    if missing:
        raise SystemExit(f"dpcore: there is no figure {missing[0]!r}; there are {', '.join(known)}")
    return found


def place(*, quick: bool, with_data: bool) -> Path:
    """Return the folder for the page and the pictures: docs/measured/ only with data."""
    if with_data and not quick:
        return ROOT / "docs" / "measured"
    return ROOT / "-".join(["figures", *["quick"] * quick, *[WITHOUT] * (not with_data)])


def make(chosen: Sequence[str], *, quick: bool, workers: int) -> None:
    """Make figures, note what came out of each, and write the page of all that are noted."""
    try:
        with_data = check()
    except WrongDataError as error:
        raise SystemExit(f"dpcore: {error}. Nothing was written.") from None
    where = place(quick=quick, with_data=with_data)
    if not with_data:
        print(f"without --data, stand-ins replace the papers' data; all goes into {where.name}/")
    pictures = where / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    notes = pictures / "outcomes.json"
    known: dict[str, Any] = json.loads(notes.read_text("utf-8")) if notes.exists() else {}
    for name in chosen:
        begun = time.perf_counter()
        figure: Figure = importlib.import_module(f"papers.{name}").FIGURE
        kept = KEPT / _kept_as(quick, with_data)
        results = figure.results(kept, quick=quick, workers=workers)
        made = Made(results, pictures / f"{name}.png", quick)
        outcome = figure.draw(made)
        seconds = time.perf_counter() - begun
        known[name] = {
            "source": figure.source,
            "claim": figure.claim,
            **outcome._asdict(),
            "data": made.data,
            "picture": made.path.exists(),
            "replicates": {each: _replicates(found) for each, found in results.items()},
            "seconds": round(seconds, 1),
        }
        print(f"{name}: {outcome.verdict}, {seconds:.1f} s")
        known = {each: known[each] for each in names() if each in known}
        notes.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", "utf-8")
    page = where / "figures.md"
    page.write_text("\n".join(_page(known, quick, with_data)) + "\n", "utf-8")
    print(f"written: {page.relative_to(ROOT)}")


def _kept_as(quick: bool, with_data: bool) -> str:
    """Return the folder of results. Real data and their stand-ins have different folders.

    Figures that use the same study share its results.
    """
    return ("quick" if quick else "full") + ("-with-data" if with_data else "")


def _replicates(found: dpcore.studies.Results) -> int:
    return int(found.table.column("replicate").to_numpy().max()) + 1


def _page(known: dict[str, Any], quick: bool, with_data: bool) -> list[str]:
    """Return the page: a table for each paper, then the figures themselves, and the files."""
    lines = ["# The figures of the four papers", ""]
    if not with_data:
        lines += [
            "**Made without the papers' data.** Synthetic records replace them on this page, so it",
            "does not check the papers. The page that does is docs/measured/figures.md.",
            "",
        ]
    lines += [
        f"Written by `python scripts/figures.py{' --quick' if quick else ''}`. This page repeats",
        "each figure and each table of the papers that dpcore implements, for readers who want to",
        "check a claim of a paper. *The paper's method* is the published method, made again here.",
        "*Ours* is dpcore's default. The last column of the tables says whether the results agree",
        "with the paper's claim, or that this is *not checkable* here. Pictures name the data that",
        "they show. *Synthetic, in place of* means that the data are not available here, and the",
        "verdict is about what replaces them.",
    ]
    for prefix, paper in PAPERS.items():
        rows = {name: each for name, each in known.items() if name.startswith(prefix)}
        if rows:
            lines += ["", f"## {paper}", "", *_rows(rows), *_details(rows)]
    return [*lines, "", *_files()]


def _files() -> list[str]:
    """Return the section on the files of data."""
    return [
        "## The files of data",
        "",
        "`python scripts/figures.py --data DIR` reads these files. They are not part of this",
        "project. Their digests are checked before anything is written. Without a folder of data,",
        f"figures show stand-ins and go into `figures-{WITHOUT}`, which is not committed.",
        "",
        *table(("file", "data set", "bytes", "SHA-256"), listed()),
    ]


def _rows(rows: dict[str, Any]) -> list[str]:
    head = ("", "the paper's claim", "the paper's method, here", "ours", "")
    return table(
        head,
        (
            (
                f"[{row['source']}](#{_anchor(name)})",
                row["claim"],
                row["paper"],
                row["ours"],
                verdict,
            )
            for name, row in rows.items()
            for verdict in (f"**{row['verdict']}**",)
        ),
    )


def _anchor(name: str) -> str:
    return name.replace("_", "-")


def _details(rows: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for name, row in rows.items():
        often = [f"{count:,} replicates of `{each}`" for each, count in row["replicates"].items()]
        made = ", ".join(often) or "no replicates"
        lines += ["", f"### {name.replace('_', ' ')}", ""]
        lines.append(f"`scripts/papers/{name}.py`: {made}; {row['seconds']:g} s.")
        if row["data"]:
            lines += ["", f"Data: {'; '.join(row['data'])}."]
        if row["why"]:
            lines += ["", row["why"]]
        if row["table"]:
            lines += ["", *row["table"]]
        if row["picture"]:
            lines += ["", f"![{row['source']}: {row['claim']}](figures/{name}.png)"]
    return lines
