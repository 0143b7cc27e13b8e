"""What a mechanism looks like: which signs are drawn, where they are at each instant."""

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
