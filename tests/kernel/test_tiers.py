"""Which tier answers: the interpreter for small jobs, compiled code for large and for hot ones."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from forks import forks
from lsdt.kernel import beside, cache_files, jit
from systems import needs_fork


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A kernel of which nothing is compiled or counted yet, with a cache of its own."""
    monkeypatch.setattr(cache_files, "cache_folders", lambda: [tmp_path])
    monkeypatch.setattr(jit, "jit_mode", lambda: "auto")
    cache_files.writable_folder.cache_clear()

    @jit.compiled
    def total(values):
        result = 0.0
        for value in values:
            result += value
        return result

    yield total
    cache_files.writable_folder.cache_clear()


@pytest.fixture
def asked_for(monkeypatch):
    """What is asked to be made ready beside; nothing is."""
    found = []
    monkeypatch.setattr(beside, "prepare", lambda function, arguments: found.append(function))
    return found


def test_a_small_job_is_interpreted_and_returns_numbers_of_python(kernel, asked_for):
    assert type(kernel(np.ones(3))) is float
    assert kernel.loaded is None
    assert kernel.spent > 0.0
    assert asked_for == []


def test_a_job_that_is_large_by_its_size_is_compiled_at_once(kernel, asked_for):
    assert kernel(np.ones(100_000)) == 100_000.0
    assert kernel.loaded is not None
    assert kernel.spent == 0.0
    assert kernel(np.ones(3)) == 3.0  # and small ones use it from then on
    assert kernel.spent == 0.0


def test_a_job_that_is_predicted_to_take_long_is_compiled_at_once(kernel, asked_for):
    """Ten times the work of a call that took a second."""
    kernel._largest = (1.0, 100)
    kernel(np.ones(1_000))
    assert kernel.loaded is not None


def test_a_very_short_call_predicts_nothing(kernel, asked_for):
    """Otherwise a policy would be compiled after a first play of no rounds, for a thousand."""
    kernel._largest = (1e-4, 1)
    kernel(np.ones(1_000))
    assert kernel.loaded is None
    kernel(np.ones(100_000))
    assert kernel.loaded is not None


def test_a_call_that_would_take_longer_than_importing_numba_loads_its_code(kernel, asked_for, monkeypatch):
    kernel.compile((np.ones(3),))
    monkeypatch.setattr(jit, "_interpreted_seconds", [0.0])
    monkeypatch.delitem(sys.modules, "numba")  # as if it were not imported
    again = jit.TieredFunction(kernel.py_func, kernel.name, kernel.stamp)
    again._largest = (jit._IMPORT_SECONDS / 2, 100)
    again(np.ones(99))
    assert again.loaded is None
    again(np.ones(220))
    assert again.loaded is not None
    assert asked_for == []


def test_a_service_compiles_nothing_itself(kernel, monkeypatch):
    """The thread that answers requests interprets; any other waits until the code is there."""
    asked_for, done = [], threading.Event()

    def prepare(function, arguments):
        asked_for.append(function)
        return done

    def answer():
        results.append((kernel(np.ones(100_000)), kernel.spent))

    monkeypatch.setattr(beside, "prepare", prepare)
    results = []
    with jit.compile_apart():
        assert kernel(np.ones(100_000)) == 100_000.0
        assert kernel.loaded is None
        assert asked_for == [kernel]
        kernel.spent, kernel._largest = 0.0, (0.0, 0)
        other = threading.Thread(target=answer)
        other.start()
        while len(asked_for) < 2:
            time.sleep(0.001)
        assert results == []
        with jit.compiling_is(True):
            kernel.dispatcher(np.ones(1))
        done.set()
        other.join()
    assert results == [(100_000.0, 0.0)]
    again = jit.TieredFunction(kernel.py_func, "another", kernel.stamp)
    assert again(np.ones(100_000)) == 100_000.0
    assert again.loaded is not None  # the service has ended


def test_a_thread_waits_no_longer_than_it_may_take_to_interpret(kernel, monkeypatch):
    """The first call of a policy once took longer than all later ones; then a compiler was waited for."""
    monkeypatch.setattr(beside, "prepare", lambda function, arguments: threading.Event())  # never set
    monkeypatch.setattr(jit, "COMPILE_SECONDS", 0.1)
    kernel._largest = (0.02, 100)
    results = []
    other = threading.Thread(target=lambda: results.append(kernel(np.ones(1_000))), daemon=True)
    with jit.compile_apart():
        other.start()
        other.join(60.0)  # .02 * 10^1.5 = .63 s are predicted
    assert results == [1_000.0]
    assert kernel.loaded is None


