"""Cart-pole with a light cart: a problem proposed to the IFToMM library by N. Parsons."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..mechanism import Mechanism
from .problem import Angle, Figure, Limits, Panel, Problem, Read, with_options
from .references.light_cart_pole import cart_pole_angle, cart_pole_reference

CART, BOB, LENGTH = 1e-6, 1.0, 1.0


def make_mechanism(name: str) -> Mechanism:
    """Make a cart of 1 mg on a level rail with a 1 kg bob on a massless pole of 1 m, horizontal, at rest."""
    m = Mechanism(name, gravity=(0.0, -9.81))
    cart = m.body("cart", CART, (0, 0))
    bob = m.body("bob", BOB, (LENGTH, 0))
    m.point("C", cart, at=(0, 0))
    m.prismatic("rail", m.ground, cart, at=(0, 0), axis=(1, 0))
    m.revolute("hinge", cart, bob, at=(0, 0))
    return m


@with_options()
def make_light_cart_pole() -> Problem:
    """Make the cart-pole with a light cart."""
    return Problem(
        id="light-cart-pole",
        title="Cart-pole, light cart",
        library="proposed to IFToMM",
        source="N. Parsons, light-cartpole-benchmark, proposed to the IFToMM benchmark library",
        note="the mass matrix is all but singular upright: within 1 microsecond the pole turns round",
        version=1,
        duration=10.0,
        output_step=0.01,
        limits=Limits(rms=1e-6, path=0.05),
        observed="C",
        columns=("t", "x", "angle", "vx", "rate", "energy"),
        figures=(
            Figure(
                "figure-1-cart-and-pole",
                "Cart and pole",
                (Panel("x [m]", ("x",)), Panel("pole [rad]", ("angle",))),
            ),
            Figure("figure-2-energy", "Energy drift", (Panel("energy drift [J]", ("energy",)),)),
        ),
        build=lambda: make_mechanism("light cart-pole"),
        exact=cart_pole_reference,
        angle=Angle(_read_pole, cart_pole_angle),
    )


def _read_pole(place: Read, velocity: Read) -> tuple[Floats, Floats]:
    """Return the angle of the pole from the downward vertical, and its rate."""
    arm = place("bob") - place("cart")
    rate = velocity("bob") - velocity("cart")
    return np.arctan2(arm[:, 0], -arm[:, 1]), (
        arm[:, 0] * rate[:, 1] - arm[:, 1] * rate[:, 0]
    ) / LENGTH**2
