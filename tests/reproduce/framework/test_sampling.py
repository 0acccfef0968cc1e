"""Draws and work of the parts."""

from __future__ import annotations

import pytest

from lsdt.reproduce.framework.experiment import Work
from lsdt.reproduce.framework.sampling import on_workers


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    seen = []
    results = on_workers(divmod, [(number, 3) for number in range(12)], Work(n_jobs=n_jobs, done=seen.append))
    assert results == [divmod(number, 3) for number in range(12)]
    assert seen == pytest.approx([number / 12 for number in range(1, 13)])
