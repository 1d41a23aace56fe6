"""``dpcore warm``: compile everything now, and keep the machine code."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import numba

from ..kernels import _cache, _compile
from .arguments import UsageError
from .options import Command
from .shared_options import QUIET
from .uses import USES

__all__ = ["COMMAND"]

_WRITABLE = "set NUMBA_CACHE_DIR to a folder that can be written to"
_WIDTH = 30  # the width of the bar


def _run(options: argparse.Namespace) -> str:
    """Compile everything that is not in the cache, and return where the cache is and its size.

    Raises
    ------
    UsageError
        Nothing can be compiled, or the machine code cannot be kept.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        raise UsageError("nothing is compiled while NUMBA_DISABLE_JIT is set")
    folder = _cache.folder()
    if folder is None:
        raise UsageError(f"there is no folder for what is compiled: {_WRITABLE}")
    _compile.PATIENCE = 1e6  # the bar says what there is to wait for
    before = len(_kept(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these releases are not shown
        for use in _shown(options.quiet):
            USES[use]()
    compiled = sum(len(kernel.dispatcher.stats.cache_misses) for kernel in _compile.KERNELS)
    kept = _kept(folder)
    if len(kept) < before + compiled:
        raise UsageError(
            f"{before + compiled - len(kept)} of {compiled} compiled kernels could not be kept in "
            f"{str(folder)!r}: is there space left? Or {_WRITABLE}"
        )
    size = sum(path.stat().st_size for path in kept)
    return f"{compiled} kernels compiled; {len(kept)} in {folder}, {size / 2**20:.1f} MB"


def _kept(folder: Path) -> list[Path]:
    """Return the files of machine code, one for each kernel and combination of types."""
    return list(folder.glob("*.nbc"))


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
    with suppress(OSError, ValueError):  # standard error is closed
        over = sys.stderr.isatty()  # each line replaces the one before
        print(
            "\r\x1b[K" + text if over else text.rstrip(),
            end="" if over else "\n",
            file=sys.stderr,
            flush=True,
        )


COMMAND: Final = Command(
    _run,
    "Compile everything now, for container images and tests. The machine code is kept on disk, in "
    "NUMBA_CACHE_DIR or the user's cache folder. It is for this processor and these versions of "
    "Python, NumPy and Numba.",
    options={"quiet": QUIET},
)