def test_the_first_call_does_not_count_once_there_is_a_larger_one(kernel, asked_for, monkeypatch):
    kernel._largest = (0.08, 11)  # with all that happens once
    assert kernel._seconds_for(3_300) > 10.0
    kernel(np.ones(20))
    assert kernel._seconds_for(3_300) == 0.0
    assert asked_for == []


def test_a_thread_that_does_not_wait_has_code_loaded_beside(kernel, asked_for, monkeypatch):
    kernel.compile((np.ones(3),))
    again = jit.TieredFunction(kernel.py_func, kernel.name, kernel.stamp)
    monkeypatch.setattr(jit, "_interpreted_seconds", [10.0])
    with jit.compile_apart():
        again(np.ones(3))
    assert again.loaded is None
    assert asked_for == [again]


def test_what_has_used_up_its_allowance_is_made_ready_beside(kernel, asked_for):
    kernel.spent = jit.COMPILE_SECONDS
    assert kernel(np.ones(3)) == 3.0
    assert asked_for == [kernel]
    assert kernel.loaded is None


def test_what_has_been_interpreted_for_long_is_compiled_in_front(kernel, asked_for):
    """The process beside may have no time on a busy machine. A user's function need not be compilable."""
    kernel.spent = 10.0 * jit.COMPILE_SECONDS
    kernel(np.ones(3))
    assert kernel.loaded is None
    kernel.name = "lsdt.total"
    kernel(np.ones(3))
    assert kernel.loaded is not None
    assert asked_for == [kernel]


def test_a_study_of_many_rounds_compiles_at_once_and_one_of_few_does_not(kernel, asked_for):
    with jit.compile_ahead(100):
        kernel(np.ones(3))
    assert kernel.loaded is None
    with jit.compile_ahead(10**6):
        kernel(np.ones(3))
    assert kernel.loaded is not None


def test_code_on_disk_is_loaded_once_time_has_been_spent(kernel, asked_for, monkeypatch):
    kernel.compile((np.ones(3),))

    again = jit.TieredFunction(kernel.py_func, kernel.name, kernel.stamp)
    monkeypatch.setattr(jit, "_interpreted_seconds", [0.0])
    again(np.ones(3))
    assert again.loaded is None
    monkeypatch.setattr(jit, "_interpreted_seconds", [10.0])
    again(np.ones(3))
    assert again.loaded is not None
    assert sum(again.dispatcher.stats.cache_hits.values()) == 1


def test_code_is_not_looked_for_on_disk_before_every_call(kernel, asked_for, monkeypatch):
    """A look takes longer than a small call; what another process has written meanwhile is found later."""
    looks = []
    monkeypatch.setattr(jit, "_interpreted_seconds", [10.0])
    monkeypatch.setattr(kernel, "is_on_disk", lambda: bool(looks.append(1)))
    for _ in range(3):
        kernel.spent = 0.0
        kernel(np.ones(3))
    assert len(looks) == 1
    kernel.spent = 2 * jit._LOOK_SECONDS
    kernel(np.ones(3))
    assert len(looks) == 2


def test_arguments_of_another_type_are_interpreted_again(kernel, asked_for):
    """Code for floats is loaded; for whole numbers nothing is, and a call need not compile it."""
    kernel.compile((np.ones(3),))
    assert kernel(np.ones(3, np.int64)) == 3.0
    assert len(kernel.dispatcher.signatures) == 1


def test_an_interruption_anywhere_does_not_leave_a_thread_in_the_interpreter(kernel, asked_for):
    """Else all that the thread does from then on would be interpreted, with NumPy's warnings."""
    values, lines = np.ones(3), []

    def interrupt(frame, event, _argument):
        if event == "line" and frame.f_code is jit.TieredFunction.interpret.__code__:
            lines.append(frame.f_lineno)
            if len(lines) == stops[-1]:
                raise KeyboardInterrupt
        return interrupt

    stops = [0]
    while not stops[-1] > len(lines):  # then it came to its end
        stops.append(stops[-1] + 1)
        lines.clear()
        sys.settrace(interrupt)
        try:
            kernel(values)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        assert not jit._interpreting, lines
    assert len(stops) > 10


