"""Running, keeping and taking up parts; the page and the file of claims."""

from __future__ import annotations

import json
import os
import shutil
import sys

import pandas as pd
import pytest
from matplotlib.figure import Figure

from lsdt.errors import InvalidFile, InvalidInput, MissingDependency, TooLarge
from lsdt.plotting import save
from lsdt.reproduce import Request, reproduce, runner
from lsdt.reproduce.framework import part as parts_module
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.registry import IDS, experiments

FEW = ["fig-bstar-k", "fig-regret-csi-b"]
TINY = Request(replications=3, quick=True)


@pytest.fixture(autouse=True, scope="module")
def small_figures():
    """To draw a figure takes longer than all else here; what is on it matters elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts_module, "save", lambda _, path: save(Figure((1, 1)), path))
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A report of one part; tests copy it."""
    folder = tmp_path_factory.mktemp("made")
    reproduce(folder, FEW[:1], TINY)
    return folder


@pytest.fixture
def report(made, tmp_path):
    return shutil.copytree(made, tmp_path / "report")


def test_the_report_has_a_page_claims_and_files(tmp_path):
    done = reproduce(tmp_path, FEW, TINY, n_jobs=1, command="lsdt reproduce")
    page = (tmp_path / "index.html").read_text()
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert [part.experiment.id for part in done.parts] == FEW
    assert {entry["part"] for entry in claims["claims"]} == set(FEW)
    assert sum(done.counts.values()) == len(claims["claims"])
    for part in FEW:
        assert f'id="{part}"' in page
        for name in ("figure.svg", "figure.png", "table.csv", "part.json"):
            assert (tmp_path / part / name).stat().st_size > 0
    assert list(pd.read_csv(tmp_path / "fig-bstar-k" / "table.csv").columns)[:2] == ["arms", "share"]


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_without_the_extra_nothing_is_begun(package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingDependency, match=rf"^the report needs {package}: pip install 'lsdt\[report\]'$"
    ):
        reproduce(tmp_path / "new", FEW[:1], TINY)
    assert not (tmp_path / "new").exists()


def test_a_finished_part_is_not_run_again(tmp_path, monkeypatch):
    first = reproduce(tmp_path, FEW[:1], TINY)
    assert [part.reused for part in first.parts] == [False]
    again = reproduce(tmp_path, FEW[:1], TINY)
    assert [part.reused for part in again.parts] == [True]
    pd.testing.assert_frame_equal(again.parts[0].tables["runs"], first.parts[0].tables["runs"])
    assert [c.to_dict() for c in again.claims[FEW[0]]] == [c.to_dict() for c in first.claims[FEW[0]]]
    other = Request(replications=4, quick=True)
    for request, options in ((TINY, {"seed": 1}), (other, {"seed": 1})):
        assert not reproduce(tmp_path, FEW[:1], request, **options).parts[0].reused
    monkeypatch.setattr(parts_module, "sources_key", lambda: "another version")
    assert not reproduce(tmp_path, FEW[:1], other, seed=1).parts[0].reused


@pytest.mark.parametrize("harm", ["part.json", "runs.parquet", "figure.svg"])
def test_a_part_that_is_not_whole_is_run_again(report, harm):
    place = report / FEW[0] / harm
    place.write_bytes(place.read_bytes()[:-20])
    assert not reproduce(report, FEW[:1], TINY).parts[0].reused


