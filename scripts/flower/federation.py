"""Flower on this machine: a SuperLink, sites that can be killed, and runs of the app.

Everything Flower keeps is in a folder of its own, and all ports are free ones. So neither the
user's Flower nor another rehearsal is touched. All processes end with the ``with`` block.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

from .environment import APP, variables
from .processes import Processes, free_port, is_healthy

_NAME: Final = "rehearsal"  # of the connection, in Flower's config.toml
_PATIENCE: Final = 60.0  # seconds for a process to start
_LINK: Final = "superlink"

Config = Mapping[str, str | int | float]


class FlowerError(Exception):
    """Flower did not do what it was asked for; the message says what it printed last."""


class Run(NamedTuple):
    """A run that has ended.

    Attributes
    ----------
    status
        As Flower says it: "finished:completed" or "finished:failed".
    seconds
        How long it took, with sending the app.
    said
        What the server of the app printed.
    output
        The folder for what it writes. It may not exist.
    """

    status: str
    seconds: float
    said: str
    output: Path

    @property
    def succeeded(self) -> bool:
        """Whether the run has released what it should."""
        return self.status == "finished:completed"

    @property
    def error(self) -> str:
        """What the server of the app said when it gave up; empty if it did not."""
        found = re.search(r"RoundError: (.*)", self.said)
        return found[1] if found else ""

    def read(self, name: str) -> dict[str, Any]:
        """Return the content of a JSON file that the app has written."""
        content: dict[str, Any] = json.loads((self.output / name).read_text("utf-8"))
        return content


class Federation:
    """A SuperLink with its sites.

    Parameters
    ----------
    python
        The interpreter of the environment that has Flower and the app's packages.
    folder
        For all files. It must not exist.
    simulated
        How many sites Flower simulates. 0: none; ``start_site`` starts processes.
    """

    def __init__(self, python: Path, folder: Path, simulated: int = 0) -> None:
        self._folder, self._simulated = folder, simulated
        self._home = folder / "home"
        self._processes = Processes(python.parent, folder, self._home, variables())
        self._address = f"127.0.0.1:{free_port()}"
        self._runs = 0

    def __enter__(self) -> "Federation":
        try:
            self._start_superlink()
        except BaseException:
            self._processes.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._processes.stop()

    def start_site(self, which: int, sites: int) -> None:
        """Start a site: a SuperNode as a process, which starts others for its part of the app."""
        command = ["--insecure", "--superlink", self._address, "--port", str(free_port())]
        command += ["--node-config", f"partition-id={which} num-partitions={sites}"]
        self._processes.start(f"site {which}", "flower-supernode", *command)

    def kill_site(self, which: int) -> None:
        """Kill all processes of a site, without a warning."""
        self._processes.kill(f"site {which}")

    def run(
        self,
        config: Config,
        when: Mapping[str, Callable[[], object]] | None = None,
        patience: float = 600.0,
    ) -> Run:
        """Run the app until it ends.

        Parameters
        ----------
        config
            What differs from the run config in the app's pyproject.toml.
        when
            What to do when the app's server first prints a text.
        patience
            After how many seconds to give up.

        Raises
        ------
        FlowerError
            The run did not start, or did not end in time.
        """
        self._runs += 1
        output, name = self._folder / f"output{self._runs}", f"run {self._runs}"
        settings = {**config, "output": str(output)}.items()
        said = " ".join(f"{key}={json.dumps(value)}" for key, value in settings)
        command = ["run", str(APP), _NAME, "--stream", "--run-config", said]
        if self._simulated:
            wanted = f"num-supernodes={self._simulated} client-resources-num-cpus=1"
            command += ["--federation-config", wanted]
        start, waiting = time.monotonic(), dict(when or {})
        process = self._processes.start(name, "flwr", *command)
        while process.poll() is None:
            said = self._processes.said(name)
            for text in [text for text in waiting if text in said]:
                waiting.pop(text)()
            if time.monotonic() - start > patience:
                last = self._processes.tail(name)
                raise FlowerError(f"a run takes more than {patience:g} seconds:\n{last}")
            time.sleep(0.05)
        seconds = time.monotonic() - start
        self._processes.kill(name)
        said = self._processes.said(name)
        number = re.search(r"started run (\d+)", said)
        if process.returncode != 0 or number is None:
            raise FlowerError(f"flwr run failed:\n{self._processes.tail(name)}")
        return Run(self._status(number[1]), seconds, said, output)

    def _start_superlink(self) -> None:
        self._home.mkdir(parents=True)
        connection = f'[superlink]\ndefault = "{_NAME}"\n\n[superlink.{_NAME}]\n'
        connection += f'address = "{self._address}"\ninsecure = true\n'
        (self._home / "config.toml").write_text(connection, "utf-8")
        command = ["--insecure", "--port", self._address.partition(":")[2]]
        if self._simulated:  # as ``flwr run`` starts it, if there is none
            command += ["--simulation", "--isolation", "subprocess"]
            command += ["--database", str(self._home / "state.db")]
        else:
            command += ["--disable-runtime-dependency-installation"]
        process = self._processes.start(_LINK, "flower-superlink", *command)
        end = time.monotonic() + _PATIENCE
        while not is_healthy(self._address):
            if process.poll() is not None or time.monotonic() > end:
                raise FlowerError(f"the SuperLink did not start:\n{self._processes.tail(_LINK)}")
            time.sleep(0.1)

    def _status(self, number: str) -> str:
        """Return what Flower says about a run, when it has ended."""
        end = time.monotonic() + _PATIENCE
        while True:
            command = ("list", _NAME, "--run-id", number, "--format", "json")
            said = self._processes.answer("flwr", *command)
            runs = json.loads(said[said.find("{") :]).get("runs") if "{" in said else None
            status = str(runs[0]["status"]) if runs else ""
            if status.startswith("finished"):
                return status
            if time.monotonic() > end:
                raise FlowerError(f"flwr does not say how the run has ended:\n{said}")
            time.sleep(0.2)
