"""Notebooks as pages: executed, with what they print and draw."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import nbconvert
import nbformat
from nbclient import NotebookClient


def executed(path: Path) -> Any:
    """Return a notebook after a run of all its cells; an error in one is an error here."""
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:  # for the files that cells write
        where = {"metadata": {"path": folder}}
        NotebookClient(
            notebook,
            timeout=600,
            kernel_name="python3",
            extra_arguments=["--Application.log_level=40"],
            resources=where,
        ).execute()
    return notebook


def page(path: Path) -> dict[str, str | bytes]:
    """Return the files that a notebook becomes: a page, and its pictures."""
    exporter: Any = nbconvert.MarkdownExporter()  # type: ignore[no-untyped-call]
    names = {"unique_key": path.stem, "output_files_dir": path.stem}
    text, resources = exporter.from_notebook_node(executed(path), names)
    return {f"{path.stem}.md": text, **resources["outputs"]}
