"""The command line: each command releases what a file tells, once.

What can be refused is refused before the data are read. The release stays in memory until all
files are written, and is printed last: who sees an error has seen nothing of the records.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import dpcore

from .command_line.arguments import UsageError, parse
from .command_line.commands import COMMANDS
from .command_line.running import as_typed

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
        return _print(COMMANDS[options.command](options) + "\n")
    except SystemExit as done:  # --help and --version, which have been printed
        return _print("") or int(done.code or 0)
    except dpcore.DpcoreError as error:
        return _fail(as_typed(error, options))
    except MemoryError:
        return _fail("out of memory")
    except KeyboardInterrupt:
        return 130


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
