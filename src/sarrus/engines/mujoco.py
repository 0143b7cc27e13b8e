"""MuJoCo: the tree as MJCF, loops as `connect` equalities, loads as actuators with a constant or linear force."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from .engine import EnginePlan, World
from .markup import LEAST_INERTIA, write_inertial, write_tag, write_tie
from .tree import GROUND, Poses, Tree


def build(world: World, plan: EnginePlan) -> _Job:
    """Build the model in its initial state."""
    return _Job(world, plan)


class _Job:
    def __init__(self, world: World, plan: EnginePlan) -> None:
        self.tree, self.plan = world.tree, plan
        self.model = mujoco.MjModel.from_xml_string(make_xml(world.tree, plan))
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:] = world.tree.start()
        self.data.qvel[:] = world.rates
        rows = len(plan.kept)
        self.q = np.full((rows, self.model.nq), np.nan)
        self.v = np.full((rows, self.model.nv), np.nan)
        self.q[0], self.v[0] = self.data.qpos, self.data.qvel

    def solve(self) -> str:
        model, data, q, v = self.model, self.data, self.q, self.v
        step, qpos, qvel = mujoco.mj_step, data.qpos, data.qvel
        # Otherwise MuJoCo writes a log file into the working folder; a run that breaks down is reported anyway.
        mujoco.set_mju_user_warning(lambda text: None)
        try:
            for i, stride in enumerate(self.plan.strides, start=1):
                step(model, data, stride)
                q[i] = qpos
                v[i] = qvel
        finally:
            mujoco.set_mju_user_warning(None)
        return ""

    def poses(self) -> Poses:
        return self.tree.poses(self.q, self.v)


def make_xml(tree: Tree, plan: EnginePlan) -> str:
    """Write the model as MJCF: bodies in depth-first order, so that its coordinates are those of the tree."""
    s = plan.settings
    # Disable unused features, and the automatic reset after a state that is not finite.
    idle = ("contact", "limit", "frictionloss", "sensor", "autoreset")
    flags = {**dict.fromkeys(idle, "disable"), "eulerdamp": "enable"}
    options: dict[str, Any] = {
        "timestep": plan.h,
        "gravity": tree.gravity,
        "integrator": str(s["integrator"]),
        "solver": str(s["solver"]),
        "iterations": str(int(s["iterations"])),
        "tolerance": float(s["tolerance"]),
        "jacobian": str(s["jacobian"]),
    }
    equality = {
        "solref": np.array([float(s["time_constant"]) * plan.h, float(s["damping_ratio"])]),
        "solimp": np.array([s["impedance"], s["impedance"], 0.001, 0.5, 2.0], dtype=float),
    }
    lines = [
        f"{write_tag('mujoco', model=tree.name)}>",
        '<compiler angle="radian" autolimits="false" inertiafromgeom="false" boundmass="0" boundinertia="0"/>',
        f"{write_tag('option', **options)}>{write_tag('flag', **flags)}/></option>",
        f"<default>{write_tag('equality', **equality)}/></default>",
        "<worldbody>",
        '<site name="world"/>',
        *_sites(tree, GROUND),
        *_bodies(tree, GROUND),
        "</worldbody>",
        "<tendon>",
    ]
    for n, _ in enumerate(tree.pulls):
        ends = "".join(f'<site site="pull {n} {k}"/>' for k in (0, 1))
        lines.append(f'<spatial name="pull {n}">{ends}</spatial>')
    lines += ["</tendon>", "<equality>"]
    for c in tree.closures:
        # MuJoCo requires the body first; the world may be omitted.
        first, second = (c.first, c.second) if c.first != GROUND else (c.second, c.first)
        other = None if second == GROUND else f"link {second}"
        anchor = tree.place(first, c.place)
        lines.append(f"{write_tag('connect', body1=f'link {first}', body2=other, anchor=anchor)}/>")
    for t in tree.tied:
        lines.append(f"{write_tie(f'step {t.v[0]}', f'step {t.v[1]}', t.ratio)}/>")
    lines += ["</equality>", "<actuator>", *_actuators(tree), "</actuator>", "</mujoco>"]
    return "\n".join(lines)


def _bodies(tree: Tree, parent: int) -> Iterator[str]:
    base = np.zeros(3) if parent == GROUND else tree.links[parent].origin
    armature = {r.v[0]: r.inertia for r in tree.spinning}
    damping = tree.ball_damping()
    for i, link in enumerate(tree.links):
        if link.parent != parent:
            continue
        yield f"{write_tag('body', name=f'link {i}', pos=link.origin - base)}>"
        # MuJoCo treats a smaller inertia as zero.
        inertia = link.inertia + LEAST_INERTIA * np.eye(3)
        yield f"{write_inertial(link.arm, link.mass, inertia)}/>"
        for s in link.steps:
            axis = None if s.kind == "ball" else s.axis
            loads = {"armature": armature.get(s.v), "damping": damping.get(s.v)}
            yield f"{write_tag('joint', name=f'step {s.v}', type=s.kind, axis=axis, **loads)}/>"
        yield from _sites(tree, i)
        yield from _bodies(tree, i)
        yield "</body>"


def _sites(tree: Tree, link: int) -> Iterator[str]:
    for n, pull in enumerate(tree.pulls):
        for k, (owner, place) in enumerate(zip(pull.links, pull.places, strict=True)):
            if owner == link:
                yield f"{write_tag('site', name=f'pull {n} {k}', pos=tree.place(link, place))}/>"
    for n, force in enumerate(tree.forces):
        if force.link == link:
            yield f"{write_tag('site', name=f'force {n}', pos=tree.place(link, force.place))}/>"


def _actuators(tree: Tree) -> Iterator[str]:
    linear: dict[str, Any] = {"gaintype": "fixed", "gainprm": 0.0, "biastype": "affine"}
    for n, p in enumerate(tree.pulls):
        bias = np.array([p.stiffness * p.free - p.preload, -p.stiffness, -p.damping])
        yield f"{write_tag('general', tendon=f'pull {n}', biasprm=bias, **linear)}/>"
    for t in tree.turns:
        bias = np.array([t.torque + t.stiffness * t.free, -t.stiffness, -t.damping])
        yield f"{write_tag('general', joint=f'step {t.v}', biasprm=bias, **linear)}/>"
    for n, f in enumerate(tree.forces):
        if f.link != GROUND:
            gear = np.concatenate([f.force, f.torque])
            base = None if f.turns else "world"
            bias = np.array([1.0, 0.0, 0.0])
            yield f"{write_tag('general', site=f'force {n}', refsite=base, gear=gear, biasprm=bias, **linear)}/>"
