"""The designer's card of a report: for driven mechanisms only, with the numbers of `sarrus.design`."""

import sarrus
from sarrus.report.run_page import make_report
from sarrus.runs.run_folder import load_run, save_simulation


def page_of(m, folder):
    """The report of a short run."""
    result = sarrus.simulate(m, 0.2, output_step=0.01)
    save_simulation(folder, m, result, ["B"], "model", "a script")
    return make_report([load_run(folder)])


def test_driven_mechanisms_have_a_card(tmp_path):
    """Every line of the design is on the page; a mechanism that swings freely has no card."""
    m = sarrus.Mechanism("crank-rocker", gravity=(0, -9.81))
    m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
    assert "Design: over a cycle" not in page_of(m, tmp_path / "free")
    m.drive("motor", "A", sarrus.Polynomial([0, 10.0]))
    page = page_of(m, tmp_path / "driven")
    assert "Design: over a cycle" in page
    for line in str(sarrus.design(m)).splitlines()[1:]:
        assert line in page
