"""The tutorials: valid notebooks, stored without outputs, whose cells run in order."""

from __future__ import annotations

import json
import linecache
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
PARTS = {
    "code": {"cell_type", "execution_count", "id", "metadata", "outputs", "source"},
    "markdown": {"cell_type", "id", "metadata", "source"},
}

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path):
    return json.loads(path.read_text("utf-8"))


def source(cell):
    """The text of a cell, which is stored as one string or as a list of lines."""
    return "".join(cell["source"])


@each_notebook
def test_a_notebook_is_valid(path):
    notebook = read(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    for cell in notebook["cells"]:
        assert set(cell) == PARTS[cell["cell_type"]], cell
        assert source(cell).strip(), cell
    ids = [cell["id"] for cell in notebook["cells"]]
    assert all(re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", each) for each in ids), ids
    assert len(set(ids)) == len(ids)
    first = notebook["cells"][0]
    assert first["cell_type"] == "markdown"
    assert source(first).startswith("# ")


@each_notebook
def test_jupyter_takes_it(path):
    reason = "nbformat, which comes with the extra `docs`, cannot be imported"
    nbformat = pytest.importorskip("nbformat", reason=reason)
    nbformat.validate(nbformat.read(path, as_version=nbformat.NO_CONVERT))


@each_notebook
def test_it_is_stored_without_outputs(path):
    for cell in read(path)["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None), cell["id"]


@each_notebook
def test_the_menu_of_the_site_names_it(path):
    menu = (ROOT / "scripts" / "site" / "mkdocs.yml").read_text("utf-8")
    assert f"- tutorials/{path.stem}.md\n" in menu


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@each_notebook
def test_its_cells_run_in_order(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda *_, **__: None)  # Agg cannot, and warns
    names = {"__name__": "__main__"}
    with plt.rc_context():
        for cell in read(path)["cells"]:
            if cell["cell_type"] == "code":
                run(source(cell), f"<{path.stem}, cell {cell['id']}>", names)
    plt.close("all")


def run(code, name, names):
    """Execute a cell; tracebacks, and functions that are asked for their source, find it."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    exec(compile(code, name, "exec"), names)
