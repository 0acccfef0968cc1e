"""``lsdt next-pairs``: ask a person or a command about pairs of arms, the most useful ones first."""

from __future__ import annotations

import csv
import json
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsdt._files import csv_rows
from lsdt.cli.terminal import complain, escape
from lsdt.cli.titles import Titles, add_titles_option
from lsdt.errors import InvalidFile, InvalidInput, counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from lsdt.identification import Inquiry, NextPairs, PairQuestion
    from lsdt.side_information import ArmId, SideInformation

    Judge = Callable[[PairQuestion], str | None]

_SHOWN = 20  # arms printed; chosen by eye to fit a terminal
_COLUMNS = ["a", "b", "answer"]
_PROMPTS = {
    "similar": "are these (s)imilar or (d)issimilar? (q) to stop",
    "better": "is the first (b)etter, (w)orse, or are both about (e)qual? (q) to stop",
    "range": "by how much is the first better? 0.1..0.3, 0.2 +- 0.1, >= 0.1, better, worse; (q) to stop",
}

_DESCRIPTION = """\
Ask about pairs of arms, beginning with those whose answers exclude the most arms, until few arms are left or
no answer helps.

FILE is side information, .csv or .parquet, as lsdt build writes it; use --n-arms if nothing is known. A
person answers on the terminal, or --judge names a command: {a} and {b} in it stand for the ids, {title_a} and
{title_b} for the titles, and the last line that it prints is the answer: a word of --answers, or a range of
the difference such as 0.1..0.3. Every answer is saved to a log at once, and the next run continues where this
one stopped."""

_EPILOG = """\
examples:
  lsdt next-pairs side.parquet --list --batch 5
  lsdt next-pairs side.parquet --titles movies.csv --out known.parquet
  lsdt next-pairs side.parquet --judge './compare.sh {a} {b}' --until 10 --wrong-rate .05
  lsdt next-pairs --n-arms 100 --answers better --log answers.csv
  lsdt next-pairs --n-arms 100 --answers range --judge './how_much.sh {a} {b}' --max-wrong 1

exit codes: 0 done, 1 questions are left (--max-questions, or the person stopped), 2 bad argument or answer,
3 bad file, 4 relations contradict, 7 not for these relations, 70 an error of lsdt itself, 130 interrupted"""

QUESTIONS_LEFT = 1  # exit code


def add_to(commands: Any, name: str) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        name,
        help="ask about the pairs of arms that help most",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="what is known, .csv or .parquet")
    parser.add_argument(
        "--n-arms", type=int, metavar="K", help="number of arms, if nothing is known about them"
    )
    parser.add_argument(
        "--answers",
        default="similar",
        metavar="KIND",
        help="similar (default): similar or dissimilar; better: better, worse or about equal; range: by how "
        "much, at least and at most",
    )
    parser.add_argument(
        "--epsilon",
        type=float,
        metavar="E",
        help="threshold that answers in words refer to (default: the epsilon of FILE)",
    )
    parser.add_argument(
        "--judge", metavar="COMMAND", help="a command that gives the answers, run without a shell"
    )
    parser.add_argument("--list", action="store_true", help="only list the next pairs")
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="pairs chosen at once (default 1)")
    parser.add_argument("--max-questions", type=int, metavar="N", help="stop after this many answers")
    parser.add_argument(
        "--until",
        type=int,
        default=1,
        metavar="N",
        help="stop when at most this many arms are left (default 1)",
    )
    parser.add_argument(
        "--wrong-rate",
        type=float,
        default=0.0,
        metavar="Q",
        help="probability that an answer is wrong; important questions are then repeated (default 0)",
    )
    parser.add_argument(
        "--max-wrong",
        type=int,
        default=0,
        metavar="N",
        help="how many answers may be wrong, instead of --wrong-rate (default 0)",
    )
    parser.add_argument(
        "--log",
        metavar="PATH",
        help="the file of answers, .csv (default: FILE with the ending .answers.csv)",
    )
    parser.add_argument("--out", metavar="PATH", help="write what is known in the end, .csv or .parquet")
    add_titles_option(parser)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from lsdt._validation import checked_whole
    from lsdt.identification import Inquiry

    side = _side(options)
    batch = checked_whole(options.batch, "batch", 1)
    most = options.max_questions
    most = None if most is None else checked_whole(most, "max_questions", 1)
    inquiry = Inquiry(
        side,
        options.answers,
        options.wrong_rate,
        options.until,
        max_wrong=options.max_wrong,
        epsilon=options.epsilon,
    )
    log = _AnswerFile(_log_path(options), side)
    log.tell(inquiry)
    n_before = inquiry.n_answers
    asked = inquiry.next(batch)
    if not options.list:
        judge = _person(inquiry, side) if options.judge is None else _command(options.judge, side)
        while asked and (most is None or inquiry.n_answers - n_before < most):
            room = len(asked) if most is None else most - (inquiry.n_answers - n_before)
            if not _ask(asked.questions[:room], inquiry, judge, log, options.out):
                break
            asked = inquiry.next(batch)
    _write(inquiry, options.out)
    if options.json:
        print(json.dumps(_as_json(inquiry, asked, side, inquiry.n_answers - n_before), indent=2))
    else:
        _print(inquiry, asked, side, options)
    return QUESTIONS_LEFT if asked and not options.list else 0


