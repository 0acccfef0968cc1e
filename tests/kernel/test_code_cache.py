"""Compiled code is always the right code: whatever order processes write in, and wherever they die."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import caching, dispatcher, types
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

import lsdt
from lsdt.errors import CacheWarning, InvalidInput
from lsdt.kernel import cache_files, code_cache
from lsdt.kernel.jit import compiled
from lsdt.kernel.stamps import PACKAGE, sources_stamp
from systems import needs_links

DECIDE = Path(__file__).with_name("decide.py")
SOURCE = PACKAGE.parent
THREE = ("ucb1", "moss", "ts_gaussian")  # quickly compiled

pytestmark = [
    pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled, so there is no code to keep"),
    pytest.mark.usefixtures("always_compiled"),
]


def start(*arguments, cache=None, source=SOURCE, **variables):
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONWARNINGS": "ignore", "LSDT_JIT": "always"}
    environment |= variables
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    command = [sys.executable, str(DECIDE), *map(str, arguments)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def answer(process):
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return json.loads(output)


@pytest.fixture(scope="module")
def interpreted():
    """What the Python interpreter decides, without a compiler or a cache."""
    return answer(start(*THREE, LSDT_JIT="never"))


def wait_until(condition):
    until = time.monotonic() + 60
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)


@pytest.mark.long
def test_two_processes_in_the_worst_order_keep_their_policies_apart(tmp_path, interpreted):
    """Both have looked and found nothing; one writes between the other's writes, if there are several."""
    cache, gate = tmp_path / "cache", tmp_path / "gate"
    gate.mkdir()
    both = {"moss": start("moss", "--gate", gate, cache=cache)}
    wait_until((gate / "moss.at1").exists)
    both["ucb1"] = start("ucb1", "--gate", gate, cache=cache)
    wait_until((gate / "ucb1.at1").exists)
    for name, number in (("moss", 1), ("ucb1", 1), ("ucb1", 2), ("moss", 2)):
        (gate / f"{name}.go{number}").touch()
        wait_until(
            lambda name=name, number=number: (
                (gate / f"{name}.done{number}").exists() or both[name].poll() is not None
            )
        )
    for name, process in both.items():
        assert answer(process)[name] == interpreted[name]
    for name in both:
        assert answer(start(name, cache=cache))[name] == interpreted[name]


@pytest.mark.long
def test_a_process_that_dies_while_it_writes_leaves_no_wrong_code(tmp_path, interpreted):
    """There is code of an earlier version in the cache, whose place the new one would take."""
    cache, source = tmp_path / "cache", tmp_path / "source"
    shutil.copytree(SOURCE / "lsdt", source / "lsdt", ignore=shutil.ignore_patterns("__pycache__"))
    assert answer(start("moss", cache=cache, source=source))["moss"] == interpreted["moss"]
    with (source / "lsdt/kernel/random.py").open("a") as file:
        file.write("# a new version\n")
    for moment in ("before", "after"):
        process = start("ucb1", "--die", moment, cache=cache, source=source)
        process.communicate()
        assert process.returncode == 9
    assert answer(start("ucb1", cache=cache, source=source))["ucb1"] == interpreted["ucb1"]


@pytest.mark.long
def test_processes_fill_one_cache_at_once(tmp_path, interpreted):
    """As the workers of `make test` do on a new machine. `make test-attack` races with more."""
    first = [start(name, cache=tmp_path) for name in THREE]
    for name, process in zip(THREE, first, strict=True):
        assert answer(process)[name] == interpreted[name]
    assert answer(start(*THREE, cache=tmp_path)) == interpreted


