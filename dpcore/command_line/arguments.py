"""The parser of the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import takewhile
from typing import Any, Final, NoReturn

from .. import __version__
from ..errors import DpcoreError
from .options import Command, add_options

__all__ = ["COMMANDS", "UsageError", "command_of", "parser"]

# Each is in the file of its name, which is imported when the command is named.
COMMANDS: Final = {
    "cdf": "release the distribution of a column",
    "roc": "release the ROC curve of scored labels",
    "survival": "release a survival curve (Kaplan-Meier) of durations and events",
    "incidence": "release the incidence of several kinds of events that compete",
    "calibration": "release how far scores are from probabilities",
    "hosmer-lemeshow": "release the Hosmer-Lemeshow test of predicted probabilities",
    "residuals": "release residuals against predicted values",
    "compare": "compare two stored distributions",
    "report": "write a page of HTML about stored releases",
    "budget": "make a budget in a file, or show what was spent",
    "study": "run a Monte Carlo study, or list them",
    "warm": "compile everything now, so that first uses do not wait",
}

_PLAIN: Final = {  # what argparse says, and what is said in its place
    r"the following arguments are required: (.+)": r"missing: \1",
    r"one of the arguments (.+) is required": r"missing: one of \1",
    r"argument (\S+): not allowed with argument (\S+)": r"give \1 or \2, not both",
    r"argument (\S+): expected one argument": r"\1 needs a value",
    r"argument (\S+): expected (\d+) arguments": r"\1 needs \2 values",
    r"argument (\S+): invalid float value: (.+)": r"\1 must be a number; got \2",
    r"argument (\S+): invalid int value: (.+)": r"\1 must be a whole number; got \2",
    r"argument (\S+): invalid choice: (.+) \(choose from (.+)\)": r"\1 must be one of \3; got \2",
    r"unrecognized arguments: (.+)": r"there is no place for \1",
}


class UsageError(DpcoreError, ValueError):
    """The arguments of the command line are wrong."""


class _Parser(argparse.ArgumentParser):
    """A parser that raises its errors, which argparse would print after many lines of usage.

    Its parsed options have ``flags``: those of options that take values, by the options' names.
    """

    texts: dict[str, Callable[[], str]]  # help texts that are made when help is asked for

    def error(self, message: str) -> NoReturn:
        for said, plain in _PLAIN.items():
            message = re.sub(f"^{said}$", plain, message, flags=re.DOTALL)
        raise UsageError(message)

    def format_help(self) -> str:
        for action in self._actions:
            if action.help is None and action.dest in self.texts:
                action.help = self.texts[action.dest]()
        return super().format_help()

    def add_command(self, command: Command) -> None:
        """Add the options of a command."""
        self.description = command.description
        self.texts = add_options(self, command)
        taking = [action for action in self._actions if action.nargs != 0 and action.option_strings]
        self.set_defaults(flags={action.dest: action.option_strings[0] for action in taking})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._check_names(args)
        return super().parse_known_args(self._glued(args), namespace)

    def _check_names(self, argv: Sequence[str]) -> None:
        """Refuse what is no command or option, before anything is said to be missing."""
        if self._subparsers is not None:
            name = next(iter(argv), "-")
            known = f"it must be one of {', '.join(COMMANDS)}"
            if not argv:
                raise UsageError(f"COMMAND is missing: {known}")
            if not name.startswith("-") and name not in COMMANDS:
                near = _nearest(name, COMMANDS) or known
                raise UsageError(f"there is no command {name!r}: {near}")
            return
        flags = [flag for action in self._actions for flag in action.option_strings]
        for word in takewhile(lambda word: word != "--", argv):
            name = word.partition("=")[0]
            if name.startswith("--") and name not in flags:
                near = _nearest(name, flags) or f"{self.prog} --help lists those that there are"
                raise UsageError(f"there is no option {name!r}: {near}")

    def _glued(self, argv: Sequence[str]) -> list[str]:
        """Write ``--lower -1e5`` as ``--lower=-1e5``: argparse recognises only -5 and -.5.

        The two ends of a range cannot be written so. They get a leading blank, because no option
        begins with one.
        """
        by_flag = {flag: action for action in self._actions for flag in action.option_strings}
        values = [getattr(by_flag.get(word), "nargs", 0) for word in argv]
        glued: list[str] = []
        for at, word in enumerate(argv):
            is_value = len(word) > 1 and word[0] == "-" != word[1]
            if is_value and at and values[at - 1] is None:
                glued[-1] += f"={word}"
            elif is_value and 2 in values[max(at - 2, 0) : at]:
                glued.append(f" {word}")
            else:
                glued.append(word)
        return glued


def _nearest(name: str, known: Iterable[str]) -> str:
    """Return a question for the known name that is nearest to a given one, or nothing."""
    near = get_close_matches(name, known, n=1, cutoff=0.7)
    return f"did you mean {near[0]}?" if near else ""


def command_of(name: str) -> Command:
    """Return the command with a name."""
    command: Command = import_module(f".{name.replace('-', '_')}", __package__).COMMAND
    return command


def parser(named: Iterable[str]) -> argparse.ArgumentParser:
    """Return the parser for all commands, with the options of those that are named."""
    whole = _Parser(
        prog="dpcore", allow_abbrev=False, description="Differentially private distributions."
    )
    whole.texts = {}
    whole.add_argument("--version", action="version", version=f"dpcore {__version__}")
    commands = whole.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for name, what in COMMANDS.items():
        own = commands.add_parser(name, allow_abbrev=False, help=what)
        if name in named:
            own.add_command(command_of(name))
    return whole
