"""The parser of the command line."""

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
    """The arguments of the command line are wrong."""


def parse(argv: Sequence[str], options: argparse.Namespace) -> None:
    """Parse the arguments into ``options``.

    Raises
    ------
    UsageError
        An argument is missing or unknown, or has a wrong type.
    SystemExit
        ``--help`` or ``--version`` was given; its text is on standard output.
    """
    parser().parse_args(_glued(argv), options)


def _glued(argv: Sequence[str]) -> list[str]:
    """Write ``--lower -1e5`` as ``--lower=-1e5``: argparse recognises only -5 and -.5 as numbers.

    The two ends of a range cannot be written so. They get a leading blank, because no option
    begins with one.
    """
    single, ranges = ([f"--{name}" for name in names] for names in (_SINGLE, _RANGES))
    glued: list[str] = []
    for word in argv:
        is_value = len(word) > 1 and word[0] == "-" != word[1]
        if glued and glued[-1] in single and is_value:
            glued[-1] += f"={word}"
        elif is_value and any(earlier in ranges for earlier in glued[-2:]):
            glued.append(f" {word}")
        else:
            glued.append(word)
    return glued


class _Parser(argparse.ArgumentParser):
    """A parser that raises its errors, which argparse would print after many lines of usage."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def parser() -> argparse.ArgumentParser:
    """Return the parser for all commands."""
    whole = _Parser(
        prog="dpcore", allow_abbrev=False, description="Differentially private distributions."
    )
    whole.add_argument("--version", action="version", version=f"dpcore {__version__}")
    add_commands(whole.add_subparsers(metavar="COMMAND", required=True, dest="command"))
    return whole
