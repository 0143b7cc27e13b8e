"""Accelerations of a URDF with closures by Pinocchio's constrained dynamics, at rest in its zero position."""

import numpy as np
import yaml

pin = __import__("pytest").importorskip(
    "pinocchio", reason="pinocchio is not installed (package pin)"
)


def center_accelerations(path, gravity=(0.0, 0.0, -9.81)):
    """Acceleration of the centre of mass of every link that has one, by name; closures as in its YAML file."""
    model = pin.buildModelFromUrdf(str(path))
    model.gravity.linear = np.array(gravity)
    reported = yaml.safe_load(path.with_suffix(".yaml").read_text())
    constraints = pin.StdVec_RigidConstraintModel()
    for (a, b), kind in zip(reported["closed_loop"], reported["type"], strict=True):
        frames = [model.frames[model.getFrameId(name)] for name in (a, b)]
        contact = pin.ContactType.CONTACT_6D if kind == "6d" else pin.ContactType.CONTACT_3D
        constraints.append(
            pin.RigidConstraintModel(
                contact,
                model,
                frames[0].parentJoint,
                frames[0].placement,
                frames[1].parentJoint,
                frames[1].placement,
                pin.ReferenceFrame.LOCAL,
            )
        )
    data = model.createData()
    datas = pin.StdVec_RigidConstraintData()
    for c in constraints:
        datas.append(c.createData())
    pin.initConstraintDynamics(model, data, constraints, datas)
    settings = pin.ProximalSettings(1e-14, 1e-12, 200)
    q, v = pin.neutral(model), np.zeros(model.nv)
    a = pin.constraintDynamics(model, data, q, v, v, constraints, datas, settings)
    pin.forwardKinematics(model, data, q, v, a)
    out = {}
    for joint in range(1, model.njoints):
        inertia = model.inertias[joint]
        if inertia.mass <= 0:
            continue
        lever = data.oMi[joint].rotation @ inertia.lever
        spatial = data.oMi[joint].act(data.a[joint])
        # at rest: the acceleration of the frame's place, and of the centre near it
        place = data.oMi[joint].translation + lever
        out[model.names[joint]] = spatial.linear + np.cross(spatial.angular, place)
    return out
