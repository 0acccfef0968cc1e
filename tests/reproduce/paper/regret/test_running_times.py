from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lsdt.reproduce.framework import wording
from lsdt.reproduce.framework.claims import FAILS, HOLDS
from lsdt.reproduce.paper.regret import running_times

EXPERIMENT = running_times.EXPERIMENTS["table-time-csi"]
ORDER = (
    wording.UCB1,
    wording.LSDT_CSI,
    wording.UCB1_ON_BSTAR,
    wording.TS,
    wording.OSUB,
    wording.CKL_UCB,
    wording.OSSB,
)


def made_up(order):
    """Milliseconds that grow along an order, with a few runs that were slow by chance."""
    rng = np.random.default_rng(0)
    rows = []
    for place, policy in enumerate(order):
        for run in range(50):
            online = 10.0 + place + 0.1 * rng.random() + (100.0 if run == 7 else 0.0)
            rows.append(
                {"policy": policy, "run": run, "offline": 0.5 + 0.01 * rng.random(), "online": online}
            )
    return {"milliseconds": pd.DataFrame(rows)}


def test_medians_and_ranges_are_shown():
    tables = made_up(ORDER)
    shown = running_times.median_table(tables, {wording.TS: {"online": 37.6}}).set_index("policy")
    assert shown.loc[wording.UCB1, "online (ms)"] == pytest.approx(10.05, abs=0.05)  # not the mean, 12
    assert shown.loc[wording.TS, "paper online (ms)"] == 37.6
    figure = running_times.draw(tables, {}, "times")
    low, high = figure.axes[0].get_xlim()
    assert 0.1 < low < high < 100  # no whisker down to nothing, none up to the slow runs
    assert "median" in figure.texts[-1].get_text()


def test_claims_turn_with_the_times():
    verdicts = {claim.name: claim.verdict for claim in EXPERIMENT.claims(made_up(ORDER))}
    assert verdicts == dict.fromkeys(
        ("csi-cheap", "csi-slow-rivals", "csi-offline-cheap", "osub-slow"), HOLDS
    )
    turned = made_up(ORDER[::-1])
    turned["milliseconds"].loc[turned["milliseconds"]["policy"] == wording.LSDT_CSI, "offline"] += 5000.0
    turned["milliseconds"].loc[turned["milliseconds"]["policy"] == wording.OSUB, "online"] *= 5.0
    assert {claim.verdict for claim in EXPERIMENT.claims(turned)} == {FAILS}
    assert "fastest first (medians): OSSB" in EXPERIMENT.discussion(made_up(ORDER[::-1]))
