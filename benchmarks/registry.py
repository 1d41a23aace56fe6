"""What a job is, and who does it. Tests, timings, tables and the picture are all made of this."""

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
    """Somebody who does a job, or (a floor) only the part of it that nobody can avoid.

    Parameters
    ----------
    name
        The name in tables. A looser tolerance belongs in the name.
    kind
        "ours", "numpy" (by hand, with NumPy and SciPy), "peer", or "floor".
    start
        Takes the inputs, does what is not to be timed (imports, matrices in the form that the
        contender wants), and returns the call that is.
    needs
        The module of a peer; without it the contender is skipped by name.
    largest
        The largest size it is run at; above, it would take minutes.
    noise
        "exact": of the law that the proof of privacy is about, by integer arithmetic. "inexact":
        in floating point. "none": the job is private, and this is not. None: there is no noise in
        the job, or this is a floor.
    why
        Why it may be faster than dpcore; from reasons.toml.
    """

    name: str
    kind: Kind
    start: Callable[[Any], Call]
    needs: str | None = None
    largest: int | None = None
    noise: Noise | None = None
    why: str = ""

    def is_installed(self) -> bool:
        """Say whether the module it needs can be imported (being there is not enough)."""
        if self.needs is None:
            return True
        try:
            importlib.import_module(self.needs)
        except ImportError:
            return False
        return True


@dataclass(frozen=True)
class Job:
    """A job, the sizes it is done at, and those who do it.

    Parameters
    ----------
    name, title, unit
        For the command line, for tables, and what a size counts.
    sizes, quick, small
        Sizes of a full run, of a quick one, and of the tests.
    memory
        The size, one of a full run, at which peak memory is measured; None measures none.
    make
        Takes a size and returns the inputs, the same ones every time.
    outcome
        Takes the inputs and an answer; returns what is compared, and is small enough to keep.
    disagreements
        Takes the inputs and everybody's outcome by name; returns what is wrong, by name.
    agreement
        What ``disagreements`` asks for, in words.
    contenders
        The first one is the one that ratios are relative to.
    why
        What remains between dpcore and the floor, and why; from reasons.toml.
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
