"""Shared parts of the commands: mechanisms, inputs, outputs and the wording of errors."""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import dpcore

from .. import _check
from .._progress import Progress
from ..mechanisms.base import registered
from ..planning.most_accurate import most_accurate
from ..privacy.allowance import Allowance
from ..privacy.budgets import Budget
from ..privacy.spending import called
from ..records.atomic import absolute, check_writable, write_together
from ..records.files import Column as FileColumn
from ..records.files import FileError, Format, record_batches
from ..records.folders import HIDDEN
from ..releases.cdf import taken
from .arguments import UsageError, command_of
from .options import as_flag
from .shared_options import PICTURES, VARIANTS, mechanism_names, takes_a_budget

__all__ = [
    "batches",
    "check_beside_budget",
    "check_outputs",
    "check_picture",
    "class_of",
    "mechanism_of",
    "missing_values",
    "ran",
    "spent_by",
    "written",
]


def ran(options: argparse.Namespace) -> str:
    """Run the command, and return what to print. Errors get the names of options."""
    try:
        with _watching(options), called(f"dpcore {options.command}"):
            return command_of(options.command).run(options)
    except UsageError:
        raise
    except dpcore.DpcoreError as error:
        raise UsageError(_as_typed(error, options)) from error


@contextmanager
def _watching(options: argparse.Namespace) -> Iterator[None]:
    """Charge what is released inside to the budget that the options name, if they name one."""
    named, label = (getattr(options, name, None) for name in ("budget", "budget_label"))
    with ExitStack() as entered:
        if named is not None:
            budget = Budget.open(named)
            try:
                entered.enter_context(budget if label is None else budget.label(label))
            except dpcore.ParameterError as error:
                _, _, rest = str(error).partition(" ")
                raise UsageError(f"--budget-label {rest}") from error
        elif label is not None:
            raise UsageError("--budget-label needs --budget")
        yield


def mechanism_of(
    options: argparse.Namespace, size: int
) -> Callable[[int | None], dpcore.mechanisms.Mechanism]:
    """Return a function that takes n, or None, and returns the mechanism for so many cells.

    None stands for any n.
    """
    name, epsilon, rho, delta = options.mechanism, options.epsilon, options.rho, options.delta
    if name not in ("dyadic", "dyadic-paper"):
        smooth = getattr(options, "smooth", None)
        for flag, value in (("--base", options.base), ("--smooth", smooth)):
            if value is not None:
                raise UsageError(f"{flag} needs --mechanism dyadic; got {name}")
    if name == "best":
        budget = Allowance.checked(epsilon, rho, "replace-one", delta)
        most_accurate(size, budget)  # refuses a budget that is too small
        return partial(most_accurate, size, budget)
    given = {"epsilon": epsilon, "rho": rho, "delta": delta, "base": options.base}
    given = {parameter: value for parameter, value in given.items() if value is not None}
    if name == "dyadic-paper":
        for parameter in ("rho", "delta"):
            if parameter in given:
                raise UsageError(f"--{parameter} must not be given with --mechanism {name}")
        if options.base not in (None, 2):
            raise UsageError(f"--base must be 2 with --mechanism {name}; got {options.base}")
        name, given = "dyadic", {"epsilon": epsilon, "sensitivity": "paper"}
    chosen = class_of(name, *VARIANTS)
    try:
        inspect.signature(chosen).bind(**given)
    except TypeError as error:
        what = f"--mechanism {name} takes other parameters than {', '.join(map(as_flag, given))}"
        raise UsageError(what) from error
    mechanism = chosen(**given)
    mechanism.noise_deviation(size)  # refuses a budget too small for this grid
    return taken(mechanism)


def spent_by(mechanism: dpcore.mechanisms.Mechanism) -> dict[str, Any]:
    """Return the arguments of a release by a mechanism, which the budget has gone to."""
    return {"mechanism": mechanism, "epsilon": None, "rho": None, "delta": None}


def class_of(name: str, *variants: str) -> type[dpcore.mechanisms.Mechanism]:
    """Return the class of mechanisms with a name, or the one at ``module:Class``.

    An error also names the variants that a command takes.
    """
    chosen = registered(name)
    module, colon, member = name.partition(":")
    if chosen is None and colon and module[:1] not in ("", "."):
        here = str(absolute(Path()))
        sys.path.insert(0, here)  # as Python does for ``-m``
        try:
            chosen = getattr(importlib.import_module(module), member)
        except (ImportError, AttributeError) as error:
            raise UsageError(f"--mechanism: there is no {name}: {error}") from error
        finally:
            sys.path.remove(here)
    if chosen is None or not takes_a_budget(chosen):
        known = ", ".join([*mechanism_names(), *variants])
        what = f"must be best, {known}, or module:Class"
        raise UsageError(f"--mechanism {what}; got {name!r}")
    return chosen


def check_outputs(options: argparse.Namespace) -> None:
    """Check that the output files can be written, and that they replace no file that is needed."""
    if options.plot is not None:
        check_picture("--plot", options.plot)
    source = Path("/dev/stdin" if options.file == "-" else options.file)
    for flag, path in (("--json", options.json), ("--plot", options.plot)):
        if path is not None:
            check_writable(path)
            if _is_same(path, source):
                raise UsageError(f"{flag} {str(path)!r} is FILE, and would be written over it")
            if _is_within(path, source):
                raise UsageError(f"{flag} {str(path)!r} is in FILE, and would be read as records")
            if options.budget is not None:
                check_beside_budget(flag, path, Path(options.budget))
    if None not in (options.json, options.plot) and _is_same(options.json, options.plot):
        raise UsageError(f"--json and --plot must differ; got {str(options.plot)!r} for both")


