"""What all methods that draw have in common: a refused argument leaves no picture behind."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from .. import _check
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
        pyplot = _check.extra("matplotlib.pyplot", "plotting", "plot")
        before = pyplot.get_fignums()
        try:
            return draw(*args, **kwargs)
        except BaseException as error:
            for number in set(pyplot.get_fignums()).difference(before):
                pyplot.close(number)
            words = re.findall(r"\w+", str(error))
            refused = [name for name in kwargs if name not in own and name in words]
            if isinstance(error, DpcoreError) or not refused:
                raise
            what = f"must be an argument that Matplotlib takes here ({error})"
            raise ParameterError(refused[0], kwargs[refused[0]], what) from error

    return drawn
