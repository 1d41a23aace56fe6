"""Files of budgets, as tests make, change and replace them."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import types
from datetime import UTC, datetime

import dpcore as dp
from dpcore.privacy.ledgers import Charge

GRID = dp.Grid.uniform(0, 1, 4)
TIME = datetime(2026, 1, 1, tzinfo=UTC)
COSTS = [dp.Privacy(1 / 8), dp.Privacy(0.1, 1e-9), dp.Privacy(1 / 3, simulated=True)] * 4
ASKED = {
    "charge": lambda budget: budget.charge(dp.Privacy(0.5)),
    "spent": lambda budget: budget.spent,
    "log": lambda budget: budget.log,
    "repr": repr,
}


def execute(path, script):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(script)
    connection.close()
    return path


def run(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def add_at_once(budget, costs, what="release {} of \N{GREEK SMALL LETTER EPSILON}"):
    with budget._ledger.held() as page:
        for number, cost in enumerate(costs):
            page.add(Charge(TIME, what.format(number), cost))


def charged(path, costs=COSTS):
    """Return a new budget with these charges."""
    add_at_once(dp.Budget.open(path, epsilon=10.0, delta=1e-6), costs)
    return dp.Budget.open(path)


def identity(path):
    connection = sqlite3.connect(path)
    ((stored,),) = connection.execute("SELECT identity FROM spent").fetchall()
    connection.close()
    return stored


def number_all(monkeypatch, number):
    """Let all files have this number, as if each had been made after another one was deleted."""
    real = os.stat

    def numbered(path, *arguments, **options):
        given = real(path, *arguments, **options)
        fields = {name: getattr(given, name) for name in dir(given) if name.startswith("st_")}
        return types.SimpleNamespace(**{**fields, "st_ino": number})

    monkeypatch.setattr("dpcore.privacy.file_ledgers.os.stat", numbered)
