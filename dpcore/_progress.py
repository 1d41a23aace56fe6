"""How far long work has come: a bar in terminals and notebooks, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any, Final, Self

__all__ = ["Progress"]

_WITH_TOTAL: Final = (
    "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}{unit} {elapsed}{postfix}"
)
_WITHOUT: Final = "{desc}: {n_fmt}{unit} {elapsed}"
_SECONDS_TO_A_BAR: Final = 2  # shorter work shows nothing, unless it was asked to
_SECONDS_TO_A_LINE: Final = 30.0


class Progress:
    """Shows on standard error how much of some work is done, and how long the rest will take.

    Parameters
    ----------
    work
        The name of the work.
    shown
        Whether to show it. None: a bar in a terminal or a notebook, if the work takes more than 2
        seconds and tqdm is installed; a line every 30 seconds elsewhere.

    Examples
    --------
    >>> with Progress("reading ages.csv", shown=None) as progress:
    ...     progress.show(10, 20, "rows")  # too early for a line
    """

    def __init__(self, work: str, shown: bool | None) -> None:
        self._work = work
        self._bar: Any = None
        self._lines = shown is None and sys.stderr is not None
        self._began = self._told = time.monotonic()
        if shown or (self._lines and _has_a_screen()):
            self._bar = _bar(work, 0 if shown else _SECONDS_TO_A_BAR)
            self._lines = self._lines and self._bar is None

    def show(
        self, done: int, total: int | None, unit: str = "", seconds_left: float | None = None
    ) -> None:
        """Show how much is done.

        Parameters
        ----------
        done
            How much of ``total`` is done.
        total
            How much there is; None: not known.
        unit
            What is counted.
        seconds_left
            How long the rest will take; None: as long as what is done, in proportion.
        """
        if self._bar is None and not self._lines:
            return
        now = time.monotonic()
        if seconds_left is None and total is not None and done:
            seconds_left = (now - self._began) * (total / done - 1)
        left = "" if seconds_left is None else f"{_time(seconds_left)} left"
        if self._bar is not None:
            self._bar.total, self._bar.unit = total, f" {unit}".rstrip()
            self._bar.bar_format = _WITHOUT if total is None else _WITH_TOTAL
            self._bar.set_postfix_str(left, refresh=False)
            self._bar.update(done - self._bar.n)
        elif now - self._told >= _SECONDS_TO_A_LINE:
            self._told = now
            much = f"{done:,}" if total is None else f"{done:,} of {total:,}"
            said = " ".join(filter(None, (much, unit)))
            print(", ".join(filter(None, (f"dpcore: {self._work}: {said}", left))), file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def _has_a_screen() -> bool:
    """Return whether somebody sees a bar move."""
    return "ipykernel" in sys.modules or sys.stderr.isatty()


def _bar(work: str, delay: int) -> Any:
    """Return a bar of tqdm, which is not shown before ``delay`` seconds; None without tqdm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without ipywidgets gets a bar of text
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
    return tqdm(desc=work, delay=delay, unit_scale=True, leave=delay == 0, file=sys.stderr)


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
