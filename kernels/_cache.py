"""Machine code on disk: a folder that cannot go stale, and files that may be damaged.

The name of the folder is a hash of all kernel sources. An edit anywhere in ``kernels/`` starts a
new folder, because a kernel's machine code contains the code of the functions that it calls. The
name of a file depends on the kernel, the types that it was compiled for, and everything else that
determines machine code: this processor, the versions of Numba and of the packages that it uses, and
Numba's settings.

If a file is missing or cannot be used, the kernel is compiled. A file contains a digest of its
machine code, because wrong machine code does not raise an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from ._machine import Code

_NO_MATTER = {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS"}  # settings that do not change the code


def sources_digest() -> str | None:
    """Return a hash of all kernel sources, or None if they cannot be read."""
    digest = hashlib.blake2b(digest_size=8)
    folder = Path(__file__).parent
    paths = sorted(folder.rglob("*.py"))
    for path in paths:
        name = path.relative_to(folder).as_posix().encode()
        digest.update(name + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest() if paths else None


def _root() -> Path:
    """Return the folder of caches. An empty environment variable counts as not set."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen).absolute()
    if sys.platform == "win32":
        variable, usual = "LOCALAPPDATA", Path("AppData", "Local")
    elif sys.platform == "darwin":
        variable, usual = "", Path("Library", "Caches")
    else:
        variable, usual = "XDG_CACHE_HOME", Path(".cache")
    # The cache must not be below the current folder, which may belong to anybody. Whoever can
    # write to a cache can run code here.
    given = Path(os.environ.get(variable, ""))
    return given if given.is_absolute() else Path.home() / usual


def _readable_folder(sources: str | None) -> Path | None:
    """Return the cache folder, made if need be, or None where there can be none.

    It may be another's, who filled it: as in a container image, which users cannot write to.
    """
    try:
        root = _root()
        if sources is None or not root.is_absolute():
            return None
        folder = root / "dpcore" / f"kernels-{sources}"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return None
    return folder if os.access(folder, os.R_OK | os.X_OK) else None


_SOURCES = sources_digest()
FOLDER = _readable_folder(_SOURCES)


@cache
def _circumstances() -> str:
    """Return what machine code depends on besides the kernel and the types."""
    settings = {name: value for name, value in os.environ.items() if name.startswith("NUMBA_")}
    return repr(
        (
            sys.implementation.cache_tag,
            sys.version,
            object.__basicsize__,
            np.__version__,
            llvmlite.__version__,
            _numba_version(),
            llvm.get_process_triple(),
            *_processor(),
            sorted((name, settings[name]) for name in settings.keys() - _NO_MATTER),
            _settings_file(),
        )
    )


def _processor() -> tuple[str, str]:
    """Return the name and the features of the processor that Numba compiles for."""
    name, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:  # LLVM may say "generic" for a processor that it does not know yet
        is_any = name is not None and name.lower() == "generic"
        features = "" if is_any else _host_features()
    return llvm.get_host_cpu_name() if name is None else name, features


def _host_features() -> str:
    try:
        features: str = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM cannot tell, so Numba compiles for the processor's name alone
        return ""
    return features


def _settings_file() -> bytes:
    """Return the contents of Numba's file of settings; empty if it does not exist."""
    with contextlib.suppress(OSError):
        return Path(".numba_config.yaml").read_bytes()
    return b""


def _numba_version() -> bytes:
    """Return the file that contains Numba's version. Numba itself is not imported."""
    found = importlib.util.find_spec("numba")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).with_name("_version.py").read_bytes()


def _place(function: Callable[..., object], types: str) -> tuple[Path, bytes] | None:
    """Return a kernel's file for some types, and the full description of its contents."""
    if FOLDER is None:
        return None
    # Sources in different folders may have the same file name, and line numbers do not tell kernels
    # apart. So the name begins with the module and the function.
    code = function.__code__
    kernel = f"{function.__module__}.{function.__qualname__}-{code.co_firstlineno}"
    whole = repr((kernel, types, _circumstances())).encode()
    short = hashlib.blake2b(whole, digest_size=8).hexdigest()
    return FOLDER / f"{kernel.replace('<locals>', '')}-{short}.code", whole


def load(function: Callable[..., object], types: str) -> Code | None:
    """Return the machine code from the file, if the file is undamaged."""
    try:
        if (place := _place(function, types)) is None:
            return None
        path, whole = place
        data = path.read_bytes()
        digest, rest = data[:64], data[64:]
        if hashlib.blake2b(whole + rest).digest() != digest:
            return None
        head, _, objects = rest.partition(b"\n\n")
        entry, sizes, *names = head.decode().split("\n")
        ends = [int(size) for size in sizes.split()]
        parts = [objects[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    except (OSError, ValueError):
        return None
    return Code(entry, tuple(names), tuple(parts))


def save(function: Callable[..., object], types: str, code: Code) -> None:
    """Keep machine code, if there is space, and if it is of the sources that the folder is for.

    They may be others by now, after an edit or an upgrade, and so may be what was compiled.
    """
    if sources_digest() != _SOURCES or (place := _place(function, types)) is None:
        return
    path, whole = place
    ends, objects = [], b""
    for each in code.objects:
        objects += each
        ends.append(str(len(objects)))
    rest = "\n".join((code.entry, " ".join(ends), *code.names)).encode() + b"\n\n" + objects
    # The file is renamed when it is complete, so nobody reads a part of one. If two processes write
    # at the same time, the file of the last one stays.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.urandom(8).hex()}.tmp")
        try:
            part.write_bytes(hashlib.blake2b(whole + rest).digest() + rest)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def kept() -> tuple[int, int]:
    """Return the number of files for the current kernels, and their size in bytes."""
    paths = [] if FOLDER is None else list(FOLDER.glob("*.code"))
    return len(paths), sum(path.stat().st_size for path in paths)
