"""What the tests of studies share: what a folder holds, and whether results are alike."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dpcore import studies
from dpcore.studies.folder import Folder


def content(out: Path) -> dict[str, str]:
    """Digests of the files in a folder, by their names."""
    return {
        path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def same(one: studies.Results, other: studies.Results) -> bool:
    """Whether two results are alike: numbers, types, and what they say of themselves."""
    return bool(one.table.equals(other.table, check_metadata=True))


def named(name: str, function: Callable[..., Any], parameters: Any) -> studies.Study:
    """A study of a function that is called otherwise than it was written."""
    function.__name__ = name
    return studies.Study(function, parameters)


@contextmanager
def parts_stay() -> Iterator[None]:
    """Let runs end without putting parts together, as if they were killed then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Folder, "tidy", lambda *_: None)
        yield
