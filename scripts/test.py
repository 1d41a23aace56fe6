"""Run the tests: ``python scripts/test.py [--full] [--no-jit] [--lowest] [pytest's arguments]``.

The first start makes ``.venv`` in the clone. Paths among the arguments are relative to the clone.
Without paths, all tests run, in one process for each processor.

--full      also the slow audits and studies
--no-jit    with interpreted kernels: slower, with readable tracebacks and coverage
--lowest    with the lowest versions of all dependencies in pyproject.toml, in ``.venv-lowest``
--newest    with their newest versions for this Python, in ``.venv-newest``
"""

import os
import sys

import _environment
from _environment import ROOT, become, ensure, python


def main() -> None:
    """Set up, run pytest, and end with its exit code."""
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
    if not any((ROOT / argument.partition("::")[0]).exists() for argument in arguments):
        arguments = ["-n", "logical", "--dist", "loadfile", *arguments]
    _environment.keep_machine_code()
    os.chdir(str(ROOT))
    become([str(python()), "-m", "pytest", *arguments])


if __name__ == "__main__":
    main()
