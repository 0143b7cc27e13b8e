"""Impacts and resting contacts: velocities and forces where constraints of a run appear.

New constraints J v = b meet velocities v- that violate them. The impulses act along the constraints only, so

    M (v+ - v-) + J^T p = 0,      J v+ = b

which is the projection of v- onto the allowed velocities, orthogonal in the mass metric. With N a basis of the
null space of J and w any velocity with J w = b:  v+ = w + N y,  (N^T M N) y = N^T M (v- - w). Redundant
constraints leave p undetermined, but not v+. For a lock b = 0, for a stop it is Newton's rule, b = -e x'-: the
rate of the joint's coordinate is reversed and multiplied by the restitution e. The loss of kinetic energy is 1/2
|v+ - v-|^2 in the mass metric where all b vanish.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Floats
from ..kernels.applied_forces import make_loads
from ..kernels.elements.drive import EQUATION, KIND, MOTION, eval_drives, eval_motion, slope
from ..kinematics.constraints import Constraints
from ..methods import Start
from ..methods.outcome import Record
from ..model import Model
from ..thresholds import CONTRADICTED_RATE, RANK_TOLERANCE


@dataclass(frozen=True)
class Contact:
    """Constraints of a model at a state: J, and velocities before and after an impact."""

    model: Model
    start: Start

    @cached_property
    def jacobian(self) -> Floats:
        """J, dense."""
        J = Constraints(self.model.form).jacobian(self.start.q)
        return np.asarray(J if isinstance(J, np.ndarray) else J.toarray())

    @cached_property
    def mass(self) -> Floats:
        """M, dense."""
        return self.model.dense_mass()

    @cached_property
    def rates(self) -> Floats:
        """Right-hand sides of J v = b: the rates of the drives."""
        b, loads = np.zeros(self.model.equations), make_loads(self.model.loads, 0)
        if loads is not None:
            eval_drives(loads, self.start.t)
            b[loads.drives.equations[:, EQUATION]] = loads.drives.driven[1]
        return b

    def slopes(self, drive: str) -> Floats:
        """c with J v = c x' for the equations of a drive, x its coordinate; (nc,)."""
        loads = make_loads(self.model.loads, 0)
        assert loads is not None
        drives = loads.drives
        number = self.model.readings.drives[drive].number
        x = eval_motion(drives, number, self.start.t)[0]
        c = np.zeros(self.model.equations)
        for k in np.flatnonzero(drives.equations[:, MOTION] == number):
            kind = int(drives.equations[k, KIND])
            c[drives.equations[k, EQUATION]] = drives.factor[k] * slope(kind, x)
        return c

    def rate(self, drive: str, v: Floats) -> float:
        """The rate of the coordinate that a drive constrains, in model units, for admissible velocities."""
        c = self.slopes(drive)
        return float(c @ (self.jacobian @ v) / (c @ c))

    def project(self, v: Floats, rates: Floats | None = None) -> Floats | None:
        """Velocities after the impact; None if the constraints contradict each other."""
        b = self.rates if rates is None else rates
        J, M = self.jacobian, self.mass
        U, s, Vt = np.linalg.svd(J)
        rank = int(np.count_nonzero(s > RANK_TOLERANCE * s.max(initial=0.0)))
        w = Vt[:rank].T @ ((U[:, :rank].T @ b) / s[:rank])
        N = Vt[rank:].T
        y = np.linalg.lstsq(N.T @ M @ N, N.T @ (M @ (v - w)), rcond=None)[0]
        after = w + N @ y
        size = np.abs(J).max(initial=0.0) * max(
            np.abs(v).max(initial=0.0), np.abs(after).max(initial=0.0)
        )
        size = max(size, np.abs(b).max(initial=0.0))
        if np.abs(J @ after - b).max(initial=0.0) > CONTRADICTED_RATE * size:
            return None
        return np.asarray(after)

    def impulse(self, drive: str, before: Floats, after: Floats) -> float:
        """Impulse of a drive along its coordinate, in model units; of least norm where it is not unique."""
        p = np.linalg.lstsq(self.jacobian.T, self.mass @ (before - after), rcond=RANK_TOLERANCE)[0]
        return -float(self.slopes(drive) @ p)

    def force(self, drive: str, v: Floats) -> float:
        """Force of a drive along its coordinate, in model units, for velocities that the constraints allow."""
        record = Record.at(self.model, np.array([self.start.t]))
        record.q[0], record.v[0] = self.start.q, v
        torsions = record.angles.shape[1]
        record.angles[0] = self.start.carried[:torsions]
        return float(record.drive_forces[0, self.model.readings.drives[drive].number])

    def kinetic(self, v: Floats) -> float:
        """Kinetic energy, in model units."""
        return 0.5 * float(v @ self.mass @ v)
