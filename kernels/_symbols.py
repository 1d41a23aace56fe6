"""The names in an object file: those that it defines, and those that it needs from elsewhere.

A linker that does not find a name ends the process, so this is asked beforehand.
"""

from __future__ import annotations

import struct

_SECTION = struct.Struct("<IIQQQQIIQQ")  # the section header of 64-bit ELF files, little-endian
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOLS = 2  # the type of a section with symbols
_BEGINNING = b"\x7fELF\x02\x01"


def names(data: bytes) -> tuple[set[str], set[str]] | None:
    """Return what an object file defines and what it needs, or None if it is in no such format.

    LLVM writes ELF files for programs in memory, on Windows too; on macOS it does not.
    """
    if not data.startswith(_BEGINNING):
        return None
    (first,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [_SECTION.unpack_from(data, first + i * size) for i in range(count)]
    defined: set[str] = set()
    needed: set[str] = set()
    for _, kind, _, _, start, length, link, *_ in sections:
        if kind == _SYMBOLS:
            texts = sections[link][4]
            for at in range(start, start + length, _SYMBOL.size):
                text, _, _, section, _, _ = _SYMBOL.unpack_from(data, at)
                end = data.index(b"\0", texts + text)
                name = data[texts + text : end].decode()
                (defined if section else needed).add(name)
    return defined, needed - {""}
