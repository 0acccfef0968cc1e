"""A part on disk: its tables and figure, saved so that it need not run again.

A folder holds the tables as Parquet files, the rows that the page shows as ``table.csv``, ``figure.svg`` and
``figure.png``, and ``part.json``, which is written last and describes them. Its key covers the setting, the
seed, the sources of the package and the versions of its libraries. A part with another key, or with a file
that does not match its checksum, is run again.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import lsdt
from lsdt._files import file_checksum, record_checksum, replace_file
from lsdt.kernel import compile_ahead
from lsdt.plotting import save

if TYPE_CHECKING:
    from lsdt.reproduce.framework.claims import Claim
    from lsdt.reproduce.framework.experiment import Experiment, Setting, Tables, Work

LIBRARIES = ("numpy", "numba", "scipy", "pandas", "highspy", "matplotlib")
_RECORD = "part.json"
_PACKAGE = Path(lsdt.__file__).parent.parent


@dataclass(frozen=True, eq=False)
class Part:
    """A finished part: its setting, its tables, its time, and whether it was loaded from disk."""

    experiment: Experiment
    setting: Setting
    tables: Tables
    seconds: float
    folder: Path
    reused: bool

    @cached_property
    def claims(self) -> list[Claim]:
        """The claims of the part, judged once."""
        return self.experiment.claims(self.tables)

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the part, figures first."""
        first = ("figure.svg", "figure.png", "table.csv")
        there = [name for name in first if (self.folder / name).exists()]
        return (*there, *(f"{name}.parquet" for name in self.tables))


@cache
def sources_key() -> str:
    """Return a hash of everything that can change a result: our sources and the versions of the libraries."""
    versions = " ".join(f"{name} {version(name)}" for name in LIBRARIES)
    digest = hashlib.sha256(f"{lsdt.__version__} {versions}".encode())
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(str(path.relative_to(_PACKAGE)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def part_key(experiment: Experiment, setting: Setting, seed: int) -> str:
    """Return the key under which a part is saved."""
    told = json.dumps([experiment.id, setting, seed, sources_key()], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()


def load_part(experiment: Experiment, setting: Setting, seed: int, folder: Path) -> Part | None:
    """Return the finished part in a folder; None if it is missing, damaged or saved under another key."""
    import pandas as pd

    try:
        record: dict[str, Any] = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        if record["key"] != part_key(experiment, setting, seed):
            return None
        if record["checksum"] != record_checksum(record):
            return None
        if any(file_checksum(folder / name) != checksum for name, checksum in record["files"].items()):
            return None
        tables = {name: pd.read_parquet(folder / f"{name}.parquet") for name in record["tables"]}
        seconds = float(record["seconds"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # missing or damaged
    return Part(experiment, setting, tables, seconds, folder, True)


def run_part(experiment: Experiment, setting: Setting, work: Work, folder: Path) -> Part:
    """Run a part, draw its figure, and save it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _RECORD).unlink(missing_ok=True)
    started = perf_counter()
    with compile_ahead(sys.maxsize):  # hundreds of studies share the code
        tables = experiment.compute(setting, work)
    _write(experiment, tables, folder)
    part = Part(experiment, setting, tables, perf_counter() - started, folder, False)
    record = {
        "id": experiment.id,
        "key": part_key(experiment, setting, work.seed),
        "lsdt": lsdt.__version__,
        "seed": work.seed,
        "setting": setting,
        "seconds": part.seconds,
        "tables": list(tables),
        "files": {name: file_checksum(folder / name) for name in part.files},
    }
    record["checksum"] = record_checksum(record)
    with replace_file(folder / _RECORD) as written:
        Path(written).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return part


def _write(experiment: Experiment, tables: Tables, folder: Path) -> None:
    for name, table in tables.items():
        with replace_file(folder / f"{name}.parquet") as written:
            table.to_parquet(written, index=False)
    with replace_file(folder / "table.csv") as written:
        experiment.table(tables).to_csv(written, index=False)
    if experiment.draw is not None:
        figure = experiment.draw(tables)
        for ending in (".svg", ".png"):
            save(figure, folder / f"figure{ending}")
            figure.set_layout_engine("none")  # the layout is final; computing it again is slow
