"""Every command with options and files that nobody should give it.

Answered well is an exit code that the documentation has, an error of one line, output without control
characters (and strict JSON where that was asked for), and files that are whole: as they were before, or as a
reader takes them; nothing half written is left behind.

See one case again, with its output::

    PYTHONPATH=src:tests python -m attack.commands SEED CASE
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from lsdt.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CODES = {
    0,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
}  # of docs/reference/command-line.md; 70 is a failure, 130 needs somebody to interrupt
_LONGEST = 600  # seconds for a case
_APART = 50  # one case of that many runs in a process of its own
_SHOWN = 500  # letters of a command in a failure
_BEFORE = b"what was here before\n"

_TEXTS = (
    "", " ", "0", "-1", "1e308", "nan", "inf", "-inf", "1" * 5000, "\0", "\x1b[31m", "a\nb", "a\rb", "\t",
    "\u202eabc", "=1+1", "@x", "-x", "+x", "'", '"', ",", "a,b,c", "%s", "{}", "\\", "é", "\udc80", "👩‍🚀",
    "None",
    "auto", "--", "../..", "/", ".", "~", "/dev/null", "/proc/self/mem", "x" * 300, "[" * 2000,
)  # fmt: skip
_WHOLE = ("0", "-1", "1", "2", "3", "7", str(2**31), str(2**63), str(10**20), str(10**24), "1.5", "x", "٣")
_NUMBERS = ("0", "-0.0", "1", "-1", ".5", ".1", "1e-320", "1e308", "-1e308", "nan", "inf", "-inf", "x", "1,5")
_POLICIES = ("ucb1", "ts", "lsdt_psi", "ts@paper", "ucb1:alpha=1", "kl_ucb")
_ODD_POLICIES = (
    "best_training_mean", "always:i1", "always:", "always:\x1b", "always:1", "ucb1:alpha=nan",
    "ucb1:alpha=1e308", "ucb1:alpha=1e-320", "ts:prior_weight=1", "ts:prior_weight=-1", "ucb1@",
    "@", ":", "ucb1:alpha", "nothing", "ucb1@paper@paper", "lsdt_csi", "lsdt_psi:lambda_=inf",
    "ckl_ucb@propagation",
)  # fmt: skip


class Answer(NamedTuple):
    """What a command said."""

    code: int
    out: str
    err: str


_TITLES = (("id", "title"), ("i1", "One"), ("i2", "Two"), ("1", "Two"))


def attack(seed: int, seconds: float) -> tuple[int, int, list[str]]:
    """Try commands until the time is over; return how many, how many were answered well, and the failures."""
    until = time.monotonic() + seconds
    failures, tried = [], 0
    for case in count():
        if time.monotonic() > until:
            break
        words, wrong, _ = _tried(seed, case)
        tried += 1
        if wrong:
            shown = " ".join(map(repr, words))[:_SHOWN]
            failures.append(f"{wrong}: lsdt {shown}; see it: python -m attack.commands {seed} {case}")
    return tried, tried - len(failures), failures


def _tried(seed: int, case: int) -> tuple[list[str], str, Answer]:
    """Run a case in a folder of its own; return its words, what is wrong with the answer, and the answer."""
    rng = _Dice(f"{seed} {case}")
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        folder = Path(place)
        words = _words(rng, folder)
        apart = case % _APART == 0 and not any("\0" in word for word in words)
        answer = _in_a_process(words) if apart else _here(words)
        wrong = _wrong(answer, words, folder)
        for path in folder.rglob("*"):
            with contextlib.suppress(OSError):
                path.chmod(0o700)
    return words, wrong, answer


# ---------------------------------------------------------------------- what is tried


class _Dice(random.Random):
    """Random choices of one case, most of them good in some cases, many of them bad in others."""

    boldness = 0.0

    def of(self, good: Sequence[str], bad: Sequence[str] = _TEXTS) -> str:
        """Return a good value, or sometimes a bad one."""
        return self.choice(bad if self.random() < self.boldness else good)

    def some(self, options: list[list[str]]) -> list[str]:
        """Return some of the options, in any order."""
        chosen = [words for words in options if self.random() < 0.25]
        self.shuffle(chosen)
        return [word for words in chosen for word in words]


def _words(rng: _Dice, folder: Path) -> list[str]:
    """Write the files of a case and return the arguments of a command that may read them."""
    rng.boldness = rng.choice((0.0, 0.05, 0.2))
    command = rng.choice(("candidates", "candidates", "build", "build", "replay", "simulate", "reproduce"))
    words = [
        command,
        *{
            "candidates": _candidates,
            "build": _build,
            "replay": _replay,
            "simulate": _simulate,
            "reproduce": _reproduce,
        }[command](rng, folder),
    ]
    if rng.random() < 0.2 * rng.boldness:
        words.insert(rng.randrange(len(words) + 1), rng.choice(_TEXTS))
    return words


def _candidates(rng: _Dice, folder: Path) -> list[str]:
    source = ["--example", rng.of(("partial", "complete"))]
    if rng.random() < 0.8:
        source = [_file(rng, folder, "pairs", _pairs(rng))]
        source += ["--columns", rng.of(("a,b,relation",), ("a,b", "b,a,relation", "a,a,a", *_TEXTS))]
    methods = ("auto", "paper", "triangles", "propagation", "probing", "exact")
    return source + rng.some(
        [
            ["--complete"],
            [f"--method={rng.of(methods, ('anchors', *_TEXTS))}"],
            [f"--max-wrong={rng.of(('0', '1', 'auto'), _WHOLE)}"],
            [f"--wrong-rate={rng.of(('.01', '.1'), _NUMBERS)}"],
            [f"--risk={rng.of(('.01', '.1'), _NUMBERS)}"],
            [f"--timeout={rng.of(('1', '.001'), _NUMBERS)}"],
            [f"--explain={rng.of(('i1', 'i2', '1', 'Two'))}"],
            [f"--titles={_file(rng, folder, 'titles', [list(row) for row in _TITLES])}"],
            [f"--plot={_target(rng, folder, '.svg', '.png', '.pdf')}"],
            [f"--table={_target(rng, folder, '.csv', '.parquet')}"],
            ["--json"],
        ]
    )


def _log_options(rng: _Dice) -> list[list[str]]:
    return [
        [f"--user={rng.of(('user',), ('item', *_TEXTS))}"],
        [f"--item={rng.of(('item',))}"],
        [f"--rating={rng.of(('rating',))}"],
        ["--duplicates", rng.choice(("error", "last", "mean"))],
        ["--scale", rng.of(("0", "-1"), _NUMBERS), rng.of(("9", "20"), _NUMBERS)],
        [f"--seed={rng.of(('0', '1', str(2**64)), _WHOLE)}"],
        [f"--epsilon={rng.of(('auto', '.3'), _NUMBERS)}"],
        [f"--confidence={rng.of(('.9', '.999'), _NUMBERS)}"],
        ["--level", rng.choice(("family", "fdr", "fdr_any"))],
        ["--search", rng.choice(("grid", "paper"))],
        [f"--alpha={rng.of(('.1', '.9'), _NUMBERS)}"],
        [f"--min-raters={rng.of(('2', '5'), _WHOLE)}"],
        ["--interval", rng.choice(("student", "bernstein"))],
        ["--json"],
    ]


def _build(rng: _Dice, folder: Path) -> list[str]:
    log = _file(rng, folder, "log", _log(rng))
    options = [
        *_log_options(rng),
        ["--rule", rng.choice(("interval", "paper"))],
        [f"--pairs={_target(rng, folder, '.csv')}"],
        [f"--plot={_target(rng, folder, '.svg', '.png')}"],
    ]
    return [log, f"--out={_target(rng, folder, '.csv', '.parquet')}", "--epsilon=.2", *rng.some(options)]


def _replay(rng: _Dice, folder: Path) -> list[str]:
    log = _file(rng, folder, "log", _log(rng))
    side = _file(rng, folder, "side", _pairs(rng)) if rng.random() < 0.3 else rng.choice(("none", "paper"))
    few = ["--splits=2", "--horizon=20", "--n-jobs=1", "--train=.5", "--min-raters=2", "--epsilon=.2"]
    options = [
        *_log_options(rng),
        [f"--propensity={rng.of(('chance',))}"],
        ["--method", rng.choice(("auto", "matrix", "uniform", "propensity"))],
        [f"--horizon={rng.of(('1', '50'), _WHOLE)}"],
        [f"--train={rng.of(('.1', '.9'), _NUMBERS)}"],
        [f"--splits={rng.of(('1', '3'), _WHOLE)}"],
        [f"--side={side}"],
        [f"--clip={rng.of(('0', '.1'), _NUMBERS)}"],
        [f"--n-jobs={rng.of(('-1', '2'), _WHOLE)}"],
        [f"--out={_target(rng, folder, '')}"],
    ]
    return [log, "--policies", *_policies(rng), *few, *rng.some(options)]


def _policies(rng: _Dice) -> list[str]:
    return [rng.of(_POLICIES, (*_ODD_POLICIES, *_TEXTS)) for _ in range(rng.choice((1, 2, 2)))]


def _simulate(rng: _Dice, folder: Path) -> list[str]:
    options = [
        [f"--n-arms={rng.of(('1', '2', '30'), _WHOLE)}"],
        [f"--low={rng.of(('0', '.1'), _NUMBERS)}"],
        [f"--high={rng.of(('.9', '1'), _NUMBERS)}"],
        [f"--epsilon={rng.of(('.1', '.3'), _NUMBERS)}"],
        [f"--rewards={rng.of(('gaussian', 'bernoulli'))}"],
        [f"--p-similar={rng.of(('1', '.5', '0'), _NUMBERS)}"],
        [f"--p-dissimilar={rng.of(('1', '.5', '0'), _NUMBERS)}"],
        ["--fixed"],
        [f"--horizon={rng.of(('1', '50'), _WHOLE)}"],
        [f"--replications={rng.of(('1', '3'), _WHOLE)}"],
        [f"--seed={rng.of(('0', '1', str(2**64)), _WHOLE)}"],
        [f"--n-jobs={rng.of(('-1', '2'), _WHOLE)}"],
        [f"--out={_target(rng, folder, '')}"],
        ["--json"],
    ]
    if rng.random() < 0.05:
        options.append(["--list"])
    rounds = ["--horizons", "5", rng.of(("10", "5"), _WHOLE)] if rng.random() < 0.1 else ["--horizon=20"]
    return [
        "--policies",
        *_policies(rng),
        "--n-arms=6",
        *rounds,
        "--replications=2",
        "--n-jobs=1",
        *rng.some(options),
    ]


def _reproduce(rng: _Dice, folder: Path) -> list[str]:
    part = rng.of(("example-uig", "example-partial", "fig-bstar-k", "fig-b0-k"), ("nothing*", *_TEXTS))
    options = [
        ["--quick"],
        ["--fixed-draw"],
        [f"--replications={rng.of(('1', '3'), _WHOLE)}"],
        [f"--seed={rng.of(('0', '1', str(2**64)), _WHOLE)}"],
        [f"--n-jobs={rng.of(('-1', '2'), _WHOLE)}"],
        ["--json"],
    ]
    if rng.random() < 0.1:
        options += [["--list"], ["--beyond", "--list"], ["--where-is-jester"], ["--full"]]
        options += [[f"--jester={_file(rng, folder, 'jester', _log(rng))}"]]
    few = ["--replications=2", "--n-jobs=1", f"--out={_target(rng, folder, '')}"]
    return ["--only", part, *few, *rng.some(options)]


def _ids(rng: _Dice) -> list[str]:
    if rng.random() < 0.6:
        return [f"i{number}" for number in range(6)]
    odd = list(dict.fromkeys(text.strip() for text in rng.sample(_TEXTS[7:], 5)))
    return rng.choice((["1", "2", "3"], [*filter(None, odd), "i1"], ["1", "x", "2"]))


def _pairs(rng: _Dice) -> list[list[str]]:
    """Return rows of pairs, most of them right."""
    ids = _ids(rng)
    rows = [["a", "b", "relation"]]
    for first in range(len(ids)):
        for second in range(first + 1, len(ids)):
            if rng.random() < 0.7:
                rows.append([ids[first], ids[second], "similar" if second == first + 1 else "dissimilar"])
    if rng.random() < 0.1:
        for row in rows:
            row.append("threshold" if row is rows[0] else rng.of((".1", ".3"), _NUMBERS))
    return rows


def _log(rng: _Dice) -> list[list[str]]:
    """Return rows of ratings, most of them right."""
    rows = [["user", "item", "rating", "chance"]]
    ids, many = _ids(rng), int(rng.of(("60", "200"), ("1", "3")))
    for user in range(many):
        for place, item in enumerate(ids):
            if rng.random() < 0.8:
                rows.append([f"u{user}", item, str(rng.choice((0, 1, place))), rng.choice((".2", ".5"))])
    return rows


def _file(rng: _Dice, folder: Path, stem: str, rows: list[list[str]]) -> str:
    """Write rows as CSV or Parquet, often with something wrong; return the name, or one of no such file."""
    bold = rng.boldness
    if rng.random() < 0.2 * bold:
        return rng.choice(("none.csv", "none.parquet", ".", "/", "/proc/self/mem", "/dev/null", *_TEXTS))
    if rng.random() < 2 * bold:
        for _ in range(rng.choice((1, 1, 3))):
            row = rng.choice(rows)
            row[rng.randrange(len(row))] = rng.choice((*_TEXTS, *_NUMBERS))
    if rng.random() < 0.3 * bold:
        rows = rows[: rng.choice((0, 1, 2))]
    if rng.random() < 0.3 and rows:
        return _parquet_file(rng, folder / f"{stem}.parquet", rows)
    path = folder / f"{stem}.csv"
    text = "".join(",".join(_quoted(cell) for cell in row) + "\n" for row in rows)
    about = (
        "[" * 100_000,
        "{",
        "{}",
        '{"complete": 1}',
        '{"layers": [{}]}',
        '{"epsilon": "x"}',
        '{"format": 9}',
    )
    if rng.random() < 0.3 * bold:
        text = f"# lsdt {rng.choice(about)}\n{text}"
    data = text.encode(errors="surrogatepass")
    if rng.random() < 0.3 * bold:
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.randbytes(3) + data[at + 1 :]
    path.write_bytes(data)
    return path.name


def _parquet_file(rng: _Dice, path: Path, rows: list[list[str]]) -> str:
    columns: list[Any] = []
    for column in zip(*rows[1:], strict=True) if len(rows) > 1 else [()] * len(rows[0]):
        values: Any = [value.encode(errors="replace").decode() for value in column]
        odd = rng.random() if rng.random() < 2 * rng.boldness else 1.0
        if odd < 0.25:
            values = [{"x": value} for value in values]
        elif odd < 0.5:
            values = [[value] for value in values]
        elif odd < 0.75:
            values = [None] * len(values)
        elif odd < 1.0:
            values = [value.encode() for value in values]
        columns.append(pa.array(values))
    names = [name.encode(errors="replace").decode() for name in rows[0]]
    if rng.random() < 0.3 * rng.boldness:
        names[-1] = names[0]
    for at in range(2, len(columns)):
        with contextlib.suppress(pa.ArrowException):
            columns[at] = columns[at].cast(pa.float64())
    pq.write_table(pa.table(columns, names=names), path)
    return path.name


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\n\r') else cell


def _target(rng: _Dice, folder: Path, *endings: str) -> str:
    """Return where a command is to write; sometimes there is something already, or nothing can be written."""
    kind, ending = rng.random(), rng.choice(endings)
    if kind >= 0.5 or rng.random() > 4 * rng.boldness:
        return f"new{rng.randrange(9)}{ending}"
    if kind < 0.1:
        return rng.choice(_TEXTS) + ending
    if kind < 0.15:
        return rng.choice(("pairs.csv", "log.csv", "log.parquet", "side.csv"))  # what it reads
    path = folder / f"new{rng.randrange(3)}{ending}"
    if kind < 0.2:
        (folder / "shut").mkdir(exist_ok=True)
        (folder / "shut").chmod(0o500)
        return f"shut/{path.name}"
    if kind < 0.25:
        (folder / "round").unlink(missing_ok=True)
        (folder / "round").symlink_to("round")
        return f"round{rng.choice(('', '/'))}{ending}"
    if kind < 0.3:
        path.mkdir(exist_ok=True)
    elif not path.exists():
        path.write_bytes(_BEFORE)
    return path.name


# ---------------------------------------------------------------------- what is answered


class _TooLong(BaseException):
    """A case took too long."""


def _here(words: list[str]) -> Answer:
    """Run a command in this process."""

    def stop(*_: Any) -> None:
        raise _TooLong

    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(_LONGEST)
    try:
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            code = main(words)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except _TooLong:
        code = -signal.SIGALRM
    except Exception as error:
        code = 1
        streams[1].write(f"Traceback: {error!r}")
    finally:
        signal.alarm(0)
    out, err = (stream.buffer.getvalue().decode(errors="replace") for stream in streams)  # type: ignore[attr-defined]
    return Answer(code, out, err)


def _in_a_process(words: list[str]) -> Answer:
    """Run a command as its users do."""
    command = [sys.executable, "-m", "lsdt.cli.main", *words]
    done = subprocess.run(
        [os.fsencode(word) for word in command], capture_output=True, timeout=_LONGEST, check=False
    )
    return Answer(done.returncode, *(text.decode(errors="replace") for text in (done.stdout, done.stderr)))


def _wrong(answer: Answer, words: list[str], folder: Path) -> str:
    """Return what is wrong with an answer, or an empty text."""
    return next((wrong for wrong in _wrongs(answer, words, folder) if wrong), "")


def _wrongs(answer: Answer, words: list[str], folder: Path) -> Iterator[str]:
    code, out, err = answer
    if code not in _CODES:
        yield f"exit code {code} ({err[-300:]!r})"
    if "Traceback" in out + err:
        yield "a traceback"
    yield _wrong_lines(code, err)
    if any(unicodedata.category(letter) == "Cc" and letter != "\n" for letter in out + err):
        yield "control characters in the output"
    if "--json" in words and code == 0 and "--where-is-jester" not in words:
        yield _wrong_json(out)
    for path in folder.rglob("*"):
        if ".part" in path.name:
            yield f"{path.name} is left behind"
        if path.is_file():
            yield _wrong_file(path)


def _wrong_lines(code: int, err: str) -> str:
    lines = err.splitlines()
    if code and lines and lines[0].startswith("usage: "):
        return "" if ": error: " in lines[-1] else "a usage without an error"
    said = [line for line in lines if not line.startswith("lsdt: warning: ")]
    if code == 0:
        return f"a success that complains: {err[:300]!r}" if said else ""
    return "" if len(said) == 1 and said[0].startswith("lsdt: error: ") else f"not one line: {err[:500]!r}"


def _wrong_json(out: str) -> str:
    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        json.loads(out, parse_constant=refuse)
    except ValueError as error:
        return f"no strict JSON: {error}"
    return ""


def _wrong_file(path: Path) -> str:
    """Return what is wrong with a file that may have been written."""
    if not path.name.startswith(("new", "table", "study", "regret")) or path.read_bytes() == _BEFORE:
        return ""
    try:
        if path.suffix == ".parquet":
            pq.read_table(path)
        elif path.suffix == ".csv":
            text = path.read_text()
            if text.startswith("# lsdt "):  # side information: two lines that are not rows
                text = text.split("\n", 1)[1].removesuffix("# lsdt end\n")
            pa_csv.read_csv(
                io.BytesIO(text.encode()),
                parse_options=pa_csv.ParseOptions(newlines_in_values=True),
            )
        elif path.suffix == ".svg":
            ElementTree.parse(path)
        elif path.suffix == ".json":
            json.loads(path.read_text())
    except Exception as error:
        return f"{path.name} is torn: {str(error)[:200]!r}"
    return ""


if __name__ == "__main__":
    _words_of_case, _what, _answer = _tried(int(sys.argv[1]), int(sys.argv[2]))
    sys.stdout.write(f"{_words_of_case!r}\n{_answer}\n{_what or 'answered well'}\n")
    sys.exit(1 if _what else 0)
