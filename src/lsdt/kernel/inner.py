"""How functions are compiled that only compiled code calls.

Numba makes machine code of every function by itself, with one around it that Python can call and one for C,
and then links the function once more into each that calls it, where all is optimised together. For what only
compiled code calls, all but the last is for nothing: half of the time that compilation takes. Here such a
function is translated and handed to its callers. A function that is merged into its callers is optimised
there alone; any other is optimised once, and its callers call it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder

_ENVIRONMENT = "_ZN08NumbaEnv"


class _InnerLibrary(JITCodeLibrary):
    """A function, and what it calls, for linking into others."""

    _is_merged = False

    def add_ir_module(self, ir_module: Any) -> None:
        """Take a function, and see whether its callers merge it."""
        defined = [function for function in ir_module.functions if not function.is_declaration]
        self._is_merged = all("alwaysinline" in function.attributes for function in defined)
        super().add_ir_module(ir_module)  # type: ignore[no-untyped-call]

    def _optimize_final_module(self) -> None:
        if not self._is_merged:
            super()._optimize_final_module()  # type: ignore[no-untyped-call]

    def _finalize_final_module(self) -> None:
        """Make no machine code; but Numba looks for the places of what functions refer to."""
        module: Any = self._final_module
        names = [variable.name for variable in module.global_variables]
        places = [f"@{name} = common global i8* null" for name in names if name.startswith(_ENVIRONMENT)]
        self._final_module = binding.parse_assembly("\n".join(places))
        super()._finalize_final_module()  # type: ignore[no-untyped-call]
        self._final_module = module

    def serialize_using_object_code(self) -> Any:
        """Return what to keep on disk: the function before machine code is made of it."""
        return self.serialize_using_bitcode()  # type: ignore[no-untyped-call]


class InnerCompiler(CompilerBase):
    """Numba's usual compiler, but for the last step."""

    def define_pipelines(self) -> Any:
        """Return the usual passes."""
        state = self.state
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        return [DefaultPassBuilder.define_nopython_pipeline(state)]  # type: ignore[no-untyped-call]


# The options of a function that only compiled code calls.
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "pipeline_class": InnerCompiler}
