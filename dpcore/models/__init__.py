"""Privately fitted models, as estimators of scikit-learn's kind.

Estimators need the extra ``models``, which is imported at their first use. Imports ``privacy``,
``noise``, ``records`` and modules that belong to no room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _check

if TYPE_CHECKING:
    from .linear_regression import LinearRegression
    from .logistic_regression import LogisticRegression

__all__ = ["LinearRegression", "LogisticRegression"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _check.extra("sklearn", "dpcore.models", "models")
    if name == "LinearRegression":
        from .linear_regression import LinearRegression as Found
    else:
        from .logistic_regression import LogisticRegression as Found  # type: ignore[assignment]
    globals()[name] = Found  # so that Python calls this once
    return Found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
