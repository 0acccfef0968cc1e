from __future__ import annotations

import ast
import gc
import re
import threading

import numba
import pytest
from numba.core import event

import lsdt
from forks import forks
from lsdt.kernel import compile_clock, compiler, jit, stamps

WORDS = ["compiled", "inlined", "njit", "jit", "vectorize", "guvectorize", "intrinsic", "overload"]


def compiles(tree):
    """Whether a file compiles anything: with a decorator of ours, or with one of Numba's own."""
    for decorator in [each for node in ast.walk(tree) for each in getattr(node, "decorator_list", [])]:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = getattr(called, "attr", getattr(called, "id", ""))
        if name in WORDS[:-1] or (
            name == WORDS[-1] and called is not decorator
        ):  # a bare one is that of typing
            return True
    return False


def compiled_functions(tree):
    """Return the functions of a file that are compiled, also those found by the class of a state."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            named = {getattr(each, "id", "") for each in node.decorator_list}
            if named & {"compiled", "inlined"} or node.name in (
                "select",
                "update",
                "score",
                "asked",
                "expect",
            ):
                yield node


def differs_between_tiers(node):
    """Whether compiled code rounds an expression otherwise than the interpreter."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return True
    called = node.func if isinstance(node, ast.Call) else None
    if isinstance(called, ast.Attribute):
        return called.attr in ("sum", "mean", "prod", "dot", "lgamma", "gamma", "cumsum", "std", "var")
    return getattr(called, "id", "") in ("sum", "pow")


def test_compiled_code_computes_what_the_interpreter_computes():
    """Powers, sums and log Gamma differ in the last digit: products, loops and `log_gamma` do not."""
    found, n_functions = [], 0
    for path in stamps.compiled_sources():
        for function in compiled_functions(ast.parse(path.read_text())):
            n_functions += 1
            found += [f"{path}:{node.lineno}" for node in ast.walk(function) if differs_between_tiers(node)]
    assert n_functions > 400
    assert found == []


# The functions of `math` that raise nothing, for any float. Divisions are tested in test_safe_math.py.
QUIET = ("copysign", "erfc", "isnan")


def may_raise(node):
    """Whether a call of `math` raises in the interpreter where compiled code returns infinity or NaN."""
    called = node.func if isinstance(node, ast.Call) else None
    is_math = isinstance(called, ast.Attribute) and getattr(called.value, "id", "") == "math"
    return is_math and called.attr not in QUIET


def test_compiled_code_raises_nothing_in_the_interpreter():
    """Kernels call `safe_log`, `safe_exp`, `whole_below` ... of `lsdt.kernel`, never those of `math`.

    Except for the drawing of random numbers, where arguments are 1 less a number below 1.
    """
    found, n_guards = [], 0
    for path in stamps.compiled_sources():
        for function in compiled_functions(ast.parse(path.read_text())):
            calls = [f"{path}:{node.lineno}" for node in ast.walk(function) if may_raise(node)]
            if path.name == "safe_math.py":
                n_guards += bool(calls)
            elif path.name != "random.py":
                found += calls
    assert n_guards >= 6
    assert found == []


def test_every_compiled_function_lives_in_a_stamped_file():
    stamped = set(stamps.compiled_sources())
    texts = {path: path.read_text() for path in stamps.PACKAGE.rglob("*.py")}
    maybe = {path for path, text in texts.items() if re.search(rf"@.*\b({'|'.join(WORDS)})\b", text)}
    compiling = {path for path in maybe if compiles(ast.parse(texts[path]))}
    assert compiling <= stamped, "files that compile are called *_kernel.py, or lie in kernel/ or policies/"
    depths = {len(path.relative_to(stamps.PACKAGE).parts) for path in compiling}
    assert {2, 3} <= depths  # rooms and the rooms inside them are walked


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_nothing_is_compiled_for_a_constant_alone():
    """`last` is the constant -1 to Numba until it has seen the loop."""

    @jit.inlined
    def double(x):
        return 2 * x

    @numba.njit
    def double_of_last(n):
        last = -1
        for number in range(n):
            last = number
        return double(last)

    assert double_of_last(3) == 4
    (dispatcher,) = [each for seen, each in compiler._registered if seen is double]
    assert [str(kinds) for (kinds,) in dispatcher.signatures] == ["int64"]


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_what_python_and_compiled_code_both_call_is_compiled_once(always_compiled):
    @jit.compiled_for(int, lambda: None)
    def half(x):
        return 0.5 * x

    @jit.compiled_for(int, lambda: None)
    def quarter(x):
        return half(half(x))

    assert quarter(3.0) == 0.75
    assert half(3.0) == 1.5
    assert len(half.dispatcher.signatures) == 1
    assert gc.isenabled()  # it rests while Numba compiles


