"""Work that is interrupted: what it writes, and how to see afterwards whether the files are whole.

Every victim finds files of an earlier run under the names it writes to, so that both can be told apart: what
stood there before, and what is to stand there.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pandas as pd

import lsdt
from attack.processes import command, forked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OLD, NEW = 1, 2


class Victim:
    """Something that writes files.

    Attributes
    ----------
    name : str
        What it is called in messages.
    endless : bool
        Whether it goes on until it is killed.
    rehearsed : dict
        A folder with each version.
    begun : tuple of str
        What of the old version must stand as long as there is no new one.
    """

    name: str
    endless = False
    begun: tuple[str, ...] = ()
    rehearsed: dict[int, Path] = {}  # noqa: RUF012  never changed in place

    def work(self, folder: Path, version: int) -> Callable[[Callable[[str], None]], int | None]:
        """Return what a child does to write a version of the files."""
        raise NotImplementedError

    def versions(self, folder: Path) -> dict[str, set[int]]:
        """Return which version every file, or group of files, may be; an empty set is neither: damaged.

        What does not exist, or says that it was not finished, is left out.
        """
        raise NotImplementedError

    def begin(self, folder: Path) -> None:
        """Put the old version there."""
        shutil.copytree(self.rehearsed[OLD], folder, dirs_exist_ok=True)

    def run(self, folder: Path, version: int) -> None:
        """Write a version to the end."""
        ended = forked(self.work(folder, version))
        if ended.code != 0:
            raise RuntimeError(f"{self.name} ended with code {ended.code}: {last_line(ended.text)}")

    def rehearse(self, folder: Path, version: int) -> None:
        """Write a version in this process: what it imports and compiles need not be done again in forks."""
        folder.mkdir()
        if self.work(folder, version)(lambda _: None) != 0:
            raise RuntimeError(f"{self.name} fails without any attack")
        self.rehearsed = {**self.rehearsed, version: folder}

    def complaints(self, folder: Path) -> list[str]:
        """Return what is damaged."""
        return [f"{name} is damaged" for name, found in self.versions(folder).items() if not found]


class Save(Victim):
    """``side.save`` in a loop: two versions in turn."""

    endless = True

    def __init__(self, ending: str) -> None:
        self.name = f"side.save({ending})"
        self.file = f"side{ending}"
        self.begun = (self.file,)
        means = [0.1 + 0.8 * (7 * arm % 41) / 41 for arm in range(41)]
        whole = lsdt.from_means(means, 0.2, [f"arm {number}" for number in range(41)])
        self.sides = {version: whole.reveal(0.5, 0.5, seed=version).explicit() for version in (OLD, NEW)}

    def work(self, folder, version):
        def save(_say):
            while True:
                self.sides[version].save(folder / self.file)
                if not self.endless:
                    return 0
                self.sides[OLD].save(folder / self.file)

        return save

    def begin(self, folder):
        self.sides[OLD].save(folder / self.file)

    def run(self, folder, version):
        self.sides[version].save(folder / self.file)

    def versions(self, folder):
        if not (folder / self.file).exists():
            return {}
        return {self.file: _matches(lambda: lsdt.load(folder / self.file), self.sides)}


class SaveOnce(Save):
    """``side.save`` once."""

    endless = False


class Build(Victim):
    """``lsdt build``: side information, the table of pairs and a picture out of a log."""

    name = "lsdt build"
    begun = ("side.parquet", "pairs.csv", "e.svg")

    def __init__(self, place: Path) -> None:
        self.log = place / "ratings.csv"
        lsdt.ratings.make_log(n_users=120, n_items=12, ratings_per_user=6, seed=3).log.to_csv(
            self.log, index=False
        )
        self.expected: dict[int, dict[str, bytes]] = {}
        for version in (OLD, NEW):
            folder = place / f"build {version}"
            self.rehearse(folder, version)
            self.expected[version] = _contents(folder)

    def work(self, folder, version):
        files = [
            "--out",
            folder / "side.parquet",
            "--pairs",
            folder / "pairs.csv",
            "--plot",
            folder / "e.svg",
        ]
        rules = ["--rule", "paper", "--search", "paper", "--alpha", 0.1 * version, "--min-raters", 5]
        return command("build", self.log, *rules, *files)

    def versions(self, folder):
        return _bytes_versions(folder, self.expected)


class Candidates(Victim):
    """``lsdt candidates``: a table and a picture."""

    name = "lsdt candidates"
    begun = ("arms.svg", "arms.csv")

    def __init__(self, place: Path) -> None:
        self.expected = {}
        for version in (OLD, NEW):
            folder = place / f"candidates {version}"
            self.rehearse(folder, version)
            self.expected[version] = _contents(folder)

    def work(self, folder, version):
        example = ["partial", "complete"][version - 1]
        files = ["--plot", folder / "arms.svg", "--table", folder / "arms.csv"]
        return command("candidates", "--example", example, *files)

    def versions(self, folder):
        return _bytes_versions(folder, self.expected)


class Simulate(Victim):
    """``lsdt simulate --out``: a study, a table and a picture."""

    name = "lsdt simulate"
    begun = ("the study", "table.csv", "regret.svg")

    def __init__(self, place: Path) -> None:
        self.regrets = {}
        for version in (OLD, NEW):
            folder = place / f"simulate {version}"
            self.rehearse(folder, version)
            self.regrets[version] = _regrets(folder)

    def work(self, folder, version):
        sizes = ["--n-arms", 12, "--horizon", 60, "--replications", 4, "--n-jobs", 1, "--seed", version]
        return command("simulate", "--policies", "ucb1", "ts", *sizes, "--out", folder)

    def versions(self, folder):
        found: dict[str, set[int]] = {}
        if (folder / "study.json").exists():
            found["the study"] = _matches(lambda: _regrets(folder), self.regrets)
        for path in folder.glob("[!.]*.parquet"):  # no leftovers of killed processes
            found.setdefault(path.name, _either(lambda path=path: len(pd.read_parquet(path)) > 0))
        if (folder / "table.csv").exists():  # holds times: no two are the same
            found["table.csv"] = _either(lambda: pd.read_csv(folder / "table.csv")["policy"].size == 2)
        if (folder / "regret.svg").exists():
            found["regret.svg"] = _either(lambda: ElementTree.parse(folder / "regret.svg") is not None)
        return found


class Reproduce(Victim):
    """``lsdt reproduce``: parts of the report, taken up where they were left."""

    name = "lsdt reproduce"
    begun = ("claims.json", "index.html")  # a part with another seed is run anew in its place
    PARTS = ("fig-bstar-k", "fig-b0-k")

    def __init__(self, place: Path) -> None:
        self.claims, self.tables = {}, {}
        for version in (OLD, NEW):
            folder = place / f"reproduce {version}"
            self.rehearse(folder, version)
            self.claims[version] = json.loads((folder / "claims.json").read_text())
            self.tables[version] = {part: self._part(folder, part) for part in self.PARTS}

    def work(self, folder, version):
        sizes = ["--quick", "--replications", 2, "--n-jobs", 1, "--seed", version]
        return command("reproduce", "--only", *self.PARTS, *sizes, "--out", folder)

    def _part(self, folder: Path, part: str) -> dict[str, Any]:
        """Return the tables and the other files of a part, as they are on disk."""
        place = folder / part
        tables = {
            path.name: pd.read_parquet(path).to_csv() for path in place.glob("[!.]*.parquet")
        }  # no leftovers
        others = {path.name: path.read_bytes() for path in place.glob("[!.]*.[scp][vsn][gv]")}
        return {**tables, **others}

    def versions(self, folder):
        found: dict[str, set[int]] = {}
        if (folder / "claims.json").exists():
            found["claims.json"] = _either(lambda: bool(json.loads((folder / "claims.json").read_text())))
        if (folder / "index.html").exists():
            found["index.html"] = _either(
                lambda: (folder / "index.html").read_text().rstrip().endswith("</html>")
            )
        for part in self.PARTS:
            if (folder / part / "part.json").exists():  # written last: it vouches for the rest
                expected = {version: tables[part] for version, tables in self.tables.items()}
                found[part] = _matches(lambda part=part: self._part(folder, part), expected)
        return found

    def run(self, folder, version):
        """Write a version, and see that parts which were finished are not run again."""
        finished = {
            part: (folder / part / "part.json").read_bytes()
            for part in self.PARTS
            if (folder / part / "part.json").exists()
            and json.loads((folder / part / "part.json").read_text())["seed"] == version
        }
        super().run(folder, version)
        for part, record in finished.items():
            if (folder / part / "part.json").read_bytes() != record:
                raise RuntimeError(f"{part} was finished, and was run again")
        if json.loads((folder / "claims.json").read_text()) != self.claims[version]:
            raise RuntimeError("claims.json differs from that of a run without interruption")


MAKERS: tuple[Callable[[Path], Victim], ...] = (
    lambda _: Save(".csv"),
    lambda _: Save(".parquet"),
    Candidates,
    Build,
    Simulate,
    Reproduce,
)


def last_line(text: str) -> str:
    """Return the last line of what a child said."""
    return (text.strip().splitlines() or ["nothing was said"])[-1]


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def _bytes_versions(folder: Path, expected: dict[int, dict[str, bytes]]) -> dict[str, set[int]]:
    found = _contents(folder)
    return {
        name: {version for version, files in expected.items() if files.get(name) == data}
        for name, data in found.items()
    }


def _matches(read: Callable[[], Any], expected: dict[int, Any]) -> set[int]:
    """Return which versions are what `read` gives; none when it cannot be read."""
    try:
        value = read()
    except Exception:
        return set()
    return {version for version, wanted in expected.items() if value == wanted}


def _either(whole: Callable[[], bool]) -> set[int]:
    """Return both versions when a file is whole and nothing tells them apart."""
    try:
        return {OLD, NEW} if whole() else set()
    except Exception:
        return set()


def _regrets(folder: Path) -> list[list[float]]:
    result = lsdt.SimulationResult.load(folder)
    return [result.regret(policy).ravel().tolist() for policy in result.policies]
