"""Specifications of the MBS Benchmark library: XML files whose numbers stand in prose, read and written.

    file -> safe_xml (tree) -> sentences -> facts -> reading (Specification) -> resolving (Problem)

Nothing is decided silently: what was read is listed with its place, what was not read is listed too, and
where a file is silent and the problem's own number is used, a note says so.
"""

from .safe_xml import SpecificationError
from .spec_reader import load_specification
from .spec_writer import write_specification
from .specification import LIBRARY, Specification, specification_notes, specification_to_problem

__all__ = [
    "LIBRARY",
    "Specification",
    "SpecificationError",
    "load_specification",
    "specification_notes",
    "specification_to_problem",
    "write_specification",
]
