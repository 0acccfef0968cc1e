"""The directive ``paper-report``: the report of `make run`, if there is one, becomes part of the site."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_SHOWN = (".html", ".svg", ".png", ".csv", ".json", ".css", ".js")  # tables of every run stay where they are


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive, and copy the report when the pages stand."""
    app.add_directive("paper-report", PaperReport)
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def report_of(source: Path) -> Path | None:
    """Return the folder of the report beside the folder of the docs, if it was made."""
    folder = source.parent / "report"
    return folder if (folder / "index.html").exists() else None


class PaperReport(SphinxDirective):
    """The report in a frame, or how to make it."""

    def run(self) -> list[nodes.Node]:
        """Return what is shown."""
        self.env.note_reread()
        if report_of(Path(self.env.srcdir)) is None:
            said = (
                "This site was built without a report. To have it here, call `make run` and then `make docs`."
            )
            return self.parse_text_to_nodes(said)
        up = "../" * self.env.docname.count("/")
        frame = (
            f'<iframe class="report" src="{up}report/index.html" title="The report" loading="lazy"></iframe>'
        )
        link = f'<p><a href="{up}report/index.html">Open the report by itself</a></p>'
        return [nodes.raw("", frame + link, format="html")]


def _copy(app: Sphinx, error: Exception | None) -> None:
    report = report_of(Path(app.srcdir))
    target = Path(app.outdir) / "report"
    shutil.rmtree(target, ignore_errors=True)
    if error is None and report is not None and app.builder.format == "html":
        shutil.copytree(report, target, ignore=_left_out)


def _left_out(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if not (Path(folder) / name).is_dir() and not name.endswith(_SHOWN)}
