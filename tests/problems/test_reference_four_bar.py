"""Closed form of the N four-bar against published numbers, mpmath and its own equation."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarrus.problems.references.n_four_bar import flat_times, four_bar_reference

# independent computation of the exact solution, ten decimals (benchmark atlas, section 2)
TABLE = {
    (2, 10.0): (0.3284581115, 0.9445185382, 1.4230514702, -0.4948688455),
    (2, 20.0): (0.8397465743, 0.5429785364, 1.8382226443, -2.8429137891),
    (40, 10.0): (0.1805122267, 0.9835727406, 1.1484412775, -0.2107700668),
    (40, 20.0): (0.4109011537, 0.9116799010, 1.5667853719, -0.7061622356),
}

# rows t, x, y of A02_solution_data.txt (MBS Benchmark A02, MSC.ADAMS/Solver 2003, 2005-07-20)
A02_ROWS = np.array(
    [
        [1.0, -0.115357, -0.993324],
        [5.0, -0.540191, -0.841543],
        [10.0, 0.180513, 0.983573],
        [15.0, -0.999878, -0.0156064],
        [20.0, 0.410902, 0.911679],
    ]
)

# central difference of order eight for a first derivative
OFFSETS = np.array([-4, -3, -2, -1, 1, 2, 3, 4])
WEIGHTS = np.array([3, -32, 168, -672, 672, -168, 32, -3]) / 840.0

signs = st.sampled_from([-1.0, 1.0])
speeds = st.builds(lambda e, s: s * 10.0**e, st.floats(-2.0, 1.4771), signs)
instants = st.floats(0.0, 100.0)
window_counts = st.integers(1, 200)


def stiffness(windows, gravity=9.81, length=1.0):
    """Return k of theta'' = k sin(theta)."""
    return gravity / length * ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)


def exact_row(t, windows, speed, gravity=9.81, length=1.0):
    """Evaluate the closed form with mpmath, from the binary values of the inputs."""
    t, speed, gravity, length = map(mp.mpf, (t, speed, gravity, length))
    w = speed / length
    k = gravity / length * (mp.mpf(windows + 1) / 2 + windows) / (mp.mpf(windows + 1) / 3 + windows)
    a = mp.sqrt(w * w / 4 + k)
    m = k / a**2
    quarter = mp.ellipk(m)
    u = a * t - quarter
    # 2 K changes the signs of sn and cn together, which leaves theta alone
    u -= 2 * quarter * mp.nint(u / (2 * quarter))
    sn, cn, dn = (mp.ellipfun(name, u, m=m) for name in ("sn", "cn", "dn"))
    sine, cosine, rate = -2 * sn * cn, 1 - 2 * cn * cn, 2 * a * dn
    side = mp.sign(speed)
    return [
        side * length * sine,
        length * cosine,
        side * length * rate * cosine,
        -length * rate * sine,
    ]


def distance(row, exact):
    """Largest difference, subtracted before rounding to double."""
    return max(abs(float(mp.mpf(float(x)) - y)) for x, y in zip(row, exact, strict=True))


@pytest.mark.parametrize(("windows", "t"), list(TABLE))
def test_atlas_table(windows, t):
    """The tabulated values come out, to their rounding at 10 s and their drift at 20 s."""
    row = four_bar_reference([t], windows)[0]
    # elliptic functions and a Taylor series in mpmath both put the table off by 1.8e-10 at 20 s
    assert np.abs(row - TABLE[windows, t]).max() < (0.6e-10 if t == 10.0 else 2e-10)


def test_published_a02_file():
    """Rows of the published A02 file agree within the error stated for that file, 4.1e-6."""
    rows = four_bar_reference(A02_ROWS[:, 0], 40)
    assert np.abs(rows[:, :2] - A02_ROWS[:, 1:]).max() < 4.1e-6


@pytest.mark.parametrize(
    ("windows", "first", "period"),
    # independent computation, twelve decimals (benchmark atlas, section 2)
    [(2, 0.714355529293, 1.942514922607), (40, 0.721581024826, 1.965601928705)],
)
def test_atlas_flat_times(windows, first, period):
    """The first flat time and the period match the twelve decimals of the atlas."""
    times = flat_times(windows, 3.0)
    assert abs(times[0] - first) < 0.6e-12
    # two rounded decimals and the spacing of two entries
    assert abs(times[2] - times[0] - period) < 0.6e-12


@pytest.mark.parametrize("speed", [0.01, 0.3, 1.0, -5.0, 30.0])
@pytest.mark.parametrize("windows", [1, 2, 40, 1000])
def test_closed_form_mpmath(windows, speed):
    """Forty-digit elliptic functions agree to a few roundings of the largest speed."""
    times = [0.0, 0.7, 3.1, 17.3, 99.9]
    rows = four_bar_reference(times, windows, speed)
    fastest = np.sqrt(speed**2 + 4.0 * stiffness(windows))
    with mp.workdps(40):
        exact = [exact_row(t, windows, speed) for t in times]
        worst = max(map(distance, rows, exact))
    # 16 roundings; a time error of 1e-13 s would already show at the fast speeds
    assert worst < 16 * np.finfo(float).eps * max(fastest, 1.0)


def test_closed_form_other_units():
    """Gravity and length enter with their exact binary values."""
    row = four_bar_reference([42.0], 7, -0.4, gravity=1.62, length=0.3, mass=2.5)[0]
    with mp.workdps(40):
        assert distance(row, exact_row(42.0, 7, -0.4, 1.62, 0.3)) < 1e-14


@pytest.mark.parametrize(("windows", "speed"), [(2, 1.0), (40, 0.05), (3, 20.0)])
def test_time_quadrature(windows, speed):
    """The time integral of 1/theta' up to the returned angle gives the time back."""
    t = 0.3
    x, y, *_ = four_bar_reference([t], windows, speed)[0]
    with mp.workdps(30):
        k = mp.mpf(stiffness(windows))
        angle = mp.atan2(mp.mpf(float(x)), mp.mpf(float(y))) % (2 * mp.pi)
        # the fast case has gone through whole turns already
        turn, part = (
            mp.quad(lambda th: 1 / mp.sqrt(mp.mpf(speed) ** 2 + 2 * k * (1 - mp.cos(th))), ends)
            for ends in ([0, mp.pi, 2 * mp.pi], [0, angle / 2, angle])
        )
        turns = mp.nint((t - part) / turn)
        # slow starts divide the rounding of x by the crank rate of about 0.05
        assert abs(turns * turn + part - mp.mpf(t)) < 2e-14


