"""The environment of the scripts, which the first start makes and later starts use.

``ensure("test")`` makes ``.venv`` in the clone, installs dpcore there, editable, with the extra
``test``, and starts the calling script again inside it. Nothing outside ``.venv`` is touched. The
command ``python scripts/_environment.py test`` only sets up. After ``use("lowest")`` or
``use("newest")``, all of this applies to another environment. It has the lowest or the newest
versions of the dependencies in pyproject.toml.

This file needs only the standard library. Python 3.6 must be able to read it and the scripts that
import it, so that they can say that this Python is too old. So there is no newer syntax, and no
``from __future__ import annotations``.
"""

import contextlib
import datetime
import hashlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

if sys.version_info < (3, 11):  # noqa: UP036 (whoever starts a script may have an older one)
    sys.exit("dpcore needs Python 3.11 or later; this is Python " + sys.version.split()[0] + ".")

import tomllib

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
VERSIONS = ""

_STAMP = "dpcore-environment.json"
_LOCK = "dpcore-environment.lock"
_CONSTRAINTS = "dpcore-constraints.txt"
_RESTARTED = "_DPCORE_RESTARTED"
_LINES_SHOWN = 15

Stamp = dict[str, Any]


class SetupError(Exception):
    """The environment could not be made; the message says what to do."""


def use(versions: str) -> None:
    """Use the environment of the "lowest" or the "newest" versions from here on."""
    global VENV, VERSIONS
    VENV, VERSIONS = ROOT / (".venv-" + versions), versions


def ensure(*extras: str) -> None:
    """Return inside an environment that has dpcore with these extras.

    The call returns at once if the script already runs there. Otherwise it makes the environment if
    necessary, and starts the running script again inside it, with the same arguments.
    """
    restarted = os.environ.pop(_RESTARTED, None) is not None
    for stream in _streams():  # paths may have letters that a terminal's encoding has not
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        if not is_ready(extras):
            with _lock():
                if not is_ready(extras):  # another process may just have made it
                    _install(extras)
        if inside():
            return
        if restarted:
            raise SetupError(
                f"{python()} does not run inside {VENV}; is PYTHONHOME set? Unset it, or delete"
                f" {VENV} and start again."
            )
    except SetupError as error:
        sys.exit(f"dpcore: {error}")
    except OSError as error:
        sys.exit(f"dpcore: cannot set up {VENV}: {error}")
    except KeyboardInterrupt:
        print("dpcore: stopped; the next start sets up again", file=sys.stderr)
        sys.exit(130)
    os.environ[_RESTARTED] = "1"
    become([str(python()), *sys.orig_argv[1:]])


def become(command: list[str]) -> NoReturn:
    """Continue as another command, and end with its exit code."""
    for stream in _streams():
        stream.flush()
    if sys.platform != "win32":
        os.execv(command[0], command)
    # On Windows, execv would give the terminal back before the command ends.
    try:
        sys.exit(subprocess.call(command))
    except KeyboardInterrupt:
        sys.exit(130)


def _streams() -> list[Any]:
    """Return standard output and error, unless they are closed."""
    return [stream for stream in (sys.stdout, sys.stderr) if stream is not None]


def python() -> Path:
    """Return the environment's interpreter."""
    return VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def keep_machine_code() -> None:
    """Keep the machine code of kernels in the environment; old code is never used there.

    Bytecode is kept, too, whatever the caller's variables say: each process of the tests would
    otherwise compile every module anew.
    """
    os.environ["NUMBA_CACHE_DIR"] = str(VENV / "numba")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def inside() -> bool:
    """Return whether this process runs inside the environment."""
    return Path(sys.prefix).resolve() == VENV.resolve()


def is_ready(extras: Iterable[str]) -> bool:
    """Return whether the environment has these extras, as pyproject.toml now asks for them."""
    stamp = read_stamp() or {}
    return (
        _is_usable(stamp)
        and stamp.get("pyproject") == _pyproject_digest()
        and (VERSIONS != "newest" or stamp.get("day") == _today())
        and set(extras) <= set(stamp.get("extras", ()))
    )