def test_where_nothing_is_writable_it_runs_and_says_so_once(tmp_path):
    """A file in the place of a folder stops even root from writing there."""
    source = tmp_path / "source"
    shutil.copytree(SOURCE / "lsdt", source / "lsdt", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [source / "lsdt", *(path for path in (source / "lsdt").rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    nowhere = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/caches", "NUMBA_CACHE_DIR": ""}
    nowhere["LOCALAPPDATA"] = str(source / "lsdt" / "__init__.py")  # where Windows has its caches
    environment = {**os.environ, **nowhere, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["LSDT_JIT"] = "always"
    code = """
        import numpy as np
        from lsdt.kernel.arrays import ascending
        from lsdt.kernel.special import normal_isf
        print(*ascending(np.array([3, 1, 2])), round(normal_isf(0.5), 9))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.split() == ["1", "2", "0", "0.0"]
    assert shown.stderr.count("NUMBA_CACHE_DIR") == 1


class Kept:
    """A cache folder of its own, and a function of which nothing is compiled yet."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        monkeypatch.setattr(cache_files, "cache_folders", lambda: [folder])
        monkeypatch.setattr(cache_files, "_warned", False)
        cache_files.writable_folder.cache_clear()

    def double(self):
        @compiled
        def double(x):
            return 2 * x

        return double

    def hits(self):
        function = self.double()
        assert function(21.0) == 42.0
        return sum(function.dispatcher.stats.cache_hits.values())

    def files(self):
        return sorted(self.folder.glob("*.code"))


@pytest.fixture
def kept(tmp_path, monkeypatch):
    yield Kept(tmp_path / "kept", monkeypatch)
    cache_files.writable_folder.cache_clear()


def test_code_is_found_again(kept):
    assert kept.hits() == 0
    assert kept.hits() == 1
    assert kept.double()(21) == 42  # another signature is another file
    assert len(kept.files()) == 2


def test_no_damage_to_a_file_goes_unnoticed(kept):
    kept.hits()
    (path,) = kept.files()
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    places = rng.integers(0, len(whole) * 8, 200)
    for place in places:
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        assert cache_files.read_code(path, _key_in(whole)) is None
    for length in (0, 5, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert kept.hits() == 0
        assert path.read_bytes() == whole or kept.hits() == 1


def _key_in(content):
    start = len(cache_files.MAGIC)
    length = int.from_bytes(content[start : start + 4], "big")
    return content[start + 4 : start + 4 + length]


def test_code_of_another_function_is_not_taken_even_under_the_right_name(kept):
    kept.hits()
    (path,) = kept.files()

    @compiled
    def triple(x):
        return 3 * x

    assert triple(1.0) == 3.0
    (other,) = set(kept.files()) - {path}
    shutil.copy(other, path)
    assert kept.hits() == 0


def test_code_of_older_sources_is_removed(kept):
    cache = code_cache.CodeCache("package.module.function", "old")
    numba_function = numba.njit(lambda x: x + 1)
    numba_function(1)
    (signature,), result = numba_function.signatures, numba_function.overloads[numba_function.signatures[0]]
    cache.save_overload(signature, result)
    (old,) = kept.files()
    left = kept.folder / "died.part"
    left.touch()
    os.utime(left, (0, 0))
    code_cache.CodeCache("package.module.function", "new").save_overload(signature, result)
    (new,) = kept.files()
    assert new != old
    assert not left.exists()


@needs_links
def test_a_file_that_another_process_renames_meanwhile_is_no_error(kept):
    """It is listed, and gone when it is looked at: as a link to nothing is."""
    kept.folder.mkdir()
    (kept.folder / "gone.part").symlink_to(kept.folder / "nothing")
    assert kept.hits() == 0
    assert kept.hits() == 1


def test_a_folder_that_is_read_only_now_is_still_read(kept, monkeypatch):
    kept.hits()

    def refuse(**place):
        raise PermissionError(place)

    monkeypatch.setattr(cache_files.tempfile, "TemporaryFile", refuse)
    cache_files.writable_folder.cache_clear()
    assert kept.hits() == 1


def test_a_full_disk_costs_the_cache_and_nothing_else(kept, monkeypatch):
    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache_files, "write_code", full)
    with pytest.warns(CacheWarning, match="No space left.*NUMBA_CACHE_DIR"):
        assert kept.hits() == 0
    assert kept.hits() == 0  # a second warning would be an error


HOLDER = """
from pathlib import Path
from lsdt.kernel import cache_files
cache_files.cache_folders = lambda: [Path({folder!r})]
for _ in range(2):
    lock = cache_files.CompileLock(b"same")
    print(lock.acquire(), flush=True)
    input()
    lock.release()
    print("ended", flush=True)
    input()
"""


def test_who_needs_the_same_code_waits_for_whoever_compiles_it(kept):
    """Until that one is done, or dead; other code is not waited for."""
    code = HOLDER.format(folder=str(kept.folder))
    command, environment = [sys.executable, "-c", code], {**os.environ, "PYTHONPATH": str(SOURCE)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as holder:

        def go_on():
            holder.stdin.write("\n")
            holder.stdin.flush()

        for end in (go_on, holder.kill):
            assert holder.stdout.readline() == "False\n"
            other, same = cache_files.CompileLock(b"other"), cache_files.CompileLock(b"same")
            assert not other.acquire()
            other.release()
            with ThreadPoolExecutor(1) as pool:
                waits = pool.submit(same.acquire)
                assert not wait([waits], 0.2).done
                end()
                assert waits.result(30)
            same.release()
            if end is go_on:
                assert holder.stdout.readline() == "ended\n"
                go_on()


def test_a_lock_is_released_with_the_compilation_even_if_that_fails(kept):
    function = kept.double()
    with pytest.raises(InvalidInput, match="cannot be compiled"):
        function({})
    assert function(21.0) == 42.0
    assert function.dispatcher._cache._locks == []


MODULE = """
from typing import NamedTuple
from numba import njit
from {package} import other
from {package}.other import BASE, helped
class State(NamedTuple):
    x: float
LIMIT = BASE + 1
@njit
def select(state):
    return helped(state.x) + other.more() + LIMIT
"""
OTHER = "BASE = {base}\ndef helped(x):\n    return x + {added}\ndef more():\n    return {more}\n"


def test_the_stamp_of_a_users_policy_follows_what_it_uses(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    stamps = []
    for number, values in enumerate([(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2)]):
        package = tmp_path / f"mine{number}"
        package.mkdir()
        (package / "__init__.py").touch()
        base, added, more = values
        (package / "other.py").write_text(OTHER.format(base=base, added=added, more=more))
        (package / "policy.py").write_text(MODULE.format(package=package.name))
        module = __import__(f"{package.name}.policy", fromlist=["policy"])
        stamps.append(sources_stamp(module.State, module.select))
        assert sources_stamp(module.State, module.select) == stamps[-1]
    assert len(set(stamps)) == 4
    assert None not in stamps


def test_code_whose_source_nobody_can_read_is_not_kept():
    """At a prompt there is no file; a function made by another may depend on its arguments."""
    names = {"__name__": "__main__"}
    exec("def select():\n    pass\n", names)
    assert sources_stamp(names["select"]) is None
    assert sources_stamp(lambda: 1) is None


def test_every_built_in_policy_has_a_stamp():
    for name in lsdt.policies.available():
        specification = lsdt.policies.registry.specification_of(name)
        assert sources_stamp(specification.state, specification.select, specification.update) is not None


def test_no_two_processes_give_their_code_the_same_names():
    """Numba begins to number with 1: code that two processes kept would clash in a third."""
    code = (
        "import lsdt.kernel.compiler; from numba.core.bytecode import FunctionIdentity as made; "
        "print(next(made._unique_ids))"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    other = int(subprocess.check_output([sys.executable, "-c", code], env=environment, text=True))
    assert abs(other - next(FunctionIdentity._unique_ids)) > 1_000_000
    assert other > 1_000_000


def test_numba_still_has_the_private_parts_that_are_used():
    """When one of these fails, read `lsdt.kernel.code_cache` and `compiled` beside the new Numba."""
    assert list(inspect.signature(caching._Cache.load_overload).parameters) == [
        "self",
        "sig",
        "target_context",
    ]
    assert list(inspect.signature(caching._Cache.save_overload).parameters) == ["self", "sig", "data"]
    abstract = {"cache_path", "load_overload", "save_overload", "enable", "disable", "flush"}
    assert caching._Cache.__abstractmethods__ == abstract
    source = inspect.getsource(dispatcher.Dispatcher.compile)
    assert "self._cache.load_overload(sig, self.targetctx)" in source
    assert "self._cache.save_overload(sig, cres)" in source
    source = inspect.getsource(types.Dispatcher.get_call_type)
    assert "self.dispatcher.get_call_template(args, kws)" in source
    assert callable(CompileResult._reduce)
    assert callable(CompileResult._rebuild)
    function = numba.njit(lambda x: x)
    function(1)
    result = function.overloads[function.signatures[0]]
    assert result.library.has_dynamic_globals is False
    assert list(result.lifted) == []
    assert len(result.codegen.magic_tuple()) == 3
    assert pickle.loads(dumps(function.signatures[0])) == function.signatures[0]
