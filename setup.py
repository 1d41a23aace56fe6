"""What pyproject.toml cannot say: the description on a package index is the README, adapted.

An index does not have the files that relative links and pictures of the README are about. With an
address of the repository (``Source`` in ``[project.urls]``) they become absolute; without one,
links are left out, their text is not, and pictures are left out.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

_RELATIVE = r"\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]*)\)"


def description(readme, source=None):
    """Return the README for a package index."""
    if source is not None:
        absolute = rf"[\1]({source}/%s/HEAD/\2)"
        readme = re.sub("!" + _RELATIVE, "!" + absolute % "raw", readme)
        return re.sub("(?<!!)" + _RELATIVE, absolute % "blob", readme)
    return re.sub(_RELATIVE, r"\1", re.sub(rf"!{_RELATIVE}\n*", "", readme))


if __name__ == "__main__":
    urls = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"].get("urls", {})
    setup(
        long_description=description(Path("README.md").read_text("utf-8"), urls.get("Source")),
        long_description_content_type="text/markdown",
    )
