"""Reports in a real browser: no error, readable on a telephone, printable, in light and dark."""

from __future__ import annotations

import html
import json
import re

import pytest

import dpcore as dp
from tests import browser

from .test_report import EVIL, RESULTS, budgeted

pytestmark = pytest.mark.full

# The report has no scripts, so a page around it measures it.
AROUND = """<!DOCTYPE html><html><body>
<iframe width="{width}" height="800" srcdoc="{page}"></iframe><pre id="found"></pre>
<script>
const frame = document.querySelector("iframe");
frame.onload = async () => {{
  const inside = frame.contentDocument, all = [...inside.querySelectorAll("body, body *")];
  await Promise.all([...inside.images].map(image => image.decode()));
  const colours = one => {{
    let behind = one;
    while (behind.parentElement && getComputedStyle(behind).backgroundColor.endsWith(", 0)"))
      behind = behind.parentElement;
    return [getComputedStyle(one).color, getComputedStyle(behind).backgroundColor];
  }};
  document.getElementById("found").textContent = JSON.stringify({{
    width: inside.scrollingElement.scrollWidth,
    cut: all.filter(one => one.scrollWidth > one.clientWidth + 1
      && getComputedStyle(one).overflowX === "hidden").length,
    images: [...inside.images].map(image => [image.naturalWidth, image.clientWidth]),
    colours: [...new Set(all.map(one => colours(one).join(" on ")))],
  }});
}};
</script></body></html>"""
COLOUR = r"rgba?\((\d+), (\d+), (\d+)"
DARK = "--blink-settings=preferredColorScheme=0"


@pytest.fixture(scope="module")
def page():
    return dp.report(RESULTS, title=EVIL, budget=budgeted())


def looked_at(folder, page, width, *options):
    """What a script finds in the page, and the messages of the console."""
    file = folder / "around.html"
    file.write_text(AROUND.format(width=width, page=html.escape(page)), "utf-8")
    shown, told = browser.run(folder, file.as_uri(), "--dump-dom", *options)
    found = re.search(r'<pre id="found">(.*?)</pre>', shown, re.DOTALL)
    return json.loads(html.unescape(found[1])), told


def luminance(colour):
    parts = [int(part) / 255 for part in colour]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [(), (DARK,)], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1200])
def test_it_is_read_without_errors_and_without_scrolling_sideways(page, width, scheme, tmp_path):
    found, told = looked_at(tmp_path, page, width, *scheme)
    assert told == []
    assert found["width"] <= width
    assert found["cut"] == 0
    assert len(found["images"]) == page.count("<img")
    assert all(natural > 0 and 0 < shown <= width for natural, shown in found["images"])
    for pair in found["colours"]:  # text is read, by the ratio that WCAG asks for
        dark, light = sorted(map(luminance, re.findall(COLOUR, pair)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, pair


def test_what_is_wrong_would_be_seen(tmp_path):
    wrong = '<meta http-equiv="Content-Security-Policy" content="script-src \'none\'">'
    wrong += '<script>1</script><p style="width: 900px">wide</p>'
    found, told = looked_at(tmp_path, wrong, 400)
    assert any("Content Security Policy" in text for text in told)
    assert found["width"] > 800


def test_it_is_printed_on_pages(page, tmp_path):
    file, printed = tmp_path / "report.html", tmp_path / "report.pdf"
    file.write_text(page, "utf-8")
    _, told = browser.run(tmp_path, file.as_uri(), f"--print-to-pdf={printed}")
    assert told == []
    pages = re.findall(rb"/Type\s*/Page\b", printed.read_bytes())
    assert len(pages) > 5  # there is a picture, and tables, for each result
