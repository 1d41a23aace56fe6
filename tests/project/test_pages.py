"""Pages and sections that texts name exist, and every page is in the site's menu."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"  # pages that only the site has
PAGES = sorted(DOCS.rglob("*.md"))
NOTEBOOKS = sorted(DOCS.rglob("*.ipynb"))
MENU = (ROOT / "scripts" / "site" / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
FOLDERS = ("benchmarks", "docs", "dpcore", "examples", "kernels", "scripts", "tests")
SUFFIXES = {".ipynb", ".md", ".py", ".toml"}
MADE_UP = {"docs/a.md"}  # in the test of the description on an index
NUMBERS = r"(\d+(?:(?:, | and |, and | to )\d+)*)"
# A page by its path in the repository, or as the target of a link, and sections after or before it.
NAMED = re.compile(
    rf"(?:(?<!\w)sections? {NUMBERS} of )?(?:(?<![\w/.])|\[[^\]]*\]\()(docs/[\w./-]*\.md)(?:\)|\b)"
    rf'(?:,? (?:in )?section(?:s? {NUMBERS}| "([^"]+)"))?'
)
LINKED = re.compile(
    rf"(?:(?<!\w)sections? {NUMBERS} of )?"
    r"\[[^\]]*\]\(((?!\w+:)[^)#\s]+\.(?:md|ipynb|png))(?:#([^)\s]+))?\)"
    rf'(?:,? section(?:s? {NUMBERS}| "([^"]+)"))?'
)


def texts():
    """All files that may name a page."""
    roots = [ROOT / folder for folder in FOLDERS]
    found = [path for root in roots for path in root.rglob("*") if path.suffix in SUFFIXES]
    outside = [path for path in ROOT.iterdir() if path.suffix in SUFFIXES]
    return [path for path in sorted({*found, *outside}) if path != Path(__file__)]


def flowing(text):
    """A text without the ends of its lines, also in comments and in texts of several parts."""
    return re.sub(r'\s*\n\s*(?:# )?|"\n\s*f?"', " ", text)


def headings(page):
    """The headings of a page, without code."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^#+ (.*)$", text, re.MULTILINE)


def numbers(text):
    """The numbers that "2, 3 and 5 to 7" names, ends of ranges only."""
    return {int(number) for number in re.findall(r"\d+", text or "")}


def lacks(page, before, after, name):
    """What a page lacks of the sections that a text says it has."""
    known = headings(page)
    numbered = {int(match[1]) for match in (re.match(r"(\d+)\. ", each) for each in known) if match}
    missing = {f"section {number}" for number in (numbers(before) | numbers(after)) - numbered}
    bare = {re.sub(r"^\d+\. ", "", each) for each in known}
    return missing | ({name} if name and name not in bare else set())


def anchors(page):
    """The addresses of the headings of a page, as GitHub makes them."""
    plain = (re.sub(r"[^\w\- ]", "", each.lower()) for each in headings(page))
    return {each.replace(" ", "-") for each in plain}


def wrong_names(text):
    """The pages that a text names by their paths, and that do not exist or lack what it says."""
    for before, page, after, name in NAMED.findall(flowing(text)):
        if page in MADE_UP:
            continue
        path = ROOT / page
        if not path.is_file():
            yield page
        else:
            yield from (f"{page}: {each}" for each in lacks(path, before, after, name))


def wrong_links(text, folder):
    """The relative links of a page or notebook that lead nowhere, or to less than they say."""
    for before, target, anchor, after, name in LINKED.findall(flowing(text)):
        path = (folder / target).resolve()
        if path.is_relative_to(REFERENCE):
            continue
        if not path.is_file():
            yield target
        elif path.suffix == ".md":
            yield from (f"{target}: {each}" for each in lacks(path, before, after, name))
            if anchor and anchor not in anchors(path):
                yield f"{target}#{anchor}"


def test_wrong_names_and_links_are_seen():
    some = "docs/proofs/privacy.md"
    assert list(wrong_names(f"See docs/nothing.md and ({some}, section 2).")) == ["docs/nothing.md"]
    for text in (
        f"{some},\n    # section 99",
        f"({some}, sections 2 and 99)",
        f"section 99 of {some}",
    ):
        assert list(wrong_names(text)) == [f"{some}: section 99"]
    assert list(wrong_names(f'{some}, section "Nothing"')) == [f"{some}: Nothing"]
    links = (
        "[a](privacy.md), section 1, [b](none.md), [c](privacy.md#none), [d](noise.md), section 99"
    )
    wrong = list(wrong_links(links, DOCS / "proofs"))
    assert wrong == ["none.md", "privacy.md#none", "noise.md: section 99"]


def test_pages_that_are_named_by_their_paths_exist():
    wrong = {}
    for path in texts():
        if found := sorted(set(wrong_names(path.read_text("utf-8")))):
            wrong[str(path.relative_to(ROOT))] = found
    assert wrong == {}


def test_links_lead_somewhere():
    wrong = {}
    for path in [*PAGES, *NOTEBOOKS, *ROOT.glob("*.md"), *(ROOT / "examples").rglob("*.md")]:
        if found := sorted(set(wrong_links(path.read_text("utf-8"), path.parent))):
            wrong[str(path.relative_to(ROOT))] = found
    assert wrong == {}


def test_the_menu_has_every_page_once_and_no_other():
    shown = re.findall(r"([\w./-]+)\.md$", MENU, re.MULTILINE)
    there = [str(path.relative_to(DOCS).with_suffix("")) for path in (*PAGES, *NOTEBOOKS)]
    assert sorted(name for name in shown if not name.startswith("reference/")) == sorted(there)


@pytest.mark.parametrize(
    "page", sorted((DOCS / "measured").glob("*.md")), ids=lambda page: page.stem
)
def test_a_measured_page_says_in_its_first_lines_what_makes_it(page):
    first = flowing("\n".join(page.read_text("utf-8").splitlines()[:8]))
    (command,) = set(re.findall(r"`python scripts/(study\.py \w+|bench\.py|figures\.py)", first))
    script = command.replace("study.py ", "studies/") + ".py" * command.startswith("study")
    assert (ROOT / "scripts" / script).is_file()


def test_only_folders_of_the_menu_hold_pages():
    assert [path.name for path in DOCS.glob("*.md")] == ["index.md"]