@pytest.mark.parametrize("harm", ["part.json", "runs.parquet", "figure.svg", "table.csv"])
def test_a_part_with_a_changed_bit_is_run_again(report, harm):
    """Its length is the same; only a checksum tells."""
    place = report / FEW[0] / harm
    data = bytearray(place.read_bytes())
    digit = next(at for at in range(len(data) // 2, len(data)) if data[at : at + 1].isdigit())
    data[digit] ^= 1
    place.write_bytes(data)
    assert not reproduce(report, FEW[:1], TINY).parts[0].reused


def _with(part, monkeypatch, **changes):
    """Change a part."""
    original = experiments()

    def listed(only=None, beyond=False):
        found = [it for it in original if it.id in only]
        return [Experiment(**{**vars(it), **changes}) if it.id == part else it for it in found]

    monkeypatch.setattr("lsdt.reproduce.runner.experiments", listed)


def test_claims_and_discussion_are_made_once(tmp_path, monkeypatch):
    (it,), made = experiments(FEW[:1]), []

    def counted(name):
        def made_by(tables):
            made.append(name)
            return getattr(it, name)(tables)

        return made_by

    _with(it.id, monkeypatch, **{name: counted(name) for name in ("claims", "discussion")})
    done = reproduce(tmp_path, FEW[:1], TINY, watcher=Count(None))
    assert done.counts
    assert sorted(made) == ["claims", "discussion"]


def _ending_in(part, compute, monkeypatch):
    _with(part, monkeypatch, compute=compute)


def interrupt(setting, work):
    """End as Ctrl-C ends a part."""
    raise KeyboardInterrupt


def test_an_interruption_keeps_what_is_finished(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        _ending_in(FEW[1], interrupt, patch)
        done = reproduce(tmp_path, FEW, TINY)
    assert done.interrupted == (FEW[1],)
    assert [part.experiment.id for part in done.parts] == FEW[:1]
    page = (tmp_path / "index.html").read_text()
    assert f'id="{FEW[0]}"' in page
    assert f"interrupted in {FEW[1]}" in page
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert claims["interrupted"] == [FEW[1]]
    assert set(claims["missing"]) == set(IDS) - {FEW[0]}
    after = reproduce(tmp_path, FEW, TINY)
    assert after.interrupted == ()
    assert [part.reused for part in after.parts] == [True, False]


def test_an_error_shows_what_is_finished(tmp_path, monkeypatch):
    def fail(setting, work):
        raise InvalidInput("as told")

    with monkeypatch.context() as patch:
        _ending_in(FEW[1], fail, patch)
        with pytest.raises(InvalidInput, match="as told"):
            reproduce(tmp_path, FEW, TINY)
    assert f'id="{FEW[0]}"' in (tmp_path / "index.html").read_text()


def test_what_is_wrong_is_said_before_the_work(tmp_path, monkeypatch):
    def refuse(request):
        raise InvalidInput("no ratings")

    _with(FEW[1], monkeypatch, check=refuse)
    with pytest.raises(InvalidInput, match="no ratings"):
        reproduce(tmp_path / "report", FEW, TINY)
    assert not (tmp_path / "report").exists()


def test_a_page_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "index.html").write_text("<h1>mine</h1>")
    with pytest.raises(InvalidFile, match="is not a report of lsdt"):
        reproduce(tmp_path, FEW[:1], TINY)
    assert (tmp_path / "index.html").read_text() == "<h1>mine</h1>"


def test_parts_that_were_finished_before_stay_on_the_page(report):
    done = reproduce(report, FEW[1:], TINY)
    assert [part.experiment.id for part in done.parts] == FEW
    page = (report / "index.html").read_text()
    assert all(f'id="{part}"' in page for part in FEW)


def test_a_watcher_hears_of_every_part(tmp_path):
    class Watcher:
        def __init__(self):
            self.heard = []

        def begin(self, part):
            self.heard.append(("begin", part.id))

        def share(self, part, done):
            assert part.id == FEW[0]
            assert 0 <= done <= 1
            self.last = done

        def end(self, part):
            self.heard.append(("end", part.experiment.id, len(part.claims), self.last))

    watcher = Watcher()
    reproduce(tmp_path, FEW[:1], TINY, watcher=watcher)
    assert watcher.heard == [("begin", FEW[0]), ("end", FEW[0], 1, 1.0)]


class Count:
    """Hears of all parts; after some, Ctrl-C is pressed."""

    def __init__(self, most):
        self.most, self.ready, self.ended = most, [], []

    def begin(self, part):
        self.ready.append(part.id)

    def share(self, part, done):
        assert part.id in self.ready

    def end(self, part):
        assert part.experiment.id in self.ready
        assert not part.reused
        self.ended.append(part.experiment.id)
        if len(self.ended) == self.most:
            raise KeyboardInterrupt


def test_parts_in_processes_are_those_of_one(tmp_path, monkeypatch):
    """Wherever the processes began: they stay, and the next call may come from another folder.

    Ctrl-C among them keeps what is finished.
    """
    several = ["example-uig", "example-partial", "example-gadgets", "fig-bstar-k", "table-time-psi"]
    rest, interrupted = Count(None), Count(2)
    monkeypatch.chdir(tmp_path)
    done = reproduce("two", several, TINY, n_jobs=2)
    reproduce("one", several, TINY, n_jobs=1, watcher=rest)
    assert [part.experiment.id for part in done.parts] == rest.ended
    for part in several[:-1]:
        texts = [(tmp_path / folder / part / "table.csv").read_text() for folder in ("one", "two")]
        assert texts[0] == texts[1]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    done = reproduce("two", several, TINY, seed=1, n_jobs=2, watcher=interrupted)
    assert len(interrupted.ended) == 2
    assert set(interrupted.ended) <= {part.experiment.id for part in done.parts}
    assert done.interrupted
    assert not set(done.interrupted) & {part.experiment.id for part in done.parts}
    assert not list((tmp_path / "elsewhere").rglob(".*"))


def test_a_process_that_is_killed_is_told_of(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "_run_there", lambda *_: os._exit(1))
    with pytest.raises(TooLarge, match=r"was killed, .*; n_jobs=1 \(--n-jobs 1\)"):
        reproduce(tmp_path, ["example-*", "fig-bstar-k"], TINY, n_jobs=2)


def test_parts_are_chosen_by_name_or_beginning():
    assert [it.id for it in experiments(["fig-b0-k", "fig-bstar-*"])] == [
        "fig-bstar-eps",
        "fig-bstar-k",
        "fig-b0-k",
    ]
    assert [it.id for it in experiments()] == list(IDS)
    assert [it.id for it in experiments(["*-time-*"])] == ["table-time-csi", "table-time-psi"]
    with pytest.raises(InvalidInput, match="no part 'fig-bstar'.*did you mean"):
        experiments(["fig-bstar"])
    with pytest.raises(InvalidInput, match="matches 'nothing-\\*'"):
        experiments(["nothing-*"])
