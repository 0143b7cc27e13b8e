"""The workbench: change a mechanism with sliders, by dragging and by drawing, while it is solved continuously.

A page on this machine sends requests, and this package answers: `parameters` are the numbers that sliders change,
`answers` is what the page shows, `edit` is drawing, `saving` writes the file, `server` decides who is answered.
"""

from ..lazy import load_on_use

# Modules are loaded on first use.
__getattr__ = load_on_use(__name__)
