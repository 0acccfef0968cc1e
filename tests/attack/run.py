"""Attack the package for some minutes and say how it stood: ``make test-attack``.

Every attack is a module with a function ``attack(seed, seconds)`` that returns how many cases were tried, how
many were answered as promised, and what went wrong in the others. A failure anywhere is exit code 1.

Options: ``--seconds`` for all attacks together, ``--seed``, ``--only NAME ...``.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import traceback

from attack.outcome import Outcome

# The share of the time that each takes.
ATTACKS = {
    "commands": 1.0,
    "public_functions": 1.0,
    "requests": 1.0,
    "damaged_files": 2.0,
    "kills": 2.0,
    "full_disk": 1.5,
    "stores": 2.0,
    "cache_races": 2.5,
    "webhooks": 0.5,
}
_SHOWN = 5  # failures of an attack


def run_attack(name: str, seed: int, seconds: float) -> Outcome:
    """Run one attack; that it cannot run is a failure."""
    try:
        return Outcome(*importlib.import_module(f"attack.{name}").attack(seed, seconds))
    except Exception as error:
        traceback.print_exc()
        return Outcome(1, 0, [f"the attack itself failed: {error!r}"])


def main(words: list[str] | None = None) -> int:
    """Run all attacks and print a table; return the exit code."""
    parser = argparse.ArgumentParser(description="Attack lsdt, and count how it answers.")
    parser.add_argument("--seconds", type=float, default=600.0, help="for all attacks together")
    parser.add_argument("--seed", type=int, default=0, help="the same seed tries the same cases")
    parser.add_argument("--only", nargs="+", choices=ATTACKS, default=list(ATTACKS), metavar="ATTACK")
    options = parser.parse_args(words)
    whole = sum(ATTACKS[name] for name in options.only)
    outcomes = {}
    for name in options.only:
        began = time.monotonic()
        outcomes[name] = run_attack(name, options.seed, options.seconds * ATTACKS[name] / whole)
        _say(f"{name}: {time.monotonic() - began:.0f} s")
    _say("")
    _say(f"{'attack':<18} {'tried':>8} {'answered well':>14} {'failures':>9}")
    for name, found in outcomes.items():
        skipped = f"  skipped: {found.skipped}" if found.skipped else ""
        _say(f"{name:<18} {found.tried:>8,} {found.well:>14,} {found.tried - found.well:>9,}{skipped}")
    for name, found in outcomes.items():
        _say_failures(name, found)
    bad = any(found.failures or found.well < found.tried or not found.tried for found in outcomes.values())
    return 1 if bad else 0


def _say_failures(name: str, found: Outcome) -> None:
    if not found.failures:
        return
    _say(f"\n{name}:")
    for failure in found.failures[:_SHOWN]:
        _say(f"  {failure}")
    if len(found.failures) > _SHOWN:
        _say(f"  and {len(found.failures) - _SHOWN:,} more")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
