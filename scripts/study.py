"""Run a study of the documentation: ``python scripts/study.py NAME [--runs N] [--data DIR]``.

Without a name, it lists the studies. The first lines of ``scripts/studies/NAME.py`` say which pages
and pictures a study writes. Results are kept in .studies, so an interrupted run continues where it
stopped. ``--quick`` runs little, and writes into .studies/quick. A study whose data sets (``DATA``
in its file) are not in DIR writes into .studies/without-data. The first start makes ``.venv`` in
the clone.
"""

import argparse
import importlib
import os
import sys

from _environment import ROOT, ensure
from _folder import names, titles


def main() -> None:
    """List the studies, or run one."""
    if len(sys.argv) < 2:
        print(__doc__)
        for name, title in titles("studies"):
            print(f"  {name:16}{title}")
        return
    asked = arguments()
    if asked.data:
        os.environ["DPCORE_DATA"] = os.path.abspath(asked.data)  # which worker processes see, too
    ensure("figures")
    import _pages
    import _studies

    _studies.given = _studies.Given(asked.runs, asked.quick, asked.workers)
    if asked.quick:
        _pages.where = ROOT / ".studies" / "quick"
    study = importlib.import_module(f"studies.{asked.name}")
    missing = [name for name in getattr(study, "DATA", ()) if not is_there(asked.data, name)]
    if missing and not asked.quick:
        _pages.where = ROOT / ".studies" / "without-data"
        print(
            f"without {' and '.join(missing)} in --data DIR, other data or fewer of them are used;"
            f" all goes into {_pages.where.relative_to(ROOT)}, and not into docs/"
        )
    study.main()


def is_there(folder: str | None, name: str) -> bool:
    """Return whether the folder of data sets has this file or folder."""
    return folder is not None and os.path.exists(os.path.join(folder, name))


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description="A study of the documentation.")
    parser.add_argument("name", choices=names("studies"), metavar="NAME", help="as listed")
    parser.add_argument(
        "--runs", type=int, metavar="N", help="number of replicates of each measurement"
    )
    parser.add_argument("--quick", action="store_true", help="few runs, into .studies/quick")
    parser.add_argument("--workers", type=int, default=-1, metavar="K", help="processes")
    parser.add_argument(
        "--data",
        default=os.environ.get("DPCORE_DATA"),
        metavar="DIR",
        help="a folder with data sets that are not part of this project; default: DPCORE_DATA",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
