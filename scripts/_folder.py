"""Commands that are one of several modules in a folder of scripts/: listed, and run by name."""

import runpy
import sys

from _environment import ROOT  # first: it says so where Python is too old for the rest

_SCRIPTS = ROOT / "scripts"


def names(folder: str) -> "list[str]":
    """Return the names of the modules that can be run."""
    return sorted(path.stem for path in (_SCRIPTS / folder).glob("[!_]*.py"))


def title(folder: str, name: str) -> str:
    """Return the first line of what a module says of itself."""
    return _text(folder, name).lstrip('"').partition("\n")[0].partition(": ``")[0].rstrip('".')


def is_script(folder: str, name: str) -> bool:
    """Return whether a module has arguments of its own; others have a ``main``, and no more."""
    return name in names(folder) and "argparse" in _text(folder, name)


def _text(folder: str, name: str) -> str:
    return (_SCRIPTS / folder / (name + ".py")).read_text("utf-8")


def run(folder: str, command: str, name: str) -> None:
    """Run a module as the script that it is, with the arguments behind its name."""
    if name not in names(folder):
        listed = "".join("\n  {:16}{}".format(*each) for each in titles(folder))
        sys.exit(f"dpcore: there is no {name!r} for scripts/{command}; there are{listed}")
    sys.argv[0] = f"{command} {name}"
    runpy.run_module(f"{folder}.{name}", run_name="__main__")


def titles(folder: str) -> "list[tuple[str, str]]":
    """Return the name of each module, and what it says of itself."""
    return [(name, title(folder, name)) for name in names(folder)]
