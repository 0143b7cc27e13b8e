"""What an engine is to the others: a row, and the adapter behind it, which loads it when it is first used."""

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

# what an engine may or may not be able to do; the value is what a user reads
LOOPS = "loops"
REDUNDANT = "redundant joints"
BALLS = "ball joints and free bodies"
FORCES = "constant forces and torques"
SPRINGS = "springs and dampers"
TORSIONS = "torsional springs"
ROTORS = "rotors"
COUPLINGS = "couplings"
DRIVES = "drives"
USER_FORCES = "user forces"

Value = float | str
Settings = dict[str, Value]


@dataclass(frozen=True)
class Trial:
    """Settings that are tried over a ladder of steps; steps: how many in a run; why: in a sentence."""

    settings: Mapping[str, Value]
    steps: tuple[int, ...]
    why: str


@dataclass(frozen=True)
class EnginePlan:
    """What a run of an engine is: `count` steps of `h` seconds, every so manieth kept, with its settings."""

    count: int
    h: float
    every: int
    settings: Settings

    @property
    def kept(self) -> list[int]:
        """The numbers of the steps that are kept, the start and the end among them."""
        kept = list(range(0, self.count + 1, self.every))
        return kept if kept[-1] == self.count else [*kept, self.count]

    @property
    def strides(self) -> list[int]:
        """How many steps lie between those that are kept."""
        return [b - a for a, b in pairwise(self.kept)]


@dataclass(frozen=True, eq=False)
class World:
    """What an engine is given: the mechanism, its tree, and velocities of the bodies at the start.

    rates: of the tree's coordinates; velocities: of the centres [m/s], and spins [rad/s], (bodies, 3).
    """

    mechanism: Mechanism
    tree: Tree
    rates: Floats
    velocities: Floats
    spins: Floats


class Job(Protocol):
    """A mechanism in an engine, ready to run."""

    def solve(self) -> str:
        """Take all steps, keeping states; a sentence if the engine stopped early, else nothing. Timed."""

    def poses(self) -> Poses:
        """The poses of the states that were kept, the start first. Not timed."""


@dataclass(frozen=True)
class Engine:
    """A row of the table of engines.

    package: what is installed, and module: what is imported; does: what it can represent; order: of its
    default settings; defaults: its settings, with what they mean in `meanings`; ladder: what a benchmark tries.
    tells: what it does with loops and redundancy, in a sentence.
    cut: which joints close loops, where it has no setting for that (see tree.py). loop_order: of loops, as it
    holds them; floor: error of places that it does not get below, in the size of links. adapter: the module with
    `build(world, plan)`; left out, the one here that is called like the engine.
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
    tells: str
    cut: str = LAST
    loop_order: int = 1
    floor: float = 1e-9
    adapter: str = ""

    @property
    def installed(self) -> bool:
        """Whether it can be imported, without doing so."""
        try:
            return find_spec(self.module) is not None
        except (ImportError, ValueError):
            return False

    @property
    def version(self) -> str:
        """Its version, empty if it is not installed."""
        try:
            return version(self.package) if self.installed else ""
        except PackageNotFoundError:
            return "unknown version"

    @property
    def install(self) -> str:
        """How to install it."""
        what = self.package if self.adapter else f"'.[{self.id}]'"
        return f"pip install {what}"

    def settle(self, given: Mapping[str, Value]) -> Settings:
        """All settings: those given and the defaults of the others; raises what is wrong."""
        for name, value in given.items():
            if name not in self.defaults:
                raise unknown(f"engine '{self.id}' has no setting '{name}'", name, self.defaults)
            wanted = self.defaults[name]
            if isinstance(wanted, str) != isinstance(value, str):
                kind = "a word" if isinstance(wanted, str) else "a number"
                raise ValueError(f"engine '{self.id}': {name} = {value!r}; give {kind}")
        return {**self.defaults, **given}

    def check(self, mechanism: Mechanism) -> None:
        """Raise MechanismError with a sentence if the engine cannot represent a mechanism."""
        missing = sorted(_needs(mechanism) - self.does)
        if missing:
            raise MechanismError(
                f"{self.title} is not given '{mechanism.name}': its adapter has no {' and no '.join(missing)}"
            )

    def build(self, world: World, plan: EnginePlan) -> Job:
        """The mechanism in the engine; loads the engine."""
        if not self.installed:
            raise ValueError(f"{self.title} is not installed; {self.install}")
        try:
            adapter: Any = import_module(self.adapter or f"sarrus.engines.{self.id}")
        except ImportError as error:
            # OpenSim and CasADi bring two versions of one library
            raise ValueError(
                f"{self.title} cannot be loaded here ({' '.join(str(error).split())[:150]}); two engines may not "
                "share a process: start a new one for it, as `sarrus bench` does"
            ) from error
        job: Job = adapter.build(world, plan)
        return job


# what each list of a mechanism asks of an engine
ASKED = {
    "forces": FORCES,
    "torques": FORCES,
    "springs": SPRINGS,
    "torsions": TORSIONS,
    "rotors": ROTORS,
    "couplings": COUPLINGS,
    "drives": DRIVES,
    "user_forces": USER_FORCES,
}


def _needs(mechanism: Mechanism) -> set[str]:
    """What an engine must be able to do for a mechanism; a list that nobody thought of here is refused by name."""
    return {ASKED.get(name, name) for name in LOADS if getattr(mechanism, name)}


def check_tree(engine: Engine, tree: Tree) -> None:
    """Raise MechanismError with a sentence if the engine cannot represent a tree."""
    for word, items in ((LOOPS, tree.closures), (BALLS, tree.balls)):
        if items and word not in engine.does:
            raise MechanismError(
                f"{engine.title} is not given '{tree.name}': its adapter has no {word}"
            )
