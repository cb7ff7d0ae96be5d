"""How Sphinx builds the site: pages from the Markdown in this folder, the reference from the docstrings.

`make docs` builds it into build/docs and takes each warning for an error.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kinformer import __version__

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "kinformer"
author = "The kinformer authors"
version = release = __version__
html_title = "kinformer"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "reference",  # extensions/reference.py
]
exclude_patterns = ["extensions", "deploy/manager", "deploy/sharded", "examples/*/.*"]

# Pages: Markdown as GitHub reads it, so that links, tables and anchors work in both places.
myst_heading_anchors = 4
suppress_warnings = [
    "misc.highlighting_failure",  # blocks that abbreviate with "…"
    # A short name in an annotation that two modules have, as Client of kinformer.sync and of kinformer.client: the link
    # leads to the first. Links that lead nowhere are still errors.
    "ref.python",
]
pygments_style = "friendly"
pygments_dark_style = "github-dark"

# Reference: docstrings are reStructuredText, with `name` for code.
default_role = "code"
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"
maximum_signature_line_length = 100

html_theme = "furo"
html_static_path = ["extensions/static"]
html_css_files = ["tables.css"]
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True
