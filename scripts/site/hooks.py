"""Hooks of MkDocs: pages that are made while the site is built, and mathematics without scripts."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File, Files

from dpcore._progress import Progress

sys.path.insert(0, str(Path(__file__).parent))

import mathematics
import notebooks
import reference

# How much a page counts in the search, where a word in a title counts for a thousand in a text.
_BOOSTS: Final = {
    "guides/": 4.0,
    "tutorials/": 4.0,
    "proofs/": 0.05,
    "project/": 0.05,
    "measured/": 0.002,
}
_LOG: Final = logging.getLogger("mkdocs.hooks")  # a line of the builder's own
_NOTEBOOK: Final = re.compile(r"\]\(([\w./-]+)\.ipynb\)")


class _Pages:
    """Tells how many pages were read, as other long work does."""

    _all = _done = 0
    _shown: Progress | None = None

    def begin(self, pages: int) -> None:
        self._all, self._done, self._shown = pages, 0, Progress("making pages", None)

    def next(self) -> None:
        self._done += 1
        if self._shown is not None:
            self._shown.show(self._done, self._all, "pages")
        if self._done == self._all:
            self.end()

    def end(self) -> None:
        if self._shown is not None:
            self._shown.__exit__()
            self._shown = None


_progress: Final = _Pages()


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
        _LOG.info("running %s", file.src_uri)
        for name, content in notebooks.page(Path(str(file.abs_src_path))).items():
            files.append(File.generated(config, f"tutorials/{name}", content=content))
    return files


def on_nav(nav: Any, files: Files, **_: Any) -> Any:
    """Begin to show how many pages are made; the reference takes minutes."""
    _progress.begin(len(files.documentation_pages()))
    return nav


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to notebooks lead to the pages made of them; order pages for the search."""
    _progress.next()
    for folder, boost in _BOOSTS.items():
        if page.file.src_uri.startswith(folder):
            page.meta.setdefault("search", {})["boost"] = boost
    return _NOTEBOOK.sub(r"](\1.md)", markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Set mathematics as MathML, which browsers show by themselves."""
    return mathematics.shown(content)
