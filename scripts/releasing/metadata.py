"""Checks that the metadata of the distributions are valid, and the same everywhere."""

import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

from _environment import ROOT

from .commands import ReleaseError

_PYTHON = "Programming Language :: Python :: "


def supported() -> "list[str]":
    """Return the versions of Python that the project supports: ["3.11", ...]."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [c[len(_PYTHON) :] for c in project["classifiers"] if c.startswith(_PYTHON)]
    return [name for name in named if "." in name]


def versions() -> "dict[str, str | None]":
    """Return the version that each file states, or None for a file that states none."""
    stated = {
        "dpcore/__init__.py": r'^__version__ = "([^"]+)"$',
        "CITATION.cff": r"^version: (\S+)$",
        "CHANGELOG.md": r"\A(?:(?!^## ).*\n)*## \[(?:Unreleased\] – )?([^\s\]]+)",
    }
    found = {
        name: re.search(p, (ROOT / name).read_text("utf-8"), re.M) for name, p in stated.items()
    }
    return {name: match and match[1] for name, match in found.items()}


def check(sdist: Path, wheel: Path) -> None:
    """Check the metadata of both, as a package index does before it takes them."""
    from packaging.metadata import Metadata

    with zipfile.ZipFile(str(wheel)) as entries:
        (name,) = (n for n in entries.namelist() if n.endswith(".dist-info/METADATA"))
        text = entries.read(name).decode()
    with tarfile.open(str(sdist)) as file:
        member = file.extractfile(f"{sdist.name[: -len('.tar.gz')]}/PKG-INFO")
        if member is None or member.read().decode() != text:
            raise ReleaseError("the metadata of the source distribution and of the wheel differ")
    metadata = Metadata.from_email(text)  # raises one error for everything that is not valid
    found = {**versions(), wheel.name: str(metadata.version)}
    if len(set(found.values())) != 1:
        raise ReleaseError(f"the version is not the same everywhere: {found}")
    _check_description(metadata.description or "", metadata.description_content_type or "")
    print(f"metadata: version {metadata.version}, {metadata.license_expression}", flush=True)


def _check_description(text: str, kind: str) -> None:
    """Check that the description is the README, and that its links lead somewhere."""
    if kind.split(";")[0] != "text/markdown" or not text.startswith("# dpcore\n"):
        raise ReleaseError(
            f"the description must be the README, in Markdown; got {kind} {text[:40]!r}"
        )
    relative = re.findall(r"\]\((?![a-z]+:|#)[^)]*\)", text)
    if relative:
        raise ReleaseError(f"links in the description lead nowhere on an index: {relative}")
