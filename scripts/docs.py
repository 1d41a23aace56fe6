"""Build the site of the documentation: ``python scripts/docs.py [--serve]``.

Writes ``site/``. A link that leads nowhere, or a page that is in no menu, is an error. ``--serve``
shows the site on this machine instead, and builds it again when a page changes. The first start
makes ``.venv`` in the clone.
"""

import os
import sys

from _environment import ROOT, become, ensure, keep_machine_code, python


def main() -> None:
    """Set up, and run MkDocs."""
    arguments = sys.argv[1:]
    if arguments not in ([], ["--serve"]):
        sys.exit(__doc__)
    ensure("docs")
    keep_machine_code()  # the same as in the tests, for the notebooks
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    config = ["--config-file", str(ROOT / "scripts" / "site" / "mkdocs.yml")]
    command = ["serve"] if arguments else ["build", "--strict"]
    become([str(python()), "-m", "mkdocs", *command, *config])


if __name__ == "__main__":
    main()
