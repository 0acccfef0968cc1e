"""Results of a study as a folder: three or four Parquet files, and a ``study.json`` that is written last.

``rounds.parquet`` has policy, replication, t, regret and reward; ``runs.parquet`` the seconds of every run;
``plays.parquet`` the arms that were played and how often; ``arms.parquet``, where it was kept, the arm of
every round. Any tool that reads Parquet can open them.
``study.json`` holds a checksum of each of them and of itself, so that loading detects any changed bit.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._files import checked_path, file_checksum, record_checksum, replace_file
from lsdt.errors import InvalidFile
from lsdt.simulation.study import Outcomes

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.simulation.result import SimulationResult

FORMAT = 3  # version of the layout; `load` refuses any other
_CHECKSUM, _CHECKSUMS = "checksum", "checksums"  # of study.json, and of the files beside it
_SECONDS = ("policy", "replication", "offline_seconds", "online_seconds")
_ROUNDS, _RUNS, _PLAYS, _STUDY = "rounds.parquet", "runs.parquet", "plays.parquet", "study.json"
_ARMS = "arms.parquet"  # only where the arm of every round was kept


def tidy_frame(result: SimulationResult) -> pd.DataFrame:
    """Return one row per policy, replication and checkpoint."""
    import pandas as pd

    policy, number = _policies_and_numbers(result, len(result.checkpoints))
    return pd.DataFrame(
        {
            "policy": policy,
            "replication": number,
            "t": np.tile(result.checkpoints, result.replications * len(result.policies)),
            "regret": _by_policy(result.arrays.regret),
            "reward": _by_policy(result.arrays.reward),
        }
    )


def _policies_and_numbers(result: SimulationResult, repeats: int) -> tuple[Any, NDArray[np.int64]]:
    """Return the columns policy and replication, policies outermost."""
    import pandas as pd

    codes = np.repeat(np.arange(len(result.policies)), result.replications * repeats)
    policy = pd.Categorical.from_codes(codes, result.policies)
    return policy, np.tile(np.repeat(result.numbers, repeats), len(result.policies))


def _by_policy(array: NDArray[Any]) -> NDArray[Any]:
    return np.swapaxes(array, 0, 1).reshape(-1)


def save(result: SimulationResult, path: str | PathLike[str]) -> None:
    """Write the folder; see `SimulationResult.save`."""
    import pandas as pd

    folder = checked_path(path)
    if folder.exists() and not folder.is_dir():
        raise InvalidFile(f"cannot save to {str(folder)!r}: it is a file; give the name of a folder")
    policy, number = _policies_and_numbers(result, 1)
    arrays = result.arrays
    runs = pd.DataFrame(
        {
            "policy": policy,
            "replication": number,
            "offline_seconds": _by_policy(arrays.offline_seconds),
            "online_seconds": _by_policy(arrays.online_seconds),
            **{name: _by_policy(array) for name, array in result._more()[0].items()},
        }
    )
    run, arm = np.nonzero(np.swapaxes(arrays.plays, 0, 1).reshape(len(runs), -1))
    plays = runs.loc[run, ["policy", "replication"]].reset_index(drop=True)
    plays["arm"], plays["plays"] = arm, np.swapaxes(arrays.plays, 0, 1).reshape(len(runs), -1)[run, arm]
    # First of all, so that settings that cannot be written are found before any file is.
    about = json.dumps({**_about(result)}, default=_plain)
    frames = {_ROUNDS: tidy_frame(result), _RUNS: runs, _PLAYS: plays}
    kept = arrays.arms.shape[2]
    if kept:
        policy, number = _policies_and_numbers(result, kept)
        rounds = np.tile(np.arange(1, kept + 1), len(runs))
        arms = _by_policy(arrays.arms)
        frames[_ARMS] = pd.DataFrame({"policy": policy, "replication": number, "t": rounds, "arm": arms})
    # All files are written before the first is moved into place: a full disk leaves an earlier study intact.
    with ExitStack() as places:
        last = places.enter_context(replace_file(folder / _STUDY))  # entered first, moved into place last
        checksums = {}
        for name, frame in frames.items():
            written = places.enter_context(replace_file(folder / name))
            frame.to_parquet(written, index=False, write_page_checksum=True)
            checksums[name] = file_checksum(written)
        study = {**json.loads(about), _CHECKSUMS: checksums}
        last.write_text(
            json.dumps({**study, _CHECKSUM: record_checksum(study)}, indent=2) + "\n", encoding="utf-8"
        )
        (folder / _STUDY).unlink(missing_ok=True)  # until the last file is in place, there is no study


def _plain(value: Any) -> Any:
    """Return a NumPy number as a Python number, and anything else as text."""
    return value.item() if isinstance(value, np.generic) else repr(value)


def _about(result: SimulationResult) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "kind": result.kind,
        **result._more()[1],
        "partial": result.partial,
        "replications_asked": result.requested,
        "replications": result.numbers.tolist(),
        "policies": result.policies,
        "described": result.described,
        "per_horizon": result.per_horizon,
        "checkpoints": result.checkpoints.tolist(),
        "arms_counted": int(result.arrays.plays.shape[2]),
        "rounds_kept": int(result.arrays.arms.shape[2]),
        "seed": result.seed,
        "generator": result.generator,
        "problem": result.problem,
    }


def load(cls: type[SimulationResult], path: str | PathLike[str]) -> SimulationResult:
    """Read a folder; see `SimulationResult.load`."""
    import pyarrow as pa

    folder = checked_path(path)
    try:
        about = json.loads((folder / _STUDY).read_text(encoding="utf-8"))
        if about["format"] != FORMAT:
            raise InvalidFile(
                f"{str(folder)!r} holds results of format {about['format']}; this version reads {FORMAT}"
            )
        _check_checksums(folder, about)
        return _read_result(_kind(cls, about.get("kind", "simulation"), folder), folder, about)
    except InvalidFile:
        raise
    except FileNotFoundError as error:
        raise InvalidFile(
            f"cannot read results from {str(folder)!r}: there is no {error.filename!r}"
        ) from None
    except (
        OSError,
        ValueError,
        KeyError,
        IndexError,
        TypeError,
        AttributeError,
        ArithmeticError,
        MemoryError,
        RecursionError,
        pa.ArrowException,
    ) as error:
        raise InvalidFile(f"cannot read results from {str(folder)!r}: {error!r}") from None


def _check_checksums(folder: Path, about: dict[str, Any]) -> None:
    """Raise `InvalidFile` if a file of the folder changed since it was saved."""
    found = {_STUDY: record_checksum(about)} | {
        name: file_checksum(folder / name) for name in _files_of(about)
    }
    for name, checksum in found.items():
        if checksum != (about[_CHECKSUM] if name == _STUDY else about[_CHECKSUMS][name]):
            raise InvalidFile(
                f"{name} in {str(folder)!r} is not what was saved: its checksum does not match; save the "
                "results again, or load another copy"
            )


def _files_of(about: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the tables of a folder."""
    return (_ROUNDS, _RUNS, _PLAYS, *((_ARMS,) if about.get("rounds_kept") else ()))