@given(windows=window_counts, speed=speeds, t=instants)
def test_energy_identity(windows, speed, t):
    """B0 stays on its circle, moves along it, and keeps the energy of the pendulum."""
    x, y, vx, vy = four_bar_reference([t], windows, speed)[0]
    energy = speed**2 + 2.0 * stiffness(windows) * (1.0 - y)
    # all are one-line identities of rounded numbers: some 20 roundings of the largest term
    scale = 5e-15 * (speed**2 + 4.0 * stiffness(windows))
    assert abs(x * x + y * y - 1.0) < 5e-15
    assert abs(x * vx + y * vy) < 5e-15 * (1.0 + np.sqrt(speed**2 + 4.0 * stiffness(windows)))
    assert abs(vx * vx + vy * vy - energy) < scale


@given(windows=window_counts, speed=speeds, t=instants)
def test_mirror_symmetry(windows, speed, t):
    """Reversing the start speed mirrors x exactly; reversing time does so up to rounding."""
    row = four_bar_reference([t], windows, speed)[0]
    mirrored = four_bar_reference([t], windows, -speed)[0]
    assert np.array_equal(mirrored, row * [-1, 1, -1, 1])
    reversed_time = four_bar_reference([-t], windows, speed)[0]
    assert np.abs(reversed_time - row * [-1, 1, 1, -1]).max() < 1e-14 * (7.0 + abs(speed))