def read_stamp() -> Stamp | None:
    """Return what the environment says about itself.

    Returns
    -------
    dict or None
        None if there is no environment, or if it says nothing. Empty if these scripts have begun
        to make it and have not finished.
    """
    try:
        stamp = json.loads((VENV / _STAMP).read_text("utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        return {}
    return stamp if isinstance(stamp, dict) else {}


def pip_command(extras: Iterable[str]) -> list[str]:
    """Return the command that installs the project, editable, with these extras."""
    names = ",".join(sorted(extras))
    target = f".[{names}]" if names else "."
    options = ["--quiet", "--no-input", "--disable-pip-version-check"]
    if VERSIONS == "lowest":
        options += ["--constraint", str(VENV / _CONSTRAINTS)]
    if VERSIONS == "newest":
        options += ["--upgrade", "--upgrade-strategy", "eager"]
    return [str(python()), "-m", "pip", "install", *options, "--editable", target]


def lowest_versions(extras: Iterable[str]) -> list[str]:
    """Return pip's constraints, with each dependency of the project at its lower bound.

    A bound for some versions of Python is a constraint for these versions only.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    waiting = [*project["dependencies"], f"dpcore[{','.join(extras)}]"]
    found = set()
    for requirement in waiting:  # which grows
        own = re.fullmatch(r"dpcore\[(.*)\]", requirement)
        if own:
            names = filter(None, own[1].split(","))
            waiting += [r for name in names for r in project["optional-dependencies"][name]]
            continue
        bound = re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)(;.*)?", requirement)
        if bound is None:
            raise SetupError(f"pyproject.toml gives no lower bound in {requirement!r}")
        found.add(f"{bound[1]}=={bound[2]}{bound[3] or ''}")
    return sorted(found)


def _install(extras: Iterable[str]) -> None:
    """Make the environment, or add to the one that is there.

    The stamp names no extras until all of them are installed. So after an interruption, the next
    start installs them again.
    """
    stamp = read_stamp()
    if stamp is None and (VENV / "pyvenv.cfg").exists() and not inside():
        raise SetupError(
            f"{VENV} is there, and these scripts did not make it. Start the script with its"
            " Python to install into it, or move it away."
        )
    usable = _is_usable(stamp or {})
    wanted = set(extras)
    if usable and stamp:
        wanted.update(stamp.get("kept", ()))
    names = ", ".join(sorted(wanted)) or "no extras"
    print(f"dpcore: installing into {VENV} ({names}); the first time may take minutes", flush=True)
    if not usable and not inside():
        _create()
    _write_stamp(_stamp(kept=wanted))
    if VERSIONS == "lowest":
        (VENV / _CONSTRAINTS).write_text("\n".join(lowest_versions(wanted)) + "\n", "utf-8")
    run_quietly(
        pip_command(wanted), "pip", "It has to download what is not there: is the network up?"
    )
    _write_stamp(_stamp(kept=wanted, extras=wanted))


def _create() -> None:
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            raise SetupError(
                f"this Python lacks the standard module {module}. On Debian and Ubuntu:"
                f" apt install python{version}-venv"
            )
    _write_stamp({})
    _clear()
    run_quietly([sys.executable, "-m", "venv", str(VENV)], "venv", "")


def _clear() -> None:
    for path in VENV.iterdir():
        if path.name in (_LOCK, _STAMP):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def run_quietly(command: list[str], name: str, hint: str, folder: Path | None = None) -> None:
    """Run a command quietly, in a folder or the clone; if it fails, say how it ended."""
    # A user's "user = true" in pip's configuration would make it refuse a virtual environment.
    environment = {**os.environ, "PIP_USER": "0"}
    done = subprocess.run(
        command,
        cwd=str(folder or ROOT),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        tail = "\n  ".join(done.stdout.strip().splitlines()[-_LINES_SHOWN:])
        raise SetupError(f"{name} failed (exit code {done.returncode}). {hint}\n  {tail}")


def _stamp(kept: Iterable[str], extras: Iterable[str] = ()) -> Stamp:
    """Return a stamp: the place and the Python of the environment, and what it must contain."""
    return {
        "root": str(ROOT),
        "python": sys.version_info[:2],
        "pyproject": _pyproject_digest(),
        "day": _today(),
        "kept": sorted(kept),
        "extras": sorted(extras),
    }


def _write_stamp(stamp: Stamp) -> None:
    """Write the stamp in one step, so that a reader sees either the old one or the new one."""
    fresh = VENV / (_STAMP + ".new")
    fresh.write_text(json.dumps(stamp), "utf-8")
    os.replace(str(fresh), str(VENV / _STAMP))


def _is_usable(stamp: Stamp) -> bool:
    """Return whether the environment is a working one of this Python, in this place."""
    return (
        stamp.get("root") == str(ROOT)
        and stamp.get("python") == list(sys.version_info[:2])
        and python().exists()
    )


def _pyproject_digest() -> str:
    return hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()


def _today() -> str:
    return datetime.date.today().isoformat()


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    """Let one process at a time change the environment.

    The lock belongs to the operating system, which removes it when its holder ends.
    """
    VENV.mkdir(exist_ok=True)
    with open(str(VENV / _LOCK), "a") as file:
        if sys.platform == "win32":
            import msvcrt
            import time

            while True:
                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                    break
                except OSError:
                    time.sleep(0.5)
        else:
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(f"dpcore: waiting for another start to set up {VENV}", flush=True)
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    ensure(*sys.argv[1:])
    print(python())
