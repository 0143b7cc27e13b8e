"""What a user should know about a mechanism that is allowed but may be a slip."""

from __future__ import annotations

from .mechanism import Mechanism


def find_remarks(mechanism: Mechanism) -> list[str]:
    """Remarks on a checked mechanism: what its origin told, and bodies that no joint ties to the ground."""
    groups: dict[str, list[str]] = {
        name: [name] for name in (mechanism.GROUND, *(body.name for body in mechanism.bodies))
    }
    for joint in mechanism.joints:
        first, *others = (groups[name] for name in joint.bodies)
        for group in others:
            if group is not first:
                first.extend(group)
                groups.update(dict.fromkeys(group, first))
    grounded = groups[mechanism.GROUND]
    remarks = list(mechanism.told)
    for body in mechanism.bodies:
        group = groups[body.name]
        if group is grounded or body.name != group[0]:
            continue
        what = f"rod '{body.name}'" if body.ends else f"body '{body.name}'"
        if len(group) == 1:
            remarks.append(f"{what}: no joint reaches it, it moves freely")
        else:
            shown = ", ".join(f"'{name}'" for name in group[1:9])
            shown += ", ..." if len(group) > 9 else ""
            remarks.append(f"{what}: joined to {shown} but not to the ground, all move freely")
    return remarks
