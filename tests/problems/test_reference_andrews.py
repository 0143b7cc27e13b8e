"""Quadrature of Andrews' squeezer against the IVP test set, published curves, mpmath and Lagrange."""

import mpmath as mp
import numpy as np
import pytest

from sarrus.problems.andrews_squeezer import START, START_IVP
from sarrus.problems.references import andrews_squeezer as andrews
from sarrus.problems.references.andrews_squeezer import (
    squeezer_angle,
    squeezer_energy,
    squeezer_pose,
    squeezer_reference,
)

# the solution of the IVP test set at 0.03 s (PSIDE, tolerance 1e-14; file Ex_andrews.f of deTestSet):
# seven angles, their rates, their accelerations, six multipliers
IVP_Q = [
    15.81077119629904,
    -15.75637105984298,
    0.04082224013073101,
    -0.5347301163226948,
    0.5244099658805304,
    0.5347301163226948,
    1.048080741042263,
]
IVP_V = [
    1139.920302151208,
    -1424.379294994111,
    11.03291221937134,
    19.29337464421385,
    0.5735699284790808,
    -19.29337464421385,
    0.3231791658026955,
]
IVP_A = [
    -24631.76316945196,
    51850.37701610329,
    324102.5686413781,
    566749.3645176213,
    16743.62929479361,
    -566749.3645176222,
    9826.520791458422,
]
IVP_LAM = [
    199.1753333731910,
    -29.75531228015052,
    23.06654119098399,
    31.45271365475927,
    22.64249232082739,
    11.61740700019673,
]

# rows t, Fx and t, Fy of the published A03 curve, recovered from a figure, six digits
A03_X = np.array([[0.0015, 0.00699279], [0.049, 0.00124692], [0.05, -0.00515899]])
A03_Y = np.array([[0.0005, -0.00042130], [0.0495, 0.00668980], [0.05, 0.00473127]])


def angles(beta):
    """The seven angles of the test set at crank angles; theta counts against beta."""
    p = squeezer_pose(beta)
    link = np.angle((p.F - p.E) * np.exp(-1j * np.asarray(beta)))
    theta = link - 2 * np.pi * np.round((link + beta) / (2 * np.pi))
    gamma = np.angle(1j * (p.E - andrews.B))
    delta = np.angle(p.G - andrews.A)
    phi = np.angle(1j * (p.E - p.G)) - delta
    epsilon = np.angle(1j * (p.H - andrews.A))
    omega = np.angle(p.E - p.H) - epsilon
    return np.array([beta, theta, gamma, phi, delta, omega, epsilon])


def rates(beta, h=3e-3):
    """First and second derivative of the angles by beta, differences of order eight."""
    offsets = np.arange(-4, 5)
    first = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) / 840.0
    second = np.array([-9, 128, -1008, 8064, -14350, 8064, -1008, 128, -9]) / 5040.0
    q = np.array([angles(beta + k * h) for k in offsets]).T
    return q @ first / h, q @ second / h**2


def test_start_of_the_test_set():
    """The consistent start of the test set: angles, accelerations, and the libraries' points."""
    expected = [
        START_IVP,
        0.0,
        0.455279819163070380255912382449,
        0.222668390165885884674473185609,
        0.487364979543842550225598953530,
        -0.222668390165885884674473185609,
        1.23054744454982119249735015568,
    ]
    np.testing.assert_allclose(angles(START_IVP), expected, atol=2e-15)
    # beta'' = tau / m at rest, where the spring does not turn the crank
    assert andrews.TORQUE / squeezer_energy(START_IVP)[0] == pytest.approx(
        14222.4439199541138705911625887, rel=1e-13
    )
    # E and G at -0.0620 rad, from the assembled model of MBDyn, twelve decimals
    pose = squeezer_pose(START)
    assert abs(pose.E - (-0.020960022568 + 0.001295169085j)) < 1e-12
    assert abs(pose.G - (-0.033997203916 + 0.016461971731j)) < 1e-12


def test_solution_of_the_test_set():
    """Angles and rates at 0.03 s: nine digits of beta and all others to what that error leaves."""
    beta, rate = (x[0] for x in squeezer_angle([0.03], START_IVP))
    # requested: nine digits; the published value is stated to be accurate to about 1e-9
    assert abs(beta - IVP_Q[0]) < 2e-9
    # at the published beta itself the other six have all their digits
    np.testing.assert_allclose(angles(IVP_Q[0]), IVP_Q, atol=5e-14)
    first, _ = rates(IVP_Q[0])
    # epsilon' changes by 9 1/s per rad: errors of 1e-9 rad show
    np.testing.assert_allclose(first * rate, IVP_V, rtol=1e-8, atol=2e-8)


