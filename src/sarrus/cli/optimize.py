"""`sarrus optimize`: runs the optimisation of a file, in a folder from which it can be resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from .. import optimisation
from ..disk import made_folder
from ..mechanism.files import to_data, to_text
from ..outputs import check_outputs, write_output
from .screen import Screen

STATE, PAGE, MODEL = "state.json", "optimum.html", "best.yaml"


def optimize(
    study: Annotated[
        str, typer.Argument(help="Optimisation file (YAML; see `sarrus schema --optimize`).")
    ],
    out: Annotated[
        Path, typer.Option(help="Folder of the results; an optimisation in it is resumed.")
    ],
) -> None:
    """Optimise the mechanism of a file; write the model best.yaml and the page optimum.html.

    Exit status 0 if an optimum was found, 1 if not.
    """
    screen = Screen(stderr=True)
    loaded = optimisation.optimisation_file.load_optimisation(study)
    with made_folder(out), screen.progress(Path(study).name) as turn_to:
        check_outputs(out, (PAGE, MODEL))

        def show(state: optimisation.optimise.OptimisationProgress) -> None:
            turn_to(
                f"search {state.search} of {state.searches}, {state.evaluations} runs, best {state.best:.6g}"
            )

        found = optimisation.optimise.run_optimisation(
            loaded.problem,
            starts=loaded.starts,
            seed=loaded.seed,
            method=loaded.method,
            most_iterations=loaded.most_iterations,
            state=out / STATE,
            progress=show if screen.is_terminal else None,
        )
    write_output(out / PAGE, optimisation.result_page.make_page(found))
    write_output(out / MODEL, to_text(to_data(found.mechanism)))
    console = Screen()
    for line in str(found).splitlines():
        console.print(Text(line), soft_wrap=True, highlight=False)
    console.print(Text(f"files: {out}/{MODEL}, {out}/{PAGE}"), soft_wrap=True)
    if not found.success:
        raise typer.Exit(1)
