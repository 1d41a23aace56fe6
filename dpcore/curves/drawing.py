"""What all methods that draw have in common: a refused argument leaves no picture behind."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ..errors import DpcoreError, ParameterError

__all__ = ["drawing"]

P = ParamSpec("P")
R = TypeVar("R")


def drawing(draw: Callable[P, R]) -> Callable[P, R]:
    """Return a method that closes the figures that it has opened, if it fails.

    An argument that Matplotlib refuses is named by an error of dpcore's own.
    """
    own = inspect.signature(draw).parameters

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        before = _open_figures()
        try:
            return draw(*args, **kwargs)
        except BaseException as error:
            for number in _open_figures() - before:
                sys.modules["matplotlib.pyplot"].close(number)
            words = re.findall(r"\w+", str(error))
            refused = [name for name in kwargs if name not in own and name in words]
            if isinstance(error, DpcoreError) or not refused:
                raise
            what = f"must be an argument that Matplotlib takes here ({error})"
            raise ParameterError(refused[0], kwargs[refused[0]], what) from error

    return drawn


def _open_figures() -> set[int]:
    """Return the numbers of open figures: none without pyplot, which figures do not need."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return set() if pyplot is None else set(pyplot.get_fignums())
