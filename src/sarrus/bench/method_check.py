"""Checks a method: order, energy, behaviour at a crossing, with redundant constraints and with drives.

Errors are measured against our Taylor series method at a tolerance far below them, and against exact references.
Built-in and user-supplied methods are treated alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .. import problems
from ..arrays import Floats
from ..mechanism import Mechanism, Sine
from ..methods import Method
from ..result import Result
from ..simulate import simulate
from .judge import judge

# Steps for measuring the order, each half the previous one; tolerances for methods with step-size control.
HALVINGS = 5
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)
# A measured order this far below the stated one counts as missed.
ORDER_MISSED = 0.3
# Relative to the exchanged energy: a smaller drift is rounding; fraction of a deviation that persists to count as
# drift.
KEPT, LASTING = 1e-11, 0.5
# Relative to the motion: errors below this are rounding and do not show the order.
FLOOR = 1e-11


@dataclass(frozen=True)
class Finding:
    """One check: its name, the result as a sentence, and whether the result is as expected."""

    what: str
    sentence: str
    good: bool


@dataclass(frozen=True)
class MethodReport:
    """All findings; orders: measured orders by mechanism."""

    method: Method
    findings: tuple[Finding, ...]
    orders: dict[str, float] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Whether all findings are as expected."""
        return all(f.good for f in self.findings)


def check_method(method: Method, promised: int = 0) -> MethodReport:
    """Check a method; promised: its stated order, 0 if unknown."""
    orders: dict[str, float] = {}
    findings = []
    smooth = {
        "pendulum": (problems.get("simple-pendulum").mechanism(), 1.0, "P1"),
        "four-bar": (_four_bar(), 0.5, "B"),
        "spatial slider-crank": (problems.get("spatial-slider-crank").mechanism(), 0.2, "C"),
    }
    for name, (mechanism, seconds, point) in smooth.items():
        measure = _measure_order if method.setting == "step" else _measure_tolerance
        finding, order = measure(method, name, mechanism, seconds, point, promised)
        findings.append(finding)
        if order is not None:
            orders[name] = order
    findings += [_energy(method), _crossing(method), _redundant(method), _drive(method)]
    return MethodReport(method, tuple(findings), orders)


def _run(
    method: Method, mechanism: Mechanism, seconds: float, fineness: float, outputs: int = 20
) -> Result:
    """Run a method with a step that is a fraction of the time, or with a tolerance."""
    setting = {method.setting: seconds / fineness if method.setting == "step" else fineness}
    return simulate(mechanism, seconds, seconds / outputs, method=method.id, **setting)  # type: ignore[arg-type]


def _measure_order(
    method: Method, name: str, mechanism: Mechanism, seconds: float, point: str, promised: int
) -> tuple[Finding, float | None]:
    """Measure the slope of the errors of position and velocity over the step."""
    exact = simulate(mechanism, seconds, seconds / 20, tolerance=1e-13)
    steps, errors, speeds = [], [], []
    for halving in range(HALVINGS):
        count = 40 * 2**halving
        result = _run(method, mechanism, seconds, count)
        if not result.success:
            return Finding(
                f"order, {name}", f"h = {seconds / count:g} s: {result.message}", False
            ), None
        steps.append(seconds / count)
        errors.append(_largest(result.position(point) - exact.position(point)))
        speeds.append(_largest(result.velocity(point) - exact.velocity(point)))
    size = max(_largest(exact.position(point)), 1e-300)
    order, speed = (
        _slope(steps, errors, size),
        _slope(steps, speeds, _largest(exact.velocity(point))),
    )
    if order is None:
        return Finding(
            f"order, {name}", f"exact to rounding at all steps ({errors[-1]:.1e} m)", True
        ), None
    words = f"{order:.2f} in places" + ("" if speed is None else f", {speed:.2f} in velocities")
    words += (
        f"; error {errors[0]:.1e} m at h = {steps[0]:g} s, {errors[-1]:.1e} m at {steps[-1]:g} s"
    )
    missed = promised and order < promised - ORDER_MISSED
    return Finding(
        f"order, {name}", words + (f"; promised {promised}" if missed else ""), not missed
    ), order


def _measure_tolerance(
    method: Method, name: str, mechanism: Mechanism, seconds: float, point: str, promised: int
) -> tuple[Finding, float | None]:
    """Measure the error at each tolerance; it should decrease with the tolerance."""
    exact = simulate(mechanism, seconds, seconds / 20, tolerance=1e-13)
    words, errors = [], []
    for tolerance in TOLERANCES:
        result = _run(method, mechanism, seconds, tolerance)
        if not result.success:
            return Finding(
                f"error, {name}", f"tolerance {tolerance:g}: {result.message}", False
            ), None
        errors.append(_largest(result.position(point) - exact.position(point)))
        words.append(f"{errors[-1]:.1e} m at {tolerance:g} ({result.counters['steps']} steps)")
    return Finding(
        f"error, {name}", ", ".join(words), errors[-1] < errors[0] or errors[0] < FLOOR
    ), None


