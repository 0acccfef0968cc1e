"""What the service says of work that takes long."""

from __future__ import annotations

import logging

import pytest
from numba.core import event

from lsdt.service.answers import Refused
from lsdt.service.hosting import Service
from lsdt.service.hosting.service import _compilation_in_log
from lsdt.service.settings import Settings


def test_the_log_says_when_compilation_begins_and_ends(caplog):
    with caplog.at_level(logging.INFO, logger="lsdt.service"):
        with _compilation_in_log("drinks"):
            assert caplog.records == []
            with event.trigger_event("numba:compile"):
                (before,) = caplog.records
            with event.trigger_event("numba:compile"):
                pass
        assert before is caplog.records[0]
        assert [record.getMessage().partition(",")[0] for record in caplog.records] == [
            "compiling",
            "compiled",
        ]
        assert [record.experiment for record in caplog.records] == ["drinks", "drinks"]
        assert caplog.records[1].seconds >= 0.0


def test_the_log_is_silent_where_nothing_is_compiled(caplog):
    with caplog.at_level(logging.INFO, logger="lsdt.service"), _compilation_in_log("drinks"):
        pass
    assert caplog.records == []


def test_an_experiment_that_is_being_made_is_not_said_to_be_missing():
    service = Service(Settings("memory://being-made"))
    try:
        service._being_made.add("drinks")
        with pytest.raises(Refused, match="'drinks' is being made; .* up to a minute") as refusal:
            service.find("drinks")
        assert (refusal.value.status, refusal.value.headers) == (503, {"retry-after": "5"})
        with pytest.raises(Refused, match="there is no experiment 'tea'") as refusal:
            service.find("tea")
        assert refusal.value.status == 404
    finally:
        service.store.close()
