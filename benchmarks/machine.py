"""The machine and the versions of a run, without names of hosts and without paths."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import packages_distributions, version
from pathlib import Path

import dpcore as dp

from .registry import Job

CORE = ("numpy", "scipy", "numba", "osqp", "cryptography")


def describe(jobs: tuple[Job, ...]) -> dict[str, str]:
    """Return the machine, the date, and the versions of all packages that take part."""
    return {
        "processor": f"{processor()}, {os.cpu_count()} logical processors",
        "system": f"{system()}, {platform.machine()}",
        "Python": platform.python_version(),
        "packages": ", ".join(f"{name} {found}" for name, found in versions(jobs).items()),
        "date": datetime.now(UTC).date().isoformat(),
        "busy": busy(),
    }


def processor() -> str:
    """Return the processor's model name."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
    return platform.processor() or platform.machine()


def system() -> str:
    """Return the operating system's name and version."""
    if sys.platform == "linux":
        try:
            return platform.freedesktop_os_release()["PRETTY_NAME"]
        except (OSError, KeyError):
            return "Linux"
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    return f"{platform.system()} {platform.version()}"


def busy() -> str:
    """Return how many processes wanted to run in the last minute; more than 0 disturbs a run."""
    if not hasattr(os, "getloadavg"):
        return "unknown"
    return f"load {os.getloadavg()[0]:.1f} when the run began"


def versions(jobs: tuple[Job, ...]) -> dict[str, str]:
    """Return the versions of the core and of installed peers, by the name of the distribution."""
    owners = packages_distributions()
    names = list(CORE)
    for contender in (contender for job in jobs for contender in job.contenders):
        if contender.needs and contender.is_installed():
            names += owners.get(contender.needs.partition(".")[0], [])
    return {"dpcore": dp.__version__} | {name: version(name) for name in dict.fromkeys(names)}
