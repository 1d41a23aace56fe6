"""Draw the pictures of the documentation: ``python scripts/draw.py [NAME ...]``, or all of them.

dpcore computes the numbers in them. The first start makes ``.venv`` in the clone.
"""

import runpy
import sys

from _folder import names, titles


def main() -> None:
    """Draw."""
    wanted = sys.argv[1:]
    if wanted in (["-h"], ["--help"]):
        print(__doc__, "Names:", ", ".join(names("pictures")))
        return
    for name in wanted or names("pictures"):
        if name not in names("pictures"):
            listed = "".join("\n  {:16}{}".format(*each) for each in titles("pictures"))
            sys.exit(f"dpcore: there is no picture {name!r}; there are{listed}")
        runpy.run_module(f"pictures.{name}", run_name="__main__")


if __name__ == "__main__":
    main()
