"""Analysis of driven mechanisms: kinematics over a cycle, and the design quantities of textbooks."""

from .design import Design, design, unit_of_number
from .driven import kinematics
from .four_bars import FourBar, SliderCrank, SpatialFourBar, find_four_bars, find_slider_cranks

__all__ = [
    "Design",
    "FourBar",
    "SliderCrank",
    "SpatialFourBar",
    "design",
    "find_four_bars",
    "find_slider_cranks",
    "kinematics",
    "unit_of_number",
]
