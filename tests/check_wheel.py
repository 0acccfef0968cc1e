"""Look into a wheel and an sdist: everything that is needed at run time is there, and nothing else.

python tests/check_wheel.py dist
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def needed() -> set[str]:
    """Return the files of the package as they are in its sources: modules, templates, static files."""
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT / "src").as_posix() for path in files}


def check(folder: Path) -> list[str]:
    """Return what is wrong with the one wheel and the one sdist in a folder."""
    (wheel,), (sdist,) = folder.glob("lsdt-*.whl"), folder.glob("lsdt-*.tar.gz")
    held = set(zipfile.ZipFile(wheel).namelist())
    about = {name for name in held if re.match(r"lsdt-[^/]+\.dist-info/", name)}
    wrong = [f"{wheel.name} lacks {name}" for name in sorted(needed() - held)]
    wrong += [f"{wheel.name} has {name}" for name in sorted(held - about - needed())]
    with tarfile.open(sdist) as archive:
        names = {Path(*Path(name).parts[1:]).as_posix() for name in archive.getnames()}
    outside = {
        "pyproject.toml",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "CITATION.cff",
        "SECURITY.md",
        "Makefile",
    }
    wrong += [f"{sdist.name} lacks {name}" for name in sorted(outside - names)]
    wrong += [f"{sdist.name} lacks src/{name}" for name in sorted(needed()) if f"src/{name}" not in names]
    return wrong


if __name__ == "__main__":
    found = check(Path(sys.argv[1]))
    sys.stdout.writelines(f"{line}\n" for line in found)
    sys.exit(bool(found))
