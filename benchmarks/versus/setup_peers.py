"""Make the environments in which the other packages run.

    python benchmarks/versus/setup_peers.py [--folder FOLDER] [--old-python PYTHON] [--python PYTHON]

SMPyBandits needs an older Python and SciPy; MABWiser and river share a second, current environment. What is
there already is left alone.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent.parent / "build/versus"
# Environment, requirements, and the Pythons that will do, best first.
ENVIRONMENTS = {
    "old": ("requirements-old.txt", ("python3.9", "python3.8")),
    "current": ("requirements-current.txt", ("python3.11", "python3.12", "python3.13")),
}


def peer_python(name: str) -> Path:
    """Return the interpreter of an environment; the folder can be set by LSDT_VERSUS."""
    return Path(os.environ.get("LSDT_VERSUS", FOLDER)) / name / "bin/python"


def _find_python(given: str | None, accepted: tuple[str, ...]) -> str:
    for name in (given,) if given else accepted:
        path = shutil.which(name)
        if path and _works(path):
            return path
    option = given or " or ".join(accepted)
    sys.exit(f"no Python found on the PATH: {option}; name one with --python or --old-python")


def _works(path: str) -> bool:
    """Say whether it runs: a version manager may put a name on the PATH that stands for nothing."""
    return subprocess.run([path, "-c", "import venv"], capture_output=True, check=False).returncode == 0


def make(folder: Path, name: str, given: str | None) -> None:
    requirements, accepted = ENVIRONMENTS[name]
    place, stamp = folder / name, folder / name / "done"
    if stamp.exists():
        print(f"{place}: there already")
        return
    subprocess.run([_find_python(given, accepted), "-m", "venv", "--clear", str(place)], check=True)
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([str(place / "bin/python"), *install, "-r", str(HERE / requirements)], check=True)
    stamp.touch()
    print(f"{place}: made")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    folder = Path(os.environ.get("LSDT_VERSUS", FOLDER))
    parser.add_argument("--folder", type=Path, default=folder, help="where; also LSDT_VERSUS")
    parser.add_argument("--old-python", help="a Python 3.8 or 3.9 for SMPyBandits")
    parser.add_argument("--python", help="a Python 3.11 or newer for MABWiser and river")
    options = parser.parse_args()
    make(options.folder, "old", options.old_python)
    make(options.folder, "current", options.python)


if __name__ == "__main__":
    main()
