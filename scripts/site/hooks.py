"""Hooks of MkDocs: pages that are made while the site is built, and mathematics without scripts."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

import mathematics
import notebooks
import reference

_NOTEBOOK: Final = re.compile(r"\]\(([\w./-]+)\.ipynb\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the reference, and pages made of notebooks instead of the notebooks."""
    style = (Path(__file__).parent / "site.css").read_text("utf-8")
    files.append(File.generated(config, "assets/site.css", content=style))
    for page in reference.PAGES:
        files.append(File.generated(config, f"reference/{page.file}.md", content=page.markdown()))
    for name, made in (("index", reference.contents), ("command-line", reference.command_line)):
        files.append(File.generated(config, f"reference/{name}.md", content=made()))
    for file in [each for each in files if each.src_uri.endswith(".ipynb")]:
        files.remove(file)
        for name, content in notebooks.page(Path(str(file.abs_src_path))).items():
            files.append(File.generated(config, f"tutorials/{name}", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to notebooks lead to the pages made of them."""
    return _NOTEBOOK.sub(r"](\1.md)", markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Set mathematics as MathML, which browsers show by themselves."""
    return mathematics.shown(content)