def _side(options: argparse.Namespace) -> SideInformation:
    from lsdt.side_information import SideInformation, load

    if (options.file is None) == (options.n_arms is None):
        raise InvalidInput("give either FILE, with what is known, or --n-arms, the number of arms")
    side = SideInformation(options.n_arms) if options.file is None else load(options.file)
    return Titles(options.titles).name_arms(side)


def _log_path(options: argparse.Namespace) -> Path:
    if options.log is not None:
        return Path(options.log)
    if options.file is None:
        return Path("answers.csv")
    return Path(options.file).with_suffix(".answers.csv")


class _AnswerFile:
    """A CSV file of answers, one line each; every answer is on disk before the next question."""

    def __init__(self, path: Path, side: SideInformation) -> None:
        self._path, self._side = path, side

    def tell(self, inquiry: Inquiry) -> None:
        """Pass all answers in the file to an inquiry."""
        for number, row in enumerate(self._rows(), start=2):
            try:
                inquiry.tell(self._arm(row[0]), self._arm(row[1]), row[2])
            except InvalidInput as error:
                raise InvalidFile(f"{str(self._path)!r}, line {number}: {error}") from None

    def _rows(self) -> Iterator[list[str]]:
        if not self._path.exists():
            return
        try:
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidFile(f"cannot read {str(self._path)!r}: {error}") from None
        if not text.endswith("\n"):  # a truncated last line is not an answer
            text = text[: text.rfind("\n") + 1]
            self._rewrite(text)
        try:
            rows = [row for _, row in csv_rows(text.splitlines())]
        except InvalidInput as error:
            raise InvalidFile(f"{str(self._path)!r}: {error}") from None
        if rows and rows[0] != _COLUMNS:
            raise InvalidFile(
                f"{str(self._path)!r} is not a log of answers: its first line must be {','.join(_COLUMNS)}"
            )
        for number, row in enumerate(rows[1:], start=2):
            if len(row) != len(_COLUMNS):
                raise InvalidFile(f"{str(self._path)!r}, line {number}: {len(row)} columns instead of 3")
            yield row

    def _rewrite(self, text: str) -> None:
        from lsdt._files import replace_file

        with replace_file(self._path) as written:
            written.write_text(text, encoding="utf-8")

    def _arm(self, text: str) -> ArmId:
        ids = self._side.arm_ids
        if (ids is None or isinstance(ids[0], int)) and text.lstrip("-").isdigit():
            return int(text)
        return text

    def add(self, a: ArmId, b: ArmId, answer: str) -> None:
        """Append an answer, and wait until it is on disk."""
        try:
            is_new = not self._path.exists() or not self._path.stat().st_size
            with self._path.open("a", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                if is_new:
                    writer.writerow(_COLUMNS)
                writer.writerow([a, b, answer])
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise InvalidFile(f"cannot write {str(self._path)!r}: {error.strerror or error}") from error


def _ask(
    asked: tuple[PairQuestion, ...], inquiry: Inquiry, judge: Judge, log: _AnswerFile, out: str | None
) -> bool:
    """Ask about some pairs, saving every answer at once; return False if the person stopped."""
    for one in asked:
        answer = judge(one)
        if answer is None:
            return False
        counted_as = inquiry.checked_answer(answer)
        inquiry.tell(one.a, one.b, counted_as)
        log.add(one.a, one.b, str(counted_as))
        _write(inquiry, out)
    return True


def _person(inquiry: Inquiry, side: SideInformation) -> Judge:
    """Return a judge that asks on the terminal; it returns None when the person stops."""

    def judge(one: PairQuestion) -> str | None:
        first, second = (escape(side.show(side.index(arm))) for arm in (one.a, one.b))
        left = len(inquiry.found)
        print(f"\n{inquiry.n_answers + 1}. {first}\n   {second}", file=sys.stderr)
        print(
            f"   {counted(left, 'arm')} left; {escape(one.why)}, about {one.expected:.2g} to exclude",
            file=sys.stderr,
        )
        while True:
            print(f"   {_PROMPTS[inquiry.answers]}: ", end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            if not line or line.strip().lower() in ("q", "quit"):
                return None
            try:
                return str(inquiry.checked_answer(line.strip()))
            except InvalidInput as error:
                complain(f"   {error}")

    return judge


def _command(text: str, side: SideInformation) -> Judge:
    """Return a judge that runs a command and takes the last line that it prints as the answer."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InvalidInput(f"--judge {text!r} cannot be read: {error}") from None
    if not words:
        raise InvalidInput("--judge must name a command, such as './compare.sh {a} {b}'")
    if not any("{a}" in word or "{title_a}" in word for word in words):
        raise InvalidInput(f"--judge must say where the arms go, {{a}} and {{b}}; got {text!r}")

    def judge(one: PairQuestion) -> str:
        titles = side.titles or {}
        values = {
            "{a}": str(one.a),
            "{b}": str(one.b),
            "{title_a}": titles.get(one.a, str(one.a)),
            "{title_b}": titles.get(one.b, str(one.b)),
        }
        try:
            done = subprocess.run(
                [_fill(word, values) for word in words], capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise InvalidInput(f"--judge cannot run {words[0]!r}: {error.strerror or error}") from None
        said = f"--judge on {one.a!r} and {one.b!r}"
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it printed no message"])[-1]
            raise InvalidInput(f"{said} failed with exit code {done.returncode}: {last}")
        lines = done.stdout.strip().splitlines()
        if not lines:
            raise InvalidInput(f"{said} printed no answer")
        return lines[-1].strip()

    return judge


def _fill(word: str, values: dict[str, str]) -> str:
    """Substitute values into a word in one pass, so that braces inside an id are left alone."""
    import re

    return re.sub("|".join(map(re.escape, values)), lambda found: values[found[0]], word)


def _write(inquiry: Inquiry, path: str | None) -> None:
    if path is not None:
        inquiry.side.save(path)


def _as_json(inquiry: Inquiry, asked: NextPairs, side: SideInformation, n_new: int) -> dict[str, Any]:
    titles = side.titles or {}
    return {
        "answers": inquiry.n_answers,
        "new_answers": n_new,
        "candidates": inquiry.found.arm_ids,
        "reason": asked.reason or None,
        "next": [
            {**one._asdict(), "title_a": titles.get(one.a), "title_b": titles.get(one.b)} for one in asked
        ],
        "disputed": [
            {key: None if value in (math.inf, -math.inf) else value for key, value in row.items()}
            for row in inquiry.disputed.to_dict(orient="records")
        ],
    }


def _print(inquiry: Inquiry, asked: NextPairs, side: SideInformation, options: argparse.Namespace) -> None:
    found = inquiry.found
    shown = ", ".join(escape(side.show(arm)) for arm in found.arms[:_SHOWN].tolist())
    more = ", ..." if len(found) > _SHOWN else ""
    print(f"answers     {inquiry.n_answers:,}")
    print(f"left        {len(found):,} of {counted(side.n_arms, 'arm')}: {shown}{more}")
    if not asked:
        print(f"done        {escape(asked.reason)}")
    for one in asked:
        first, second = (escape(side.show(side.index(arm))) for arm in (one.a, one.b))
        print(f"next        {first} and {second}: {escape(one.why)}, about {one.expected:.2g} to exclude")
    disputed = inquiry.disputed
    if len(disputed):
        print(f"disputed    {counted(len(disputed), 'pair')} with different answers; --json lists them")
    if options.out is not None:
        print(f"written     {escape(options.out)}")
