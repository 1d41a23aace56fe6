"""``--budget FILE`` and ``dpcore budget``: the joint cost of releases, kept in a file."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..privacy.budgets import Budget
from ..privacy.guarantees import Privacy

__all__ = ["show", "watching"]


def watching(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """Return the context of the named budget, or a context without a budget."""
    named = getattr(options, "budget", None)
    return nullcontext() if named is None else Budget.open(named)


def show(options: argparse.Namespace) -> str:
    """Open or make a budget, and return its charges as text."""
    budget = Budget.open(
        options.file, options.epsilon, rho=options.rho, delta=options.delta, neighbours=None
    )
    charges, width = budget.log, 24
    lines = [
        f"budget in {options.file}, {budget.neighbours}",
        f"  {'cap':<{width}}{_short(budget.cap)}",
        f"  {'spent':<{width}}{_short(budget.spent)}",
        f"  {'remaining':<{width}}{_short(budget.remaining)}",
    ]
    if charges:
        lines += ["", f"  {'time (UTC)':<{width}}{'cost':<32}release"]
    for time, what, privacy in charges:
        at = time.strftime("%Y-%m-%d %H:%M:%S")
        lines.append(f"  {at:<{width}}{_short(privacy):<32}{what}")
    return "\n".join(lines)


def _short(privacy: Privacy) -> str:
    """Return a guarantee without its relation of neighbours, which the budget states."""
    text, _, note = str(privacy).partition(" (")
    return f"{text} (SIMULATED)" if "SIMULATED" in note else text
