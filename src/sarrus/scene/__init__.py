"""The drawing of a mechanism: which symbols are drawn, and where they are at each instant."""

from typing import TYPE_CHECKING

from ..lazy import load_on_use

if TYPE_CHECKING:
    from .scene import CROSSING, NEAR, Camera, Mark, Scene, load_scene, make_scene, scene_arrays
    from .sketch import Shape, Sign, Sketch, make_sketch

__all__ = [
    "CROSSING",
    "NEAR",
    "Camera",
    "Mark",
    "Scene",
    "Shape",
    "Sign",
    "Sketch",
    "load_scene",
    "make_scene",
    "make_sketch",
    "scene_arrays",
]

# modules and names load when they are used
_SKETCHES = ("Shape", "Sign", "Sketch", "make_sketch")
__getattr__ = load_on_use(__name__, {x: "sketch" if x in _SKETCHES else "scene" for x in __all__})
