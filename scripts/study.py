"""Run a study of the documentation: ``python scripts/study.py NAME [its arguments]``.

Without a name: which studies there are. The first lines of ``scripts/studies/NAME.py`` say which
pages and pictures it writes. The first start makes ``.venv`` in the clone.
"""

import sys

from _folder import run, titles


def main() -> None:
    """List the studies, or run one."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        for name, title in titles("studies"):
            print(f"  {name:16}{title}")
        return
    name = sys.argv.pop(1)
    run("studies", "study.py", name)


if __name__ == "__main__":
    main()
