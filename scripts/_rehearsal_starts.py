"""How rehearsals start their processes, and see to it that they end. Standard library only."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

_PATIENCE: Final = 120  # seconds for a process to do what it has to

_PROCESSES: Final = Path(__file__).with_name("_rehearsal_processes.py")


@contextmanager
def started_server(
    settings: dict[str, Any], secret: str, file: Path, role: str = "server"
) -> Iterator[subprocess.Popen[str]]:
    """Start a server, and see to it that it ends."""
    command = [sys.executable, str(_PROCESSES), role]
    process = subprocess.Popen(
        [*command, json.dumps({**settings, "file": str(file)})],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="ascii",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(secret + "\n")  # not on the command line, which others can see
    process.stdin.flush()
    try:
        yield process
    finally:
        process.stdin.close()  # which ends it
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def line_of(server: subprocess.Popen[str]) -> str:
    """Return the next line that a server prints; the first one is where it listens."""
    assert server.stdout is not None
    line = server.stdout.readline()
    if not line:
        sys.exit("dpcore: a server did not start")
    return line.strip()


def kill(server: subprocess.Popen[str]) -> None:
    """End a server without a warning, and without time to save."""
    server.kill()
    server.wait(_PATIENCE)


def let_clients_report(
    settings: dict[str, Any],
    ports: Sequence[int],
    cells: Sequence[int],
    tickets: Sequence[str],
    processes: int,
) -> None:
    """Let clients report, in some processes at a time, and wait until these have ended."""
    at = json.dumps({**settings, "ports": ports})
    command = [sys.executable, str(_PROCESSES), "clients", at]
    started = []
    try:
        for part in range(processes):
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="ascii"
            )
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
                kill(process)
