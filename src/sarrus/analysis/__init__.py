"""Analysis of driven mechanisms: kinematics over a cycle, and the design quantities of textbooks."""

from .design import Design, design, list_numbers, unit_of_number
from .driven import kinematics
from .four_bars import (
    FourBar,
    InvertedSliderCrank,
    SliderCrank,
    SpatialFourBar,
    find_four_bars,
    find_slider_cranks,
)

__all__ = [
    "Design",
    "FourBar",
    "InvertedSliderCrank",
    "SliderCrank",
    "SpatialFourBar",
    "design",
    "find_four_bars",
    "find_slider_cranks",
    "kinematics",
    "list_numbers",
    "unit_of_number",
]