def test_all_that_an_interpreted_kernel_calls_is_interpreted(kernel):
    @jit.compiled
    def twice(values):
        return 2.0 * kernel(values)

    kernel.compile((np.ones(3),))
    before = kernel.dispatcher.stats.cache_hits.copy()
    assert twice(np.ones(4)) == 8.0
    assert kernel.dispatcher.stats.cache_hits == before


def test_never_and_always(kernel, monkeypatch):
    monkeypatch.setattr(jit, "jit_mode", lambda: "never")
    kernel(np.ones(100_000))
    assert kernel.loaded is None
    monkeypatch.setattr(jit, "jit_mode", lambda: "always")
    kernel(np.ones(1))
    assert kernel.loaded is not None


def test_kinds_of_arguments_survive_a_trip_to_another_process():
    from numba import typeof

    from lsdt.kernel.drivers import RunTotals

    whole, matrix = np.arange(4), np.ones((3, 3))
    frozen = np.ones(2)
    frozen.flags.writeable = False
    totals = RunTotals(np.zeros(4, np.uint64), *(np.zeros(1) for _ in range(6)))
    for value in (1, 2.5, True, np.int32(1), whole, matrix, matrix.T, whole[::2], frozen, totals, (1, whole)):
        assert typeof(beside._example_of(beside._kind_of(value))) == typeof(value)
    assert beside._kind_of("word") is None
    assert beside._kind_of((1, object())) is None


def test_hot_code_is_compiled_by_another_process_and_picked_up(tmp_path):
    """Calls go on being answered meanwhile; in the end compiled code answers, with the same bits."""
    code = """
        import time, numpy as np
        from lsdt.kernel import jit
        from lsdt.kernel.arrays import ascending
        values = np.random.default_rng(0).permutation(50)
        ascending.spent = jit.COMPILE_SECONDS
        first, began = ascending(values), time.monotonic()
        while ascending.loaded is None and time.monotonic() - began < 90:
            assert (ascending(values) == first).all()
            time.sleep(.05)
        ascending.spent = 0.
        print((ascending(values) == first).all(), ascending.spent)
        print(sum(ascending.dispatcher.stats.cache_hits.values()))
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "LSDT_JIT": "auto"}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "0.0", "1"], done.stderr


def test_an_entry_of_a_policy_is_compiled_by_another_process(tmp_path):
    """That knows the policy's rule only by what it is told."""
    code = """
        import json, subprocess, sys
        import lsdt
        from lsdt.kernel import beside
        agent = lsdt.Agent(lsdt.SideInformation(3), policy="ucb1")
        entry, asked = agent.state().player.entries.teach, []
        beside._worker.add = lambda function, kinds: asked.append([beside._address(function), kinds])
        entry.spent = 10.
        agent.tell(agent.ask(), 1)
        command = [sys.executable, "-P", "-m", "lsdt.kernel.beside"]
        done = subprocess.run(command, input=json.dumps(asked[-1]).encode(), check=False)
        print(done.returncode, entry.is_on_disk(), "numba" in sys.modules)
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "LSDT_JIT": "auto"}
    environment.pop("NUMBA_DISABLE_JIT", None)
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0", "True", "False"], done.stderr


def test_a_process_ends_at_once_while_code_is_compiled_beside(tmp_path):
    code = """
        import numpy as np
        from lsdt.kernel import jit
        from lsdt.kernel.arrays import ascending
        ascending.spent = jit.COMPILE_SECONDS
        ascending(np.arange(9)[::-1].copy())
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "LSDT_JIT": "auto"}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, timeout=60, check=False
    )
    assert done.returncode == 0
    assert time.monotonic() - began < beside._EXIT_SECONDS + 20.0  # it does not hang