def _energy(method: Method) -> Finding:
    """Run twenty swings of a pendulum: is the energy conserved, bounded, lost or gained?"""
    mechanism = problems.get("simple-pendulum").mechanism()
    seconds = 47.4
    result = _run(method, mechanism, seconds, 2370 if method.setting == "step" else 1e-8, 948)
    what = "energy, 20 swings"
    if not result.success:
        return Finding(what, result.message, result.status == "skipped")
    drift, exchanged = result.energy_balance, 9.81
    largest = _largest(drift)
    if largest < KEPT * exchanged * 100:
        return Finding(
            what, f"kept to rounding ({largest:.1e} J of {exchanged:g} J exchanged)", True
        )
    parts = np.array_split(drift, 4)
    trend = float(parts[-1].mean() - parts[0].mean())
    swing = max(float(np.ptp(part)) for part in parts)
    if abs(trend) < LASTING * swing:
        return Finding(
            what, f"swings by {swing:.1e} J and does not drift (trend {trend:.1e} J)", True
        )
    word = "gains" if trend > 0 else "loses"
    return Finding(
        what, f"{word} {abs(trend) / (0.75 * seconds):.1e} J/s of {exchanged:g} J exchanged", True
    )


def _crossing(method: Method) -> Finding:
    """Run the double four-bar through three flat configurations, where 1 degree of freedom becomes 3."""
    problem = replace(problems.get("double-four-bar"), duration=3.0)
    sentences, good = [], []
    for fineness in (300, 1200) if method.setting == "step" else (1e-6, 1e-9):
        result = _run(method, problem.mechanism(), 3.0, fineness, 300)
        setting = (
            f"h = {3.0 / fineness:g} s" if method.setting == "step" else f"tolerance {fineness:g}"
        )
        if not result.success:
            sentences.append(f"{setting}: {result.message}")
            good.append(False)
            continue
        judged = judge(problem, result)
        error, drift = judged.position_error, judged.energy_drift
        where = judged.branch or f"passes, error {error:.1e} m, energy {drift:.1e} J"
        sentences.append(f"{setting}: {where}")
        good.append(judged.left_at is None)
    return Finding("crossings, double four-bar", "; ".join(sentences), good[-1])


def _redundant(method: Method) -> Finding:
    """Run the rectangular Bricard linkage: one constraint is redundant in every configuration."""
    problem = replace(problems.get("rectangular-bricard"), duration=2.0)
    result = _run(method, problem.mechanism(), 2.0, 400 if method.setting == "step" else 1e-8, 200)
    what = "redundant equations, Bricard"
    if not result.success:
        return Finding(what, result.message, result.status == "skipped")
    judged = judge(problem, result)
    error, drift, gap = judged.position_error, judged.energy_drift, judged.violation
    sentence = f"error {error:.1e} m, energy {drift:.1e} J, closure {gap:.1e} m"
    return Finding(
        what, sentence, bool(judged.position_error is not None and judged.position_error < 0.05)
    )


def _drive(method: Method) -> Finding:
    """Run a four-bar with a driven crank: constraints that depend on time."""
    m = _four_bar()
    m.velocities.clear()
    m.drive("motor", "A", Sine(amplitude=0.3, frequency=1.0))
    exact = simulate(m, 1.0, 0.05, tolerance=1e-11)
    result = _run(method, m, 1.0, 400 if method.setting == "step" else 1e-8)
    what = "drives"
    if not result.success:
        return Finding(what, result.message, result.status == "skipped")
    error = _largest(result.position("B") - exact.position("B"))
    return Finding(what, f"error {error:.1e} m", error < 1e-2)


def _four_bar() -> Mechanism:
    """Return a four-bar with three different moving links, away from flat configurations."""
    m = Mechanism("four-bar", gravity=(0.0, -9.81))
    m.rod("crank", (0, 0), (0.3, 0.9), mass=1)
    m.rod("coupler", (0.3, 0.9), (1.8, 1.2), mass=2)
    m.rod("rocker", (1.8, 1.2), (1.6, 0), mass=1.5)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "coupler", at=(0.3, 0.9))
    m.revolute("C", "coupler", "rocker", at=(1.8, 1.2))
    m.revolute("D", "rocker", m.ground, at=(1.6, 0))
    m.set_velocity("B", (0.9, -0.3))
    return m


def _largest(x: Floats) -> float:
    return float(np.abs(x).max(initial=0.0))


def _slope(steps: list[float], errors: list[float], size: float) -> float | None:
    """Return the order from the two finest steps with errors well above rounding; None if there are none."""
    able = [(h, e) for h, e in zip(steps, errors, strict=True) if e > FLOOR * size]
    if len(able) < 2:
        return None
    (h1, e1), (h2, e2) = able[-2:]
    return float(np.log(e1 / e2) / np.log(h1 / h2))
