"""Real files of other programs: what becomes of each model in a folder, as the tables of docs/imports.md.

    PYTHONPATH=src:tests python benchmarks/imports.py FOLDER_OR_FILE ... [--looped] [--seconds 1]

Every .urdf, .asmt and every .xml that is a MuJoCo model is read (scenes and fragments are left out and counted),
inspected and moved for a second under gravity at the default tolerance, drives left out. Printed: a row a file,
for ASMT a second table against the stored series, and what was rejected with its sentence.

Drift: largest change of the energy, less the work of dampers, over the energy exchanged (largest kinetic energy or
change of the potential one). Against Pinocchio: accelerations of the centres at rest at the start, over the
largest; both without springs, dampers and lifts, through `write_urdf`. Its own constrained dynamics where loops
are all there is; with couplings, rotors or redundant loops (marked k) its mass matrix, forces and Jacobians,
solved in the directions that these allow.
"""

import argparse
import re
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import sarrus
from sarrus.formats import read, write_urdf

# of the largest speed times a second, or of the size: what does not move at all
AT_REST = 1e-12


@dataclass
class Row:
    """What is printed of one file."""

    name: str
    cells: list = field(default_factory=list)
    rejected: str = ""
    series: list = field(default_factory=list)
    notes: list = field(default_factory=list)


def find(places):
    """Files with a model, and how many were left out."""
    found, aside = [], 0
    for place in map(Path, places):
        files = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.is_file())
        for file in files:
            ending = file.suffix.lower()
            if ending in (".urdf", ".asmt"):
                found.append((place, file))
            elif ending in (".xml", ".mjcf"):
                text = file.read_text(errors="replace")
                whole = re.search(r"<mujoco\b", text) and re.search(r"<(worldbody|include)\b", text)
                if whole and "scene" not in file.name:
                    found.append((place, file))
                else:
                    aside += 1
    return found, aside


def falling(mechanism):
    """A copy that falls from rest: no drives, gravity where there is none."""
    m = mechanism.copy()
    m.drives, m.velocities, m.angular_velocities = [], [], []
    if not np.any(m.gravity):
        m.gravity = np.array([0.0, 0.0, -9.81])
    return m


def size_of(mechanism):
    """The spread of its centres."""
    places = np.array([b.center for b in mechanism.bodies])
    return float(np.ptp(places, axis=0).max()) or 1.0


def move(mechanism, seconds):
    """Status, violation over the size, drift over the exchanged energy."""
    result = sarrus.simulate(mechanism, seconds, output_step=seconds / 100)
    exchanged = max(
        float(result.kinetic_energy.max()), float(np.ptp(result.potential_energy)), 1e-300
    )
    drift = float(np.abs(result.energy_balance - result.energy_balance[0]).max()) / exchanged
    weight = sum(b.mass for b in mechanism.bodies) * float(np.linalg.norm(mechanism.gravity))
    rest = exchanged < AT_REST * weight * size_of(mechanism)
    violation = float(result.violation().max()) / size_of(mechanism)
    word = "at rest" if rest else f"{drift:.0e}"
    if result.status != "done":
        word = f"{word}; stops at {result.times[-1]:.3g} s"
    return word, violation, drift, result


