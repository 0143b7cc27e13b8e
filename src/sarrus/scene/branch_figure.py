"""The branches through a configuration as a figure: paths of points along each of them.

With two or three points, an additional panel shows the travel of one against that of the others: there branches
cross, touch or reverse (a cusp) as they do in configuration space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from .draw import new_shown_figure

if TYPE_CHECKING:
    from ..model import Model

# number of points if none are named, and of points whose travels are drawn together
CHOSEN, MOST_PANELS = 2, 3
# largest number of intervals between ticks
TICKS = 5
# a path shorter than this fraction of the longest is a point
STILL = 1e-6


def draw_branches(model: Model, q: Floats, paths: list[Floats], points: tuple[str, ...]) -> Any:
    """One panel per point with its path along every branch, and one for two or three points together.

    paths: displacements of the coordinates.
    """
    names = list(points) or distinguishing_points(model, paths)
    together = 1 < len(names) <= MOST_PANELS and bool(paths)
    panels = max(len(names), 1) + together
    page = new_shown_figure(figsize=(3.4 * panels + 0.6, 3.4), layout="constrained")
    spatial = model.dimension == 3
    for k, name in enumerate(names):
        axes = page.add_subplot(1, panels, k + 1, projection="3d" if spatial else None)
        for i, path in enumerate(paths):
            places = point_path(model, q, name, path)
            axes.plot(*places.T, marker=".", ms=3, lw=1.4, color=f"C{i % 10}", label=f"{i + 1}")
        here = point_path(model, q, name, np.zeros((1, len(q))))
        axes.plot(*here.T, "o", color="black", ms=4)
        axes.set_title(name, fontsize=9)
        _label(axes, [f"{axis} [m]" for axis in "xyz"[: model.dimension]])
        if not spatial:
            axes.set_aspect("equal", adjustable="datalim")
    if together:
        _draw_together(page, panels, names, [travels(model, name, paths) for name in names])
    if names and paths:
        page.axes[0].legend(title="branch", fontsize=7, title_fontsize=7)
    return page


def _draw_together(page: Any, panels: int, names: list[str], travel: list[list[Floats]]) -> None:
    """One panel for all points: the travel of each is a coordinate."""
    spatial = len(names) == 3
    axes = page.add_subplot(1, panels, panels, projection="3d" if spatial else None)
    for i, together in enumerate(zip(*travel, strict=True)):
        axes.plot(*together, marker=".", ms=3, lw=1.4, color=f"C{i % 10}")
    axes.plot(*([0.0] for _ in names), "o", color="black", ms=4)
    _label(axes, [f"travel of {name} [m]" for name in names])
    axes.set_title(" and ".join((", ".join(names[:-1]), names[-1])), fontsize=9)


def _label(axes: Any, labels: list[str]) -> None:
    """Labels of the axes, and so few ticks that their numbers do not overlap."""
    for axis, label in zip("xyz", labels, strict=False):
        getattr(axes, f"set_{axis}label")(label, fontsize=7)
        axes.locator_params(axis=axis, nbins=TICKS)
    axes.tick_params(labelsize=7)


def distinguishing_points(model: Model, paths: list[Floats]) -> list[str]:
    """Names of points whose travels distinguish the branches.

    The first one moves most. The travel of the next deviates most from a multiple of that of the first, as it does
    where branches cross, part or turn back.
    """
    names = moving_points(model, paths)
    chosen = names[:1]
    known = [np.concatenate(travels(model, name, paths)) for name in chosen]
    while known and len(chosen) < CHOSEN:
        A = np.column_stack(known)
        left = {}
        for name in names:
            if name not in chosen:
                x = np.concatenate(travels(model, name, paths))
                left[name] = float(np.abs(x - A @ np.linalg.lstsq(A, x, rcond=None)[0]).max())
        if not left:
            break
        chosen.append(max(left, key=lambda name: left[name]))
        known.append(np.concatenate(travels(model, chosen[-1], paths)))
    return chosen


def travels(model: Model, name: str, paths: list[Floats]) -> list[Floats]:
    """Travel of a point along each path, in the direction of its largest displacement over all paths [m]."""
    moved = [path @ model.point_rows(name).toarray().T for path in paths]
    along = np.linalg.svd(np.vstack(moved), full_matrices=False)[2][0]
    along = along * np.copysign(1.0, along[np.argmax(np.abs(along))])
    return [np.asarray(rows @ along) for rows in moved]


def point_path(model: Model, q: Floats, name: str, path: Floats) -> Floats:
    """World positions of a point along displacements of the coordinates, shape (rows, dimension) [m]."""
    return np.asarray(model.origin(name) + (q + path) @ model.point_rows(name).toarray().T)


def moving_points(model: Model, paths: list[Floats]) -> list[str]:
    """Names of the points that move on a branch, those that move most first, without bodies."""
    bodies = set(model.body_rows.names)
    reach = {
        name: max(
            (
                float(np.ptp(path @ model.point_rows(name).toarray().T, axis=0).max())
                for path in paths
            ),
            default=0.0,
        )
        for name in model.points
        if name not in bodies
    }
    longest = max(reach.values(), default=0.0)
    moving = [name for name, size in reach.items() if size > STILL * longest > 0.0]
    return sorted(moving, key=lambda name: -reach[name])
