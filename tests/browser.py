"""A browser without a window, for tests of what people see: Chromium, where it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ERROR = re.compile(r":(?:INFO|WARNING|ERROR):CONSOLE[(:]\d+\)?\] (.*)")


def chromium() -> str:
    """The path of a browser; the test is skipped without one."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("no browser: install Chromium (apt-get install chromium)")
    return path


def run(folder: Path, url: str, *options: str) -> tuple[str, list[str]]:
    """What a browser with its profile in the folder prints, and the console's messages."""
    command = [
        chromium(),
        "--headless=new",
        "--no-sandbox",  # tests may run as root; the pages are our own
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}",
        *options,
        url,
    ]
    environment = {**os.environ, "LANG": "C.UTF-8"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, _ERROR.findall(done.stderr)
