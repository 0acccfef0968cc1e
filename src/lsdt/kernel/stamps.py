"""Stamps of sources: machine code is used only for the sources that it was compiled from."""

from __future__ import annotations

import hashlib
import inspect
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from types import ModuleType

PACKAGE = Path(__file__).resolve().parent.parent


def compiled_sources() -> list[Path]:
    """Files that may hold compiled functions: all of ``kernel/`` and ``policies/``, every ``*_kernel.py``."""
    folders = (*(PACKAGE / "kernel").rglob("*.py"), *(PACKAGE / "policies").rglob("*.py"))
    return sorted({*folders, *PACKAGE.rglob("*_kernel.py")})


@cache
def package_stamp() -> str:
    """Return a stamp of all sources of this package that are compiled."""
    digest = hashlib.sha256()
    for path in compiled_sources():
        digest.update(str(path.relative_to(PACKAGE)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


# Packages whose code is covered by a stamp or a version of its own.
_KNOWN = {"lsdt", "numpy", "numba", *sys.stdlib_module_names} - {"__main__"}


def sources_stamp(*things: Any) -> str | None:
    """Return a stamp of the sources of some classes and functions and of all they use; None if unknown.

    Everything in the packages that `things` come from counts, and the files of other packages they use;
    Numba makes constants of their globals. Code typed at a prompt has no file, and a function made by another
    function may depend on its arguments: no stamp vouches for these.
    """
    plain = [getattr(thing, "py_func", thing) for thing in things]
    if any("<locals>" in thing.__qualname__ or not _is_from_its_file(thing) for thing in plain):
        return None
    digest = hashlib.sha256(package_stamp().encode())
    roots = {_root(thing.__module__) for thing in plain}
    waiting = [sys.modules.get(thing.__module__) for thing in plain]
    seen: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module is None:
            return None
        if module.__name__ in seen or _root(module.__name__) in _KNOWN:
            continue
        seen.add(module.__name__)
        try:
            digest.update(
                f"{module.__name__} {Path(str(module.__file__)).read_text(encoding='utf-8')}".encode()
            )
        except (AttributeError, OSError, ValueError):
            return None
        if _root(module.__name__) in roots:
            waiting += _modules_used_by(module)
            digest.update(repr(_constants_of(module)).encode())
    return digest.hexdigest()


def _is_from_its_file(thing: Any) -> bool:
    """Whether a function was read from its module's file rather than typed, or executed as text."""
    file = getattr(sys.modules.get(thing.__module__), "__file__", None)
    code = getattr(thing, "__code__", None)
    return file is not None and (code is None or Path(code.co_filename).resolve() == Path(file).resolve())


def _root(module: str) -> str:
    return module.partition(".")[0]


def _modules_used_by(module: ModuleType) -> list[ModuleType]:
    """Return the modules among a module's globals, and those its functions and classes come from."""
    used = []
    for value in vars(module).values():
        plain = getattr(value, "py_func", value)
        used.append(plain if inspect.ismodule(plain) else sys.modules.get(getattr(plain, "__module__", "")))
    return [other for other in used if other is not None]


def _constants_of(module: ModuleType) -> list[tuple[str, str, str]]:
    """Return the plain values among a module's globals, wherever they come from."""
    constants = []
    for name, value in sorted(vars(module).items()):
        if isinstance(value, (bool, int, float, complex, str, bytes, tuple, np.generic)):
            constants.append((name, type(value).__name__, repr(value)))
        elif isinstance(value, np.ndarray):
            constants.append(
                (name, str(value.dtype), f"{value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}")
            )
    return [constant for constant in constants if not constant[0].startswith("__")]