def test_editing_a_callee_in_another_file_recompiles_its_caller(tmp_path):
    """Numba alone would go on using the caller's old machine code."""
    package = tmp_path / "lsdt"
    (package / "kernel").mkdir(parents=True)
    for name in ("__init__.py", "kernel/__init__.py"):
        (package / name).touch()
    ours = ("jit", "compiler", "code_cache", "cache_files", "stamps", "compile_clock")
    for name in ("errors.py", "_progress.py", *(f"kernel/{each}.py" for each in ours)):
        (package / name).write_text((stamps.PACKAGE / name).read_text())
    (package / "kernel/lowering.py").touch()  # states and policies, of which there are none here
    (package / "callee_kernel.py").write_text(
        "from lsdt.kernel.jit import compiled\n@compiled\ndef number():\n    return 1\n"
    )
    (package / "caller_kernel.py").write_text(
        "from lsdt.callee_kernel import number\nfrom lsdt.kernel.jit import compiled\n"
        "@compiled\ndef call():\n    return number()\n"
    )
    (package / "other_kernel.py").write_text((package / "caller_kernel.py").read_text())
    code = """
        from lsdt.caller_kernel import call
        print(call(), sum(call.dispatcher.stats.cache_hits.values()))
    """
    other = """
        from lsdt.other_kernel import call, number
        kept = (sum(each.dispatcher.stats.cache_hits.values()) for each in (call, number))
        print(call(), number(), *kept)
    """
    edit = """
        path = "lsdt/callee_kernel.py"
        text = open(path).read()
        open(path, "w").write(text.replace("return 1", "return 20"))
    """
    numba_alone = "import os, numba; numba.njit(lambda: 0)(); os.environ['LSDT_JIT'] = 'always'"
    assert forks(numba_alone, code, code, other, other, edit, code, folder=tmp_path) == [
        ["1", "0"],
        ["1", "1"],
        ["1", "1", "0", "1"],  # what the first caller called is kept
        ["1", "1", "1", "1"],
        ["20", "0"],
    ]


def test_nothing_is_imported_before_it_is_needed():
    """And then it need not be imported by hand."""
    code = """
        import sys, lsdt, lsdt.cli.main
        lsdt.cli.main.build_parser()
        heavy = {"numpy", "numba", "pandas", "pyarrow", "matplotlib", "lsdt.theory"}
        print(*heavy.intersection(sys.modules))
        print(lsdt.theory.__name__)
    """
    assert forks(code) == [[], ["lsdt.theory"]]
    assert lsdt.__getattr__("plotting").plot_arms.__name__ == "plot_arms"


def test_who_counts_compilation_hears_when_it_begins():
    """Once, and not of what another thread compiles."""
    heard = []

    def compile_something():
        with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
            pass

    with compile_clock.compile_seconds(lambda: heard.append(1)):
        elsewhere = threading.Thread(target=compile_something)
        elsewhere.start()
        elsewhere.join()
        assert heard == []
        compile_something()
        compile_something()
        assert heard == [1]
    with compile_clock.compile_seconds(lambda: heard.append(2)):
        pass
    compile_something()
    assert heard == [1]
