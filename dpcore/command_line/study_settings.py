"""Parameters of a study, as users type them: ``--set n=1000,10000``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Final

from ..errors import DpcoreError
from ..studies.study import Study
from .arguments import UsageError

__all__ = ["changed", "known_values"]

_TRUTHS: Final = {"true": True, "false": False}


def changed(study: Study, settings: Sequence[str]) -> Study:
    """Return a study with other values for its parameters.

    Parameters
    ----------
    study
        As it was written.
    settings
        Each ``NAME=VALUE,...``. A value is the label of one that the study has; or a number, if
        those are numbers; or any text, if they are texts.

    Raises
    ------
    UsageError
        It has no such parameter, or the parameter no such value.
    """
    known, changes = known_values(study), dict[str, list[Any] | dict[Any, Any]]()
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not text:
            raise UsageError(f"--set must be PARAMETER=VALUE,...; got {setting!r}")
        if name not in known:
            raise UsageError(f"--set must name one of {', '.join(known)}; got {name!r}")
        if name in changes:
            raise UsageError(f"--set {name} must be given once, with commas between values")
        words = [text] if text in map(str, known[name]) else text.split(",")
        values = [_value(name, word.strip(), known[name]) for word in words]
        changes[name] = (
            dict(values) if _has_objects(known[name]) else [value for _, value in values]
        )
    try:
        settled = study.over(**changes)
        _ = settled.cells  # refuses repeated values
    except DpcoreError as error:
        raise UsageError(f"--set: {error}") from None
    return settled


def known_values(study: Study) -> dict[str, dict[Any, Any]]:
    """Return the values of each parameter in all blocks, by their labels."""
    known: dict[str, dict[Any, Any]] = {}
    for block in study.blocks:
        for name, values in block.items():
            known.setdefault(name, {}).update(values)
    return known


def _value(name: str, word: str, known: Mapping[Any, Any]) -> tuple[Any, Any]:
    """Return the label and the value of a typed word."""
    for label, value in known.items():
        if word == str(label):
            return label, value
    if _has_objects(known):
        options = ", ".join(map(str, known))
        raise UsageError(f"--set {name} must be among {options}; got {word!r}")
    numbers = [value for value in known.values() if _is_number(value)]
    number = _number(word) if numbers else None
    if number is not None:
        number = number if any(isinstance(value, Integral) for value in numbers) else float(word)
        return number, number
    if word.lower() in _TRUTHS and any(isinstance(value, bool) for value in known.values()):
        return _TRUTHS[word.lower()], _TRUTHS[word.lower()]
    if any(isinstance(value, str) for value in known.values()):
        return word, word
    options = "numbers" if numbers else f"among {', '.join(map(str, known))}"
    raise UsageError(f"--set {name} must be {options}; got {word!r}")


def _has_objects(known: Mapping[Any, Any]) -> bool:
    """Return whether the function gets objects that differ from the typed words."""
    return any(
        not isinstance(value, bool | Real | str | None) or value != label
        for label, value in known.items()
    )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _number(word: str) -> int | float | None:
    """Return an integer if the number is whole, so that 1e4 can be n; otherwise a float."""
    try:
        return int(word)
    except ValueError:
        pass
    try:
        number = float(word)
    except ValueError:
        return None
    return int(number) if number.is_integer() else number
