"""Run the tests: ``python scripts/test.py [--full] [--no-jit] [--lowest] [pytest's arguments]``.

The first start makes ``.venv`` in the clone. Paths among the arguments are relative to the clone.

--full      the slow audits and studies as well
--no-jit    with interpreted kernels: slower, with readable tracebacks and coverage
--lowest    with the lowest versions of all that pyproject.toml asks for, in ``.venv-lowest``
--newest    with the newest that there are for this Python, in ``.venv-newest``
"""

import hashlib
import os
import sys
from pathlib import Path

import _environment
from _environment import ROOT, become, ensure, python


def sources_digest(folder: Path) -> str:
    """Return a name for the state of all Python files in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def main() -> None:
    """Set up, and go on as pytest, whose exit code is the script's."""
    arguments = sys.argv[1:]
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return
    for versions in ("lowest", "newest"):
        if "--" + versions in arguments:
            arguments.remove("--" + versions)
            _environment.use(versions)
    ensure("test")
    if "--no-jit" in arguments:
        arguments.remove("--no-jit")
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    cache = _environment.VENV / "numba"
    # Numba's cache does not see edits in the files that a kernel calls into: an edited kernel
    # must not be tested as old machine code.
    os.environ["NUMBA_CACHE_DIR"] = str(cache / sources_digest(ROOT / "kernels"))
    os.chdir(str(ROOT))
    become([str(python()), "-m", "pytest", *arguments])


if __name__ == "__main__":
    main()
