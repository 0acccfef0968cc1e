"""Entry point of the command ``lsdt``."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lsdt import __version__
from lsdt.cli import build, candidates, replay, reproduce, simulate
from lsdt.cli.spelling import as_options
from lsdt.errors import InvalidFile, LsdtError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_LISTED = 40  # arms of a conflict whose relations are listed; a long cycle has millions
COMMANDS = {
    "reproduce": reproduce,
    "build": build,
    "candidates": candidates,
    "replay": replay,
    "simulate": simulate,
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; building it imports nothing heavy."""
    parser = argparse.ArgumentParser(
        prog="lsdt",
        description="Bandits with similarity and dissimilarity side information.",
        epilog="examples:\n  lsdt reproduce --quick\n  lsdt candidates --example partial --explain 4\n"
        "  lsdt build ratings.csv --out side.parquet\n"
        "  lsdt replay ratings.csv --policies lsdt_psi ts@candidates best_training_mean\n"
        "  lsdt simulate --policies lsdt_csi ucb1 ts",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"lsdt {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        module.add_to(commands, name)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code. Errors of the user end in one message, never a traceback."""
    for stream in (sys.stdout, sys.stderr):  # ids may hold what the terminal cannot show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    options = build_parser().parse_args(arguments)
    try:
        code: int = options.run(options) or 0
        sys.stdout.flush()
    except LsdtError as error:
        return _report(error, options)
    except BrokenPipeError:  # the reader of our output has gone: nothing is wrong here
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        place = f": {error.filename!r}" if error.filename else ""
        return _report(InvalidFile(f"{error.strerror or error}{place}"), options)
    except KeyboardInterrupt:
        print("lsdt: interrupted", file=sys.stderr)
        return 130
    else:
        return code
    return 0


def _report(error: LsdtError, options: argparse.Namespace) -> int:
    """Say what went wrong, to people and on request to programs; return the exit code."""
    if getattr(options, "json", False):
        with suppress(OSError):  # standard output itself may be what is broken
            print(json.dumps(_error_as_json(error), indent=2), flush=True)
    print(f"lsdt: error: {as_options(str(error))}", file=sys.stderr)
    return error.exit_code


def _error_as_json(error: LsdtError) -> dict[str, Any]:
    """Return what a program needs to act on an error: the conflict above all."""
    answer: dict[str, Any] = {
        "error": type(error).__name__,
        "message": str(error),
        "exit_code": error.exit_code,
        "conflict": None,
    }
    conflict = getattr(error, "conflict", None)
    if conflict is not None:
        few = len(conflict.arms) <= _MOST_LISTED
        answer["conflict"] = {
            "kind": getattr(conflict, "kind", None),
            "arms": list(conflict.arms),
            "relations": [list(relation) for relation in conflict.relations] if few else None,
        }
    return answer


if __name__ == "__main__":
    sys.exit(main())
