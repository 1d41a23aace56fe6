"""``dpcore budget``: the joint cost of releases, kept in a file."""

from __future__ import annotations

import argparse
from typing import Final, get_args

from ..privacy.budgets import Budget
from ..privacy.filters import Composition
from ..privacy.guarantees import Privacy, Relation
from .options import Command, given, option

__all__ = ["COMMAND"]


def _run(options: argparse.Namespace) -> str:
    budget = Budget.open(options.file, **given(options, Budget.open))
    charges, width = budget.log, 24
    both = budget.composition == "zero-concentrated"
    lines = [
        f"budget in {options.file}, {budget.neighbours}",
        f"  {'cap':<{width}}{_short(budget.cap)}" + f", {budget.composition}" * both,
        f"  {'spent':<{width}}{_short(budget.spent, both)}",
        f"  {'remaining':<{width}}{_short(budget.remaining, both)}",
    ]
    if charges:
        lines += ["", f"  {'time (UTC)':<{width}}{'cost':<32}release"]
    for time, what, privacy in charges:
        at = time.strftime("%Y-%m-%d %H:%M:%S")
        lines.append(f"  {at:<{width}}{_short(privacy, both):<32}{what}")
    return "\n".join(lines)


def _short(privacy: Privacy, both: bool = False) -> str:
    """Return a guarantee without its relation of neighbours, which the budget states."""
    text, _, note = str(privacy).partition(" (")
    if both and privacy.epsilon is not None and privacy.rho is not None:
        text += f" or rho = {privacy.rho:g}"
    return f"{text} (SIMULATED)" if "SIMULATED" in note else text


COMMAND: Final = Command(
    _run,
    "Show the cap of a budget, the privacy that was spent and remains, and the log. With a cap, "
    "make the file if it does not exist. Other commands charge their release to the budget with "
    "--budget FILE, and are refused beyond the cap.",
    functions=(Budget.open,),
    options={
        "file": option("an SQLite file", "FILE", flag="file"),
        "epsilon": option("the cap of a new budget, or"),
        "rho": option("the cap in zero-concentrated privacy"),
        "delta": option("the cap on delta, with either (0)"),
        "neighbours": option(
            f"the relation of a new budget: {', '.join(get_args(Relation))} (replace-one)",
            "RELATION",
        ),
        "composition": option(
            f"how costs add up in a new budget: {', '.join(get_args(Composition))} (basic)", "RULE"
        ),
    },
)
