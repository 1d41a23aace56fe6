"""The site's search answers what newcomers type.

The worker of the built site runs in a browser, as it does for a reader.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import browser

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
FIRST = 4  # hits that a reader looks at
LEAST = 50  # answered questions
# A worker of its own would be refused where pages are files, so it runs in the page.
PAGE = """<!DOCTYPE html><html><body><pre id="hits"></pre>
<script type="application/json" id="given">{given}</script>
<script>
const given = JSON.parse(document.getElementById("given").textContent), hits = [];
let ask;
const told = message => {{
  if (message.type === 3)
    hits.push(message.data.items.slice(0, 12).map(page => page[0].location.split("#")[0]));
  if (hits.length < given.questions.length) ask({{type: 2, data: given.questions[hits.length]}});
  else document.getElementById("hits").textContent = JSON.stringify(hits);
}};
const listen = (_, answer) => ask = data => answer({{data}});
new Function("addEventListener", "postMessage", given.worker)(listen, told);
ask({{type: 0, data: {{...given.index, options: {{suggest: false}}}}}});
</script></body></html>"""


def questions():
    """The questions, each with its pages."""
    lines = (Path(__file__).parent / "search_questions.txt").read_text("utf-8").splitlines()
    pairs = [line.rsplit(": ", 1) for line in lines if ": " in line and not line.startswith("#")]
    return {question: {f"{page}.html" for page in pages.split(", ")} for question, pages in pairs}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site as it is now."""
    pytest.importorskip("mkdocs", reason='needs the extra: pip install "dpcore[docs]"')
    browser.chromium()  # or nothing is built in vain
    folder = tmp_path_factory.mktemp("site")
    config = ROOT / "scripts" / "site" / "mkdocs.yml"
    command = [sys.executable, "-m", "mkdocs", "build", "--config-file", str(config)]
    done = subprocess.run(
        [*command, "--site-dir", str(folder)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def hits(site, folder, asked):
    """The pages that each question finds, the best first."""
    (worker,) = (site / "assets" / "javascripts" / "workers").glob("search.*.min.js")
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    given = json.dumps({"worker": worker.read_text("utf-8"), "index": index, "questions": asked})
    page = folder / "search.html"
    page.write_text(PAGE.format(given=given.replace("<", "\\u003c")), "utf-8")
    shown, told = browser.run(folder, page.as_uri(), "--dump-dom")
    assert told == []
    found = re.search(r'<pre id="hits">(.*?)</pre>', shown, re.DOTALL)
    return json.loads(html.unescape(found[1]))


def test_newcomers_find_what_they_ask_for(site, tmp_path):
    wanted = questions()
    assert len(wanted) == 60
    assert all((site / page).exists() for pages in wanted.values() for page in pages)
    found = hits(site, tmp_path, [*wanted])
    missed = {
        question: pages[:FIRST]
        for (question, right), pages in zip(wanted.items(), found, strict=True)
        if not right & set(pages[:FIRST])
    }
    assert len(wanted) - len(missed) >= LEAST, missed