@pytest.mark.parametrize(("windows", "speed"), [(2, 1.0), (40, -1.0), (5, 4.0)])
def test_equation_of_motion(windows, speed):
    """Eighth-order differences of position and velocity give velocity and acceleration."""
    h = 4e-3
    centres = np.linspace(0.5, 20.0, 37)
    stencil = (centres[:, None] + h * OFFSETS).ravel()
    rows = four_bar_reference(stencil, windows, speed).reshape(centres.size, 8, 4)
    slopes = np.einsum("j,ijk->ik", WEIGHTS, rows) / h
    x, y, vx, vy = four_bar_reference(centres, windows, speed).T
    # theta'' = k x acts along the tangent (y, -x), theta'^2 towards the pin
    rate2 = vx**2 + vy**2
    acceleration = [stiffness(windows) * x * y - rate2 * x, -stiffness(windows) * x * x - rate2 * y]
    # truncation (theta' h)^8 theta'/630 and rounding of t (2e-15) and of values over h
    tolerance = 2e-11 * (1.0 + rate2.max())
    assert np.abs(slopes[:, :2] - np.column_stack([vx, vy])).max() < tolerance
    assert np.abs(slopes[:, 2:] - np.column_stack(acceleration)).max() < tolerance


@given(windows=window_counts, speed=speeds, duration=st.floats(0.0, 100.0))
def test_flat_times_are_the_flat_positions(windows, speed, duration):
    """At every listed time y vanishes with alternating slope, and no flat configuration is left out."""
    times = flat_times(windows, duration, speed)
    assert np.all((times > 0.0) & (times <= duration))
    y, vy = four_bar_reference(times, windows, speed)[:, [1, 3]].T
    # one rounding of a time near 100 is 1.4e-14
    assert np.all(np.abs(y) < 3e-14 * np.abs(vy))
    assert np.all(vy[0::2] < 0.0)
    assert np.all(vy[1::2] > 0.0)
    # the sign of y at the end states the parity of the number of flat times
    y_end, vy_end = four_bar_reference([duration], windows, speed)[0, [1, 3]]
    if abs(y_end) > 1e-12 * (1.0 + abs(vy_end)):
        assert (y_end > 0.0) == (times.size % 2 == 0)


def test_flat_times_count():
    """Two flat configurations belong to each turn of the tabulated period."""
    # 20 s hold ten turns of 1.965601928705 s and 0.344 s more, less than the first flat time
    assert flat_times(40, 20.0).size == 20


@pytest.mark.parametrize("speed", [0.01, 1.0, 30.0])
def test_flat_times_mpmath(speed):
    """The last flat time within 100 s is right to two spacings of doubles."""
    last = flat_times(2, 100.0, speed)[-1]
    with mp.workdps(40):
        _, y, _, vy = exact_row(last, 2, speed)
        assert abs(y / vy) < 3e-14


def test_equilibrium_stays():
    """Without a start speed nothing moves and nothing becomes flat."""
    rows = four_bar_reference([0.0, 1.0, 50.0], 2, 0.0, length=0.7)
    assert np.array_equal(rows, np.tile([0.0, 0.7, 0.0, 0.0], (3, 1)))
    assert flat_times(2, 100.0, 0.0).size == 0


def test_without_gravity():
    """Without gravity the cranks turn evenly."""
    t = np.linspace(0.0, 30.0, 61)
    x, y, vx, vy = four_bar_reference(t, 3, 0.5, gravity=0.0).T
    # the argument 15 of the sine is rounded by 2e-15
    np.testing.assert_allclose([x, y], [np.sin(0.5 * t), np.cos(0.5 * t)], atol=5e-15)
    np.testing.assert_allclose([vx, vy], [0.5 * y, -0.5 * x], atol=1e-15)


@pytest.mark.parametrize("bad", [{"windows": 0}, {"gravity": -1.0}, {"length": 0.0}])
def test_rejects_nonsense(bad):
    """Inputs outside the turning motion are rejected with a sentence."""
    with pytest.raises(ValueError, match="windows >= 1"):
        four_bar_reference([1.0], **({"windows": 2} | bad))
