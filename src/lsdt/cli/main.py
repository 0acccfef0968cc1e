"""Entry point of the command ``lsdt``."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from lsdt import __version__
from lsdt.cli import candidates
from lsdt.errors import InvalidFile, LsdtError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {"candidates": candidates}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; building it imports nothing heavy."""
    parser = argparse.ArgumentParser(
        prog="lsdt",
        description="Bandits with similarity and dissimilarity side information.",
        epilog="example:\n  lsdt candidates --example partial --explain 4",
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
        options.run(options)
        sys.stdout.flush()
    except LsdtError as error:
        if getattr(options, "json", False):
            print(json.dumps(_error_as_json(error), indent=2))
        print(f"lsdt: error: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader of our output has gone: nothing is wrong here
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        place = f": {error.filename!r}" if error.filename else ""
        print(f"lsdt: error: {error.strerror or error}{place}", file=sys.stderr)
        return InvalidFile.exit_code
    except KeyboardInterrupt:
        print("lsdt: interrupted", file=sys.stderr)
        return 130
    return 0


def _error_as_json(error: LsdtError) -> dict[str, Any]:
    """Return what a program needs to act on an error: the conflict above all."""
    conflict = getattr(error, "conflict", None)
    return {
        "error": type(error).__name__,
        "message": str(error),
        "exit_code": error.exit_code,
        "conflict": None
        if conflict is None
        else {"arms": list(conflict.arms), "relations": [list(relation) for relation in conflict.relations]},
    }


if __name__ == "__main__":
    sys.exit(main())
