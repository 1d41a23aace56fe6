"""``dpcore budget``: the joint cost of releases, kept in a file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
from numpy.typing import NDArray

from ..privacy.budgets import Budget, Charge
from ..privacy.concentrated import zcdp_rho
from ..privacy.filters import Composition
from ..privacy.guarantees import Privacy, Relation, concentrated
from ..records.atomic import check_writable, write_together
from .options import Command, given, option
from .reports import drawn, figure_of
from .running import check_beside_budget, check_picture
from .shared_options import PICTURES

__all__ = ["COMMAND"]


def _run(options: argparse.Namespace) -> str:
    picture: Path | None = options.picture
    if picture is not None:
        check_picture("--picture", picture)
        check_beside_budget("--picture", picture, Path(options.file))
        check_writable(picture)
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
        longest = max(len(charge.what) for charge in charges) + 2
        titles = f"  {'time (UTC)':<{width}}{'cost':<32}{'release':<{longest}}label"
        lines += ["", titles if any(charge.label for charge in charges) else titles[:-5].rstrip()]
    for time, what, privacy, label in charges:
        at = time.strftime("%Y-%m-%d %H:%M:%S")
        line = f"  {at:<{width}}{_short(privacy, both):<32}{what:<{longest}}{label}"
        lines.append(line.rstrip())
    if picture is not None:
        write_together({picture: _drawn(budget, charges, picture.suffix[1:].lower())})
        lines += ["", f"wrote {picture}"]
    return "\n".join(lines)


def _drawn(budget: Budget, charges: Sequence[Charge], form: str) -> bytes:
    """Return a picture of the share of the cap that was spent after each charge."""
    figure = figure_of(7.0, 4.0)
    ax: Any = figure.subplots()
    times, kinds = [one.time for one in charges], [one.label or one.what for one in charges]
    for unit, (name, shares) in enumerate(_shares(budget, charges).items()):
        ax.step(times, shares, where="post", color="0.6", linestyle=("-", ":")[unit], label=name)
        for place, kind in enumerate(dict.fromkeys(kinds)):
            mine = [i for i, one in enumerate(kinds) if one == kind]
            told = "_" * unit + kind  # Matplotlib leaves out what begins with an underscore
            ax.plot([times[i] for i in mine], shares[mine], "o", color=f"C{place}", label=told)
    ax.axhline(100.0, color="black", linestyle="--", linewidth=1.0, label="cap")
    ax.set(ylim=(0.0, None), xlabel="time of the charge (UTC)", ylabel="spent, in % of the cap")
    ax.set_title(f"Cap: {_short(budget.cap)}", parse_math=False)
    ax.tick_params(axis="x", labelrotation=20.0)
    for text in ax.legend(loc="best").get_texts():
        text.set_parse_math(False)
    return drawn(figure, form)


def _shares(budget: Budget, charges: Sequence[Charge]) -> dict[str, NDArray[np.float64]]:
    """Return the share of the cap after each charge, in percent, in each unit that counts."""
    cap, rho, shares = budget.cap, budget.cap.rho, {}
    epsilons = [one.privacy.epsilon for one in charges]
    if cap.epsilon is not None:
        if budget.composition == "zero-concentrated":
            rho = zcdp_rho(cap.epsilon, cap.delta)
        if None not in epsilons:
            shares["epsilon"] = np.cumsum(np.array(epsilons, np.float64)) / cap.epsilon * 100.0
    if rho is not None:
        each = [float(concentrated(one.privacy)[0]) for one in charges]
        shares["rho"] = np.cumsum(np.array(each)) / rho * 100.0
    return shares


def _short(privacy: Privacy, both: bool = False) -> str:
    """Return a guarantee without its relation of neighbours, which the budget states."""
    text, _, note = str(privacy).partition(" (")
    if both and privacy.epsilon is not None and privacy.rho is not None:
        text += f" or rho = {privacy.rho:g}"
    return f"{text} (SIMULATED)" if "SIMULATED" in note else text


COMMAND: Final = Command(
    _run,
    "Show the cap of a budget, the privacy that was spent and remains, and the log with labels. "
    "With a cap, make the file if it does not exist. Other commands charge their release to the "
    "budget with --budget FILE, and are refused beyond the cap.",
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
        "picture": option(f"draw what was spent when, to a {'/'.join(PICTURES)} file", "OUT", Path),
    },
)
