from __future__ import annotations

import subprocess
import sys
import textwrap

from lsdt.kernel import compiling


def test_every_compiled_function_lives_in_a_stamped_file():
    stamped = set(compiling.compiled_sources())
    for path in compiling.PACKAGE.rglob("*.py"):
        text = path.read_text()
        if "\n@compiled" in text or "\n@inlined" in text:
            assert path in stamped, f"{path} holds compiled functions but is not called *_kernel.py"


def run_in_package(folder, code):
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=folder, capture_output=True, text=True, check=True
    )
    return answer.stdout.split()


def test_editing_a_callee_in_another_file_recompiles_its_caller(tmp_path):
    """Numba alone would go on using the caller's old machine code."""
    package = tmp_path / "lsdt"
    (package / "kernel").mkdir(parents=True)
    for name in ("__init__.py", "kernel/__init__.py"):
        (package / name).touch()
    for name in ("errors.py", "kernel/compiling.py", "kernel/code_cache.py"):
        (package / name).write_text((compiling.PACKAGE / name).read_text())
    (package / "callee_kernel.py").write_text(
        "from lsdt.kernel.compiling import compiled\n@compiled\ndef number():\n    return 1\n"
    )
    (package / "caller_kernel.py").write_text(
        "from lsdt.callee_kernel import number\nfrom lsdt.kernel.compiling import compiled\n"
        "@compiled\ndef call():\n    return number()\n"
    )
    code = """
        from lsdt.caller_kernel import call
        print(call(), sum(call.stats.cache_hits.values()))
    """
    assert run_in_package(tmp_path, code) == ["1", "0"]
    assert run_in_package(tmp_path, code) == ["1", "1"]
    (package / "callee_kernel.py").write_text(
        "from lsdt.kernel.compiling import compiled\n@compiled\ndef number():\n    return 2\n"
    )
    assert run_in_package(tmp_path, code) == ["2", "0"]


def test_public_modules_are_there_without_being_imported_by_hand():
    assert run_in_package(None, "import lsdt; print(lsdt.report.save_picture.__name__)") == ["save_picture"]


def test_nothing_heavy_is_imported_before_it_is_needed():
    code = """
        import sys, lsdt, lsdt.cli.main
        lsdt.cli.main.build_parser()
        print([name for name in ("numpy", "numba", "pandas", "pyarrow", "matplotlib") if name in sys.modules])
    """
    assert run_in_package(None, code) == ["[]"]
