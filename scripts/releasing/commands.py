"""Commands whose output is shown if they fail."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

_LINES_SHOWN = 30
_UNSET = ("PYTHONPATH", "PYTHONHOME", "PIP_REQUIRE_VIRTUALENV", "NUMBA_DISABLE_JIT")


class ReleaseError(Exception):
    """A reason why the distributions must not be released."""


def run(command: Sequence[object], folder: Path, **variables: str) -> str:
    """Run a command in a folder, and return its output; raise ReleaseError if it fails.

    Environment variables about Python's modules are removed, so that the installed package is
    used.
    """
    environment = {name: text for name, text in os.environ.items() if name not in _UNSET}
    done = subprocess.run(
        [str(each) for each in command],
        cwd=str(folder),
        env={**environment, "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        shown = " ".join(str(each) for each in command)
        tail = "\n  ".join(done.stdout.strip().splitlines()[-_LINES_SHOWN:])
        raise ReleaseError(f"{shown} failed (exit code {done.returncode}):\n  {tail}")
    return done.stdout
