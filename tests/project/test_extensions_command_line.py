"""A new parameter of a function is an option of its command, with no edit in the command line."""

from __future__ import annotations

import argparse
import inspect
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import Literal

import pytest

import dpcore as dp
from dpcore.command_line import cdf, options
from dpcore.command_line.arguments import COMMANDS, command_of
from dpcore.command_line.main import main

ARGUMENTS = ["cdf", "t.csv", "--column", "x", "--lower", "0", "--upper", "9", "--epsilon", "1"]


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """What ``cdf_from_counts`` is called with, which now has two more parameters."""
    known, received = dp.cdf_from_counts, []

    def longer(
        *arguments,
        direction: Literal["up", "down"] = "up",
        tail_share: float | Fraction | None = None,
        **more,
    ):
        received.append((direction, tail_share))
        return known(*arguments, **more)

    new = list(inspect.signature(longer, eval_str=True).parameters.values())[1:3]
    old = inspect.signature(known, eval_str=True)
    longer = wraps(known)(longer)
    longer.__signature__ = old.replace(parameters=[*old.parameters.values(), *new])
    longer.__doc__ = inspect.getdoc(known).replace(
        "isotonic\n",
        "direction\n    Where to round to. It costs nothing.\n"
        "tail_share\n    The share of ``n`` in the tail, in %; None: all of it.\nisotonic\n",
        1,
    )
    functions = (dp.Grid.count, longer)
    monkeypatch.setattr(dp, "cdf_from_counts", longer)
    monkeypatch.setattr(cdf, "COMMAND", cdf.COMMAND._replace(functions=functions))
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x\n1\n2\n3\n")
    return received


def test_it_is_in_the_help(calls, capsys):
    assert main(["cdf", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "--direction {up,down} where to round to (up)" in text
    assert "--tail-share X the share of n in the tail, in % (all of it)" in text


@pytest.mark.filterwarnings("ignore::dpcore.DpcoreWarning")
def test_it_arrives(calls, capsys):
    assert main(ARGUMENTS) == 0
    assert main([*ARGUMENTS, "--direction", "down", "--tail-share", "-1e-3"]) == 0
    assert calls == [("up", None), ("down", -0.001)]
    capsys.readouterr()


@pytest.mark.parametrize("word", ["--direction side", "--tail-share much"])
def test_another_value_is_refused(calls, capsys, word):
    assert main([*ARGUMENTS, *word.split()]) == 2
    assert word.split()[0] in capsys.readouterr().err
    assert calls == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_help_text(name):
    command, parser = command_of(name), argparse.ArgumentParser()
    texts = options.add_options(parser, command)
    for action in parser._actions:
        assert action.help or texts[action.dest]()
