"""A service on a backup that was put back: ids that it handed out after the backup are refused."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing

import httpx
import pytest

import lsdt
from lsdt.errors import LostDecision
from lsdt.service.app import create_app
from lsdt.service.client import calls
from lsdt.service.hosting import Service
from lsdt.service.settings import Settings

ONE = "/v1/experiments/drinks"


def post(service, what, body):
    async def run():
        transport = httpx.ASGITransport(create_app(service), client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return await http.post(f"{ONE}/{what}", json=body)

    return asyncio.run(run())


def ask(service, *arms):
    made = post(service, "ask", {"n": 6, "allowed": list(arms)}).json()["decisions"]
    return [each["id"] for each in made]


def rewards(ids):
    return {"rewards": [{"decision": each, "reward": 1} for each in ids]}


def test_ids_that_the_backup_does_not_hold_are_refused(tmp_path):
    path, copy = tmp_path / "lsdt.db", tmp_path / "copy.db"
    service = Service(Settings(f"sqlite:///{path}"))
    service.make("drinks", lsdt.SideInformation(3, arm_ids=["a", "b", "c"]), {"policy": "ucb1"}, None)
    known = ask(service, "a")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    lost = ask(service, "b")
    assert post(service, "tell", rewards(lost[:1])).status_code == 200
    service._close_store()
    shutil.copy(copy, path)
    for left in tmp_path.glob("lsdt.db-*"):
        left.unlink()
    again = Service(Settings(f"sqlite:///{path}"))
    later = ask(again, "c")
    post(again, "tell", rewards(later[:2]))
    for each in lost:
        for what, body in (
            ("tell", {"decision": each, "reward": 1}),
            ("cancel", {"decision": each}),
            ("cancel", {"decisions": [later[3], each]}),
            ("cancel", {"before": each}),
        ):
            refused = post(again, what, body)
            assert (refused.status_code, refused.json()["title"]) == (410, "LostDecision")
            assert refused.json()["decisions"] == [each]
    batch = post(again, "tell", rewards([known[0], *lost, later[2]]))
    assert (batch.status_code, batch.json()["decisions"]) == (410, lost)
    assert "drop their rewards" in batch.json()["detail"]
    with pytest.raises(LostDecision, match="was a backup") as error:
        calls.TELL.result(batch)
    assert error.value.decisions == lost
    kept = [each for each in (*known, *later) if each not in lost]
    assert post(again, "tell", rewards(kept)).json() == {"learned": 10, "repeated": 2}
    agent = again.hosted["drinks"].agent
    assert agent.to_frame().plays.tolist() == [6, 0, 6]
    again._close_store()
