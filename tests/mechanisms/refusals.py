"""Cases for tests of what is refused: by wrong values, and by wrong types."""

from __future__ import annotations

from dpcore.errors import DtypeError, ParameterError


def refusals(values, types):
    """Changes of one argument each, the kind of the error, and how its message begins."""
    cases = []
    for error, wrong in ((ParameterError, values), (DtypeError, types)):
        for name, some in wrong.items():
            cases += [({name: value}, error, f"^{name} ") for value in some]
    return cases
