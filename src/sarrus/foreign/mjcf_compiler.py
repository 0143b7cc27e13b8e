"""Run in a child process: compile MJCF with MuJoCo; answer with arrays, names and counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np

ARRAYS = (
    *("body_parentid", "body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_inertia"),
    *("body_gravcomp", "body_jntadr", "body_jntnum", "body_mocapid", "jnt_type", "jnt_pos", "jnt_axis"),
    *("jnt_dofadr", "jnt_qposadr", "qpos0", "jnt_stiffness", "jnt_stiffnesspoly", "jnt_limited", "dof_damping"),
    "jnt_range",
    *("dof_dampingpoly", "dof_armature", "dof_frictionloss", "qpos_spring", "site_bodyid", "site_pos"),
    *("site_quat", "eq_type", "eq_obj1id", "eq_obj2id", "eq_objtype", "eq_data", "eq_active0"),
    *("tendon_stiffness", "tendon_damping", "tendon_frictionloss", "tendon_armature", "tendon_limited"),
    *("geom_bodyid", "geom_contype", "geom_conaffinity"),
)  # fmt: skip
STATE = ("xpos", "xquat", "qpos", "qvel")
COUNTS = ("nbody", "nsite", "neq", "ntendon", "nflex", "nu", "ngeom", "nv")
NAMED = ("body", "jnt", "site", "eq", "tendon", "actuator", "geom")
ENUMS = ("mjtJoint", "mjtEq", "mjtObj", "mjtDisableBit")
Dropped = dict[str, list[str]]
# Most names of keyframes to report.
MOST_KEYFRAMES = 100


def answer(question: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the compiled model at a keyframe; if the file cannot be compiled, the reason under "error"."""
    path = Path(question["path"])
    dropped: Dropped = {}
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        strip(spec, path.parent, dropped)
        model = spec.compile()
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        return {"error": " ".join(str(error).split())[:300], "dropped": dropped}, {}
    data = mujoco.MjData(model)
    words: dict[str, Any] = {"dropped": dropped, "name": spec.modelname}
    keyframe = question["keyframe"]
    known = [model.key(k).name for k in range(model.nkey)]
    words["others"] = [name for name in known if name and name != keyframe][:MOST_KEYFRAMES]
    if keyframe is not None:
        if keyframe not in known:
            return {**words, "keyframes": known[:MOST_KEYFRAMES]}, {}
        mujoco.mj_resetDataKeyframe(model, data, known.index(keyframe))
    mujoco.mj_kinematics(model, data)
    words |= {name: int(getattr(model, name)) for name in COUNTS}
    words["names"] = {kind: names(model, kind) for kind in NAMED}
    words["disableflags"] = int(model.opt.disableflags)
    words["enums"] = {
        enum: {name: int(value) for name, value in getattr(mujoco, enum).__members__.items()}
        for enum in ENUMS
    }
    arrays = {name: np.array(getattr(model, name)) for name in ARRAYS if hasattr(model, name)}
    arrays |= {name: np.array(getattr(data, name)) for name in STATE}
    arrays["gravity"] = np.array(model.opt.gravity)
    arrays["medium"] = np.array([model.opt.density, model.opt.viscosity])
    return words, arrays


def names(model: Any, kind: str) -> list[str]:
    """Return the names of all objects of a kind; empty strings for unnamed ones."""
    count = {"jnt": model.njnt, "actuator": model.nu}.get(kind)
    count = getattr(model, f"n{kind}") if count is None else count
    return [getattr(model, kind)(k).name for k in range(count)]


def drop(dropped: Dropped, kind: str, *items: str) -> None:
    """Record ignored elements, each once."""
    known = dropped.setdefault(kind, [])
    known += [item for item in dict.fromkeys(items) if item not in known]


def strip(spec: Any, folder: Path, dropped: Dropped) -> None:
    """Remove images, sensors and contacts, and shapes whose files are missing or outside the folder."""
    for kind in ("sensors", "pairs"):
        for k, item in enumerate(list(getattr(spec, kind))):
            what = kind if kind == "sensors" else "contacts of pairs"
            drop(dropped, what, item.name or f"{kind} {k}")
            spec.delete(item)
    for kind in ("skins", "textures", "materials"):
        for item in list(getattr(spec, kind)):
            if kind != "materials":
                drop(dropped, kind, item.name or getattr(item, "file", "") or "unnamed")
            spec.delete(item)
    for thing in (*spec.geoms, *spec.tendons, *spec.sites):
        thing.material = ""
    shapes = [*spec.meshes, *spec.hfields]
    lost = {s.name or Path(s.file).stem for s in shapes if not is_present(spec, s.file, folder)}
    if not lost:
        return
    drop(dropped, "shapes whose file is not in the folder of the model", *sorted(lost))
    kinds = (mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_SDF, mujoco.mjtGeom.mjGEOM_HFIELD)
    always = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    known = {s.name for s in shapes}
    for geom in list(spec.geoms):
        name = geom.meshname or geom.hfieldname
        if name not in lost and not (geom.type in kinds and name not in known):
            continue
        body = geom.parent
        weightless = geom.mass == 0 or (np.isnan(geom.mass) and geom.density == 0)
        if not weightless and body.name != "world" and (always or not body.explicitinertial):
            drop(dropped, "mass of bodies that only a missing mesh defines", body.name)
        spec.delete(geom)
    for shape in shapes:
        if (shape.name or Path(shape.file).stem) in lost:
            spec.delete(shape)


def is_present(spec: Any, file: str, folder: Path) -> bool:
    """Return whether a shape needs no file, or its file is in the folder of the model."""
    if not file:
        return True
    inside = folder.resolve()
    for start in (spec.meshdir or "", spec.compiler.meshdir or "", ""):
        target = (folder / start / file).resolve()
        if target.is_relative_to(inside) and target.is_file():
            return True
    return False
