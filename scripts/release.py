"""Build the distributions and try them: ``python scripts/release.py [--quick]``.

Builds the source distribution and the wheel from the files that Git tracks, and checks their
contents. Then it installs the wheel into new environments outside of the clone, and tries it there:
with each supported Python (listed in the classifiers of pyproject.toml), and with the lowest and
the newest versions of all dependencies. It tries the source distribution once. Distributions that
pass are left in ``dist/``. If a supported Python is neither on PATH nor among pyenv's, that is an
error.

--quick     installs the wheel once, with this Python and the newest versions, and leaves nothing
"""

import shutil
import sys
import tempfile
from pathlib import Path

from _environment import ROOT, ensure
from releasing import distributions, installs, metadata
from releasing.commands import ReleaseError


def main() -> None:
    """Set up, build, check, install and try."""
    arguments = sys.argv[1:]
    if arguments not in ([], ["--quick"]):
        sys.exit(__doc__)
    ensure("test")
    with tempfile.TemporaryDirectory(prefix="dpcore-release-") as scratch:
        try:
            _release(Path(scratch).resolve(), quick="--quick" in arguments)
        except ReleaseError as error:
            sys.exit(f"dpcore: {error}")


def _release(scratch: Path, quick: bool) -> None:
    sdist, wheel = distributions.build(scratch)
    distributions.check(scratch, sdist, wheel)
    metadata.check(sdist, wheel)
    distributions.collect_tests(scratch, sdist)
    pythons = {installs.this_python(): sys.executable} if quick else installs.pythons()
    missing = [] if quick else [name for name in metadata.supported() if name not in pythons]
    plan = [(name, "newest", wheel) for name in pythons]
    if not quick:
        plan += [(name, "lowest", wheel) for name in pythons]
        plan += [(installs.this_python(), "newest", sdist)]
    results = [
        installs.attempt(scratch / f"{i}", pythons[name], versions, what)
        for i, (name, versions, what) in enumerate(sorted(plan, key=lambda each: each[:2]))
    ]
    print(installs.table(results))
    failed = [f"with Python {each.python}, {each.versions}" for each in results if each.error]
    failed += [f"Python {name} was not found" for name in missing]
    if failed:
        raise ReleaseError("not to be released: " + "; ".join(failed))
    if not quick:
        (ROOT / "dist").mkdir(exist_ok=True)
        for path in (sdist, wheel):
            print("passed:", shutil.copy(str(path), str(ROOT / "dist")))


if __name__ == "__main__":
    main()
