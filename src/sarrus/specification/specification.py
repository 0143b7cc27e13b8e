"""What a specification may say: its facts with words, units and bounds, and the names of the library."""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import problems
from ..problems import Limits

MBSB = "http://lim.ii.udc.es/mbsbenchmark/"
NAMESPACES = {
    "mbsb": MBSB,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "vCard": "http://www.globecom.net/ietf/draft/draft-dawson-vcard-xml-dtd-03",
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
}
# ids of the library and of the problems here
LIBRARY = {
    "A01": "simple-pendulum-a01",
    "A02": "n-four-bar",
    "A03": "andrews-squeezer-a03",
    "A04": "a04-bricard",
    "A05": "flyball-governor-a05",
}

# facts that are options of problems, and how they are called there
OPTIONS = {
    "windows": "windows",
    "section": "section",
    "damping": "damping",
    "start_velocity": "speed",
}
# largest numbers that are believed; beyond them a file is rather wrong than large
LARGEST = {
    "windows": problems.all_options()["windows"].most,
    "output_steps": 1_000_000.0,
    "duration": 1e6,
}
UNITS = {
    "duration": "s",
    "start_velocity": "m/s",
    "gravity": "N/kg",
    "link_length": "m",
    "link_mass": "kg",
    "section": "m",
    "damping": "N s/m",
    "energy_drift": "J",
    "end_error": "m",
    "path": "m",
    "shown": "s",
}
WORDS = {
    "duration": "duration",
    "windows": "windows N",
    "start_velocity": "start velocity",
    "start_axis": "start velocity along",
    "start_point": "start velocity of point",
    "gravity": "gravity",
    "gravity_direction": "gravity along",
    "link_length": "length of a link",
    "link_mass": "mass of a link",
    "section": "section of a rod",
    "damping": "damping",
    "observed": "observed point",
    "output_steps": "output steps",
    "threshold": "threshold",
    "low": "limit, low precision",
    "high": "limit, high precision",
    "energy_drift": "limit of the energy drift",
    "end_error": "limit of the error at the end",
    "rms": "limit of the error, root mean square",
    "path": "limit of the distance from the path",
    "shown": "part shown, from the start",
}
LIMITS = ("energy_drift", "low", "high", "threshold", "end_error", "rms", "path")


@dataclass(frozen=True)
class Specification:
    """What a specification file says; None or empty where it says nothing.

    duration [s]; windows: N; start_velocity [m/s], with its axis and point; gravity: its size [N/kg] and
    its direction, as '-y'; link_length [m], link_mass [kg], section [m], damping [N s/m]; model: its
    address and format;
    reference_files: name and kind; measures: title and text. understood: what, value and place;
    not_understood: elements, attributes and sentences with numbers that were not read; notes: what was
    decided while reading.
    """

    id: str
    type: str = ""
    language: str = ""
    title: str = ""
    date: str = ""
    description: str = ""
    publisher: str = ""
    authors: list[str] = field(default_factory=list)
    emails: list[str] = field(default_factory=list)
    duration: float | None = None
    windows: int | None = None
    output_steps: int | None = None
    limits: Limits = field(default_factory=Limits)
    observed: str | None = None
    start_velocity: float | None = None
    start_axis: str | None = None
    start_point: str | None = None
    gravity: float | None = None
    gravity_direction: str | None = None
    link_length: float | None = None
    link_mass: float | None = None
    section: float | None = None
    damping: float | None = None
    model: tuple[str, str] | None = None
    reference_files: list[tuple[str, str]] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    measures: list[tuple[str, str]] = field(default_factory=list)
    understood: list[tuple[str, str, str]] = field(default_factory=list)
    not_understood: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def threshold(self) -> float | None:
        """The threshold of the relative error."""
        return self.limits.threshold
