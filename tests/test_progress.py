"""Progress of long work: shares that never fall, and nothing where nobody asked."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt._progress import ProgressBar, progress_of, track, without_progress
from lsdt.errors import InvalidInput

ENDS = {"pages": (0.0, 0.5), "lines": (0.5, 1.0)}


def test_shares_are_those_of_the_parts_and_never_fall():
    told = []
    with progress_of(told.append, ENDS):
        assert list(track("ab", "pages", 2)) == ["a", "b"]
        assert list(track(range(4), "lines", 4)) == [0, 1, 2, 3]
        assert list(track("xy", "pages", 2)) == ["x", "y"]
    assert told == [0.25, 0.5, 0.625, 0.75, 0.875, 1.0, 1.0, 1.0, 1.0]
    told.clear()
    with progress_of(told.append, ENDS):
        assert list(track("ab", "pages")) == ["a", "b"]  # nobody knows how many
    assert told == [1.0]
    assert list(track("ab", "pages", 2)) == ["a", "b"]
    assert told == [1.0]


def test_inside_another_whole_nothing_is_shown():
    told = []
    with progress_of(told.append, ENDS):
        with without_progress(), progress_of(told.append, ENDS):
            assert list(track("ab", "pages", 2)) == ["a", "b"]
        assert told == []
        list(track("ab", "pages", 2))
    assert told == [0.25, 0.5, 1.0]


def test_a_bar_is_shown_if_asked_for(capsys):
    with progress_of(True, ENDS):
        list(track(range(3), "pages", 3))
    assert " pages" in capsys.readouterr().err
    for progress in (False, None):  # standard error is no terminal here
        with progress_of(progress, ENDS):
            list(track(range(3), "pages", 3))
    assert capsys.readouterr().err == ""
    bar = ProgressBar(2, "pages", False)
    bar.update()
    bar.close()
    with pytest.raises(InvalidInput, match="progress must be True, False, None or a function; got 3"):
        lsdt.from_ratings(None, progress=3)


def test_from_ratings_tells_how_far_it_is_and_a_replay_only_its_own():
    log, _ = lsdt.ratings.make_log(n_users=600, n_items=8, ratings_per_user=5, seed=1)
    told = []
    quiet = lsdt.from_ratings(log, relations="threshold")
    loud = lsdt.from_ratings(log, relations="threshold", progress=told.append)
    assert quiet == loud
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert any(0.2 < share < 0.6 for share in told)
    assert any(0.6 < share < 1.0 for share in told)
    inner, outer = [], []

    def side(training):
        return lsdt.from_ratings(training, progress=inner.append)

    lsdt.replay(log, "ts@paper", train=0.5, horizon=40, splits=2, side=side, n_jobs=1, progress=outer.append)
    assert (inner, np.round(outer, 6).tolist()) == ([], [0.5, 1.0])


def test_candidates_and_agents_tell_how_far_they_are(monkeypatch):
    means = np.random.default_rng(0).random(60)
    side = lsdt.from_means(means, 0.1).reveal(0.3, 0.3, seed=1)
    told = []
    quiet, loud = lsdt.candidate_set(side), lsdt.candidate_set(side, progress=told.append)
    assert quiet.arms.tolist() == loud.arms.tolist()
    assert told == sorted(told)
    assert len(told) > 2
    assert told[-1] == 1.0
    told.clear()
    lsdt.Agent(side, progress=told.append)
    assert told == sorted(told)
    assert {0.4, 1.0} <= set(told)  # the offline step, and the bounds behind it
    told.clear()
    with progress_of(told.append, {}), without_progress():
        lsdt.candidate_set(side)
    assert told == [1.0]
    for wrong in (lsdt.candidate_set, lsdt.Agent):
        with pytest.raises(InvalidInput, match="progress must be True, False, None or a function; got 'yes'"):
            wrong(side, progress="yes")


def test_bars_are_shown_in_notebooks(monkeypatch):
    import sys
    from types import SimpleNamespace

    from lsdt import _progress

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not _progress._is_watched()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert _progress._is_watched()


def test_the_bar_of_a_notebook_where_there_are_widgets(monkeypatch):
    import sys
    from importlib.machinery import ModuleSpec
    from types import SimpleNamespace

    from lsdt import _progress

    widgets = SimpleNamespace(__spec__=ModuleSpec("ipywidgets", None))
    shell = SimpleNamespace(kernel=object())
    for found, module, wanted in (
        (None, widgets, "tqdm.std"),
        (shell, widgets, "lsdt._progress"),
        (shell, None, "tqdm.std"),
    ):
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda it=found: it))
        if module is None:
            monkeypatch.delitem(sys.modules, "ipywidgets")
        else:
            monkeypatch.setitem(sys.modules, "ipywidgets", module)
        assert _progress._bar_class().__module__ == wanted
    ProgressBar(2, "pages", True).close()  # no warning that widgets are missing


def test_the_bar_of_a_notebook_leaves_nothing_behind(monkeypatch):
    """Neither before it has taken two seconds, nor after it was closed."""
    import sys
    from types import SimpleNamespace

    import tqdm.notebook

    from lsdt import _progress

    shown, now = [], [100.0]

    class Bar:
        def __init__(self, **options):
            self.container, self.options = "widget", options

        def update(self, more):
            shown.append(more)

        def close(self):
            shown.append("closed")

    class Handle:
        def update(self, data, raw):
            shown.append(data)

    def display(widget, display_id):
        shown.append(widget)
        return Handle()

    monkeypatch.setattr(tqdm.notebook, "tqdm", Bar)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(_progress, "_bar_class", lambda: _progress._NotebookBar)
    monkeypatch.setattr(_progress, "_is_watched", lambda: True)
    monkeypatch.setattr(_progress, "monotonic", lambda: now[0])
    bar = ProgressBar(9, "pages", None)
    bar.update(2)
    assert shown == [2]
    now[0] += 2.0
    bar.update(3)
    bar.update(4)
    bar.close()
    assert shown == [2, 3, "widget", 4, "closed", {"text/plain": ""}]
    shown.clear()
    ProgressBar(9, "pages", False).close()
    ProgressBar(9, "pages", True).close()
    assert shown == ["widget", "closed", {"text/plain": ""}]
