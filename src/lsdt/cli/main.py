"""Entry point of the command ``lsdt``."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

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
    options = build_parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except LsdtError as error:
        print(f"lsdt: error: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader of our output has gone: nothing is wrong here
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"lsdt: error: {error.strerror}: {error.filename!r}", file=sys.stderr)
        return InvalidFile.exit_code
    except KeyboardInterrupt:
        print("lsdt: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
