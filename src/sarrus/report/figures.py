"""The figures of a problem's source, drawn from a result."""

from __future__ import annotations

import io
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Floats
from ..disk import write_file
from ..outputs import new_output, new_outputs
from ..problems import Figure, Problem
from ..result import Result
from ..runs.run_folder import MOST_POINTS
from ..scene.draw import new_figure
from ..scene.notebook_view import SMALLEST


def load_early() -> None:
    """Load matplotlib in another thread: it takes about as long as compiling the kernels of a first run."""
    threading.Thread(
        target=import_module, args=("matplotlib.backends.backend_agg",), daemon=True
    ).start()


def save_figures(folder: Path, problem: Problem, result: Result) -> list[Path]:
    """Draw the figures as PNG; returns their paths."""
    columns = problem.result_columns(result)
    references = problem.reference_columns(result.times)
    with new_outputs(folder) as stage:
        for figure, name in zip(problem.figures, figure_names(problem), strict=True):
            height = max(3.5, 0.9 + 1.75 * len(figure.panels))
            page = new_figure(figsize=(7.0, height), layout="constrained")
            _draw(page, figure, columns, references, result.method)
            page.suptitle(f"{problem.title}: {figure.title}", fontsize=11)
            save_page(stage / name, page)
    return [folder / name for name in figure_names(problem)]


def figure_names(problem: Problem) -> list[str]:
    """The file names of a problem's figures."""
    return [f"{figure.name}.png" for figure in problem.figures]


def save_page(path: Path, page: Any) -> None:
    """Write a matplotlib figure as PNG, atomically from memory."""
    content = io.BytesIO()
    page.savefig(content, format="png", dpi=150)
    write_file(path, content.getvalue())


def save_motion_figure(path: Path, result: Result, names: list[str]) -> None:
    """Draw the mechanism next to the named quantities over time, the energy drift and the violation."""
    shown = [] if set(names) >= set(result.drawn_points) else names[:MOST_POINTS]
    with new_output(path) as half:
        save_page(half, result.plot(*shown))


def _draw(
    page: Any,
    figure: Figure,
    columns: dict[str, Floats],
    references: dict[str, Floats],
    method: str,
) -> None:
    times = columns["t"]
    shown = times <= figure.until if figure.until is not None else np.ones(len(times), bool)
    all_axes = page.subplots(len(figure.panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(all_axes, figure.panels, strict=True):
        for name in panel.columns:
            if name in references:
                # the exact solution is drawn below, wide and grey, as in the sources
                label = "exact" if name == panel.columns[0] else None
                axes.plot(times[shown], references[name][shown], color="0.78", lw=4, label=label)
        for name in panel.columns:
            values = columns[name][shown]
            if panel.log:
                values = np.maximum(values, SMALLEST)
            label = name if len(panel.columns) > 1 else method if name in references else None
            axes.plot(times[shown], values, lw=1.1, label=label)
        if panel.log:
            axes.set_yscale("log")
        axes.set_ylabel(panel.label)
        axes.grid(alpha=0.3, lw=0.5)
        axes.margins(x=0.01)
        if axes is all_axes[0] and axes.get_legend_handles_labels()[0]:
            # above the axes, because curves may fill the inside
            axes.legend(
                loc="lower right", bbox_to_anchor=(1.0, 0.99), fontsize=8, ncols=4, frameon=False
            )
    all_axes[-1].set_xlabel("time [s]")
