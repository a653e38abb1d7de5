"""How `make docs` builds these pages: Sphinx over Markdown, the reference read from the models themselves."""

import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(Path(__file__).parent / "_ext")]

project = "Podracer"
author = "the Podracer authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "models"]
exclude_patterns = ["_build", "_ext"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = "Podracer"
html_favicon = "../static/img/favicon.svg"
html_copy_source = False
# Fonts, scripts and styles all come with the pages: they are read on machines without internet too.
