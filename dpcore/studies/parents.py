"""The end of a worker whose study has ended: no worker lives on when its parent is killed."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import threading
import time
from typing import Any, Final

__all__ = ["end_with"]

_PAUSE: Final = 0.5  # seconds between two looks
_watched: set[int] = set()


def end_with(parent: int) -> None:
    """Let this process end soon after its parent, if that is the process that runs the study.

    Workers of a cluster have another parent, and are not ended. A worker of joblib has another one
    only if its own has ended already.
    """
    here = multiprocessing.current_process().name
    if os.getppid() != parent and not here.startswith("LokyProcess"):
        return
    if parent in _watched:
        return
    _watched.add(parent)
    threading.Thread(target=_wait, args=(parent,), name="dpcore-parent", daemon=True).start()


def _wait(parent: int) -> None:
    if os.name == "nt":
        kernel: Any = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined]
        kernel.OpenProcess.restype = ctypes.c_void_p
        process = kernel.OpenProcess(0x00100000, False, parent)  # SYNCHRONIZE
        if not process:
            return
        kernel.WaitForSingleObject(ctypes.c_void_p(process), 0xFFFFFFFF)
    else:
        while os.getppid() == parent:  # an orphan gets another one
            time.sleep(_PAUSE)
    os._exit(1)
