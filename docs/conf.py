"""Sphinx's settings. `make docs` builds the site into `_build/html`, offline, and fails on any warning."""

from __future__ import annotations

import sys
from pathlib import Path

import lsdt

HERE = Path(__file__).parent
sys.modules["lsdt.rewards"] = lsdt.rewards  # under the name that users write
sys.path.insert(0, str(HERE / "_extensions"))

project = "lsdt"
author = "The lsdt developers"
copyright = author  # noqa: A001, the name is Sphinx's
version = release = lsdt.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "code_links",
    "command_help",
    "http_routes",
    "mathml",
    "paper_report",
    "powers",
    "stale_pages",
    "tuple_fields",
]
root_doc = "index"
exclude_patterns = ["_build", "_extensions", "deploy", "gallery"]
templates_path = ["_templates"]
nitpicky = True
# A word in single backticks of a docstring becomes a link if it is a public name, and code if it is not.
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", ".*")]
highlight_language = "python"
pygments_style = "friendly"

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = False
html_math_renderer = "mathml"

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # docstrings say the types, in words
toc_object_entries_show_parents = "hide"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False  # the template of a class lists them
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"/plot_",
    "image_scrapers": ("gallery_pictures.scrape",),
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1_000_000,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "examples/backreferences",
    "doc_module": ("lsdt",),
    "capture_repr": (),  # what a script has to say it prints
    "inspect_global_variables": False,
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

html_theme = "pydata_sphinx_theme"
html_title = "lsdt"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["pictures.js"]
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None
html_theme_options = {
    "logo": {"text": "lsdt"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "native",
    "search_bar_text": "Search these pages",
}
_SINGLE = (
    "index",
    "start",
    "install",
    "performance",
    "reliability",
    "architecture",
    "changelog",
    "contributing",
)
html_sidebars = {page: [] for page in _SINGLE}  # nothing stands beside a page that has no section
