"""Read untrusted XML, and numbers in its attributes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..arrays import Floats

# The only place that imports the safe reader.
from ..specification import SpecificationError
from ..specification.safe_xml import Node, XmlDocument, load_xml
from .parts import LARGEST, FormatError, Placement

__all__ = ["Node", "load", "numbers", "origin", "place", "rotation"]


def load(path: str | Path) -> XmlDocument:
    """Load the tree of a file, ignoring namespaces; raises FormatError if the file is invalid."""
    try:
        return load_xml(path, {"": ""})
    except SpecificationError as error:
        raise FormatError(str(error)) from error


def numbers(node: Node, name: str, default: str | None, count: int, source: str) -> Floats:
    """Return the numbers of an attribute; raise FormatError if they are invalid, too many or too large."""
    text = node.attributes.get(name, default)
    where = f"{source}, line {node.line}: <{node.name}> {name}"
    if text is None:
        raise FormatError(f"{where} is missing")
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        raise FormatError(f'{where}="{text[:60]}": not numbers') from None
    if len(values) != count:
        raise FormatError(f"{where} has {len(values)} numbers; {count} are needed")
    if not np.all(np.abs(values) <= LARGEST):
        raise FormatError(
            f'{where}="{text[:60]}" is out of range; finite numbers up to {LARGEST:g} are read'
        )
    return values


def rotation(rpy: Floats) -> Floats:
    """Return the rotation of roll, pitch and yaw about fixed axes."""
    (a, b, c), (s, t, u) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [c * b, c * t * s - u * a, c * t * a + u * s],
            [u * b, u * t * s + c * a, u * t * a - c * s],
            [-t, b * s, b * a],
        ]
    )


def place(node: Node, source: str) -> Placement:
    """Return the frame of an element with xyz and rpy."""
    rpy = numbers(node, "rpy", "0 0 0", 3, source)
    return Placement(
        rotation(rpy) if rpy.any() else np.eye(3), numbers(node, "xyz", "0 0 0", 3, source)
    )


def origin(node: Node, source: str, name: str = "origin") -> Placement:
    """Return the frame of an element's <origin>."""
    child = next((c for c in node.children if c.name == name), None)
    return Placement() if child is None else place(child, source)
