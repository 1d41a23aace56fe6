"""Draw the pictures of the documentation: ``python scripts/draw.py [NAME ...]``, or all of them.

Their numbers are computed, by dpcore itself. The first start makes ``.venv`` in the clone.
"""

import sys

from _folder import names, run


def main() -> None:
    """Draw."""
    wanted = sys.argv[1:]
    if wanted in (["-h"], ["--help"]):
        print(__doc__, "Names:", ", ".join(names("pictures")))
        return
    for name in wanted or names("pictures"):
        run("pictures", "draw.py", name)


if __name__ == "__main__":
    main()
