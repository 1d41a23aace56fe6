"""``dpcore warm``: compile everything now, and keep the machine code."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress

from ..kernels import _cache, _compile
from .arguments import UsageError
from .uses import USES

__all__ = ["warm"]

_WIDTH = 30  # the width of the bar


def warm(options: argparse.Namespace) -> str:
    """Compile everything that is not in the cache, and return where the cache is and its size.

    Raises
    ------
    UsageError
        Nothing can be compiled, or the machine code cannot be kept.
    """
    if not _compile.KERNELS:
        raise UsageError("nothing is compiled while NUMBA_DISABLE_JIT is set")
    if _compile.is_left_to_numba():
        raise UsageError("nothing is kept where Numba loads it: is DPCORE_USE_NUMBA set?")
    unwritable = "set NUMBA_CACHE_DIR to a folder that can be written to"
    if _cache.FOLDER is None:
        raise UsageError(f"there is no folder for what is compiled: {unwritable}")
    before, _ = _cache.kept()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nobody sees these releases
        for use in _shown(options.quiet):
            USES[use]()
    compiled = sum(len(kernel.compiled) for kernel in _compile.KERNELS)
    files, size = _cache.kept()
    if files < before + compiled:
        raise UsageError(
            f"{before + compiled - files} of {compiled} compiled kernels could not be kept in "
            f"{str(_cache.FOLDER)!r}: is there space left? Or {unwritable}"
        )
    return f"{compiled} kernels compiled; {files} in {_cache.FOLDER}, {size / 2**20:.1f} MB"


def _shown(quiet: bool) -> Iterator[str]:
    """Yield the names of the uses, and show a bar on standard error, or one line each in a log."""
    for done, use in enumerate(USES):
        if not quiet:
            _show(done, use)
        yield use
    if not quiet:
        _show(len(USES), "done\n")


def _show(done: int, what: str) -> None:
    if sys.stderr is None:
        return
    bar = "#" * (_WIDTH * done // len(USES))
    text = f"dpcore: [{bar:{_WIDTH}}] {done}/{len(USES)} {what}"
    with suppress(OSError, ValueError):  # nobody reads standard error
        over = sys.stderr.isatty()  # each line replaces the one before
        print(
            "\r\x1b[K" + text if over else text.rstrip(),
            end="" if over else "\n",
            file=sys.stderr,
            flush=True,
        )
