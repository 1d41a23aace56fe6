"""Studies in a user's file, and by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dpcore import MissingExtraError, ParameterError, studies
from dpcore.records.files import FileError
from dpcore.studies import files

ONE = """
from dpcore import studies

@studies.study({"x": [1, 2]})
def one(x, rng):
    return {"y": x + rng.random()}
"""
TWO = f"""{ONE}
other = one.over(x=[5])
again = other
_hidden = one.over(x=[6])

if __name__ == "__main__":
    raise RuntimeError("this is no script")
"""
WITH_NEIGHBOUR = """
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpcore import studies
from neighbour_of_a_study import doubled

@dataclass(frozen=True)
class Law:
    '''A law.'''

    deviation: float
    kind: ClassVar[str] = "normal"

@studies.study({"law": {"narrow": Law(1.0), "wide": Law(3.0)}})
def spread(law, rng):
    import neighbour_of_a_study  # here too

    assert isinstance(law, Law)
    assert neighbour_of_a_study.doubled is doubled
    return {"twice": doubled(law.deviation)}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in [*sys.modules]:
        if name.startswith(("study_file_", "neighbour_of")):
            del sys.modules[name]


def test_studies_that_come_with_dpcore_have_the_names_of_their_files():
    assert {"cdf", "quantiles", "roc", "federated_auc", "coverage"} <= set(files.names())
    for name in files.names():
        study = files.find(name)
        assert isinstance(study, studies.Study)
        assert study.name == name
        assert len(study.function.__doc__.partition("\n")[0]) <= 72  # a line of a list


@pytest.mark.parametrize("name", ["", "cfd", "_shapes", "named", "cdf.txt", "cdf:cdf"])
def test_names_that_are_none(name):
    with pytest.raises(ParameterError, match="study must be one of bounds, cdf, "):
        files.find(name)


def test_the_studies_of_a_file(folder):
    Path("one.py").write_text(ONE)
    assert files.find("one.py").name == "one"
    assert files.find(str(folder / "one.py:one")).name == "one"
    Path("two.py").write_text(TWO)
    assert list(files.in_file("two.py")) == ["one", "other"]  # once, and not what is hidden
    assert files.find("two.py:other").over(x=[5]).cells[0].labels == {"x": 5}
    for wrong in ("two.py", "two.py:", "two.py:three", "two.py:_hidden"):
        with pytest.raises(ParameterError, match=r"two\.py:one, two\.py:other"):
            files.find(wrong)


def test_a_file_is_no_module_of_this_name(folder):
    import json

    Path("json.py").write_text(ONE)
    assert files.find("json.py").name == "one"
    assert sys.modules["json"] is json
    Path("my study-1.py").write_text(ONE)
    assert files.find("my study-1.py").name == "one"
    assert not list(folder.glob("__pycache__"))


def test_a_file_with_a_neighbour_and_a_dataclass(folder):
    (folder / "neighbour_of_a_study.py").write_text("def doubled(x):\n    return 2 * x\n")
    (folder / "spread.py").write_text(WITH_NEIGHBOUR)
    results = studies.run(files.find("spread.py"), replicates=3, seed=1, workers=1, progress=False)
    assert results.array("twice").tolist() == [[2.0] * 3, [6.0] * 3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import os\nx = 1 +\n", ["line 2", "SyntaxError: invalid syntax"]),
        ("x = 1\nimport nothing_of_this\n", ["line 2", "ModuleNotFoundError: No module"]),
        ("import sys\n\nsys.exit(3)\n", ["line 3", "SystemExit: 3"]),
        ("def f():\n    1 / 0\nf()\n", ["line 2", "ZeroDivisionError: division by zero"]),
        ("import broken_neighbour_of_it\n", ["line 1 of broken_neighbour_of_it.py", "Name"]),
        ("x = 1\n", ["no study"]),
        ("from dpcore import studies\n\nstudies.study({})(max)\nf = 1\n", ["no study"]),
        ("\0", ["fails"]),
        (ONE.replace("def one(x", "def one(y"), ["line 4", "ParameterError: function"]),
        (None, []),  # a folder
    ],
)
def test_files_that_fail_say_where(folder, text, words):
    if text is None:
        Path("f.py").mkdir()
    else:
        Path("f.py").write_text(text)
    Path("broken_neighbour_of_it.py").write_text("nowhere\n")
    with pytest.raises(FileError, match=r"'f\.py'") as caught:
        files.find("f.py")
    assert all(word in str(caught.value) for word in words)


def test_files_that_are_none_or_interrupt(folder):
    with pytest.raises(FileError, match=r"'none\.py'"):
        files.find("none.py")
    for name in ("a\0.py", "\udfff.py"):
        with pytest.raises(ParameterError, match="study must"):
            files.find(name)
    Path("f.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        files.find("f.py")


def test_files_need_the_extra(folder, monkeypatch):
    Path("one.py").write_text(ONE)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(MissingExtraError, match=r"dpcore\[studies\]"):
        files.find("one.py")
    assert files.find("cdf").name == "cdf"
