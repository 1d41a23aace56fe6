"""The command line: ``dpcore cdf FILE`` releases the distribution of one column, once.

What can be refused is refused before the data are read. The release stays in memory until all
files are written, and is printed last: who sees an error has seen nothing of the records.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dpcore

from ._arguments import PICTURES, TAKE_VALUES, UsageError, parse
from ._atomic import check_writable, write_together
from ._report import picture, summary
from .files import FileError, Progress, column_batches
from .planner import most_accurate

__all__ = ["UsageError", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv
        The arguments; None: those of the process.

    Returns
    -------
    int
        The exit code: 0; 2 after an error, which is one line on standard error; 130 if
        interrupted; 1 if standard output was closed before everything was printed.
    """
    options = argparse.Namespace()
    try:
        parse(sys.argv[1:] if argv is None else argv, options)
        return _print(_cdf(options) + "\n")
    except SystemExit as done:  # --help and --version, which have been printed
        return _print("") or int(done.code or 0)
    except dpcore.DpcoreError as error:
        return _fail(_as_typed(error, options))
    except MemoryError:
        return _fail("out of memory")
    except KeyboardInterrupt:
        return 130


def _cdf(options: argparse.Namespace) -> str:
    """Release the curve, write the files, and return what to print."""
    grid = dpcore.Grid.uniform(options.lower, options.upper, options.size)
    mechanism = _mechanism(options, grid)
    _check_outputs(options)
    counts = _counts(options, grid)
    isotonic = not options.raw and options.smooth is None
    curve = dpcore.cdf_from_counts(counts, grid, mechanism, isotonic=isotonic)
    if options.smooth is not None:
        curve = curve.smooth(options.smooth)
    contents: dict[Path, bytes] = {}
    if options.json is not None:
        contents[options.json] = f"{curve.to_json()}\n".encode()
    if options.plot is not None:
        form = options.plot.suffix[1:].lower()
        contents[options.plot] = picture(curve, options.column, form)
    try:
        write_together(contents)
    except FileError as error:
        raise UsageError(f"{_as_typed(error, options)}; nothing was released") from None
    return summary(curve, options.column)


def _mechanism(options: argparse.Namespace, grid: dpcore.Grid) -> dpcore.mechanisms.Mechanism:
    name, epsilon, rho, base = options.mechanism, options.epsilon, options.rho, options.base
    if not name.startswith("dyadic"):
        for flag, value in (("--base", base), ("--smooth", options.smooth)):
            if value is not None:
                raise UsageError(f"{flag} needs --mechanism dyadic; got {name}")
    delta = options.delta
    for flag, value in (("--rho", rho), ("--delta", delta)):
        if value is not None and name in ("dawa", "dyadic-paper"):
            raise UsageError(f"{flag} must not be given with --mechanism {name}")
    if name == "best":
        return most_accurate(grid.size, epsilon, rho, "replace-one", delta)
    if name == "dyadic-paper" and base not in (None, 2):
        raise UsageError(f"--base must be 2 with --mechanism dyadic-paper; got {base}")
    known, tree_base = dpcore.mechanisms, 2 if base is None else base
    make: dict[str, Callable[[], dpcore.mechanisms.Mechanism]] = {
        "hierarchy": lambda: known.Hierarchy(epsilon, rho=rho, delta=delta),
        "histogram": lambda: known.Histogram(epsilon, rho=rho, delta=delta),
        "dawa": lambda: known.Dawa(epsilon),
        "dyadic": lambda: known.Dyadic(epsilon, tree_base, rho=rho, delta=delta),
        "dyadic-paper": lambda: known.Dyadic(epsilon, sensitivity="paper"),
    }
    mechanism = make[name]()
    mechanism.standard_error(grid.size)  # refuses a budget too small for this grid
    return mechanism


def _check_outputs(options: argparse.Namespace) -> None:
    """Check that what is asked for can be written, and is written over nothing that is needed."""
    if options.plot is not None:
        if options.plot.suffix.lower() not in PICTURES:
            allowed = ", ".join(PICTURES)
            raise UsageError(f"--plot must end in one of {allowed}; got {str(options.plot)!r}")
        _require_matplotlib()
    source = Path("/dev/stdin" if options.file == "-" else options.file)
    for flag, path in (("--json", options.json), ("--plot", options.plot)):
        if path is not None:
            check_writable(path)
            if _is_same(path, source):
                raise UsageError(f"{flag} {str(path)!r} is FILE, and would be written over it")
    if None not in (options.json, options.plot) and _is_same(options.json, options.plot):
        raise UsageError(f"--json and --plot must differ; got {str(options.plot)!r} for both")


def _is_same(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except OSError:  # one is not there yet
        return os.path.realpath(first) == os.path.realpath(second)


def _require_matplotlib() -> None:
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise dpcore.MissingExtraError("--plot", "plot") from None
    except ValueError as error:  # MPLBACKEND names none
        raise UsageError(f"--plot: Matplotlib does not start: {error}") from None


def _counts(options: argparse.Namespace, grid: dpcore.Grid) -> NDArray[np.int64]:
    source, form = options.file, options.format
    if source == "-":
        if form == "parquet":
            raise UsageError("FILE must not be '-' with --format parquet, which has to seek")
        if sys.stdin is None:
            raise UsageError("FILE '-' is standard input, and that is closed")
        source, form = sys.stdin.buffer, "csv"
    counts = np.zeros(grid.size, np.int64)
    try:
        with _progress_bar(options.quiet) as advance:
            for batch in column_batches(
                source,
                options.column,
                format=form,
                delimiter=options.delimiter,
                on_progress=advance,
            ):
                counts += grid.count(batch, nan_policy=options.nan_policy)
    except dpcore.MissingValueError:
        raise UsageError(
            f"--column {options.column!r} has missing values (NaN, null or empty); clean them, "
            "or leave them out with --nan-policy omit"
        ) from None
    if not counts.any():
        raise UsageError(f"--column {options.column!r} holds no values in FILE {options.file!r}")
    return counts


@contextmanager
def _progress_bar(quiet: bool) -> Iterator[Progress | None]:
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        raise dpcore.MissingExtraError("a progress bar (--quiet: none)", "cli") from None
    with tqdm(unit_scale=True, leave=False, file=sys.stderr) as bar:

        def advance(done: int, total: int | None, unit: str) -> None:
            bar.total, bar.unit = total, unit
            bar.update(done - bar.n)

        yield advance


def _as_typed(error: dpcore.DpcoreError, options: argparse.Namespace) -> str:
    """Return the message with arguments named as on the command line."""
    message = str(error)
    if isinstance(error, FileError):
        flags = {str(options.json): "--json", str(options.plot): "--plot"}
        return f"{flags.get(error.file, 'FILE')} {message}"
    return f"--{message}" if message.partition(" ")[0] in TAKE_VALUES else message


def _fail(message: str) -> int:
    with suppress(OSError):
        print("dpcore: error:", " ".join(message.splitlines()), file=sys.stderr)
    return 2


def _print(text: str) -> int:
    """Print to standard output, to the last byte, and return the exit code."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)
    except BrokenPipeError:  # the reader, say ``head``, has had enough
        _discard_output()
        return 1
    except OSError as error:
        _discard_output()
        return _fail(f"standard output cannot be written: {error.strerror}")
    return 0


def _discard_output() -> None:
    """Send what is left in the buffer nowhere, so that nothing fails as the process ends."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
