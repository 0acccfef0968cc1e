"""A small file of every format that the package reads, and how to read it and compare what was read."""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import lsdt

if TYPE_CHECKING:
    from collections.abc import Callable


class Specimen(NamedTuple):
    """Files of one format.

    Attributes
    ----------
    name : str
        What it is called in messages.
    files : dict
        The bytes of every file, by its path inside a folder.
    read : function
        From the folder to something that ``==`` compares; None for files that are told to be unfinished.
    content : object
        What `read` gives for the files as they are.
    own : bool
        Whether the package wrote them: then damage must not go unnoticed.
    """

    name: str
    files: dict[str, bytes]
    read: Callable[[Path], Any]
    content: Any
    own: bool


def specimens() -> list[Specimen]:
    """Return one of every format."""
    return [*_sides(), *_foreign_sides(), *_logs(), *_results(), _snapshot(), _part()]


def _specimen(name: str, write: Callable[[Path], Any], read: Callable[[Path], Any], own: bool) -> Specimen:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder)
        files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        content = read(folder)
    if content is None or content != content:
        raise AssertionError(f"{name}: what was written cannot be read")
    return Specimen(name, files, read, content, own)


# ---------------------------------------------------------------------- side information


def _sides() -> list[Specimen]:
    rng = np.random.default_rng(7)
    means, ids = rng.uniform(0.1, 0.9, 24), [f"arm {number}" for number in range(24)]
    whole = lsdt.from_means(means, 0.2)
    pairs = whole.reveal(0.5, 0.5, seed=1).explicit()
    named = lsdt.from_means(means, 0.2, ids).reveal(0.5, 0.5, seed=1).explicit()
    ordered = lsdt.SideInformation(
        24,
        better=[(a, a + 1) if means[a] > means[a + 1] else (a + 1, a) for a in range(0, 23, 3)],
        ranges=[(a, a + 2, means[a] - means[a + 2] - 0.1, None if a % 2 else 2.0) for a in range(20)],
    )
    distinct = lsdt.SideInformation(24, pairs.similar_pairs(), pairs.dissimilar_pairs(), epsilon=(0.2, 0.25))
    kinds = {
        "pairs": pairs,
        "pairs of named arms": named,
        "ranges": ordered,
        "plain pairs": lsdt.SideInformation(24, pairs.similar_pairs(), pairs.dissimilar_pairs()),
        "thresholds": distinct,
        "complete": lsdt.complete(24, whole.similar_pairs(), epsilon=0.2),
        "implicit": whole,
        "implicit, revealed": whole.reveal(0.5, 0.5, seed=3),
    }
    return [
        _specimen(
            f"side{ending}, {kind}",
            lambda folder, side=side, ending=ending: side.save(folder / f"side{ending}"),
            lambda folder, ending=ending: _side(folder / f"side{ending}"),
            own=True,
        )
        for kind, side in kinds.items()
        for ending in (".csv", ".parquet")
    ]


def _side(path: Path) -> tuple[Any, ...]:
    side = lsdt.load(path)
    return side, side.is_complete, side.is_implicit, side.thresholds is None, repr(side)


def _foreign_sides() -> list[Specimen]:
    frame = pd.DataFrame({"a": ["tea", "tea", "cocoa"] * 9, "b": [*"abcdefghijklmnopqrstuvwxyz#"]})
    frame["relation"] = ["similar", "dissimilar", "similar"] * 9
    frame["threshold"] = 0.25
    return [
        _specimen(
            "a foreign side.csv",
            lambda folder: frame.to_csv(folder / "side.csv", index=False),
            lambda folder: _side(folder / "side.csv"),
            own=False,
        ),
        _specimen(
            "a foreign side.parquet",
            lambda folder: pq.write_table(pa.Table.from_pandas(frame), folder / "side.parquet"),
            lambda folder: _side(folder / "side.parquet"),
            own=False,
        ),
    ]


# ---------------------------------------------------------------------- logs


