"""Formulas as MathML, which browsers show without scripts, with the spaces that TeX sets."""

from __future__ import annotations

import html
import re
from typing import Final

from latex2mathml.converter import convert

_FORMULA: Final = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>([.,;:)]*)', re.S)
_NAME: Final = r"<mi>(?:log|ln|exp|cosh)</mi>"
_EXTREME: Final = re.compile(r"<mo>(max|min|sup)</mo>(?=(<mo[^>]*>&#x00028;)?)")
_FUNCTION: Final = re.compile(
    r"(</m(?:i|n|sub|sup|subsup|frac|row)>)?"  # what stands before it
    rf"(<m(sub|sup)>{_NAME}<m[in]>[^<]*</m[in]></m\3>|(?<!<msub>)(?<!<msup>){_NAME})"
    r"((?:<mrow>)?<mo[^>]*>&#x00028;)?"
)
_SPACE: Final = '<mspace width="0.167em" />'
# A minus behind an opening bracket or a relation is a sign, or it has space as between terms.
_SIGN: Final = re.compile(
    r"(<mo[^>]*>(?:[\[=,]|&#x000(?:28|5B|7B|3C|3D|3E|2C);|&#x0226[45];)</mo>)<mo>&#x02212;</mo>"
)


def shown(page: str) -> str:
    """Return the HTML of a page, in which Arithmatex has marked the formulas, with MathML."""
    return _FORMULA.sub(_mathml, page)


def _mathml(found: re.Match[str]) -> str:
    formula = html.unescape(found[2]).strip()
    display = "block" if formula.startswith("\\[") else "inline"
    # Bars of absolute values are fences, or browsers put spaces around the second one.
    for bar in ("\\lvert", "\\rvert"):
        formula = formula.replace(bar, rf"\{'left' if bar[1] == 'l' else 'right'}{bar}")
    made = str(convert(formula[2:-2], display=display))
    made = _FUNCTION.sub(_spaced, made)
    made = _EXTREME.sub(_operator, made)
    made = _SIGN.sub(r'\1<mo form="prefix">&#x02212;</mo>', made)
    if display == "block":
        return f'<div class="formula">{made}</div>{found[3]}'
    return f'<span class="unbroken">{made}{found[3]}</span>' if found[3] else made


def _operator(found: re.Match[str]) -> str:
    """Put thin spaces around the name of an operator, and none before a bracket."""
    return f'<mo lspace="0.167em" rspace="{0 if found[2] else 0.167}em">{found[1]}</mo>'


def _spaced(found: re.Match[str]) -> str:
    """Put the thin spaces around a function's name that TeX puts there, and MathML does not."""
    before, name, bracket = found[1] or "", found[2], found[4] or ""
    left, right = _SPACE if before else "", "" if bracket else _SPACE
    return f"{before}<mrow>{left}{name}{right}</mrow>{bracket}"