@needs_fork
def test_a_process_forked_while_the_thread_imports_numba_does_not_wait_for_ever(tmp_path):
    """It has the locks of the import, and not the thread that would release them."""
    code = """
        import os, sys, time, numpy as np
        from lsdt.kernel import beside, jit
        from lsdt.kernel.arrays import ascending
        values = np.arange(9)[::-1].copy()
        with jit.compile_ahead(10**6):
            os.fork() or (ascending(values), os._exit(0))  # the code is on disk now
        os.wait()
        ascending.spent = jit.COMPILE_SECONDS
        ascending(values)
        while "numba" not in sys.modules:
            time.sleep(.001)
        if os.fork() == 0:
            with jit.compile_ahead(10**6):
                ascending(values)
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "LSDT_JIT": "auto"}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout.split(), done.stderr) == (["7"], "")


def test_code_is_not_looked_for_on_every_call(kernel, asked_for, monkeypatch):
    monkeypatch.setattr(jit, "_interpreted_seconds", [10.0])
    looks = []
    monkeypatch.setattr(jit, "is_on_disk", lambda name, stamp: looks.append(name) or False)
    for _ in range(5):
        kernel(np.ones(3))
    assert len(looks) == 1
    kernel.spent = 1.0
    kernel(np.ones(3))
    assert len(looks) == 2


def test_time_lost_on_finding_no_code_for_some_types_counts(kernel, asked_for):
    kernel.compile((np.ones(3),))
    kernel(np.ones(3))
    assert kernel.spent == 0.0
    kernel.interpret = lambda arguments, work: 3.0
    kernel(np.ones(3, np.int64))
    assert kernel.spent > 0.0


@pytest.mark.parametrize("executable", ["/opt/app/app", "/usr/bin/uwsgi", "", None])
def test_a_program_that_holds_an_interpreter_is_not_started_again(kernel, monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setattr(beside, "_address", lambda function: ["function", "lsdt.kernel.arrays", "ascending"])
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    worker = beside._Worker()
    worker.add(kernel, [beside._kind_of(np.ones(3))])
    worker.requests.put(None)
    worker.thread.join()
    assert kernel.loaded is not None  # the thread compiled it


def test_a_policy_of_ones_own_that_numba_cannot_compile_is_interpreted_or_refused_in_words(tmp_path):
    """An agent interprets it, also when it has become hot; a large study says what is wrong."""
    program = """
        from __future__ import annotations
        from typing import NamedTuple
        import numpy as np, lsdt
        from lsdt.kernel import Reals, beside, jit

        class Thing:
            pass

        class State(NamedTuple):
            counts: Reals

        def prepare(situation, parameters):
            return State(np.zeros(situation.n_arms))

        def select(state, allowed, stream):
            Thing()
            return 0

        def update(state, arm, reward, stream):
            state.counts[arm] += 1

        lsdt.policies.register(lsdt.policies.Specification(
            name="mine", title="Mine", rule="first", reference="none", cost="O(1)",
            state=State, prepare=prepare, select=select, update=update))
        agent = lsdt.Agent(lsdt.SideInformation(2, similar=[(0, 1)], epsilon=.1), policy="mine", seed=0)
        jit.COMPILE_SECONDS = 0.
        agent.tell(agent.ask(), 1.)
        beside._worker.requests.put(None)
        beside._worker.thread.join()
        agent.tell(agent.ask(), 1.)
        problem = lsdt.problems.uniform(6, .1, .9, .1, "bernoulli", .5, .5)
        try:
            lsdt.simulate(problem, ["mine"], horizon=30_000, replications=1, n_jobs=1, progress=False)
        except lsdt.errors.InvalidInput as error:
            print(error)
    """
    (tmp_path / "own.py").write_text(textwrap.dedent(program))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "LSDT_JIT": "auto"}
    command = [sys.executable, str(tmp_path / "own.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "__main__.State.play cannot be compiled: Untyped global name 'Thing'" in done.stdout, done.stderr
    assert "LSDT_JIT=never" in done.stdout


@pytest.mark.parametrize(
    "obstacle", [RuntimeError("forbidden by an audit hook"), OSError("no processes left")]
)
def test_where_no_process_may_be_started_the_thread_compiles(kernel, monkeypatch, obstacle):
    def refuse(*_, **__):
        raise obstacle

    monkeypatch.setattr(beside, "_address", lambda function: ["function", "lsdt.kernel.arrays", "ascending"])
    monkeypatch.setattr(subprocess, "Popen", refuse)
    worker = beside._Worker()
    worker.add(kernel, [beside._kind_of(np.ones(3))])
    worker.requests.put(None)
    worker.thread.join()
    assert kernel.loaded is not None


def test_an_unknown_word_in_the_environment_is_one_line(tmp_path):
    command = [sys.executable, "-m", "lsdt.cli.main", "candidates", "--example", "partial"]
    environment = {**os.environ, "LSDT_JIT": "sometimes"}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "LSDT_JIT is 'sometimes'; accepted are auto, always, never" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def loaded_by(code, tmp_path):
    """Return which heavy libraries a script loads where nothing is compiled yet."""
    heavy = "numba", "pandas", "pyarrow", "scipy.sparse", "scipy.stats", "matplotlib", "httpx"
    code = f"{textwrap.dedent(code)}\nimport sys\nprint(*(name for name in {heavy} if name in sys.modules))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "LSDT_JIT": "auto"}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


def test_candidates_and_a_small_agent_load_no_dataframes_and_no_compiler(tmp_path):
    command = "from lsdt.cli.main import main; assert main(['candidates', '--example', 'partial']) == 0"
    agent = """
        import lsdt
        side = lsdt.SideInformation(4, similar=[(0, 1), (1, 2)], dissimilar=[(0, 2)], epsilon=.1)
        lsdt.candidate_set(side).explain(1)
        agent = lsdt.Agent(side, rewards="bernoulli")
        for _ in range(20):
            agent.tell(agent.ask(), 1)
        agent.stopping()
    """
    assert loaded_by(command, tmp_path) == []
    assert loaded_by(agent, tmp_path) == []
    functions = loaded_by("import scipy.special", tmp_path)  # old versions of it load scipy.sparse
    assert set(loaded_by(f"{textwrap.dedent(agent)}\nagent.best()", tmp_path)) <= set(functions)


def test_a_small_log_is_built_without_a_compiler(tmp_path):
    code = """
        from lsdt.cli.main import main
        rows = [f"{user},{item},{(user * item) % 5}" for user in range(60) for item in range(6)]
        open("log.csv", "w").write("\\n".join(["user,item,rating", *rows]))
        assert main(["build", "log.csv", "--out", "side.csv"]) == 0
    """
    assert "numba" not in loaded_by(code, tmp_path)


def test_a_service_that_has_just_started_loads_no_dataframes_and_no_compiler(tmp_path):
    """Nor does a new experiment of some arms."""
    pytest.importorskip("uvicorn")
    code = """
        import json
        from urllib.request import Request, urlopen
        from lsdt.service.server import in_background
        def post(path, body):
            return json.load(urlopen(Request(url + path, json.dumps(body).encode(), method="POST")))
        with in_background() as url:
            pairs = {"similar": [(0, 1), (1, 2)], "dissimilar": [(0, 2)], "epsilon": .1}
            post("/v1/experiments", {"name": "items", "n_arms": 100, **pairs})
            post("/v1/experiments/items/ask", {})
    """
    assert loaded_by(code, tmp_path) == []


def test_a_study_of_a_thousand_rounds_needs_no_heavy_library():
    code = """
        import os, sys, tempfile
        os.environ |= {"LSDT_JIT": "auto", "NUMBA_CACHE_DIR": tempfile.mkdtemp()}
        import lsdt
        lsdt.simulate(lsdt.problems.uniform(), ["lsdt_csi", "ucb1"], horizon=1000, replications=1)
        print([name for name in ("numba", "pyarrow", "pandas", "scipy", "joblib") if name in sys.modules])
    """
    assert forks(code) == [["[]"]]


def test_five_drinks_and_an_agent_of_a_hundred_arms_need_no_compiler(tmp_path):
    """With code on disk, a slow machine would load it: interpreting takes longer there."""
    code = f"""
        import os, sys
        os.environ |= {{"LSDT_JIT": "auto", "NUMBA_CACHE_DIR": {str(tmp_path)!r}}}
        import lsdt
        side = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(0, 2)], epsilon=.1)
        lsdt.candidate_set(side).explain(1)
        side = lsdt.problems.uniform(100, .1, .9, .1, "bernoulli", .5, .5).draw(0, 0).side
        agent = lsdt.Agent(side, rewards="bernoulli")
        for _ in range(20):
            agent.tell(agent.ask(), 1)
        agent.stopping()
        print("numba" in sys.modules)
    """
    assert forks(code) == [["False"]]


def test_a_small_study_needs_no_compiler():
    code = """
        import os, sys
        os.environ["LSDT_JIT"] = "auto"
        import lsdt
        problem = lsdt.problems.uniform(20, .1, .9, .1, "bernoulli", .5, .5)
        lsdt.simulate(problem, ["ucb1", "ts"], horizon=500, replications=2, n_jobs=1, progress=False)
        table = [[(7 * user + 3 * item) % 5 + 1. for item in range(7)] for user in range(60)]
        log = lsdt.ratings.RatingLog.from_matrix(table, list("abcdefg"), scale=(1, 5))
        lsdt.replay(log, ["ucb1"], horizon=20, splits=2, n_jobs=1)
        print("numba" in sys.modules)
    """
    assert forks(code) == [["False"]]
