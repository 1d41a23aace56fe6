"""A check that pictures need no explanation: named axes, and legends whose entries differ."""

from collections.abc import Iterator
from typing import Any

__all__ = ["lacks", "stands_alone"]


def stands_alone(picture: Any) -> None:
    """Refuse a picture of Matplotlib that would need an explanation.

    Raises
    ------
    ValueError
        The picture lacks something; the message says what.
    """
    found = list(lacks(picture))
    if found:
        raise ValueError(f"the picture lacks: {'; '.join(found)}")


def lacks(picture: Any) -> Iterator[str]:
    """Yield what is missing: names of axes, and different entries of legends.

    In a row of axes, the first one may name the vertical axis for all. In a column, the last one
    may name the horizontal axis. If the ticks are words, the axis needs no name.
    """
    shown = [ax for ax in picture.axes if ax.axison and ax.get_label() != "<colorbar>"]
    for at, ax in enumerate(shown):
        spec = ax.get_subplotspec()
        row, column = [], []
        if spec is not None:
            others = [(each, each.get_subplotspec()) for each in shown if each.get_subplotspec()]
            row = [each for each, its in others if its.rowspan == spec.rowspan]
            column = [each for each, its in others if its.colspan == spec.colspan]
        if not (ax.get_ylabel() or (row and row[0].get_ylabel()) or words(ax.get_yticklabels())):
            yield f"the name of the axis up of axes {at}"
        named = ax.get_xlabel() or (column and column[-1].get_xlabel())
        if not (named or words(ax.get_xticklabels()) or ax.child_axes):
            yield f"the name of the axis across of axes {at}"
    legends = [ax.get_legend() for ax in picture.axes] + list(picture.legends)
    for legend in legends:
        texts = [] if legend is None else [text.get_text() for text in legend.get_texts()]
        for text in sorted({text for text in texts if texts.count(text) > 1}):
            yield f"one entry {text!r} of the legend instead of several"


def words(ticks: Any) -> bool:
    """Return whether all ticks have names."""
    texts = [text.get_text() for text in ticks]
    return bool(texts) and all(any(c.isalpha() for c in text) and "$" not in text for text in texts)
