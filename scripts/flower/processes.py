"""Processes of a rehearsal with Flower, all of which end with it, and what they print."""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

_FAREWELL: Final = 5.0  # seconds for a process to end by itself
_LINES_SHOWN: Final = 30

Process = subprocess.Popen[str]


class Processes:
    """Processes with names, each in a group of its own, and with a file for what it prints.

    Parameters
    ----------
    programs
        The folder of the programs.
    folder
        Where they run, and their files are.
    home
        Flower's own folder, which marks these processes and those that they start.
    variables
        More environment variables.
    """

    def __init__(
        self, programs: Path, folder: Path, home: Path, variables: Mapping[str, str]
    ) -> None:
        self._programs, self._folder, self._home = programs, folder, home
        self._environment = {
            **os.environ,
            **variables,
            "FLWR_HOME": str(home),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONUNBUFFERED": "1",
            "PATH": os.pathsep.join([str(programs), os.environ.get("PATH", os.defpath)]),
        }
        for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):  # those of another environment
            self._environment.pop(name, None)
        self._running: dict[str, Process] = {}
        self._files: list[TextIO] = []

    def start(self, name: str, *command: str) -> Process:
        """Start a program."""
        file = open(str(self._file(name)), "a", encoding="utf-8")  # noqa: SIM115 (see ``stop``)
        self._files.append(file)
        self._running[name] = subprocess.Popen(
            [str(self._programs / command[0]), *command[1:]],
            cwd=str(self._folder),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        )
        return self._running[name]

    def said(self, name: str) -> str:
        """Return what a process has printed so far, without colours."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self._file(name).read_text("utf-8", "replace"))

    def tail(self, name: str) -> str:
        """Return the last lines that a process has printed."""
        return "\n".join("  " + line for line in self.said(name).splitlines()[-_LINES_SHOWN:])

    def answer(self, *command: str) -> str:
        """Return what a program prints that ends by itself."""
        done = subprocess.run(
            [str(self._programs / command[0]), *command[1:]],
            cwd=str(self._folder),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
        return done.stdout

    def kill(self, name: str) -> None:
        """Kill a process and what it has started, without a warning."""
        process = self._running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """End all processes, the last one first, and what they have started elsewhere."""
        for name in reversed(list(self._running)):
            if len(self._running) == 1:  # the SuperLink, which ends what it has started
                self._running[name].terminate()
                with suppress(subprocess.TimeoutExpired):
                    self._running[name].wait(_FAREWELL)
            self.kill(name)
        end = time.monotonic() + _FAREWELL
        while any(left(self._home)) and time.monotonic() < end:
            time.sleep(0.1)  # what watches its parent ends by itself
        for number in left(self._home):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        for file in self._files:
            file.close()

    def _file(self, name: str) -> Path:
        return self._folder / (name.replace(" ", "") + ".log")


def left(home: Path) -> Iterator[int]:
    """Return the processes that run with this FLWR_HOME.

    Flower and Ray start some in groups of their own. Only Linux tells the environment of others.
    Elsewhere they have to end by themselves, when they notice that their parents have gone.
    """
    mark = b"FLWR_HOME=" + os.fsencode(home)
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_healthy(address: str) -> bool:
    """Return whether a SuperLink answers at an address."""
    try:
        with urllib.request.urlopen(f"http://{address}/health", timeout=1) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