def _kind(cls: type[SimulationResult], kind: str, folder: Path) -> type[SimulationResult]:
    """Return `cls`; raise `InvalidFile` if it reads results of another kind."""
    if kind != cls.kind:
        raise InvalidFile(
            f"{str(folder)!r} holds results of a {kind}, which {cls.__name__} does not read; "
            "lsdt.ReplayResult reads replays, lsdt.SimulationResult simulations"
        )
    return cls


def _read_result(cls: type[SimulationResult], folder: Path, about: dict[str, Any]) -> SimulationResult:
    import pandas as pd

    frames = {name: pd.read_parquet(folder / name) for name in _files_of(about)}
    shape = len(about["policies"]), len(about["replications"])
    rounds, runs = frames[_ROUNDS], frames[_RUNS]

    def column(frame: pd.DataFrame, name: str) -> NDArray[np.float64]:
        values = frame[name].to_numpy(np.float64).reshape(*shape, -1)
        return np.ascontiguousarray(np.swapaxes(values, 0, 1))

    played = Outcomes(
        column(rounds, "regret"),
        column(rounds, "reward"),
        _read_plays(frames[_PLAYS], about),
        column(runs, "offline_seconds")[:, :, 0],
        column(runs, "online_seconds")[:, :, 0],
        column(frames[_ARMS], "arm").astype(np.int32)
        if _ARMS in frames
        else np.zeros((shape[1], shape[0], 0), np.int32),
    )
    fields = (
        about["policies"],
        np.array(about["checkpoints"], np.int64),
        np.array(about["replications"], np.int64),
        bool(about["partial"]),
        int(about["replications_asked"]),
        int(about["seed"]),
        str(about["generator"]),
        about["problem"],
        about["described"],
        bool(about["per_horizon"]),
        played,
    )
    more = [name for name in runs.columns if name not in _SECONDS]
    return cls._build(fields, {name: column(runs, name)[:, :, 0] for name in more}, about)


def _read_plays(frame: pd.DataFrame, about: dict[str, Any]) -> NDArray[np.int64]:
    numbers = np.array(about["replications"], np.int64)
    plays = np.zeros((len(numbers), len(about["policies"]), about["arms_counted"]), np.int64)
    place = {label: at for at, label in enumerate(about["policies"])}
    rows = np.searchsorted(numbers, frame["replication"].to_numpy())
    columns = np.array([place[label] for label in frame["policy"]], np.int64)
    plays[rows, columns, frame["arm"].to_numpy()] = frame["plays"].to_numpy()
    return plays
