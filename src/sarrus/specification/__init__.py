"""Read and write specifications of the MBS Benchmark library: XML files with their numbers in prose.

    file -> safe_xml (tree) -> sentences -> facts -> reading (Specification) -> resolving (Problem)

Nothing is decided silently: facts are listed with their place, text that was not understood is listed too, and
where the file is silent and the problem's default is used, a note says so.
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
