"""Studies that are named by text: one that comes with dpcore, or one in the user's file.

A file runs as Python runs a script: its own folder is the first in which Python looks for modules.
But the file is a module that is not ``__main__``. Its objects go to workers by value.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from .. import _check
from ..errors import ParameterError
from ..records.atomic import absolute
from ..records.files import FileError
from . import named
from .study import Study

__all__ = ["find", "in_file", "names"]


def names() -> list[str]:
    """Return the names of the studies that come with dpcore."""
    return [module.name for module in pkgutil.iter_modules(named.__path__) if module.name[0] != "_"]


def find(study: str) -> Study:
    """Return the study with a name.

    Parameters
    ----------
    study
        The name of one that comes with dpcore; or ``FILE.py``, if that has one study; or
        ``FILE.py:NAME``.

    Raises
    ------
    FileError
        The file cannot be read or run, or holds no study.
    MissingExtraError
        The extra ``studies`` is not installed, which files need.
    ParameterError
        There is no study of this name, or a file has several.
    """
    file, name = _parts(study)
    if file is None:
        if study not in names():
            raise ParameterError(
                "study", study, f"must be one of {', '.join(names())}, or FILE.py, or FILE.py:NAME"
            )
        chosen = getattr(importlib.import_module(f"{named.__name__}.{study}"), study)
        assert isinstance(chosen, Study)
        return chosen
    known = in_file(file)
    if not name and len(known) == 1:
        return next(iter(known.values()))
    if name not in known:
        options = ", ".join(f"{file}:{option}" for option in known)
        raise ParameterError("study", study, f"must be one of {options}")
    return known[name]


def in_file(file: str) -> dict[str, Study]:
    """Run a file, and return the studies among its global variables, by their names.

    Raises
    ------
    FileError
        The file cannot be read, fails, or holds no study.
    ParameterError
        No file can have this name.
    MissingExtraError
        The extra ``studies`` is not installed.
    """
    cloudpickle: Any = _check.extra("cloudpickle", "a study in a file", "studies")
    path = absolute(Path(_check.path("study", file, "must be the path of a file")))
    try:
        code = path.read_bytes()
    except OSError as error:
        raise FileError(file, f"cannot be read: {error.strerror}") from None
    module = ModuleType(f"study_file_{re.sub(r'[^a-zA-Z0-9]', '_', path.stem)}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and pickles look here
    if str(path.parent) not in sys.path:  # workers get the same list
        sys.path.insert(0, str(path.parent))
    try:
        exec(compile(code, str(path), "exec", dont_inherit=True), vars(module))
    except (Exception, SystemExit) as error:
        raise FileError(file, f"fails{_place(error, path)}: {_said(error)}") from error
    cloudpickle.register_pickle_by_value(module)
    studies = _studies(vars(module))
    if not studies:
        raise FileError(file, "has no study: a global variable that studies.study has made")
    return studies


def _parts(study: str) -> tuple[str | None, str]:
    """Return the file, if there is one, and the name in it."""
    if study.endswith(".py"):
        return study, ""
    file, _, name = study.rpartition(":")
    return (file, name) if file.endswith(".py") else (None, study)


def _studies(variables: Mapping[str, object]) -> dict[str, Study]:
    """Return each study once, under its first name."""
    studies: dict[str, Study] = {}
    for name, value in variables.items():
        if isinstance(value, Study) and name[0] != "_" and value not in studies.values():
            studies[name] = value
    return studies


def _place(error: BaseException, path: Path) -> str:
    """Return where a file fails: in one of its own lines, or in a line of a neighbouring file."""
    places = [(frame.filename, frame.lineno) for frame in extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        places.append((error.filename or "", error.lineno))
    own = [(Path(name), line) for name, line in places if Path(name).parent == path.parent]
    if not own or own[-1][1] is None:
        return ""
    where, line = own[-1]
    return f" in line {line}" + ("" if where == path else f" of {where.name}")


def _said(error: BaseException) -> str:
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
