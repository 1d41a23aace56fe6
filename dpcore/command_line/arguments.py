"""The arguments of the command line: how they are parsed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final, NoReturn

from .. import __version__
from ..errors import DpcoreError
from .options import add_commands

__all__ = ["TAKE_VALUES", "UsageError", "parse"]

_RANGES: Final = ("predicted-range", "residual-range")
_SINGLE: Final = (
    *("column", "lower", "upper", "size", "epsilon", "rho", "delta", "base", "format", "delimiter"),
    *("label", "positive", "score", "bins", "groups"),
    *("predicted", "residual", "actual", "unit", "cells", "search", "mechanism"),
    *("budget",),
    *("replicates", "set", "out", "seed", "workers", "level"),
)
TAKE_VALUES: Final = (*_SINGLE, *_RANGES)


class UsageError(DpcoreError, ValueError):
    """The command line cannot be obeyed."""


def parse(argv: Sequence[str], options: argparse.Namespace) -> None:
    """Fill ``options`` in.

    Raises
    ------
    UsageError
        An argument is missing, unknown or not of its type.
    SystemExit
        ``--help`` or ``--version`` was asked for, and is on standard output.
    """
    parser().parse_args(_glued(argv), options)


def _glued(argv: Sequence[str]) -> list[str]:
    """Write ``--lower -1e5`` as ``--lower=-1e5``: argparse takes only -5 and -.5 for numbers.

    Both ends of a range cannot be written so. They get a blank, which no option begins with.
    """
    single, ranges = ([f"--{name}" for name in names] for names in (_SINGLE, _RANGES))
    glued: list[str] = []
    for word in argv:
        is_value = len(word) > 1 and word[0] == "-" != word[1]
        if glued and glued[-1] in single and is_value:
            glued[-1] += f"={word}"
        elif is_value and any(each in ranges for each in glued[-2:]):
            glued.append(f" {word}")
        else:
            glued.append(word)
    return glued


class _Parser(argparse.ArgumentParser):
    """Raises what argparse would print with a usage of many lines."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def parser() -> argparse.ArgumentParser:
    """Return what reads the arguments of all commands."""
    whole = _Parser(
        prog="dpcore", allow_abbrev=False, description="Differentially private distributions."
    )
    whole.add_argument("--version", action="version", version=f"dpcore {__version__}")
    add_commands(whole.add_subparsers(metavar="COMMAND", required=True, dest="command"))
    return whole
