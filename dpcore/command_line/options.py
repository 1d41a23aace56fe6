"""Options from signatures: what a function takes by name can be said on the command line.

Type, choices and default come from the signature, and the help text from the docstring, when help
is asked for. So a new parameter of a function is an option of its command without an edit here.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, NamedTuple, Union, get_args, get_origin

import dpcore

__all__ = ["Command", "Option", "add_options", "as_flag", "given", "option"]

Option = Mapping[str, Any]  # keywords of argparse's ``add_argument``; ``flag``, if it has its own

_SENTENCE: Final = r"(.+?)(?:\.(?= |$)|; None:|$)"


class Command(NamedTuple):
    """A command of ``dpcore``.

    Parameters
    ----------
    run
        Takes the options, and returns what to print.
    description
        What the help of the command says first.
    functions
        What it calls. Their parameters are its options: those with a default or given by name, if
        text can state them.
    options
        What functions do not say, by name, in the order of the help: options of the command alone,
        and other words for parameters. None: the parameter is no option.
    alternatives
        Options that exclude each other, and whether one of them is required.
    """

    run: Callable[[argparse.Namespace], str]
    description: str
    functions: tuple[Callable[..., Any], ...] = ()
    options: Mapping[str, Option | None] = {}
    alternatives: Mapping[tuple[str, ...], bool] = {}


def option(
    text: str | Callable[[], str],
    metavar: str | None = None,
    kind: Callable[[str], Any] | None = None,
    **more: Any,
) -> Option:
    """Return an option with its help, the name of its value, and what reads the value.

    The help may be a function, which is called when help is asked for.
    """
    stated = {"help": text, "metavar": metavar, "type": kind}
    return {key: value for key, value in stated.items() if value is not None} | more


def add_options(parser: argparse.ArgumentParser, command: Command) -> dict[str, Callable[[], str]]:
    """Add the options of a command; return what makes the help texts that it does not state."""
    derived = {
        parameter.name: (keywords, partial(_text, function, parameter))
        for function in command.functions
        for parameter, keywords in _offered(function)
    }
    texts: dict[str, Callable[[], str]] = {name: text for name, (_, text) in derived.items()}
    groups = {
        name: group
        for names, required in command.alternatives.items()
        for group in [parser.add_mutually_exclusive_group(required=required)]
        for name in names
    }
    for name in dict.fromkeys([*command.options, *derived]):
        own = command.options.get(name, {})
        if own is None:
            continue
        keywords = dict(own)
        if name in derived and "action" not in own:
            keywords = derived[name][0] | keywords
        if callable(keywords.get("help")):
            texts[name] = keywords.pop("help")
        flag = keywords.pop("flag", as_flag(name))
        if flag.startswith("-"):
            keywords["dest"] = name
        groups.get(name, parser).add_argument(flag, **keywords)
    return texts


def given(options: argparse.Namespace, function: Callable[..., Any]) -> dict[str, Any]:
    """Return the arguments of a function that the command line states."""
    arguments = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in options:
            value = getattr(options, name)
            if value is None and parameter.default is not parameter.empty:
                value = parameter.default
            if isinstance(value, list):  # one value for both columns, or one for each
                value = value[0] if len(value) == 1 else tuple(value)
            arguments[name] = value
    return arguments


def as_flag(argument: str) -> str:
    """Return the name of a Python argument on the command line."""
    return f"--{argument.replace('_', '-')}"


def _offered(function: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, dict[str, Any]]]:
    """Yield the parameters that can be options, with keywords of argparse."""
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        has_default = parameter.default is not parameter.empty
        keywords = _keywords(parameter.annotation)
        if keywords is not None and (has_default or parameter.kind is parameter.KEYWORD_ONLY):
            if not has_default:
                keywords["required"] = True
            elif keywords.get("action") != "append":
                keywords["default"] = parameter.default
            yield parameter, keywords


def _keywords(annotation: Any) -> dict[str, Any] | None:
    """Return the keywords of argparse for a type, or None if text cannot state its values."""
    is_union = get_origin(annotation) in (Union, UnionType)
    kinds = get_args(annotation) if is_union else (annotation,)
    pairs = [kind for kind in kinds if get_origin(kind) is tuple]
    choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if choices:
        return {"choices": choices, "type": type(choices[0])}
    if any(get_origin(kind) is os.PathLike for kind in kinds):
        return {"type": Path, "metavar": "PATH"}
    if str in kinds:
        return {"metavar": "TEXT"}
    if bool in kinds:
        return {"action": argparse.BooleanOptionalAction}
    if int in kinds or float in kinds:
        repeated = {"action": "append"} if pairs else {}
        kind, letter = (float, "X") if float in kinds else (int, "N")
        return {"type": kind, "metavar": letter, **repeated}
    if pairs and set(get_args(pairs[0])) == {float}:
        return {"type": float, "nargs": 2, "metavar": ("A", "B")}
    return None


def _text(function: Callable[..., Any], parameter: inspect.Parameter) -> str:
    """Return the first sentence of a parameter's description, and its default."""
    description = _description(function, parameter.name)
    sentence = re.match(_SENTENCE, description)
    text = sentence[1] if sentence else ""
    if re.match(r"[A-Z][a-z ]", text):
        text = text[0].lower() + text[1:]
    default = parameter.default
    if default is None:
        without = re.search(rf"\bNone: {_SENTENCE}", description)
        default = without[1] if without else parameter.empty
    if isinstance(default, bool):
        default = "yes" if default else "no"
    text = text if default is parameter.empty else f"{text} ({default})"
    return text.replace("%", "%%")


def _description(function: Callable[..., Any], name: str) -> str:
    """Return what a docstring says of a parameter; if it is as in another function, go there."""
    section = (inspect.getdoc(function) or "").partition("Parameters\n----------\n")[2]
    entry = re.search(rf"^(?:\w+, )*{name}(?:, \w+)*\n((?: .*\n?|\n)+)", section, re.MULTILINE)
    text = " ".join(entry[1].split()).replace("``", "") if entry else ""
    text = re.sub(r" \(docs/[^)]*\)", "", text)
    other = re.match(r"As in ([\w.]+?)\.(?: |$)", text)
    return _description(reduce(getattr, other[1].split("."), dpcore), name) if other else text  # type: ignore[arg-type]