def _logs() -> list[Specimen]:
    frame = lsdt.ratings.make_log(n_users=60, n_items=8, ratings_per_user=5, seed=2).log
    events = frame.assign(propensity=0.125)

    def log(path: Path) -> Any:
        found = lsdt.ratings.read_log(path)
        return found.ratings.tolist(), found.item_ids

    def event_log(path: Path) -> Any:
        return repr(lsdt.ratings.read_events(path, propensity="propensity"))

    def folder_of_logs(folder: Path) -> None:
        (folder / "log").mkdir()
        for number in range(2):
            frame[number::2].to_parquet(folder / "log" / f"{number}.parquet", index=False)

    def jester(folder: Path) -> None:
        rng = np.random.default_rng(4)
        cells = np.where(rng.random((12, 100)) < 0.5, 99.0, rng.uniform(-10, 10, (12, 100)).round(2))
        table = np.column_stack([(cells != 99.0).sum(axis=1), cells])
        text = "\n".join(",".join(f"{cell:g}" for cell in row) for row in table)
        with zipfile.ZipFile(folder / "jester.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("jester.csv", text)

    return [
        _specimen(
            "ratings.csv",
            lambda folder: frame.to_csv(folder / "log.csv", index=False),
            lambda folder: log(folder / "log.csv"),
            own=False,
        ),
        _specimen(
            "ratings.parquet",
            lambda folder: frame.to_parquet(folder / "log.parquet", index=False),
            lambda folder: log(folder / "log.parquet"),
            own=False,
        ),
        _specimen("a folder of ratings", folder_of_logs, lambda folder: log(folder / "log"), own=False),
        _specimen(
            "events.csv",
            lambda folder: events.to_csv(folder / "events.csv", index=False),
            lambda folder: event_log(folder / "events.csv"),
            own=False,
        ),
        _specimen(
            "jester.zip",
            jester,
            lambda folder: lsdt.ratings.load_jester(folder / "jester.zip").ratings.tolist(),
            own=False,
        ),
    ]


# ---------------------------------------------------------------------- results, snapshots, reports


def _results() -> list[Specimen]:
    problem = lsdt.problems.uniform(n_arms=8, epsilon=0.3)
    study = lsdt.simulate(problem, ["ucb1", "ts"], horizon=40, replications=4, n_jobs=1)
    log = lsdt.ratings.make_log(n_users=120, n_items=6, ratings_per_user=4, seed=1).log
    replayed = lsdt.replay(log, ["ucb1", "ts"], splits=3, n_jobs=1, epsilon=0.2)
    return [
        _specimen(
            f"a folder of a {result.kind}",
            lambda folder, result=result: result.save(folder),
            lambda folder, result=result: _result(type(result).load(folder)),
            own=True,
        )
        for result in (study, replayed)
    ]


def _result(result: Any) -> tuple[Any, ...]:
    """Return all that a result says, as plain data; NaN equals itself in text, and keys have no order."""
    told = result.policies, result.described, result.problem, result.seed, result.requested, result.partial
    arrays = [*result.arrays, result.checkpoints, result.numbers]
    texts = [json.dumps(each, sort_keys=True, default=repr) for each in (told, result._more())]
    return texts, [array.tobytes() for array in arrays], repr(result)


def _snapshot() -> Specimen:
    return _specimen(
        "a snapshot",
        lambda folder: (folder / "agent").write_bytes(agent("ts").snapshot()),
        lambda folder: lsdt.Agent.restore((folder / "agent").read_bytes()).snapshot(),
        own=True,
    )


def agent(policy: str) -> lsdt.Agent:
    """Return an agent that has learnt a little and waits for a reward."""
    means = np.random.default_rng(7).uniform(0.1, 0.9, 12)
    side = lsdt.from_means(means, 0.3).reveal(0.5, 0.5, seed=1).explicit()
    made = lsdt.Agent(side, policy, rewards="bernoulli", horizon=200, seed=1)
    for number in range(20):
        made.tell(made.ask(), float(number % 3 == 0))
    made.ask(n=2)
    return made


def _part() -> Specimen:
    from lsdt.reproduce import Request
    from lsdt.reproduce.framework.experiment import Work
    from lsdt.reproduce.framework.part import load_part, run_part
    from lsdt.reproduce.registry import experiment

    it = experiment("fig-bstar-k")
    setting = it.setting(Request(replications=2, quick=True))

    def read(folder: Path) -> Any:
        part = load_part(it, setting, 1, folder)
        if part is None:
            return None
        others = {name: (folder / name).read_bytes() for name in part.files if not name.endswith("parquet")}
        return part.seconds, {name: table.to_csv() for name, table in part.tables.items()}, others

    return _specimen(
        "a part of the report",
        lambda folder: run_part(it, setting, Work(seed=1, n_jobs=1), folder),
        read,
        own=True,
    )
