"""Runs as functions of JAX and PyTorch, against differences; skipped where these are not installed."""

import subprocess
import sys

import numpy as np
import pytest

import sarrus

TIMES = np.linspace(0.0, 0.6, 4)


def pendulum(length=0.8, mass=2.0):
    """A rod that starts at 0.4 rad."""
    m = sarrus.Mechanism("pendulum", gravity=(0, -9.81))
    end = np.array([length * np.sin(0.4), -length * np.cos(0.4)])
    rod = m.rod("rod", (0, 0), end, mass=mass)
    m.revolute("A", m.ground, rod, at=(0, 0))
    m.point("tip", rod, at=end)
    return m


def values(length, mass):
    run = sarrus.simulate(pendulum(length, mass), 0.6, outputs=TIMES, tolerance=1e-12)
    return np.column_stack([run.quantity("tip.x").values, run.quantity("kinetic energy").values])


def expected():
    """Central differences by both parameters, (outputs, quantities, 2): exact to 1e-9."""
    h = 1e-4
    found = [
        (values(0.8 + a * h, 2.0 + b * h) - values(0.8 - a * h, 2.0 - b * h)) / (2 * h)
        for a, b in ((1, 0), (0, 1))
    ]
    return np.stack(found, axis=-1)


ARGUMENTS = (pendulum, {"length": 0.8, "mass": 2.0}, ["tip.x", "kinetic energy"], 0.6)


def test_jax_agrees_with_differences():
    """Values, forward and reverse Jacobians, jit and vmap."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    import sarrus.jax

    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        f = sarrus.jax.run(*ARGUMENTS, outputs=TIMES)
        x = jax.numpy.asarray(f.start)
        np.testing.assert_allclose(f(x), values(0.8, 2.0), atol=1e-9)
        np.testing.assert_allclose(jax.jacfwd(f)(x), expected(), atol=1e-6)
        np.testing.assert_allclose(jax.jit(jax.jacrev(f))(x), expected(), atol=1e-6)
        both = jax.vmap(f)(jax.numpy.stack([x, 1.1 * x]))
        np.testing.assert_allclose(both[1], values(0.88, 2.2), atol=1e-9)


def test_torch_agrees_with_differences():
    """Values and gradients of every output, and the check of PyTorch itself."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    import sarrus.torch

    f = sarrus.torch.run(*ARGUMENTS, outputs=TIMES)
    x = torch.tensor(f.start, requires_grad=True)
    np.testing.assert_allclose(f(x).detach(), values(0.8, 2.0), atol=1e-9)
    found = torch.autograd.functional.jacobian(f, x)
    np.testing.assert_allclose(found, expected(), atol=1e-6)
    assert torch.autograd.gradcheck(f, (x,), eps=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jax", "torch"])
def test_missing_package_is_named(name):
    """Without the package the import says what to install, and importing sarrus alone does not need it."""
    code = f"import sys; sys.modules[{name!r}] = None; import sarrus; import sarrus.{name}"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert f"sarrus[{name}]" in found.stderr


def test_common_part_without_either_package():
    """The function that both use: values and Jacobian of a mechanism by a path, and wrong sizes."""
    from sarrus.sensitivities.differentiable_run import DifferentiableRun

    made = DifferentiableRun(
        pendulum(), ["bodies.rod.mass"], "kinetic energy", 0.6, {"outputs": TIMES}
    )
    assert made.shape == (4, 1)
    # the kinetic energy is proportional to the mass
    np.testing.assert_allclose(
        2.0 * made.jacobian(made.start)[:, :, 0], made.values(made.start), atol=1e-9
    )
    with pytest.raises(ValueError, match="give 1 numbers"):
        made.values([1.0, 2.0])
