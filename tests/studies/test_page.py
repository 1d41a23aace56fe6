"""The page about studies: its examples run, and its output is theirs."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from dpcore import studies

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "studies.md").read_text("utf-8")


@pytest.mark.full  # 600 releases; exact numbers of seeds are tested elsewhere, too
@pytest.mark.needs_jit
def test_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, *others = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (output,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    names: dict = {"__name__": "examples"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(first, names)
    assert printed.getvalue() == output
    for block in others:
        exec(block, names)
    assert names["results"].array("worst", epsilon=1.0).shape == (3, 50)
    assert len(studies.load("worst")) == 300
    study = names["worst_error"]
    assert study.replay(7, 1, n=20000, epsilon=0.2, mechanism="dawa").keys() == {"worst"}
