"""Interrupts while the command imports what it needs, which takes a while.

Such an interrupt would show a traceback, because no code of the command can catch it yet. Until
``listen`` is called, an interrupt ends the process, as in any other program. This happens only in
the process of the command, when it imports its own room. ``import dpcore`` leaves interrupts alone.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["end_quietly", "listen"]


def end_quietly() -> None:
    """Let an interrupt end the process without a message, if the process is the command."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        _on_interrupt(signal.SIG_DFL)


def listen() -> None:
    """Raise ``KeyboardInterrupt`` again."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL and _is_command():
        _on_interrupt(signal.default_int_handler)


def _is_command() -> bool:
    """Return whether this is ``dpcore``, or ``python -m dpcore``."""
    path = Path(sys.argv[0] if sys.argv else "")
    return path.stem == "dpcore" or path.parts[-2:] == ("dpcore", "__main__.py")


def _on_interrupt(handler: object) -> None:
    with suppress(ValueError):  # outside the main thread, the process belongs to another program
        signal.signal(signal.SIGINT, handler)  # type: ignore[arg-type]
