"""A bar that shows how much of a study is done, and how long the rest will take."""

from __future__ import annotations

import sys
from typing import Any, Final, Self

from .calls import Done
from .plan import Plan
from .study import Study

__all__ = ["Progress"]

_BAR: Final = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} {elapsed}{postfix}"


class Progress:
    """A bar of tqdm. It predicts the remaining time from the time of each cell, not the mean."""

    def __init__(self, study: Study, plan: Plan, shown: bool | None) -> None:
        self._plan = plan
        self._size = study.size
        self._bar: Any = None
        self._name = study.name
        self._shown = sys.stderr is not None and sys.stderr.isatty() if shown is None else shown

    def show(self, done: Done) -> None:
        """Move the bar by a finished chunk."""
        if self._bar is not None:
            self._bar.set_postfix_str(_left(self._plan.seconds_left()), refresh=False)
            self._bar.update((done.chunk.stop - done.chunk.start) * self._size)

    def __enter__(self) -> Self:
        if self._shown and self._plan.calls:
            from tqdm import tqdm

            self._bar = tqdm(
                total=self._plan.calls * self._size,
                desc=self._name,
                bar_format=_BAR,
                file=sys.stderr,
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} left" if hours else f"{minutes}:{rest:02} left"
