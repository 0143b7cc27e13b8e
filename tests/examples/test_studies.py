"""The studies of examples/ and of docs/sweeps.md, some of their runs in this process."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from sarrus.mechanism.files.model_reader import read_document
from sarrus.studies.runs import run_one
from sarrus.studies.sampling import count_runs, draw_samples
from sarrus.studies.study_reader import load_study, read_study

EXAMPLES = Path(__file__).parents[2] / "examples"


def rows_of(name, numbers):
    study = load_study(EXAMPLES / name)
    drawn = draw_samples(study)
    return [run_one(study.plan, i, drawn.row(study.plan.columns, i))[0] for i in numbers]


@pytest.mark.slow
def test_the_swing_follows_from_the_dead_centres():
    """Coupler l, crank r, base d: C swings by 2 l r / d along the base; forces grow towards Grashof's limit."""
    rows = rows_of("crank_length.yaml", (0, 10, 20))
    for row in rows:
        assert row["status"] == "done"
        # the cubic between outputs 2 ms apart: (h w)^4/384 of about 1 m
        assert row["swing"] == pytest.approx(2 * 1.3 * row["bodies.crank.length"], abs=1e-9)
    forces = [row["crank pin"] for row in rows]
    assert forces[2] > 10 * forces[1] > 50 * forces[0] / 10


@pytest.mark.slow
def test_larger_errors_lock_bricard_earlier():
    """With 0.1 mm of play it goes all the way at 0.003 deg, and hardly at all at 1 deg."""
    fine, rough = rows_of("bricard_errors.yaml", (0, 1)), rows_of("bricard_errors.yaml", (250, 251))
    for row in (*fine, *rough):
        assert row["verdict"].startswith("locked")
    assert min(row["reach"] for row in fine) > 2.9
    assert max(row["reach"] for row in rough) < 1.0
    # the misfit is linear in the errors: 1 / 0.003, for other random numbers of the same size
    ratio = np.mean([r["misfit"] for r in rough]) / np.mean([r["misfit"] for r in fine])
    assert 30 < ratio < 3000


@pytest.mark.slow
def test_a_study_in_python():
    """Example 4: faster starts pass the flat configuration more often, and no run fails."""
    table = runpy.run_path(str(EXAMPLES / "05_sweep.py"))["main"]()
    assert (table["status"] == "done").all()
    assert table["passes"].iloc[-1] > table["passes"].iloc[0] > 0


@pytest.mark.slow
def test_the_study_of_the_docs_runs():
    """With the count of runs it names, and none of those that are tried is rejected."""
    text = (EXAMPLES.parent / "docs" / "sweeps.md").read_text(encoding="utf-8")
    example = text.split('```yaml title="examples/everything.yaml"\n')[1].split("```")[0]
    study = read_study(read_document(example, "docs"), EXAMPLES)
    assert count_runs(study) == 240
    drawn = draw_samples(study)
    rows = [run_one(study.plan, i, drawn.row(study.plan.columns, i))[0] for i in (0, 100, 239)]
    assert [row["status"] for row in rows] == ["done"] * 3
