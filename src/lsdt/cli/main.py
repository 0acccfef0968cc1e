"""Entry point of the command ``lsdt``."""

from __future__ import annotations

import _thread
import argparse
import io
import json
import os
import re
import signal
import sys
import threading
import traceback
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from lsdt import __version__
from lsdt._files import checked_path
from lsdt._progress import on_compilation
from lsdt.cli import (
    build,
    candidates,
    compile_ahead,
    explore,
    identify,
    keys,
    next_pairs,
    plan,
    race,
    replay,
    reproduce,
    serve,
    simulate,
)
from lsdt.cli.terminal import complain, escape, escape_lines, in_options, safe_output
from lsdt.errors import InvalidFile, LsdtError, TooLarge, suggest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NoReturn

_SECONDS_UNTIL_AGAIN = 0.1  # what drops an interrupt is over by then
_MOST_LISTED = 40  # arms; JSON leaves out the relations of larger conflicts, of which there may be millions
INTERNAL_ERROR = 70  # EX_SOFTWARE in sysexits.h
_REPORT_IT = "please report this to the lsdt developers, with the output of the same command with --debug"
_PATHS = {"file": "FILE", "log": "LOG"} | {
    name: f"--{name}" for name in ("arms", "examples", "jester", "out", "pairs", "plot", "side", "table")
}
COMMANDS = {
    "reproduce": reproduce,
    "build": build,
    "candidates": candidates,
    "explore": explore,
    "replay": replay,
    "simulate": simulate,
    "identify": identify,
    "race": race,
    "next-pairs": next_pairs,
    "plan": plan,
    "serve": serve,
    "keys": keys,
    "compile": compile_ahead,
}


class _Parser(argparse.ArgumentParser):
    """A parser whose messages are safe to show, and whose description and examples keep their lines."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the arguments, and exit with code 2."""
        super().error(escape(message))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; building it imports nothing heavy."""
    parser = _Parser(
        prog="lsdt",
        description="Bandits with similarity and dissimilarity side information.",
        epilog="examples:\n  lsdt reproduce --quick\n  lsdt candidates --example partial --explain 4\n"
        "  lsdt build ratings.csv --out side.parquet\n"
        "  lsdt explore side.parquet\n"
        "  lsdt replay ratings.csv --policies lsdt_psi ts@paper best_training_mean\n"
        "  lsdt simulate --policies lsdt_csi ucb1 ts\n"
        "  lsdt identify --p-similar .5 --p-dissimilar .5 --delta .01\n"
        "  lsdt race scores.csv --user question --item prompt --rating score\n"
        "  lsdt next-pairs side.parquet --until 10\n"
        "  lsdt plan side.parquet --horizons 1000 10000\n"
        "  lsdt serve\n"
        "  lsdt compile ucb1\n\n"
        "some messages name options as in Python: max_wrong=2 is --max-wrong 2\n"
        f"exit codes: 0 done, {INTERNAL_ERROR} an error of lsdt itself; the others are those of each command",
    )
    parser.add_argument("--version", action="version", version=f"lsdt {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        module.add_to(commands, name)
    for command in commands.choices.values():
        command.set_defaults(parser=command)
    for each, default in ((parser, False), *((one, argparse.SUPPRESS) for one in commands.choices.values())):
        each.add_argument("--debug", action="store_true", default=default, help="show where an error arose")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; an error prints one line, and a traceback only with --debug."""
    for stream in (sys.stdout, sys.stderr):  # ids may hold characters that the terminal cannot show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    parser = build_parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        _refuse(unknown[0], options.parser)
    _check_values(parser, options)
    try:
        announced = _announced_compilation(not getattr(options, "keeps_a_log", False))
        with safe_output(), announced, _interrupts_come_again():
            _check_paths(options)
            code: int = options.run(options) or 0
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has closed it, which is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        complain("lsdt: interrupted")
        return 130
    except Exception as error:
        if options.debug:
            print(escape_lines(traceback.format_exc()), file=sys.stderr, end="")
        return _report(error, options)
    return code


@contextmanager
def _interrupts_come_again() -> Iterator[None]:
    """Raise a KeyboardInterrupt again if it came in a destructor or callback: Python drops it there.

    Not where work listens to Ctrl-C by a handler of its own, as a study does: it stops by itself, and a
    second interrupt would disturb it while it saves what is finished.
    """
    report, later = sys.unraisablehook, []

    def repeat(dropped: sys.UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            report(dropped)
        elif signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            later.append(threading.Timer(_SECONDS_UNTIL_AGAIN, _thread.interrupt_main))
            later[-1].start()

    sys.unraisablehook = repeat
    try:
        yield
    finally:
        sys.unraisablehook = report
        for each in later:
            each.cancel()


@contextmanager
def _announced_compilation(to_people: bool) -> Iterator[None]:
    """Announce compilation once, on a terminal; otherwise a first command would be silent for seconds."""

    def say() -> None:
        complain("lsdt: compiling code, once for this installation: this takes seconds to a minute")

    if to_people and sys.stderr.isatty():
        on_compilation.append(say)
    try:
        yield
    finally:
        on_compilation.clear()


def _refuse(unknown: str, parser: _Parser) -> NoReturn:
    """Exit with an error about an argument that the command does not have, and name a similar option."""
    word = unknown.partition("=")[0]
    kind, near = "argument", ""
    if word.startswith("-"):
        kind, near = "option", suggest(word, re.findall("--[a-z-]+", parser.format_usage()))
    parser.exit(
        2, escape(f"lsdt: error: {parser.prog} has no {kind} {word!r}{near}; see {parser.prog} --help") + "\n"
    )


def _check_values(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Exit with an error on ``--option=--``, which argparse turns into an empty list for any option."""
    for name, value in vars(options).items():
        if (value == [] and name != "explain") or (isinstance(value, list) and [] in value):
            parser.error(f"argument --{name.replace('_', '-')}: expected a value, but '--' is none")


def _check_paths(options: argparse.Namespace) -> None:
    """Raise an error if the value of a path option cannot be a path, for any command."""
    for name, spelling in _PATHS.items():
        given = getattr(options, name, None)
        if given is not None:
            checked_path(given, spelling)


def _report(error: Exception, options: argparse.Namespace) -> int:
    """Print an error as a line for people, and with ``--json`` also as JSON; return the exit code."""
    known = _as_lsdt_error(error)
    if known is None:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        message = f"internal error: {text}; {_REPORT_IT}"
        code = INTERNAL_ERROR
    else:
        message, code = f"error: {in_options(str(known), vars(options))}", known.exit_code
    if getattr(options, "json", False):
        with suppress(OSError):  # standard output itself may be broken
            print(json.dumps(_error_as_json(known or error, code, options), indent=2), flush=True)
    complain(f"lsdt: {message}")
    return code


def _as_lsdt_error(error: Exception) -> LsdtError | None:
    """Convert an error of the user or the machine into an `LsdtError`; None for an internal error."""
    if isinstance(error, LsdtError):
        return error
    if isinstance(error, OSError):
        place = f": {error.filename!r}" if error.filename else ""
        return InvalidFile(f"{error.strerror or error}{place}")
    if isinstance(error, MemoryError):
        return TooLarge("there is not enough memory for this; ask for less at once, or use a larger machine")
    return None


def _error_as_json(error: Exception, code: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return an error as JSON data, with its conflict if it has one."""
    answer: dict[str, Any] = {
        "error": type(error).__name__,
        "message": in_options(str(error), vars(options)),
        "exit_code": code,
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
