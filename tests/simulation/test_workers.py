"""Parts of a study on workers: Ctrl-C."""

import os
import signal
from contextlib import suppress

import pytest

from lsdt.simulation.workers import Stopped, Token, event_of, run_parts


@pytest.fixture
def listens():
    """Python's own reaction to Ctrl-C: pytest's workers ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_that_python_drops_still_ends_the_study(listens):
    token, taken = Token("dropped", os.getpid()), []

    def part():
        if event_of(token).is_set():
            raise Stopped
        return len(taken)

    def take(result):
        taken.append(result)
        if len(taken) == 3:
            with suppress(KeyboardInterrupt):  # as Python does inside a destructor
                signal.raise_signal(signal.SIGINT)
        return 1

    assert run_parts([part] * 1_000, token, 1_000, "parts", 1, False, take)
    assert len(taken) < 1_000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
