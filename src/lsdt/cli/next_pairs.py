"""``lsdt next-pairs``: ask a person or a command about pairs of arms, the most useful ones first."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsdt.cli.terminal import complain, escape
from lsdt.cli.text_lines import read_lines
from lsdt.cli.titles import Titles, add_titles_option
from lsdt.cli.user_command import UserCommand, add_timeout_option
from lsdt.errors import InvalidInput, counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from lsdt.identification import AnswerLog, Inquiry, NextPairs, PairQuestion
    from lsdt.side_information import ArmId, SideInformation

_SHOWN = 20  # arms printed; chosen by eye to fit a terminal
_PROMPTS = {
    "similar": "are these (s)imilar or (d)issimilar? (q) to stop",
    "better": "is the first (b)etter, (w)orse, or are both about (e)qual? (q) to stop",
    "range": "by how much is the first better? 0.1..0.3, 0.2 +- 0.1, >= 0.1, better, worse; (q) to stop",
}

_DESCRIPTION = """\
Ask about pairs of arms, beginning with those whose answers tell most about which arm is the best, until few
arms are left or no answer helps.

FILE is side information, .csv or .parquet, as lsdt build writes it. If nothing is known, --arms names a file
with one arm a line, or --n-arms says how many there are. A person answers on the terminal, or --judge names a
command: {a} and {b} in it stand for the ids, {title_a} and {title_b} for the titles, and the last line that
it prints is the answer: a word of --answers, or a range of the difference such as 0.1..0.3. With --answers
better, errors of the judge and a preference for the arm that comes first, {a}, are estimated and allowed for.
Every answer is saved to a log at once, and the next run continues where this one stopped."""

_EPILOG = """\
examples:
  lsdt next-pairs side.parquet --list --batch 5
  lsdt next-pairs side.parquet --titles movies.csv --out known.parquet
  lsdt next-pairs --arms prompts.txt --answers better --judge './compare.sh {a} {b}' --jobs 8
  lsdt next-pairs --n-arms 100 --answers better --log answers.csv
  lsdt next-pairs --n-arms 100 --answers range --judge './how_much.sh {a} {b}' --max-wrong 1

