"""Tables: rows that two of them have."""

from __future__ import annotations

import pytest

from dpcore.studies.calls import Chunk, Done
from dpcore.studies.folder import Folder
from dpcore.studies.header import Header, header_of
from dpcore.studies.tables import labels_column, part_of, tidy


def part(code: str, start: int, stop: int, value: float):
    header = Header("f", 1, None, [{"code": code}], {"k": {"n": 1}})
    done = Done(Chunk("k", start, stop), [{"x": value}] * (stop - start), 0.0)
    return part_of([done], header, 1)


def test_of_two_rows_alike_the_one_in_front_stays():
    """And so does what made it: code that made no row is not among those that did."""
    parts = [part("a", 0, 3, 1.0), part("b", 2, 5, 2.0), part("c", 1, 4, 3.0)]
    table = tidy(parts)
    assert table.column("replicate").to_pylist() == [0, 1, 2, 3, 4]
    assert table.column("x").to_pylist() == [1.0, 1.0, 1.0, 2.0, 2.0]
    assert table.column("made_by").to_pylist() == [0, 0, 0, 1, 1]
    assert [maker["code"] for maker in header_of(table).makers] == ["a", "b"]


def test_parts_are_read_in_the_order_in_which_they_were_written(tmp_path):
    for at, code in enumerate("bacd"):
        Folder(tmp_path).add(part(code, at, at + 1, 1.0))
    assert [header_of(each).makers[0]["code"] for each in Folder(tmp_path).read()] == [*"bacd"]


@pytest.mark.parametrize(
    ("labels", "kind", "expected"),
    [
        ([1, None, 0.5], "double", [1.0, None, 0.5]),
        ([1, 2**62], "int64", [1, 2**62]),
        (["a", 1, None], "string", ["a", "1", None]),
        ([True, 2], "string", ["True", "2"]),
        ([True, None], "bool", [True, None]),
        ([None], "null", [None]),
    ],
)
def test_labels_of_several_types_have_one_column(labels, kind, expected):
    column = labels_column(labels)
    assert (str(column.type), column.to_pylist()) == (kind, expected)
