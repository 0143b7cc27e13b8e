"""How coordinates are read, as a result holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from scipy import sparse

    from ..arrays import Floats
    from ..kinematics.pose import BodyRows
    from .joint_equations import JointEquations


class Reading(Protocol):
    """How coordinates are read, as a result holds it: points, bodies, joint equations."""

    @property
    def dimension(self) -> int: ...  # noqa: D102
    @property
    def points(self) -> dict[str, int]: ...  # noqa: D102
    @property
    def places(self) -> sparse.csr_array: ...  # noqa: D102
    @property
    def origins(self) -> Floats: ...  # noqa: D102
    @property
    def bodies(self) -> BodyRows: ...  # noqa: D102
    @property
    def equations(self) -> JointEquations: ...  # noqa: D102
    def rows(self, name: str) -> sparse.csr_array: ...  # noqa: D102
