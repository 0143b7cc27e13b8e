"""Every number of a report and of the workbench against the API, for random driven linkages."""

import base64
import json
import re

import numpy as np
import pytest

import sarrus
from sarrus.mechanism import to_data
from sarrus.report.run_page import make_report
from sarrus.runs.run_folder import load_run, save_simulation
from sarrus.workbench.answers import Desk

DURATION, STEP = 0.2, 0.02


def random_linkage(seed):
    """A driven crank and two dyads on random pins, with a plate, a spring, and perhaps a slider."""
    rng = np.random.default_rng(seed)
    m = sarrus.Mechanism(f"random {seed}", gravity=(0, -9.81))
    m.point("O", m.ground, rng.uniform(-0.1, 0.1, 2))
    m.crank("A", "crank", "O", length=rng.uniform(0.1, 0.2), angle=rng.uniform(0, 6), mass=0.3)
    for k, name in enumerate("BC"):
        m.point(f"G{k}", m.ground, rng.uniform(-0.6, 0.6, 2))
        start = "A" if k == 0 else str(rng.choice(["A", "P"]))
        links = (f"link {k}", f"lever {k}")
        points = {"P": (links[0], 0.5, rng.uniform(0.6, 0.9))} if k == 0 else {}
        if k and rng.uniform() < 0.5:
            turn = rng.uniform(0, 6)
            axis = (np.cos(turn), np.sin(turn))
            m.dyad(name, links, (start, "G1"), lengths=[2], kind="RP", axis=axis, mass=0.5)
        else:
            m.dyad(name, links, (start, f"G{k}"), lengths=[0.8, 0.9], mass=0.5, points=points)
    m.spring(
        "tie", m.ground, "crank", start=(1, 1), end=next(j.at for j in m.joints if j.name == "A")
    )
    m.drive("motor", "O", sarrus.Polynomial([0, rng.uniform(1, 3)]))
    return m


def unpack(text, kind):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def quantity(result, name, unit):
    """A quantity by the name of its column, in the unit shown."""
    words = name.replace("drive ", "")
    found = result.quantity(words)
    found = found.in_degrees() if unit.startswith("deg") else found
    assert found.unit == unit
    return found.values


def assert_shown(shown, wanted, digits):
    """Alike to so many digits of the largest value; rounding is shown as zero."""
    scale = max(np.abs(wanted).max(), 1e-3)
    np.testing.assert_allclose(shown, wanted, rtol=0, atol=10.0**-digits * scale)


def check_columns(values, result):
    """What a click on a part shows, single precision."""
    np.testing.assert_array_equal(unpack(values["times"], "<f8"), result.times)
    for column, packed in values["columns"].items():
        name, unit = re.fullmatch(r"(.*) \[(.*)\]", column).groups()
        assert_shown(unpack(packed, "<f4"), quantity(result, name, unit), 6)
    assert {n for names in values["items"].values() for n in names} <= set(values["columns"])


def curves_of(figure):
    """Quantity, owner, unit, and both coordinates of each curve: the head of its panel names quantity and unit."""
    layout = figure["layout"]
    for trace in figure["traces"]:
        top = layout[trace["axis"].replace("y", "yaxis", 1)]["domain"][1]
        head = min(layout["annotations"], key=lambda a, top=top: abs(a["y"] - top))["text"]
        word, unit = re.fullmatch(r"(.*) \[(.*)\]", head).groups()
        yield word, trace["name"], unit, unpack(trace["x"], "<f8"), unpack(trace["y"], "<f8")


def is_accuracy(figure):
    """Whether a figure shows the accuracy of the method, which is tested elsewhere."""
    heads = " ".join(a["text"] for a in figure["layout"]["annotations"])
    return "drift" in heads or "step" in heads


def check_figures(figures, result):
    """The curves over time: a panel is a quantity or a point, a curve its owner or axis."""
    count, joints = 0, {joint.name for joint in result.mechanism.joints}
    for figure in figures:
        for word, owner, unit, x, y in curves_of(figure):
            if owner in ("x", "y"):
                name = f"{word}.{owner}"
            elif word == "energy":
                name = owner
            elif owner.split(" on ")[0] in joints:
                name = f"{owner}.{ {'force': 'F', 'moment': 'M'}.get(word, word) }"
            else:
                name = f"{owner}.{word}"
            np.testing.assert_allclose(x, result.times)
            assert_shown(y, quantity(result, name, unit), 9)
            count += 1
    return count


def check_design(figures, found):
    """The plots over the coordinate of the drive."""
    columns, count = found.columns(), 0
    drive = np.degrees(found.input)
    for figure in figures:
        for word, owner, unit, x, y in curves_of(figure):
            names = [f"{owner}.{word}", f"shaking {word} {owner}", word]
            name = next((c for n in names for c in columns if c.startswith(f"{n} [")), None)
            wanted = found.output_values(owner) if name is None else columns[name]
            wanted = np.degrees(wanted) if unit == "deg" else wanted
            assert unit == "deg" or name is None or name.endswith(f" [{unit}]")
            np.testing.assert_array_equal(x, drive)
            shown = np.isfinite(y)
            # advantages next to limit positions are left out
            assert shown.mean() > 0.5
            assert_shown(y[shown], wanted[shown], 9)
            count += 1
    return count


def check_tiles(tiles, result):
    """The headlines: three digits of the range of the drive, and of the largest reaction and speed."""
    found = [(value, what) for value, what in tiles if not what.startswith("tie")]
    for value, what in found:
        numbers = [
            float(x) for x in re.findall(r"[-\d.e+]+(?= )", value.replace("\N{MINUS SIGN}", "-"))
        ]
        if what.startswith("motor: "):
            unit = "W" if value.endswith("W") else "N m"
            values = quantity(result, what.replace(": ", "."), unit)
            wanted = [values.min(), values.max()]
        else:
            words, _, part = what.partition(", ")
            word = "F" if "reaction" in words else "speed"
            wanted = [quantity(result, f"{part.split(' ', 1)[1]}.{word}", value.split()[-1]).max()]
        np.testing.assert_allclose(numbers, wanted, rtol=6e-3, atol=1e-9)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_numbers_of_pages(tmp_path, seed):
    """Values and curves of all parts, headlines, sentences and plots of the design."""
    m = random_linkage(seed)
    result = sarrus.simulate(m, DURATION, output_step=STEP)
    assert result.status == "done"
    save_simulation(tmp_path, m, result, ["P"], "model", "a script")
    page = make_report([load_run(tmp_path)])
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    check_columns(data["scenes"][0]["values"], result)
    found = sarrus.design(m)
    for line in str(found).splitlines():
        assert line.replace("'", "&#x27;") in page
    timed = [figure for figure in data["figures"] if figure["time"]]
    assert check_figures([f for f in timed if not is_accuracy(f)], result) > 20
    assert check_design([f for f in data["figures"] if not f["time"]], found) > 5
    tiles = re.findall(r'class="tile"><b>(.*?)</b><span>(.*?)</span>', page)
    assert len(check_tiles(tiles, result)) > 3
    # the workbench chooses its outputs
    desk, question = Desk(), {"data": to_data(m), "duration": DURATION, "full": True}
    answer = desk.solve(question)
    times = unpack(answer["picture"]["values"]["times"], "<f8")
    result = sarrus.simulate(m, DURATION, outputs=times)
    check_columns(answer["picture"]["values"], result)
    assert check_figures(answer["figures"], result) > 20
    assert len(check_tiles(answer["tiles"], result)) > 3
    answer = desk.design(question)
    assert answer["lines"] == str(found).splitlines()
    assert check_design(answer["figures"], found) > 5
