"""Jobs and their contenders, from which tests, timings, tables and the picture are made."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["ours", "numpy", "peer", "floor"]
Noise = Literal["exact", "inexact", "none"]
Call = Callable[[], Any]


@dataclass(frozen=True)
class Contender:
    """A library or a function that does a job, or a floor: the part that nobody can avoid.

    Parameters
    ----------
    name
        The name in tables. A looser tolerance belongs in the name.
    kind
        "ours", "numpy" (by hand, with NumPy and SciPy), "peer", or "floor".
    start
        Takes the inputs, does the work that is not timed (imports, matrices in the form that the
        contender needs), and returns the call that is timed.
    needs
        The module of a peer. Without it, the contender is skipped, and the table says so.
    largest
        The largest size at which it is run; larger sizes would take minutes.
    noise
        "exact": integer arithmetic draws the noise, with the law in the proof of privacy.
        "inexact": floating point draws it. "none": the job is private, and the contender is not.
        None: the job has no noise, or the contender is a floor.
    why
        The reason, from reasons.toml, why it may be faster than dpcore.
    """

    name: str
    kind: Kind
    start: Callable[[Any], Call]
    needs: str | None = None
    largest: int | None = None
    noise: Noise | None = None
    why: str = ""

    def is_installed(self) -> bool:
        """Whether the module that it needs can be imported, not only found."""
        if self.needs is None:
            return True
        try:
            importlib.import_module(self.needs)
        except ImportError:
            return False
        return True


@dataclass(frozen=True)
class Job:
    """A job, its sizes, and its contenders.

    Parameters
    ----------
    name, title, unit
        The name on the command line, the title in tables, and the unit of sizes.
    sizes, quick, small
        Sizes of a full run, of a quick one, and of the tests.
    memory
        The size of a full run at which peak memory is measured, or None for no measurement.
    make
        Takes a size and returns the inputs, which are the same in each call.
    outcome
        Takes the inputs and an answer. Returns the part that is compared, which is small.
    disagreements
        Takes the inputs and the outcomes by contender. Returns the errors by contender.
    agreement
        The condition that ``disagreements`` checks, in words.
    contenders
        All contenders. Ratios are relative to the first one.
    why
        The reason, from reasons.toml, for the time between dpcore and the floor.
    """

    name: str
    title: str
    unit: str
    sizes: tuple[int, ...]
    quick: tuple[int, ...]
    small: int
    memory: int | None
    make: Callable[[int], Any]
    outcome: Callable[[Any, Any], Any]
    disagreements: Callable[[Any, Mapping[str, Any]], dict[str, str]]
    agreement: str
    contenders: tuple[Contender, ...]
    why: str = ""

    def __getitem__(self, name: str) -> Contender:
        """Return the contender of that name."""
        return next(contender for contender in self.contenders if contender.name == name)