def test_accelerations_and_multipliers_of_the_test_set():
    """Lagrange's equations in all seven angles give the published accelerations and multipliers."""
    beta, rate = IVP_Q[0], IVP_V[0]
    first, second = rates(beta)
    h = 1e-4
    (m0, V0), (m1, V1) = squeezer_energy(beta - h), squeezer_energy(beta + h)
    m, _ = squeezer_energy(beta)
    load = andrews.TORQUE - (V1 - V0) / (2 * h) - 0.5 * (m1 - m0) / (2 * h) * rate**2
    a = first * load / m + second * rate**2
    # algebraic variables of the test set: they follow its angles by some 1e-6
    np.testing.assert_allclose(a, IVP_A, rtol=2e-6)
    lam = multipliers(np.array(IVP_Q), np.array(IVP_V), np.array(IVP_A))
    # the published accelerations have 1e-9 of themselves
    np.testing.assert_allclose(lam, IVP_LAM, rtol=1e-6)


def multipliers(q, v, a):
    """Lam of G^T lam = f - d/dt dT/dv + dT/dq, from the test set's own formulas by central differences."""

    def points(q):
        b, th, g, ph, de, om, ep = q
        F = andrews.RR * np.exp(1j * b)
        w3, w5, w7 = -1j * np.exp(1j * g), np.exp(1j * de), -1j * np.exp(1j * ep)
        w4, w6 = -1j * np.exp(1j * (ph + de)), np.exp(1j * (om + ep))
        A, B = andrews.A, andrews.B
        centers = [
            andrews.RA * np.exp(1j * b),
            F - andrews.DA * np.exp(1j * (b + th)),
            B + (andrews.SA + 1j * andrews.SB) * w3,
            A + andrews.ZT * w5 + (andrews.E - andrews.EA) * w4,
            A + (andrews.TA + 1j * andrews.TB) * w5,
            A + andrews.U * w7 + (andrews.ZF - andrews.FA) * w6,
            A + (andrews.UA - 1j * andrews.UB) * w7,
        ]
        E = F - andrews.D * np.exp(1j * (b + th))
        loops = [E - B - andrews.SS * w3, E - A - andrews.E * w4 - andrews.ZT * w5]
        loops.append(E - A - andrews.ZF * w6 - andrews.U * w7)
        D = B + (andrews.SC + 1j * andrews.SD) * w3
        spring = 0.5 * andrews.STIFFNESS * (abs(D - andrews.C) - andrews.FREE_LENGTH) ** 2
        turns = [b, b + th, g, ph + de, de, om + ep, ep]
        return np.array(centers), np.array(loops), spring, np.array(turns)

    def along(pick, t):
        return pick(points(q + v * t + 0.5 * a * t * t))

    # acceleration of every centre along the motion; times of 1e-7 s turn the crank by 1e-4 rad
    t = 1e-6
    weights = np.array([-9, 128, -1008, 8064, -14350, 8064, -1008, 128, -9]) / 5040.0 / t**2
    path = np.array([along(lambda p: p[0], k * t) for k in range(-4, 5)])
    acceleration = weights @ path
    spin = np.array([a[0], a[0] + a[1], a[2], a[3] + a[4], a[4], a[5] + a[6], a[6]])
    h = 1e-3
    stencil = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) / 840.0 / h
    G, Q = np.zeros((6, 7)), np.zeros(7)
    for j in range(7):
        steps = [points(q + k * h * np.eye(7)[j]) for k in range(-4, 5)]
        center, loop, spring, turn = (
            sum(w * s[i] for w, s in zip(stencil, steps, strict=True)) for i in range(4)
        )
        inertia = np.array(andrews.MASSES) * (acceleration.conj() * center).real
        Q[j] = -spring - inertia.sum() - np.array(andrews.INERTIAS) @ (spin * turn)
        G[:, j] = np.column_stack([loop.real, loop.imag]).ravel()
    Q[0] += andrews.TORQUE
    lam, *_ = np.linalg.lstsq(G.T, Q, rcond=None)
    # seven equations, six unknowns: they agree
    assert np.abs(G.T @ lam - Q).max() < 1e-8
    return lam


def test_published_a03_curve():
    """F at -0.0620 rad agrees within half of the last digit of the published curve."""
    x = squeezer_reference(A03_X[:, 0], START)[:, 0]
    y = squeezer_reference(A03_Y[:, 0], START)[:, 1]
    assert np.abs(x - A03_X[:, 1]).max() < 6e-9
    assert np.abs(y - A03_Y[:, 1]).max() < 6e-9


