"""The environment of the app for Flower, which the first rehearsal makes and later ones use.

It is ``.venv-flower`` in the clone, with the packages of examples/flower/requirements.txt. It is
not ``.venv``, as Flower asks for versions of its own. Nothing outside ``.venv-flower`` is touched.
"""

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

if sys.platform == "win32":
    sys.exit("dpcore: the rehearsal with Flower needs Linux or macOS")

import fcntl

from _environment import ROOT, SetupError, run_quietly

APP: Final = ROOT / "examples" / "flower"
_VENV: Final = ROOT / ".venv-flower"
_REQUIREMENTS: Final = APP / "requirements.txt"
_STAMP: Final = _VENV / "dpcore-environment.json"
_PIP: Final = ("-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check")


def flower_python() -> Path:
    """Return the interpreter of the environment, which is made if it is not there.

    The environment is made again if the Python, its place, or what it has to contain has changed.
    """
    python = _VENV / "bin" / "python"
    try:
        _VENV.mkdir(exist_ok=True)
        with _lock():
            if _stamped() != _stamp() or not python.exists():
                print(f"dpcore: installing Flower into {_VENV}; this may take minutes", flush=True)
                _STAMP.unlink(missing_ok=True)
                run_quietly([sys.executable, "-m", "venv", "--clear", str(_VENV)], "venv", "")
                command = [str(python), *_PIP, "--requirement", str(_REQUIREMENTS)]
                hint = "It has to download what is not there: is the network up?"
                run_quietly(command, "pip", hint, folder=APP)  # which has a relative path
                _STAMP.write_text(json.dumps(_stamp()), "utf-8")
    except SetupError as error:
        sys.exit(f"dpcore: {error}")
    except OSError as error:
        sys.exit(f"dpcore: cannot set up {_VENV}: {error}")
    return python


def variables() -> dict[str, str]:
    """Return the environment variables with which kernels are compiled once, into ``_VENV``."""
    return {"NUMBA_CACHE_DIR": str(_VENV / "numba")}


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    """Let one process at a time change the environment; the lock ends with its holder."""
    folder = os.open(str(_VENV), os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _stamp() -> dict[str, Any]:
    files = (_REQUIREMENTS, ROOT / "pyproject.toml")
    return {
        "root": str(ROOT),
        "python": list(sys.version_info[:2]),
        "packages": [hashlib.sha256(file.read_bytes()).hexdigest() for file in files],
    }


def _stamped() -> Any:
    try:
        return json.loads(_STAMP.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None
