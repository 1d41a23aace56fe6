"""The command line: each command makes one release from a file.

A command refuses bad arguments before it reads the data. The release stays in memory until all
files are written, and is printed last. So whoever sees an error has seen nothing of the records.
Warnings about a release follow it.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout, suppress
from traceback import extract_tb
from typing import TextIO

from ..errors import DpcoreError, DpcoreWarning
from . import interrupts
from .arguments import UsageError, parser

__all__ = ["UsageError", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv
        The arguments; None: the arguments of the process.

    Returns
    -------
    int
        The exit code. 0: success. 2: an error, which is one line on standard error. 130: an
        interrupt. 1: the reader of standard output ended before everything was printed.
    """
    # Closed or None: a result could not be told, but would be paid for.
    if getattr(sys.stdout, "closed", True):
        return _fail("standard output is closed")
    argv = sys.argv[1:] if argv is None else argv
    options, said = argparse.Namespace(), io.StringIO()
    try:
        whole = parser(argv)
        interrupts.listen()
        with redirect_stdout(said):  # argparse ignores errors of standard output
            whole.parse_args(argv, options)
        from .running import ran  # the help of all commands does not need its imports

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DpcoreWarning)
            text = ran(options)
        return _print(f"{text}\n") or _warn(caught, options.flags)
    except SystemExit:  # --help and --version
        return _print(said.getvalue())
    except DpcoreError as error:
        return _fail(str(error))
    except MemoryError:
        return _fail("out of memory")
    except KeyboardInterrupt as interrupt:
        if interrupt.args:  # the message says what was kept
            _say(str(interrupt))
        return 130
    except Exception as error:
        at = extract_tb(error.__traceback__)[-1]
        return _fail(
            f"dpcore has failed ({type(error).__name__} in {at.filename}, line {at.lineno}); "
            "the message is not shown, because it may contain a record"
        )


def _fail(message: str) -> int:
    _say(f"error: {message}")
    return 2


def _warn(caught: Sequence[warnings.WarningMessage], flags: Mapping[str, str]) -> int:
    """Show the warnings: those of dpcore once, each in one line, with the names of options."""
    ours = [warning for warning in caught if issubclass(warning.category, DpcoreWarning)]
    for text in dict.fromkeys(str(warning.message) for warning in ours):
        for argument, flag in flags.items():
            text = text.replace(f"`{argument}`", flag)
            if "_" in argument:  # others may be words of a sentence
                text = text.replace(argument, flag)
        _say(f"warning: {text}")
    for warning in caught:
        if warning not in ours:
            warnings.showwarning(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return 0


def _say(text: str) -> None:
    """Print a line to standard error, or nowhere if there is none (``print`` would use stdout)."""
    if sys.stderr is None:
        return
    try:
        print("dpcore:", " ".join(text.splitlines()), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _discard(sys.stderr)


def _print(text: str) -> int:
    """Print to standard output, to the last byte, and return the exit code."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)
    except BrokenPipeError:  # the reader has stopped, for example ``head``
        _discard(sys.stdout)
        return 1
    except OSError as error:
        _discard(sys.stdout)
        return _fail(f"standard output cannot be written: {error.strerror}")
    return 0


def _discard(stream: TextIO) -> None:
    """Discard the rest of the buffer, so that nothing fails when the process ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