@pytest.mark.slow
def test_time_by_mpmath():
    """Thirty-digit quadrature over beta gives the time back at 0.01 and 0.05 s."""
    with mp.workdps(30):
        for t in (0.01, 0.05):
            beta = mp.mpf(float(squeezer_angle([t], START)[0][0]))
            rate = 1.1e3
            # F moves with 0.007 beta': 1e-10 m are 1.3e-11 s
            assert abs(exact_time(beta) - mp.mpf(t)) * rate < 1e-10


def exact_time(beta):
    """Time from rest at -0.0620 rad to beta by Gauss-Legendre quadrature in u = sqrt(beta - beta0)."""
    cut = {name: mp.mpf(getattr(andrews, name)) for name in ("TORQUE", "STIFFNESS", "FREE_LENGTH")}
    beta0 = mp.mpf(START)

    def meet(a, ra, b, rb, side):
        way = b - a
        square = abs(way) ** 2
        along = (1 + (mp.mpf(ra) ** 2 - mp.mpf(rb) ** 2) / square) / 2
        return a + (along + 1j * side * mp.sqrt(mp.mpf(ra) ** 2 / square - along**2)) * way

    def dot(a, b):
        return mp.re(mp.conj(a) * b)

    A, B, C = (mp.mpc(x) for x in (andrews.A, andrews.B, andrews.C))
    n = andrews

    def energy(b):
        F = n.RR * mp.expj(b)
        E = meet(F, n.D, B, n.SS, 1)
        G, H = meet(A, n.ZT, E, n.E, 1), meet(A, n.U, E, n.ZF, -1)
        F1 = 1j * F
        g1 = dot(E - F, F1) / dot(E - F, 1j * (E - B))
        E1 = 1j * (E - B) * g1
        d1 = dot(E - G, E1) / dot(E - G, 1j * (G - A))
        e1 = dot(E - H, E1) / dot(E - H, 1j * (H - A))
        G1, H1 = 1j * (G - A) * d1, 1j * (H - A) * e1
        moves = [
            (mp.mpf(n.RA) / n.RR * F1, 1),
            (F1 + mp.mpf(n.DA) / n.D * (E1 - F1), dot(1j * (E - F), E1 - F1) / mp.mpf(n.D) ** 2),
            (mp.mpc(n.SA, n.SB) / n.SS * E1, g1),
            (
                G1 + (mp.mpf(n.E) - n.EA) / n.E * (E1 - G1),
                dot(1j * (E - G), E1 - G1) / mp.mpf(n.E) ** 2,
            ),
            (mp.mpc(n.TA, n.TB) / n.ZT * G1, d1),
            (
                H1 + (mp.mpf(n.ZF) - n.FA) / n.ZF * (E1 - H1),
                dot(1j * (E - H), E1 - H1) / mp.mpf(n.ZF) ** 2,
            ),
            (mp.mpc(n.UA, -n.UB) / n.U * H1, e1),
        ]
        inertia = sum(
            m * abs(x) ** 2 + i * w**2
            for m, i, (x, w) in zip(n.MASSES, n.INERTIAS, moves, strict=True)
        )
        D = B + mp.mpc(n.SC, n.SD) / n.SS * (E - B)
        return inertia, cut["STIFFNESS"] / 2 * (abs(D - C) - cut["FREE_LENGTH"]) ** 2

    V0 = energy(beta0)[1]

    def slope(u):
        m, V = energy(beta0 + u * u)
        return 2 * u * mp.sqrt(m / (2 * (cut["TORQUE"] * u * u + V0 - V)))

    end = mp.sqrt(beta - beta0)
    # some radians a piece
    pieces = int(beta) + 2
    nodes = [end * mp.sqrt(mp.mpf(k) / pieces) for k in range(pieces + 1)]
    return mp.quad(slope, nodes, method="gauss-legendre", maxdegree=4)


def test_energy_balance():
    """m beta'^2 / 2 + V - tau (beta - beta0) stays zero over 0.1 s, and beta' is the rate of beta."""
    t = np.linspace(0.0, 0.1, 301)
    beta, rate = squeezer_angle(t, START)
    m, V = squeezer_energy(beta)
    V0 = squeezer_energy(START)[1]
    balance = 0.5 * m * rate**2 + V - V0 - andrews.TORQUE * (beta - START)
    # energies up to 3 J; m changes by three of itself a radian
    assert np.abs(balance).max() < 1e-12
    h = 1e-7
    later, earlier = squeezer_angle(t[1:-1] + h, START)[0], squeezer_angle(t[1:-1] - h, START)[0]
    # second-order differences; beta'' is up to 1e7
    np.testing.assert_allclose((later - earlier) / (2 * h), rate[1:-1], rtol=1e-4)


def test_backwards():
    """From rest the motion is the same backwards."""
    there, back = squeezer_reference([0.02, -0.02], START)
    np.testing.assert_allclose(back, there * [1, 1, -1, -1], rtol=1e-15)
