"""The modules in a folder of scripts/ that a command can run."""

from _environment import ROOT  # first, because it says so if Python is too old for the rest

_SCRIPTS = ROOT / "scripts"


def names(folder: str) -> "list[str]":
    """Return the names of the modules that can be run."""
    return sorted(path.stem for path in (_SCRIPTS / folder).glob("[!_]*.py"))


def title(folder: str, name: str) -> str:
    """Return the first line of a module's docstring."""
    text = (_SCRIPTS / folder / (name + ".py")).read_text("utf-8")
    return text.lstrip('"').partition("\n")[0].partition(": ``")[0].rstrip('".')


def titles(folder: str) -> "list[tuple[str, str]]":
    """Return the name of each module, and the first line of its docstring."""
    return [(name, title(folder, name)) for name in names(folder)]
