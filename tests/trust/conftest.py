"""What the tests of scripts/rehearse*.py share."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from pathlib import Path

import pytest


@pytest.fixture
def script(monkeypatch):
    """Import a module of scripts/, and forget it afterwards."""
    root = Path(__file__).parents[2]
    paths = [str(root), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.syspath_prepend(str(root / "scripts"))
    yield importlib.import_module
    for name in list(sys.modules):
        if name.startswith(("rehears", "_environment")):
            del sys.modules[name]


@pytest.fixture
def listening(script):
    """Have a server listen on a thread of this process, and say at which port."""

    @contextlib.contextmanager
    def listen(protocol, enrolment, path, place=None):
        processes = script("rehearsals.processes")
        with processes.Listener(protocol, enrolment, path, place) as listener:
            thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
            thread.start()
            try:
                yield listener.server_address[1]
            finally:
                listener.shutdown()
                thread.join()

    return listen


@pytest.fixture
def own_registry(monkeypatch):
    """Trust models that are defined in the test are forgotten after it."""
    module = importlib.import_module("dpcore.trust.protocol.trust_models")
    monkeypatch.setattr(module, "_known", dict(module._known))
