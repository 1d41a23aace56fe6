"""The papers' data sets that figures read: which files, where they are public, and their digests.

The files are not part of this project. A folder that is given must have all of them, unchanged.
Without a folder, other data replace them, and nothing of it goes into docs/.
"""

import functools
import hashlib
import os
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["FILES", "DataFile", "WrongDataError", "check", "data_file", "listed"]


class DataFile(NamedTuple):
    """A file of a data set: its public name, its size in bytes, and its SHA-256 digest."""

    name: str
    public: str
    size: int
    digest: str


FILES: Final = {
    each.name: each
    for each in (
        DataFile(
            "bank-full.csv",
            "Bank Marketing, UCI Machine Learning Repository (CC BY 4.0)",
            4_610_348,
            "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
        ),
        DataFile(
            "diabetic_data.csv",
            "Diabetes 130-US Hospitals for Years 1999-2008, UCI Machine Learning Repository"
            " (CC BY 4.0)",
            19_159_383,
            "0689e7ec031237dc63031b938805c48377748761a3b26acab621567afa24df97",
        ),
        DataFile(
            "framingham.csv",
            "Framingham Heart Study, the public extract with the target TenYearCHD",
            191_804,
            "def05ef246f93025f0a76fe45b9b6146469eb504492f4a4eeaf1504cf2bff722",
        ),
        DataFile(
            "SMSSpamCollection",
            "SMS Spam Collection, UCI Machine Learning Repository (CC BY 4.0)",
            477_907,
            "7d039a24a6083ed9ef0f806ebad56bbb976e3aeb8de05669173bfdc4996c239d",
        ),
        DataFile(
            "SOCR-HeightWeight.csv",
            "Heights and weights of 25,000 people, Statistics Online Computational Resource (SOCR)",
            608_340,
            "45dc64c40cc3d6fe5c190f6bfb407a45113c596d0e681045cffc207ec0e935d3",
        ),
    )
}


class WrongDataError(Exception):
    """The given folder lacks a file, or has a different one; the message says which."""


def data_file(name: str) -> Path | None:
    """Return a file of the given folder after a check of its digest, or None without a folder.

    DPCORE_DATA is the folder.

    Raises
    ------
    WrongDataError
        The file is missing, or it is not the one that is listed.
    """
    folder = os.environ.get("DPCORE_DATA")
    if not folder:
        return None
    path, known = Path(folder) / name, FILES[name]
    if not path.is_file():
        raise WrongDataError(f"there is no {name} in the folder of data: {known.public}")
    there = path.stat()
    digest = _digest(path, there.st_size, there.st_mtime_ns)
    if digest != known.digest:
        raise WrongDataError(
            f"{name} in the folder of data is not the file of the figures: it has"
            f" {there.st_size:,} bytes with SHA-256 {digest}, and {known.size:,} bytes with"
            f" SHA-256 {known.digest} are expected ({known.public})"
        )
    return path


def check() -> bool:
    """Return whether a folder of data is given. It must have all files, unchanged."""
    return None not in [data_file(name) for name in FILES]


def listed() -> list[tuple[str, str, str, str]]:
    """Return the rows of a table: file, where it is public, bytes, SHA-256."""
    return [(f"`{f.name}`", f.public, f"{f.size:,}", f"`{f.digest}`") for f in FILES.values()]


@functools.cache
def _digest(path: Path, size: int, changed: int) -> str:
    """Return the digest of a file; cached as long as its size and its time stay the same."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
