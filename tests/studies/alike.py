"""What the tests of studies share: what a folder holds, and whether results are alike."""

from __future__ import annotations

import hashlib
from pathlib import Path

from dpcore import studies


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