exit codes: 0 no question is left ("known" of --json says whether enough is known), 1 questions are left
(--max-questions, or the person stopped), 2 bad argument or answer, 3 bad file, 4 relations contradict,
7 does not apply to these relations, 70 an error of lsdt itself, 130 interrupted"""

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
    parser.add_argument("--arms", metavar="PATH", help="the arms, one a line, if nothing is known about them")
    parser.add_argument(
        "--n-arms", type=int, metavar="K", help="number of arms, if nothing is known about them"
    )
    parser.add_argument(
        "--answers",
        default="similar",
        metavar="KIND",
        help="similar (default): similar or dissimilar; better: better, worse or about equal, which may be "
        "wrong; range: by how much, at least and at most",
    )
    parser.add_argument(
        "--epsilon",
        type=float,
        metavar="E",
        help="threshold that similar and dissimilar refer to (default: the epsilon of FILE)",
    )
    parser.add_argument(
        "--judge", metavar="COMMAND", help="a command that gives the answers, run without a shell"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="how many commands run at the same time (default 1)"
    )
    add_timeout_option(parser)
    parser.add_argument(
        "--risk",
        type=float,
        default=0.05,
        metavar="P",
        help="with --answers better, accepted probability that the best arm is not among those left (default "
        "0.05)",
    )
    parser.add_argument(
        "--repeats",
        action="store_true",
        help="with --answers better, the same question asked again gives an independent answer; by default "
        "no question is asked twice",
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
        help="probability that an answer is wrong; important questions are then repeated (default 0; with "
        "--answers better it is estimated)",
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
        help="the file of answers, .csv (default: FILE, or --arms, with the ending .answers.csv)",
    )
    parser.add_argument("--out", metavar="PATH", help="write what is known in the end, .csv or .parquet")
    add_titles_option(parser)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from lsdt._validation import checked_whole
    from lsdt.identification import AnswerLog, Inquiry

    side = _side(options)
    batch = checked_whole(options.batch, "batch", 1)
    most = options.max_questions
    most = None if most is None else checked_whole(most, "max_questions", 1)
    jobs = checked_whole(options.jobs, "jobs", 1)
    inquiry = Inquiry(
        side,
        options.answers,
        options.wrong_rate,
        options.until,
        max_wrong=options.max_wrong,
        epsilon=options.epsilon,
        risk=options.risk,
        repeats=options.repeats,
    )
    log = AnswerLog(_log_path(options))
    inquiry.resume(log.path)
    n_before = inquiry.n_answers
    asked = inquiry.next(batch)
    if not options.list and options.judge is not None:
        judge = _command(UserCommand(options.judge, "--judge", options.timeout), side, inquiry)
        try:
            inquiry.run(judge, jobs=jobs, calls=most, log=log.path)
        except InvalidInput as error:
            if not inquiry.n_answers:
                raise
            kept = f"{counted(inquiry.n_answers, 'answer')} in {str(log.path)!r}"
            raise type(error)(f"{error}. There are {kept}; run it again to go on") from None
        finally:
            _write(inquiry, options.out)
        asked = inquiry.next(batch)
    elif not options.list:
        person = _person(inquiry, side)
        log.check_writable()
        while asked and (most is None or inquiry.n_answers - n_before < most):
            room = len(asked) if most is None else most - (inquiry.n_answers - n_before)
            if not _ask(asked.questions[:room], inquiry, person, log, options.out):
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

    if sum(given is not None for given in (options.file, options.arms, options.n_arms)) != 1:
        raise InvalidInput(
            "give one of these: FILE, with what is known; --arms, a file with one arm a line; --n-arms, the "
            "number of arms"
        )
    if options.arms is not None:
        arms = read_lines(options.arms, "--arms")
        side = SideInformation(len(arms), arm_ids=arms)
    else:
        side = SideInformation(options.n_arms) if options.file is None else load(options.file)
    return Titles(options.titles).name_arms(side)


def _log_path(options: argparse.Namespace) -> Path:
    if options.log is not None:
        return Path(options.log)
    named = options.file or options.arms
    return Path("answers.csv") if named is None else Path(named).with_suffix(".answers.csv")


def _ask(
    asked: tuple[PairQuestion, ...],
    inquiry: Inquiry,
    person: Callable[[PairQuestion], str | None],
    log: AnswerLog,
    out: str | None,
) -> bool:
    """Ask a person about some pairs, saving every answer at once; return False if the person stopped."""
    for one in asked:
        answer = person(one)
        if answer is None:
            return False
        counted_as = inquiry.checked_answer(answer)
        inquiry.tell(one.a, one.b, counted_as)
        log.add(one.a, one.b, counted_as)
        _write(inquiry, out)
    return True


def _person(inquiry: Inquiry, side: SideInformation) -> Callable[[PairQuestion], str | None]:
    """Return a function that asks on the terminal; it returns None when the person stops."""

    def ask(one: PairQuestion) -> str | None:
        first, second = (escape(side.show(side.index(arm))) for arm in (one.a, one.b))
        left = len(inquiry.found)
        print(f"\n{inquiry.n_answers + 1}. {first}\n   {second}", file=sys.stderr)
        print(
            f"   {counted(left, 'arm')} left; {escape(one.why)}",
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

    return ask


def _command(command: UserCommand, side: SideInformation, inquiry: Inquiry) -> Callable[[ArmId, ArmId], str]:
    """Return a judge that runs a command and takes the last line that it prints as the answer."""
    if not (command.names("{a}", "{title_a}") and command.names("{b}", "{title_b}")):
        raise InvalidInput(
            "--judge must name a command and where the arms go, such as './compare.sh {a} {b}'; got "
            f"{command.text!r}"
        )
    titles = side.titles or {}

    def judge(a: ArmId, b: ArmId) -> str:
        values = {"{a}": str(a), "{b}": str(b)}
        values |= {"{title_a}": titles.get(a, str(a)), "{title_b}": titles.get(b, str(b))}
        last = command.last_line(values, f"on {a!r} and {b!r}")
        if not last:
            raise InvalidInput(f"--judge on {a!r} and {b!r} printed no answer")
        try:
            inquiry.checked_answer(last)
        except InvalidInput as error:
            raise InvalidInput(f"--judge on {a!r} and {b!r}: {error}") from None
        return last

    return judge


def _write(inquiry: Inquiry, path: str | None) -> None:
    if path is not None:
        inquiry.side.save(path)


def _probability(inquiry: Inquiry) -> float | None:
    """Return the probability that the best arm is among those left; None if answers are facts."""
    from lsdt.identification import LikelyBest

    found = inquiry.found
    return found.probability if isinstance(found, LikelyBest) else None


def _as_json(inquiry: Inquiry, asked: NextPairs, side: SideInformation, n_new: int) -> dict[str, Any]:
    titles = side.titles or {}
    return {
        "answers": inquiry.n_answers,
        "new_answers": n_new,
        "candidates": inquiry.found.arm_ids,
        "probability": _probability(inquiry),
        "judge": inquiry.judge._asdict() if inquiry.answers == "better" else None,
        "known": asked.known,
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
    if inquiry.answers == "better":
        before = f", and FILE is right (risk {side.risk:g})" if side.risk else ""
        print(
            f"probability {_probability(inquiry):.3g} that the best arm is among them, if the judge prefers "
            f"arms with larger means{before}"
        )
    if inquiry.answers == "better" and inquiry.n_answers:
        judge = inquiry.judge
        print(
            f"judge       {judge.slip:.0%} of the answers are arbitrary; coming first adds "
            f"{judge.position:.2f} +- {1.96 * judge.position_sd:.2f} (strengths: standard deviation 1)"
        )
        if not judge.agrees:
            print("note        the answers agree with one another hardly better than chance: not reliable")
    if not asked:
        print(f"{'known' if asked.known else 'not known':12}{escape(asked.reason)}")
    for one in asked:
        first, second = (escape(side.show(side.index(arm))) for arm in (one.a, one.b))
        print(f"next        {first} and {second}: {escape(one.why)}")
    if asked and not options.list:
        print("not known   questions are left: run it again to go on, or try the arms that are left")
    disputed = inquiry.disputed
    if len(disputed):
        print(f"disputed    {counted(len(disputed), 'pair')} whose answers are doubtful; --json lists them")
    if options.out is not None:
        print(f"written     {escape(options.out)}")
