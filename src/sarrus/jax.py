"""Runs as differentiable functions of JAX (extra: sarrus[jax]).

    f = sarrus.jax.run(m, ["bodies.crank.mass"], ["B0.x"], duration=1.0)
    jax.grad(lambda p: f(p)[-1, 0])(f.start)

Runs are computed by Sarrus on the host; JAX calls them back, also inside jit, grad, jacfwd, jacrev and vmap.
Without jax.config.update("jax_enable_x64", True) JAX keeps seven digits of them. Second derivatives do not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import sensitivities
from .mechanism import Mechanism

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError as error:
    raise ImportError(
        "sarrus.jax needs JAX; install it with `pip install 'sarrus[jax]'`"
    ) from error


def run(
    mechanism: Mechanism | Callable[..., Mechanism],
    parameters: Sequence[str] | Mapping[str, float],
    quantities: str | Sequence[str],
    duration: float,
    **settings: Any,
) -> Any:
    """Make a differentiable function of JAX: values of parameters (p,) to quantities (outputs, quantities).

    Parameters
    ----------
    mechanism : Mechanism or callable
        The mechanism, or a function of the parameters that builds it.
    parameters : sequence of str, or mapping
        Paths of the model file; for a function its arguments with their start values.
    quantities : str or sequence of str
        Names as for `Result.quantity`: "B0.x", "motor torque".
    duration : float
        Duration of the run [s].
    **settings
        Further arguments of `simulate`, as `output_step`.

    Returns
    -------
    callable
        The function; its `start` are the values of the parameters as given.
    """
    make = sensitivities.differentiable_run.DifferentiableRun
    made = make(mechanism, parameters, quantities, duration, settings)
    count = len(made.parameters)

    def call(function: Callable[..., Any], shape: tuple[int, ...], x: Any) -> Any:
        kind = jnp.zeros(0).dtype
        wanted = jax.ShapeDtypeStruct(shape, kind)
        return jax.pure_callback(
            lambda p: np.asarray(function(p), dtype=kind), wanted, x, vmap_method="sequential"
        )

    @jax.custom_jvp
    def values(x: Any) -> Any:
        return call(made.values, made.shape, x)

    @values.defjvp
    def tangents(primals: Any, rates: Any) -> Any:
        (x,), (dx,) = primals, rates
        jacobian = call(made.jacobian, (*made.shape, count), x)
        return values(x), jnp.einsum("nkp,p->nk", jacobian, dx)

    def run_of(x: Any) -> Any:
        return values(jnp.asarray(x, dtype=jnp.zeros(0).dtype))

    run_of.start = made.start  # type: ignore[attr-defined]
    return run_of


__all__ = ["run"]
