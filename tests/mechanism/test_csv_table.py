"""Measured data as a drive: columns, units, smoothing, and what is wrong with a file."""

import numpy as np
import pytest

import sarrus


def write(folder, text):
    """A file with this text."""
    path = folder / "measured.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_units_names_and_numbers(tmp_path):
    """Columns by name with units in their headers, or by number without headers; semicolons and tabs too."""
    rows = [(1000 + 10 * k, 2.0 * k, 90 * k) for k in range(6)]
    body = "\n".join(",".join(map(str, row)) for row in rows)
    named = write(tmp_path, f"t [ms],force,angle (deg)\n{body}\n")
    table = sarrus.Table.from_csv(named, time="t", value="angle")
    np.testing.assert_allclose(table.times, 0.01 * np.arange(6), atol=1e-15)
    np.testing.assert_allclose(table.values, np.pi / 2 * np.arange(6), rtol=1e-15)
    bare = write(tmp_path, body.replace(",", ";"))
    table = sarrus.Table.from_csv(bare, value=1)
    assert table.values == (0, 2, 4, 6, 8, 10)
    assert table.times[1] == 10


def test_exact_data_drive_a_mechanism(tmp_path):
    """A table of a cubic drives a joint along the cubic: the spline is exact."""
    t = np.linspace(0, 1, 11)
    x = 0.2 * t**3 - 0.1 * t
    lines = "\n".join(f"{a!r},{b!r}" for a, b in zip(t.tolist(), x.tolist(), strict=True))
    m = sarrus.Mechanism(gravity=(0, 0))
    m.body("bob", 1, (1, 0))
    m.revolute("A", m.ground, "bob", at=(0, 0))
    m.drive("motor", "A", sarrus.Table.from_csv(write(tmp_path, lines)))
    result = sarrus.simulate(m, 0.9, output_step=0.07)
    s = result.times
    np.testing.assert_allclose(result.angle("A"), 0.2 * s**3 - 0.1 * s, atol=1e-12)


def test_noise_is_smoothed_by_as_much_as_is_said(tmp_path):
    """The mean square distance from the data is noise^2, and the second derivative is that of the signal."""
    rng, noise = np.random.default_rng(1), 1e-3
    t = np.linspace(0, 2, 401)
    x = np.sin(2 * t) + noise * rng.normal(size=len(t))
    lines = "\n".join(f"{a!r},{b!r}" for a, b in zip(t.tolist(), x.tolist(), strict=True))
    path = write(tmp_path, lines)
    smooth = np.array(sarrus.Table.from_csv(path, noise=noise).values)
    assert np.sqrt(np.mean((smooth - x) ** 2)) == pytest.approx(noise, rel=0.05)
    raw = np.abs(np.diff(x, 2)).max() / (t[1] - t[0]) ** 2
    after = np.abs(np.diff(smooth, 2)[5:-5] / (t[1] - t[0]) ** 2 + 4 * np.sin(2 * t[6:-6])).max()
    assert sarrus.Table.from_csv(path, noise="1 mm").values == tuple(smooth)
    for wrong in ("1 s", "much", -1, None):
        with pytest.raises(sarrus.MechanismError, match="give the standard deviation"):
            sarrus.Table.from_csv(path, noise=wrong)
    # a drive begins where its joint is, measured values do not
    shifted = sarrus.Table.from_csv(path, noise=noise, start="2 mm").values
    np.testing.assert_allclose(shifted, smooth - smooth[0] + 2e-3, atol=1e-15)
    m = sarrus.Mechanism(gravity=(0, 0))
    m.body("bob", 1, (1, 0))
    m.revolute("A", m.ground, "bob", at=(0, 0))
    with pytest.raises(sarrus.MechanismError, match=r"shift the values \(from_csv: start=0\)"):
        m.drive("motor", "A", sarrus.Table.from_csv(path, noise=noise))
    m.drive("motor", "A", sarrus.Table.from_csv(path, noise=noise, start=0))
    assert sarrus.simulate(m, 1.0).success
    with pytest.raises(sarrus.MechanismError, match="start '1 s' is not an angle or a length"):
        sarrus.Table.from_csv(path, start="1 s")
    # second differences of the noise are a hundred times the signal
    assert raw > 50
    assert after < 2


BAD = {
    "0,1\n1,2\n1,3\n2,4\n": "do not increase at row 3",
    "0,1\n1,2\n": "needs four or more",
    "t,x\n0,1\n1,a\n2,3\n3,4\n": "give numbers",
    "": "is empty",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_files_are_named(tmp_path, text):
    """Each has one sentence with the file and the place."""
    with pytest.raises(sarrus.MechanismError, match=BAD[text]):
        sarrus.Table.from_csv(write(tmp_path, text))


def test_unknown_columns_and_missing_files_are_named(tmp_path):
    """With the names there are."""
    path = write(tmp_path, "t [s],angle [deg]\n0,1\n")
    with pytest.raises(sarrus.MechanismError, match="did you mean 'angle'"):
        sarrus.Table.from_csv(path, value="angel")
    with pytest.raises(sarrus.MechanismError, match="cannot be read"):
        sarrus.Table.from_csv(tmp_path / "nothing.csv")
