"""The command line: ``dpcore cdf`` and ``dpcore roc`` release what a file tells, once.

What can be refused is refused before the data are read. The release stays in memory until all
files are written, and is printed last: who sees an error has seen nothing of the records.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

import dpcore

from ._arguments import UsageError, parse
from ._labels import scored_labels
from ._report import picture, roc_picture, roc_summary, summary
from ._running import as_typed, check_outputs, input_of, mechanism_of, progress_bar, written
from .files import Column, column_batches, record_batches
from .scores import MOST_SCORE_CELLS, score_curves_from_counts
from .statistics.roc import ROC

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
        return _print(_COMMANDS[options.command](options) + "\n")
    except SystemExit as done:  # --help and --version, which have been printed
        return _print("") or int(done.code or 0)
    except dpcore.DpcoreError as error:
        return _fail(as_typed(error, options))
    except MemoryError:
        return _fail("out of memory")
    except KeyboardInterrupt:
        return 130


def _cdf(options: argparse.Namespace) -> str:
    """Release the curve, write the files, and return what to print."""
    grid = dpcore.Grid.uniform(options.lower, options.upper, options.size)
    mechanism = mechanism_of(options, grid.size)
    check_outputs(options)
    counts = _counts(options, grid)
    isotonic = not options.raw and options.smooth is None
    curve = dpcore.cdf_from_counts(counts, grid, mechanism, isotonic=isotonic)
    if options.smooth is not None:
        curve = curve.smooth(options.smooth)
    written(options, curve.to_json(), partial(picture, curve, options.column))
    return summary(curve, options.column)


def _roc(options: argparse.Namespace) -> str:
    """Release the scores of both classes, write the files, and return what to print."""
    grid = dpcore.Grid.uniform(options.lower, options.upper, options.size)
    if grid.size > MOST_SCORE_CELLS:
        raise UsageError(f"--size must be between 1 and {MOST_SCORE_CELLS}; got {options.size}")
    mechanism = mechanism_of(options, 2 * grid.size)
    check_outputs(options)
    counts = _score_counts(options, grid)
    curves = score_curves_from_counts(counts, grid, mechanism, isotonic=options.smooth is None)
    if options.smooth is not None:
        curves = curves.smooth(options.smooth)
    roc = ROC.from_curves(curves)
    written(options, curves.to_json(), partial(roc_picture, roc, options.score))
    return roc_summary(roc, options.label, options.positive, options.score)


_COMMANDS: Final[Mapping[str, Callable[[argparse.Namespace], str]]] = {"cdf": _cdf, "roc": _roc}


def _counts(options: argparse.Namespace, grid: dpcore.Grid) -> NDArray[np.int64]:
    source, form = input_of(options)
    counts = np.zeros(grid.size, np.int64)
    try:
        with progress_bar(options.quiet) as advance:
            for batch in column_batches(
                source,
                options.column,
                format=form,
                delimiter=options.delimiter,
                on_progress=advance,
            ):
                counts += grid.count(batch, nan_policy=options.nan_policy)
    except dpcore.MissingValueError:
        raise _missing(f"--column {options.column!r}") from None
    if not counts.any():
        raise UsageError(f"--column {options.column!r} holds no values in FILE {options.file!r}")
    return counts


def _score_counts(options: argparse.Namespace, grid: dpcore.Grid) -> NDArray[np.int64]:
    source, form = input_of(options)
    label = Column(options.label, "labels", "label")
    score = Column(options.score, "numbers", "score")
    counts = np.zeros(2 * grid.size, np.int64)
    with progress_bar(options.quiet) as advance:
        for batch in record_batches(
            source,
            [label, score],
            format=form,
            delimiter=options.delimiter,
            on_progress=advance,
        ):
            is_positive, scores, missing = scored_labels(batch, options.positive)
            if missing is not None and options.nan_policy == "raise":
                raise _missing(f"--{(label, score)[missing]}")
            counts += dpcore.score_counts(is_positive, scores, grid)
    if not counts.any():
        raise UsageError(f"--{label} and --{score} hold no records in FILE {options.file!r}")
    return counts


def _missing(column: str) -> UsageError:
    return UsageError(
        f"{column} has missing values (NaN, null or empty); clean them, "
        "or leave them out with --nan-policy omit"
    )


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
