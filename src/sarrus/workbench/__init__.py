"""The workbench: a mechanism that is changed by sliders, by hand and by drawing, and solved while one does.

A page on this machine alone asks, this room answers: `parameters` are what sliders change, `answers` what the page
shows, `edit` what is drawn, `saving` how it comes into a file, `server` who is answered at all.
"""

from ..lazy import load_on_use

# modules load when they are used
__getattr__ = load_on_use(__name__)
