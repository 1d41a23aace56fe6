"""Building the source distribution and the wheel from tracked files, and checking them."""

import re
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path

from _environment import ROOT, python

from .commands import ReleaseError, run

_LINK = "dpcore/kernels"  # serves a clone: see CONTRIBUTING.md


def tracked() -> "list[str]":
    """Return the paths of the files that Git tracks, as they are now.

    Without a repository, as in an unpacked source distribution: of all that it would not ignore.
    """
    git = ["git", "-c", "safe.directory=*"]
    if (ROOT / ".git").exists():
        names = run([*git, "ls-files", "-z"], ROOT)
    else:
        with tempfile.TemporaryDirectory() as empty:
            run([*git, "init", "--quiet", "--bare", empty], ROOT)
            git += ["--git-dir", empty, "--work-tree", str(ROOT)]
            names = run([*git, "ls-files", "-z", "--others", "--exclude-standard"], ROOT)
    return [name for name in names.split("\0") if name != _LINK and (ROOT / name).is_file()]


def build(scratch: Path) -> "tuple[Path, Path]":
    """Build both from a clean copy, without leftovers, and return their paths.

    A second wheel is built directly from the sources, for ``check``.
    """
    source = scratch / "source"
    for name in tracked():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(str(ROOT / name), str(source / name))
    run([python(), "-m", "build", "--outdir", scratch / "built", source], scratch)
    run([python(), "-m", "build", "--wheel", "--outdir", scratch / "direct", source], scratch)
    (sdist,) = (scratch / "built").glob("dpcore-*.tar.gz")
    (wheel,) = (scratch / "built").glob("dpcore-*.whl")
    return sdist, wheel


def check(scratch: Path, sdist: Path, wheel: Path) -> None:
    """Check that each distribution contains what it must contain, and nothing else."""
    (direct,) = (scratch / "direct").glob("dpcore-*.whl")
    entries = _digests(wheel)
    sources = set(tracked())
    expected = {"dpcore/py.typed"}
    for name in sources:
        if name.startswith(("dpcore/", "kernels/")) and name.endswith(".py"):
            expected.add(name if name.startswith("dpcore/") else "dpcore/" + name)
    with tarfile.open(str(sdist)) as file:
        packed = {name.partition("/")[2] for name in file.getnames()}
    different = {name for name, _ in set(entries.items()) ^ set(_digests(direct).items())}
    described = {name for name in entries if re.match(r"dpcore-[^/]*\.dist-info/", name)}
    strays = set(entries) - expected - described
    for what, names in [
        ("not in the source distribution", sources - packed),
        (
            "not the same in the wheels built from the sources and from the source distribution",
            different,
        ),
        ("strays in the wheel", strays),
        ("not in the wheel", expected - set(entries)),
    ]:
        if names:
            raise ReleaseError(f"{what}: {sorted(names)}")
    print(f"{sdist.name}: all {len(sources)} sources")
    print(f"{wheel.name}: all {len(expected)} modules, and no strays", flush=True)


def _digests(wheel: Path) -> "dict[str, int]":
    with zipfile.ZipFile(str(wheel)) as file:
        return {entry.filename: entry.CRC for entry in file.infolist()}


def collect_tests(scratch: Path, sdist: Path) -> None:
    """Check that the tests of the source distribution find all their imports in its folder."""
    shutil.unpack_archive(str(sdist), str(scratch / "unpacked"))
    (folder,) = (scratch / "unpacked").iterdir()
    pytest = [python(), "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    said = run(pytest, folder, NUMBA_CACHE_DIR=str(scratch / "numba"))
    print("tests of the source distribution:", said.strip().splitlines()[-1], flush=True)
