"""An extension of Griffe: docstrings as ``help`` shows them, with links."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Final

import griffe

sys.path.insert(0, str(Path(__file__).parent))

import reference

from dpcore._documentation import filled_in

_PUBLIC: Final = {path for page in reference.PAGES for path in page.paths()}
_EITHER: Final = griffe.ParameterKind.positional_or_keyword
_PAGE: Final = re.compile(r"docs/((?:[a-z]+/)?([a-z-]+))\.md")
_NAME: Final = re.compile(r"``(?:dpcore\.)?([A-Za-z_.]+)``")


class Docstrings(griffe.Extension):
    """Fill in what several docstrings share, and make links of pages and public names."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = linked(filled_in(obj.docstring.value))

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Give a named tuple the signature that it has."""
        if any(str(base) == "NamedTuple" for base in cls.bases):
            fields = [griffe.Parameter("self", kind=_EITHER)]
            for field in cls.attributes.values():
                if field.annotation is not None:
                    given = griffe.Parameter(field.name, annotation=field.annotation, kind=_EITHER)
                    given.default = field.value
                    fields.append(given)
            cls.set_member(
                "__init__", griffe.Function("__init__", parameters=griffe.Parameters(*fields))
            )


def linked(text: str) -> str:
    """Return a docstring with links."""
    described, examples, rest = text.partition("\nExamples\n--------\n")
    described = _PAGE.sub(r"[\2](../\1.md)", described)
    return _NAME.sub(_link, described) + examples + rest


def _link(found: re.Match[str]) -> str:
    path = f"dpcore.{found[1]}"
    return f"[`{found[1]}`][{path}]" if path in _PUBLIC else f"`{found[1]}`"
