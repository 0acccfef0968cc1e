"""The command of the README ends well; its page has every figure and table, and nothing on it is broken."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from browsers import seen_by_browser
from lsdt.reproduce import reproduce
from lsdt.reproduce.registry import IDS, experiment, experiments
from reproduced_claims import claims_in_the_docs
from tiny_parts import TINY, tables_of

DRAWN = ("fig-bstar-k", "fig-regret-csi-b", "fig-jester")


@pytest.fixture(scope="module")
def report(tmp_path_factory, thorough):
    """The page of two runs of everything: more would take longer and be shown alike.

    Where there is time the command makes it, in a process of its own: what other tests have loaded is not
    there. Else it is made of the tables that the tests of the parts have computed, with the figures of three
    parts, one with several panels, and an empty one for each of the others, which those tests draw.
    """
    folder = tmp_path_factory.mktemp("report")
    if thorough:
        words = ["reproduce", "--quick", "--replications", "2", "--n-jobs", "1", "--out", str(folder)]
        done = subprocess.run(
            [sys.executable, "-m", "lsdt.cli.main", *words], capture_output=True, text=True, timeout=1200
        )
        assert done.returncode == 0, done.stderr
        return folder / "index.html"
    parts = [
        replace(
            it,
            compute=lambda setting, work, part=it.id: tables_of(part),
            draw=it.draw if it.draw is None or it.id in DRAWN else lambda tables: Figure((2, 1)),
        )
        for it in experiments(None)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lsdt.reproduce.runner.experiments", lambda only, beyond: parts)
        reproduce(folder, request=TINY, seed=1, n_jobs=1)  # other processes would not see this
    return folder / "index.html"


def test_every_part_is_there_with_its_figure_and_files(report):
    folder, page = report.parent, report.read_text()
    for part in IDS:
        assert f'id="{part}"' in page
        assert (folder / part / "table.csv").stat().st_size > 0
    drawn = [part for part in IDS if experiment(part).draw is not None]
    assert page.count("data:image/svg+xml;base64,") == len(drawn)
    claims = json.loads((folder / "claims.json").read_text())["claims"]
    assert {claim["part"] for claim in claims} == set(IDS)  # every part decides something


def test_the_docs_count_these_claims(report):
    claims = json.loads((report.parent / "claims.json").read_text())["claims"]
    names = [claim["name"] for claim in claims]
    assert sorted([*names, "jester-size"]) == sorted(claims_in_the_docs())  # it needs the real ratings


def test_no_reference_is_broken(report):
    folder, page = report.parent, report.read_text()
    targets = set(re.findall(r'href="([^"]+)"', page))
    assert targets
    for target in targets:
        if target.startswith("#"):
            assert f'id="{target[1:]}"' in page, target
        elif not target.startswith("data:"):  # the icon is on the page itself
            assert (folder / target).exists(), target
    assert not re.search(r"(src|href)=.https?:", page)  # nothing is fetched


def test_no_path_of_this_machine_is_on_the_page(report):
    assert str(report.parent) not in report.read_text()


@pytest.mark.browser
def test_a_browser_loads_it_without_complaints(report, tmp_path):
    seen, complaints = seen_by_browser(report, tmp_path)
    assert complaints == []
    assert all(f'id="{part}"' in seen for part in IDS)
