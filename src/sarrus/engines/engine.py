"""The common interface of engines: a table entry, and an adapter module that is loaded on first use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, Protocol

from ..arrays import Floats
from ..mechanism import Mechanism, MechanismError
from ..mechanism.forces import LOADS
from ..names import unknown
from .tree import LAST, Poses, Tree

# Capabilities of an engine; the values are shown to users.
LOOPS = "loops"
REDUNDANT = "redundant joints"
BALLS = "ball joints and free bodies"
FORCES = "constant forces and torques"
SPRINGS = "springs and dampers"
TORSIONS = "torsional springs"
BALL_DAMPERS = "ball dampers"
ROTORS = "rotors"
COUPLINGS = "couplings"
DRIVES = "drives"
USER_FORCES = "user forces"

Value = float | str
Settings = dict[str, Value]


@dataclass(frozen=True)
class Trial:
    """Settings tried over a series of step sizes; `steps`: numbers of steps per run; `why`: the reason."""

    settings: Mapping[str, Value]
    steps: tuple[int, ...]
    why: str


@dataclass(frozen=True)
class EnginePlan:
    """The plan of a run: `count` steps of `h` seconds, an output every `every` steps, and the settings."""

    count: int
    h: float
    every: int
    settings: Settings

    @property
    def kept(self) -> list[int]:
        """Return the numbers of the output steps, including the start and the end."""
        kept = list(range(0, self.count + 1, self.every))
        return kept if kept[-1] == self.count else [*kept, self.count]

    @property
    def strides(self) -> list[int]:
        """Return the numbers of steps between consecutive outputs."""
        return [b - a for a, b in pairwise(self.kept)]


@dataclass(frozen=True, eq=False)
class World:
    """The input of an engine: the mechanism, its tree, and the initial velocities of the bodies.

    rates: rates of the tree's coordinates; velocities: velocities of the centres of mass [m/s]; spins: angular
    velocities [rad/s], both (bodies, 3).
    """

    mechanism: Mechanism
    tree: Tree
    rates: Floats
    velocities: Floats
    spins: Floats


class Job(Protocol):
    """A mechanism in an engine, ready to run."""

    def solve(self) -> str:
        """Take all steps and store the states; return a message if the engine stopped early, else "". Timed."""

    def poses(self) -> Poses:
        """Return the poses of the stored states, the start first. Not timed."""


@dataclass(frozen=True)
class Engine:
    """An entry of the table of engines.

    package: name of the distribution; module: module to import; does: what it can represent; order: order of
    accuracy with its default settings; defaults: its settings, described in `meanings`; ladder: what a benchmark
    tries. loop_treatment: how it treats loops and redundant constraints, in a sentence. cut: which joints close
    loops, if it has no setting for that (see tree.py). loop_order: order of accuracy with loops; floor: smallest
    position error that it reaches, relative to the link size. adapter: the module with `build(world, plan)`;
    default: the module in this package with the engine's name.
    """

    id: str
    title: str
    package: str
    module: str
    does: frozenset[str]
    order: int
    defaults: Settings
    meanings: dict[str, str]
    ladder: tuple[Trial, ...]
    loop_treatment: str
    cut: str = LAST
    loop_order: int = 1
    floor: float = 1e-9
    adapter: str = ""

    @property
    def installed(self) -> bool:
        """Whether the engine can be imported; does not import it."""
        try:
            return find_spec(self.module) is not None
        except (ImportError, ValueError):
            return False

    @property
    def version(self) -> str:
        """The version of the engine; empty if it is not installed."""
        try:
            return version(self.package) if self.installed else ""
        except PackageNotFoundError:
            return "unknown version"

    @property
    def install(self) -> str:
        """Return how to install the engine."""
        what = self.package if self.adapter else f"'.[{self.id}]'"
        return f"pip install {what}"

    def settle(self, given: Mapping[str, Value]) -> Settings:
        """Return all settings, with defaults for those not given; raises if one is invalid."""
        for name, value in given.items():
            if name not in self.defaults:
                raise unknown(f"engine '{self.id}' has no setting '{name}'", name, self.defaults)
            wanted = self.defaults[name]
            if isinstance(wanted, str) != isinstance(value, str):
                kind = "a word" if isinstance(wanted, str) else "a number"
                raise ValueError(f"engine '{self.id}': {name} = {value!r}; give {kind}")
        return {**self.defaults, **given}

    def check(self, mechanism: Mechanism) -> None:
        """Raise MechanismError if the engine cannot represent a mechanism."""
        missing = sorted(_needs(mechanism) - self.does)
        if missing:
            raise MechanismError(
                f"{self.title} cannot simulate '{mechanism.name}': its adapter does not support "
                f"{' or '.join(missing)}"
            )

    def build(self, world: World, plan: EnginePlan) -> Job:
        """Build the mechanism in the engine; this loads the engine."""
        if not self.installed:
            raise ValueError(f"{self.title} is not installed; {self.install}")
        try:
            adapter: Any = import_module(self.adapter or f"sarrus.engines.{self.id}")
        except ImportError as error:
            # OpenSim and CasADi bring two versions of one library.
            raise ValueError(
                f"{self.title} cannot be loaded here ({' '.join(str(error).split())[:150]}); two engines may not "
                "share a process: start a new one for it, as `sarrus bench` does"
            ) from error
        job: Job = adapter.build(world, plan)
        return job


# The capability that each list of a mechanism requires.
REQUIRED = {
    "forces": FORCES,
    "torques": FORCES,
    "springs": SPRINGS,
    "torsions": TORSIONS,
    "ball_dampers": BALL_DAMPERS,
    "rotors": ROTORS,
    "couplings": COUPLINGS,
    "drives": DRIVES,
    "user_forces": USER_FORCES,
}


def _needs(mechanism: Mechanism) -> set[str]:
    """Return the capabilities that a mechanism requires; lists missing in REQUIRED go by their own name."""
    # limits are left out with a note
    return {
        REQUIRED.get(name, name) for name in LOADS if name != "limits" and getattr(mechanism, name)
    }


def check_tree(engine: Engine, tree: Tree) -> None:
    """Raise MechanismError if the engine cannot represent a tree."""
    for word, items in ((LOOPS, tree.closures), (BALLS, tree.balls)):
        if items and word not in engine.does:
            raise MechanismError(
                f"{engine.title} cannot simulate '{tree.name}': its adapter does not support {word}"
            )
