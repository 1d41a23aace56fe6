"""``dpcore report``: one page of HTML about stored releases."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

from .._load import load
from ..privacy.budgets import Budget
from ..records.atomic import check_writable
from ..reports import report
from .arguments import UsageError
from .options import Command, given, option

__all__ = ["COMMAND"]


def _run(options: argparse.Namespace) -> str:
    page = Path(options.html)
    for file in [*options.files, options.budget]:
        if file is not None and page.exists() and Path(file).exists() and page.samefile(file):
            raise UsageError(f"--html {options.html!r} is read, and would be written over")
    check_writable(page)
    results = {_name(file, options.files): load(Path(file)) for file in options.files}
    budget = None if options.budget is None else Budget.open(options.budget)
    own: dict[str, Any] = given(options, report) | {"results": results, "path": page}
    report(**{**own, "budget": budget})
    said = "1 result" if len(results) == 1 else f"{len(results)} results"
    return f"wrote {options.html}: {said}"


def _name(file: str, files: list[str]) -> str:
    """Return the name of a result: that of its file, or its path if others have the same name."""
    stems = [Path(other).stem for other in files]
    return Path(file).stem if stems.count(Path(file).stem) == 1 else file


COMMAND: Final = Command(
    _run,
    "Write one page of HTML about releases and results that were stored with --json or to_json: "
    "pictures, tables with intervals, guarantees in words, and public choices. The page needs no "
    "other file and no network. It costs no privacy.",
    functions=(report,),
    options={
        "files": option("stored results, as JSON", "FILE.json", flag="files", nargs="+"),
        "html": option("write the page to this file", "FILE.html", required=True),
        "budget": option("show what was charged to the budget in this SQLite file", "FILE"),
        "results": None,
        "path": None,
    },
)
