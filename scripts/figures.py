"""The figures and tables of the four papers: ``python scripts/figures.py [--quick] [NAME ...]``.

Makes the figures and docs/measured/figures.md. The page states the paper's claim, the results of
the paper's method and of dpcore's, and whether they agree. Pictures go into docs/measured/figures.
``--data DIR`` (or DPCORE_DATA) names a folder with the papers' data sets, which are not part of
this project: docs/measured/figures.md lists the files and their digests, which are checked. Without
the folder, other data replace them, pictures say so, and everything goes into figures-without-data.
With ``--quick`` there are few replicates, and everything goes into figures-quick. An interrupted
run continues where it stopped. The first start makes ``.venv`` in the clone.
"""

import argparse
import os

from _environment import ensure


def main() -> None:
    """Make the requested figures, and the page."""
    parser = argparse.ArgumentParser(description="The figures and tables of the four papers.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="names as listed, or their beginnings"
    )
    parser.add_argument("--quick", action="store_true", help="few replicates, into figures-quick")
    parser.add_argument("--list", action="store_true", help="list the figures and tables")
    parser.add_argument("--workers", type=int, default=-1, metavar="K", help="processes")
    parser.add_argument(
        "--data",
        default=os.environ.get("DPCORE_DATA"),
        metavar="DIR",
        help="a folder with the papers' data sets; default: DPCORE_DATA",
    )
    arguments = parser.parse_args()
    if arguments.data:
        os.environ["DPCORE_DATA"] = os.path.abspath(
            arguments.data
        )  # which worker processes see, too
    ensure("figures", "bench")
    from papers._all import make, names

    chosen = names(arguments.names)
    if arguments.list:
        print("\n".join(chosen))
        return
    make(chosen, quick=arguments.quick, workers=arguments.workers)


if __name__ == "__main__":
    main()
