"""Installing the distributions in new environments, for each Python, and trying them."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import _environment

from .commands import ReleaseError, run
from .metadata import supported

_SHOWN = ("numpy", "scipy", "numba", "osqp", "cryptography", "pyarrow")
_SMOKE = Path(__file__).with_name("smoke.py")


class Result(NamedTuple):
    """The result in one environment; ``error`` is empty if everything works."""

    python: str
    versions: str
    file: str
    installed: "dict[str, str]"
    seconds: float
    error: str


def this_python() -> str:
    """Return the version of this Python, as classifiers have it: "3.11"."""
    return "{}.{}".format(*sys.version_info[:2])


def pythons() -> "dict[str, str]":
    """Return an interpreter for each supported version, if one is found."""
    found = {name: _python(name) for name in supported()}
    return {name: path for name, path in found.items() if path is not None}


def _python(version: str) -> "str | None":
    """Return an interpreter: this one, the newest of pyenv's, PATH's, or the Windows launcher's."""
    if version == this_python():
        return sys.executable
    folder = Path(os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))) / "versions"
    of_pyenv = sorted(folder.glob(version + ".*/bin/python"), key=_by_number)
    on_path = shutil.which("python" + version)
    launcher = shutil.which("py")
    commands = [[str(path)] for path in reversed(of_pyenv)]
    commands += [[on_path]] if on_path else []
    commands += [[launcher, "-" + version]] if launcher else []
    for command in commands:  # PATH may have a stand-in that only says that this version is missing
        code = "import sys; print(sys.executable, *sys.version_info[:2], sep='\\n')"
        done = subprocess.run(
            [*command, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        said = done.stdout.decode().splitlines()
        if done.returncode == 0 and ".".join(said[1:3]) == version:
            return said[0]
    return None


def _by_number(path: Path) -> "list[int]":
    return [int(part) for part in re.findall(r"\d+", path.parts[-3])]


def attempt(folder: Path, interpreter: str, versions: str, what: Path) -> Result:
    """Install a distribution in a new environment, and try it there."""
    folder.mkdir()
    started = time.monotonic()
    installed: dict[str, str] = {"python": _said(interpreter)}
    error = ""
    try:
        installed.update(_install_and_try(folder, interpreter, versions, what))
    except ReleaseError as failure:
        error = str(failure)
    kind = "wheel" if what.suffix == ".whl" else "sdist"
    seconds = time.monotonic() - started
    result = Result(installed["python"], versions, kind, installed, seconds, error)
    print(f"Python {result.python}, {versions}, {kind}: {error or 'works'}", flush=True)
    shutil.rmtree(str(folder), ignore_errors=True)  # half a gigabyte
    return result


def _said(interpreter: str) -> str:
    return run(
        [interpreter, "-c", "import platform; print(platform.python_version())"], Path()
    ).strip()


def _install_and_try(folder: Path, interpreter: str, versions: str, what: Path) -> "dict[str, str]":
    run([interpreter, "-m", "venv", folder / "venv"], folder)
    scripts = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    python = scripts / Path(_environment.python().name)
    pip = [python, "-m", "pip", "install", "--only-binary", ":all:", "--no-binary", "dpcore"]
    if versions == "lowest":
        bounds = folder / "constraints.txt"
        bounds.write_text("\n".join(_environment.lowest_versions(["cli"])) + "\n", "utf-8")
        pip += ["--constraint", bounds]
    smoke = [python, "-I", "-W", "error", _SMOKE]
    cache = str(folder / "numba")
    run([*pip, what], folder)
    run([*smoke, "library"], folder, NUMBA_CACHE_DIR=cache)
    run([*pip, f"dpcore[cli] @ {what.as_uri()}"], folder)
    run([*smoke, "command"], folder, NUMBA_CACHE_DIR=cache)
    listed = json.loads(run([python, "-m", "pip", "list", "--format", "json"], folder))
    return {each["name"]: each["version"] for each in listed}


def table(results: "Sequence[Result]") -> str:
    """Return a table of the results, in Markdown."""
    head = ["Python", "versions", "installed from", *_SHOWN, "seconds", ""]
    rows = [
        [
            *(each.python, each.versions, each.file),
            *(each.installed.get(name, "") for name in _SHOWN),
            *(f"{each.seconds:.0f}", "failed" if each.error else "works"),
        ]
        for each in results
    ]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