def check_picture(flag: str, path: Path) -> None:
    """Refuse a picture's file of another kind, and a Matplotlib that does not start."""
    if path.suffix.lower() not in PICTURES:
        raise UsageError(f"{flag} must end in one of {', '.join(PICTURES)}; got {str(path)!r}")
    try:
        _check.extra("matplotlib.figure", flag, "plot")
    except ValueError as error:  # MPLBACKEND is not the name of a backend
        raise UsageError(f"{flag}: Matplotlib does not start: {error}") from None


def check_beside_budget(flag: str, path: Path, budget: Path) -> None:
    """Refuse to write over a budget, or over what SQLite makes and removes beside it."""
    whole = _real(budget)
    beside = (whole + ending for ending in ("-journal", "-wal", "-shm"))
    if _is_same(path, budget) or _real(path) in beside:
        raise UsageError(f"{flag} {str(path)!r} is the budget, and would be written over it")


def _input(options: argparse.Namespace) -> tuple[str | BinaryIO, Format | None]:
    """Return the source, and its format if that is known."""
    _check.extra("pyarrow", "reading files", "io")
    import pyarrow

    # Python handles interrupts. Arrow works for milliseconds at a time, and sometimes loses one.
    pyarrow.enable_signal_handlers(False)
    source, form = options.file, options.format
    if source != "-":
        return source, form
    if form == "parquet":
        raise UsageError("FILE must not be '-' with --format parquet, which must be seekable")
    if sys.stdin is None:
        raise UsageError("FILE '-' is standard input, which is closed")
    return sys.stdin.buffer, "csv"


@contextmanager
def batches(options: argparse.Namespace, *columns: FileColumn) -> Iterator[Iterator[Any]]:
    """Read columns of the file in batches of rows, and show how much was read."""
    source, form = _input(options)
    with Progress(f"reading {options.file}", shown=False if options.quiet else None) as progress:
        yield record_batches(
            source, columns, format=form, delimiter=options.delimiter, on_progress=progress.show
        )


def missing_values(column: str) -> UsageError:
    """Return the error that a column has missing values."""
    return UsageError(
        f"{column} has missing values (NaN, null or empty); clean them, "
        "or leave them out with --nan-policy omit"
    )


def written(
    options: argparse.Namespace, json: Callable[[], str], picture: Callable[[str], bytes]
) -> None:
    """Write the files that were asked for, all or none.

    Parameters
    ----------
    options
        Of the command line.
    json
        Gives the release as JSON.
    picture
        Takes a format of Matplotlib, and draws the release.
    """
    contents: dict[Path, bytes] = {}
    if options.json is not None:
        contents[options.json] = f"{json()}\n".encode()
    if options.plot is not None:
        contents[options.plot] = picture(options.plot.suffix[1:].lower())
    try:
        write_together(contents)
    except FileError as error:
        raise UsageError(f"{_as_typed(error, options)}; nothing was released") from None


def _as_typed(error: dpcore.DpcoreError, options: argparse.Namespace) -> str:
    """Return the message with the arguments' names on the command line."""
    message = str(error)
    if isinstance(error, FileError):
        flag = _flag_of(error.file, options)
        if flag == "--budget" and "needs a cap" in message:
            message += f": dpcore budget {shlex.quote(str(options.budget))} --epsilon 1 makes one"
        return f"{flag} {message}"
    argument, blank, rest = message.partition(" ")
    is_budget = getattr(options, "budget", None) is not None
    names = {"source": "FILE", "study": "STUDY", "path": "--budget" if is_budget else "FILE"}
    if options.command == "compare":
        names |= {"first": "FIRST", "second": "SECOND"}
    names |= options.flags
    is_named = argument in names and hasattr(error, "argument")
    return f"{names[argument]}{blank}{rest}" if is_named else message


def _flag_of(file: str, options: argparse.Namespace) -> str:
    """Return the option that named a file or its folder."""
    if "out" in options:  # options of a study
        is_study = (options.study or "").startswith(file)
        out = options.out
        is_out = out is not None and _rooted(file).is_relative_to(_rooted(out))
        return "--out" if is_out and not is_study else "FILE"
    for name in ("budget", "json", "plot", "html", "picture"):  # the budget is opened first
        given = getattr(options, name, None)
        if given is not None and _rooted(given) == _rooted(file):
            return f"--{name}"
    return "FILE"


def _rooted(path: str | Path) -> Path:
    """Return an absolute path; as it is where the folder of the process is gone."""
    try:
        return Path(os.path.abspath(path))
    except FileNotFoundError:
        return Path(path)


def _real(path: Path) -> str:
    """Return the path of the file that a path leads to."""
    return os.path.realpath(absolute(path))


def _is_within(path: Path, folder: Path) -> bool:
    """Return whether a file would be one of the files of a folder; hidden ones are not."""
    whole, file = _real(folder), _real(path)
    if not os.path.isdir(whole) or os.path.commonpath([whole, file]) != whole:
        return False
    return not any(part.startswith(HIDDEN) for part in Path(os.path.relpath(file, whole)).parts)


def _is_same(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except OSError:  # one of the files does not exist yet
        return _real(first) == _real(second)