def pinocchio(mechanism, redundant):
    """Largest difference of accelerations from Pinocchio's, over the largest."""
    try:
        import pinocchio as pin
    except ImportError:
        return "not installed"
    m = falling(mechanism)
    m.springs, m.torsions, m.forces, m.torques, m.user_forces = [], [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "twin.urdf"
        report = write_urdf(m, path)
        if any("close a loop" in kind for kind in report.dropped):
            return "-"
        if m.rotors or m.couplings or redundant:
            theirs, mark = solve_twin(pin, path, m), " k"
        else:
            from pinocchio_reference import center_accelerations

            model, by_joint = (
                pin.buildModelFromUrdf(str(path)),
                center_accelerations(path, m.gravity),
            )
            above = {b.name: frame_of(pin, model, b.name).parentJoint for b in m.bodies}
            theirs = {b: by_joint[model.names[j]] for b, j in above.items()}
            mark = ""
    # a joint may bear the name of a body, and is then what the name reads
    for b in m.bodies:
        m.point(f"centre of {b.name}", b.name, b.center)
    start = sarrus.simulate(m, 1e-6, output_step=1e-6, at_crossing="stop")
    ours = {b.name: start.acceleration(f"centre of {b.name}")[0] for b in m.bodies}
    scale = max(np.abs(list(ours.values())).max(), float(np.linalg.norm(m.gravity)))
    worst = max(np.abs(ours[n] - theirs[n]).max() for n in ours)
    return f"{worst / scale:.0e}{mark}"


def frame_of(pin, model, link):
    """The frame of a link; joints may bear the same name."""
    return model.frames[model.getFrameId(link, pin.FrameType.BODY)]


def solve_twin(pin, path, m):
    """Accelerations of the centres: a = Z x, J Z = 0, Z^T M Z x = -Z^T g; M, g, J are Pinocchio's."""
    import yaml

    model = pin.buildModelFromUrdf(str(path))
    model.gravity.linear = np.array(m.gravity)
    data, q, v = model.createData(), pin.neutral(model), np.zeros(model.nv)
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    g = pin.rnea(model, data, q, v, v)
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    at = {
        n: model.joints[model.getJointId(n)].idx_v for n in model.names if model.existJointName(n)
    }
    for r in m.rotors:
        for name in (r.joint, f"{r.joint} travel", *(f"{r.joint} {c}" for c in "xyz")):
            if name in at:
                M[at[name], at[name]] += r.inertia + r.mass
    reported, rows = yaml.safe_load(path.with_suffix(".yaml").read_text()), []
    for (a, b), kind in zip(reported["closed_loop"], reported["type"], strict=True):
        # all at rest: world directions, and the same place for both
        J = [
            pin.getFrameJacobian(
                model,
                data,
                model.getFrameId(n, pin.FrameType.BODY),
                pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
            )
            for n in (a, b)
        ]
        rows.append((J[0] - J[1])[: 6 if kind == "6d" else 3])
    for c in m.couplings:
        row = np.zeros((1, model.nv))
        names = [n if n in at else f"{n} travel" for n in (c.joint, c.other)]
        row[0, at[names[0]]], row[0, at[names[1]]] = 1.0, -c.ratio
        rows.append(row)
    J = np.vstack(rows) if rows else np.zeros((0, model.nv))
    # the motions that the rows allow, by their directions alone: masses may range over many decades
    # (rows that hold nothing, of planar loops, are rounding alone)
    norms = np.linalg.norm(J, axis=1)
    J = J[norms > 1e-9 * norms.max(initial=0.0)]
    J = J / np.linalg.norm(J, axis=1, keepdims=True)
    _, values, rows = np.linalg.svd(J)
    Z = rows[int(np.sum(values > 1e-9)) :].T
    A = Z.T @ M @ Z
    s = 1.0 / np.sqrt(np.diag(A))
    a = Z @ (s * np.linalg.solve(s[:, None] * A * s, -s * (Z.T @ g)))
    pin.forwardKinematics(model, data, q, v, a)
    out = {}
    for body in m.bodies:
        joint = frame_of(pin, model, body.name).parentJoint
        spatial = data.oMi[joint].act(data.a[joint])
        out[body.name] = spatial.linear + np.cross(spatial.angular, np.array(body.center))
    return out


def compare_series(found):
    """Motion and forces against the stored series."""
    m, series = found.mechanism, found.series
    if len(series.times) < 2:
        return ["no motion is stored"]
    times = series.times - series.times[0]
    result = sarrus.simulate(
        m, float(times[-1]), output_step=float(times[-1]) / (len(times) - 1), dense=True
    )
    if result.status != "done":
        return [f"ours stops at {result.times[-1]:.3g} s: {result.message}"]
    result, size = result.at(times), size_of(m)
    far, wide = 0.0, 0.0
    for path, columns in series.columns.items():
        name = found.report.paths.get(path)
        if "Bryantx" not in columns or name is None or f"{name} origin" not in result.points:
            continue
        theirs = np.column_stack([columns[c] for c in "XYZ"])
        far = max(far, float(np.abs(result.position(f"{name} origin") - theirs).max()))
        if name in {b.name for b in m.bodies}:
            turns = series.turns(path)
            ours = result.orientation(name)
            # both from the start, as ours counts
            moved = turns @ turns[0].T
            wide = max(wide, float(np.abs(ours @ ours[0].T - moved).max()))
    return [f"{far / size:.1e}", f"{wide:.1e}", *compare_forces(found, result)]


def compare_forces(found, result):
    """Forces of joints on their first part: largest difference where ours are unique, and where shared."""
    e = result.reactions
    ends = {j.name: j.ends[0].body for j in found.mechanism.joints}
    unique = shared = largest = 0.0
    worst, seen = "", 0
    for path, columns in found.series.columns.items():
        name = found.report.paths.get(path)
        if "FXonI" not in columns or name not in ends:
            continue
        seen += 1
        theirs = np.column_stack([columns[f"F{c}onI"] for c in "XYZ"])
        ours = e.of(name, ends[name])
        off = np.abs(ours.force - theirs)
        largest = max(largest, float(np.abs(theirs).max()))
        if ours.force_unique.any() and off[ours.force_unique].max() > unique:
            unique, worst = float(off[ours.force_unique].max()), name
        if not ours.force_unique.all():
            shared = max(shared, float(off[~ours.force_unique].max()))
    if not seen:
        return ["-", "-"]
    return [
        f"{unique:.1e} N of {largest:.3g} N" + (f" ({worst})" if worst else ""),
        f"{shared:.2g} N",
    ]


def try_file(place, file, seconds, looped):
    """The row of one file; None if it has no loop and only these are wanted."""
    name = f"{file.parent.name}/{file.name}"
    row = Row(name)
    try:
        found = read(file)
    except sarrus.MechanismError as error:
        row.rejected = str(error)
        return row
    m = found.mechanism
    seen = sarrus.inspect(m)
    if looped and not (m.couplings or seen.redundant_motion or len(m.joints) > len(m.bodies)):
        return None
    closing = " ".join(found.report.closing)
    gap = re.search(r"the largest gap is (\S+) m, (\S+) rad", closing)
    moved = re.search(r"moved by at most (\S+) m .*? turned by at most (\S+) rad", closing)
    is_open = "authored pose is open" in closing
    count = seen.count
    free = falling(m)
    try:
        word, violation, drift, result = move(free, seconds)
        violation = f"{violation:.0e}"
        if result.status != "done":
            row.notes.append(result.message)
        if drift > 1e-8 and word != "at rest":
            row.notes.append(f"DRIFT {drift:.1e}")
    except sarrus.MechanismError as error:
        word, violation = "-", "-"
        row.notes.append(str(error))
    loops = len(m.joints) > len(m.bodies) or m.couplings
    try:
        reference = pinocchio(m, seen.redundant_motion) if loops else ""
    except (sarrus.MechanismError, RuntimeError, ValueError, KeyError) as error:
        reference = "-"
        row.notes.append(f"against Pinocchio: {type(error).__name__}: {str(error)[:150]}")
    bridged = re.search(r": (\S+) m \(radians times the size\) is bridged", closing)
    row.cells = [
        f"{len(m.bodies)}, {len(m.joints)}" + (f", {len(m.couplings)}" if m.couplings else ""),
        f"{gap[1]} m, {gap[2]} rad" if gap and is_open else "closed",
        (f"{moved[1]} m, {moved[2]} rad" if moved else "")
        + (f" (bridged {bridged[1]} m)" if bridged else ""),
        f"{count}, {seen.mobility_motion}, {seen.redundant_motion}",
        str(found.report.believed),
        violation,
        word,
        reference,
    ]
    if found.series is not None:
        try:
            row.series = compare_series(found)
        except sarrus.MechanismError as error:
            row.series = [str(error)]
    return row


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("places", nargs="+")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--looped", action="store_true", help="only files with loops or couplings")
    settings = parser.parse_args()
    files, aside = find(settings.places)
    heads = "file | bodies, joints, couplings | authored gap | largest move | count, mobility, redundant"
    print(f"| {heads} | file's count | violation | drift | against Pinocchio |", flush=True)
    print("|---" * 9 + "|")
    rows = []
    for place, file in files:
        begin = time.perf_counter()
        row = try_file(place, file, settings.seconds, settings.looped)
        if row is None:
            continue
        rows.append(row)
        took = f"({time.perf_counter() - begin:.1f} s)"
        if row.rejected:
            print(f"refused: {row.rejected} {took}", flush=True)
        else:
            print(f"| {row.name} | " + " | ".join(row.cells) + f" | {took}", flush=True)
        for note in row.notes:
            print(f"    {row.name}: {note}", flush=True)
    stored = [row for row in rows if row.series]
    if stored:
        print("\n| file | motion, over the size | turns | forces where unique | where shared |")
        print("|---|---|---|---|---|")
        for row in stored:
            print(f"| {row.name} | " + " | ".join(row.series) + " |")
    rejected = [row for row in rows if row.rejected]
    print(
        f"\n{len(rows) - len(rejected)} of {len(rows)} load; {aside} files hold no model of their own"
    )
    for row in rejected:
        print(f"- {row.rejected}")


if __name__ == "__main__":
    main()
