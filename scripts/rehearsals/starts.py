"""Starting and ending the processes of rehearsals, with the standard library only."""

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final

_PATIENCE: Final = 120  # seconds for a process to do its work
_START: Final = "import sys; sys.path.insert(0, {!r}); from rehearsals import {name}; {name}.main()"


class Servers:
    """Servers as processes, each with a file to continue from. They end with the ``with`` block.

    Parameters
    ----------
    settings
        The settings of the round.
    secret
        The enrolment's key, in hexadecimal digits.
    files
        One for each server.

    Attributes
    ----------
    ports
        The ports on which they listen.
    """

    def __init__(self, settings: dict[str, Any], secret: str, files: Sequence[Path]) -> None:
        self._settings, self._secret, self._files = settings, secret, files
        self._running: dict[int, Any] = {}
        self.ports = [0] * len(files)

    def __enter__(self) -> "Servers":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for process in self._running.values():
            process.stdin.close()  # which ends it
        for which in list(self._running):
            with suppress(subprocess.TimeoutExpired):
                self._running[which].wait(_PATIENCE)
            self._kill(which)

    def start(self, which: int, role: str = "server", file: Path | None = None) -> None:
        """Start a server, which continues from its file, if there is one, or from another file."""
        path = str(file or self._files[which])
        settings = {**self._settings, "place": which, "file": path}
        process = _started(["processes", role, json.dumps(settings)])
        self._running[which] = process
        assert process.stdin is not None
        process.stdin.write(self._secret + "\n")  # not on the command line, which others can see
        process.stdin.flush()
        self.ports[which] = int(self.line(which))

    def line(self, which: int) -> str:
        """Return the next line that a server prints."""
        line: str = self._running[which].stdout.readline()
        if not line:
            sys.exit("dpcore: a server has ended too early")
        return line.strip()

    def restart(self, which: int, file: Path | None = None) -> None:
        """Kill a server, without a warning and without time to save, and start it again."""
        self._kill(which)
        self.start(which, file=file)

    def _kill(self, which: int) -> None:
        process = self._running.pop(which)
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def let_clients_report(
    settings: dict[str, Any],
    ports: Sequence[int],
    cells: Sequence[int],
    tickets: Sequence[str],
    processes: int,
) -> None:
    """Let clients report, in some processes at a time, and wait until these have ended."""
    command = ["processes", "clients", json.dumps({**settings, "ports": ports})]
    started = []
    try:
        for part in range(processes):
            process = _started(command)
            started.append(process)
            assert process.stdin is not None
            process.stdin.write(json.dumps(list(tickets[part::processes])) + "\n")
            process.stdin.write(json.dumps(list(cells[part::processes])))
            process.stdin.close()
            process.stdin = None
        for process in started:
            reached, _ = process.communicate(timeout=_PATIENCE)
            if process.returncode != 0:
                sys.exit(f"dpcore: clients failed (exit code {process.returncode})")
            print(f"  {int(reached):,} clients of a process reached both servers", flush=True)
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()


def answers_to(settings: dict[str, Any], question: dict[str, Any]) -> dict[str, Any]:
    """Return the answers to an analyst, a new process that knows nothing of earlier ones."""
    process = _started(["analyst", json.dumps(settings)])
    try:
        said, _ = process.communicate(json.dumps(question), timeout=_PATIENCE)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode != 0:
        sys.exit(f"dpcore: an analyst failed (exit code {process.returncode})")
    answers: dict[str, Any] = json.loads(said)
    return answers


def _started(command: Sequence[str]) -> "subprocess.Popen[str]":
    """Start a module of this folder as a process of its own."""
    name, *arguments = command
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            _START.format(str(Path(__file__).parents[1]), name=name),
            *arguments,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="ascii",
    )
