"""What all methods that draw have in common: a refused argument leaves no picture behind."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from .. import _check
from ..errors import DpcoreError, ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["drawing", "subplots"]

P = ParamSpec("P")
R = TypeVar("R")

# Of the call that draws: other threads open figures of their own at the same time.
_OPENED: Final[ContextVar[list[Figure]]] = ContextVar("opened")


def drawing(draw: Callable[P, R]) -> Callable[P, R]:
    """Return a method that closes the figures that it has opened by ``subplots``, if it fails.

    An argument that Matplotlib refuses is named by an error of dpcore's own.
    """
    own = inspect.signature(draw).parameters

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        opened: list[Figure] = []
        outer = _OPENED.set(opened)
        try:
            return draw(*args, **kwargs)
        except BaseException as error:
            for figure in opened:
                _pyplot().close(figure)
            words = re.findall(r"\w+", str(error))
            refused = [name for name in kwargs if name not in own and name in words]
            if isinstance(error, DpcoreError) or not refused:
                raise
            what = f"must be an argument that Matplotlib takes here ({error})"
            raise ParameterError(refused[0], kwargs[refused[0]], what) from error
        finally:
            _OPENED.reset(outer)

    return drawn


def subplots(*shape: int, **how: Any) -> tuple[Figure, Any]:
    """Return a new figure of pyplot and its axes, for a method that draws."""
    figure, axes = _pyplot().subplots(*shape, layout="constrained", **how)
    _OPENED.get().append(figure)
    return figure, axes


def _pyplot() -> Any:
    return _check.extra("matplotlib.pyplot", "plotting", "plot")
