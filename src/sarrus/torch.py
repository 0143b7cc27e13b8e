"""Runs as differentiable functions of PyTorch (extra: sarrus[torch]).

    f = sarrus.torch.run(m, ["bodies.crank.mass"], ["B0.x"], duration=1.0)
    p = torch.tensor(f.start, requires_grad=True)
    f(p)[-1, 0].backward()

Runs are computed by Sarrus on the host. Second derivatives do not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import sensitivities
from .mechanism import Mechanism

try:
    import torch
    from torch.autograd.function import once_differentiable
except ModuleNotFoundError as error:
    raise ImportError(
        "sarrus.torch needs PyTorch; install it with `pip install 'sarrus[torch]'`"
    ) from error


class _Run(torch.autograd.Function):
    """Values of a run, and the product of a gradient and its Jacobian."""

    @staticmethod
    def forward(context: Any, x: Any, made: Any) -> Any:
        context.made = made
        context.save_for_backward(x)
        return x.new_tensor(made.values(x.detach().cpu().numpy()))

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Any) -> Any:
        (x,) = context.saved_tensors
        jacobian = x.new_tensor(context.made.jacobian(x.detach().cpu().numpy()))
        return torch.einsum("nk,nkp->p", gradient, jacobian), None


def run(
    mechanism: Mechanism | Callable[..., Mechanism],
    parameters: Sequence[str] | Mapping[str, float],
    quantities: str | Sequence[str],
    duration: float,
    **settings: Any,
) -> Any:
    """Make a differentiable function of PyTorch: values of parameters (p,) to quantities (outputs, quantities).

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

    def run_of(x: Any) -> Any:
        return _Run.apply(torch.as_tensor(x), made)

    run_of.start = made.start  # type: ignore[attr-defined]
    return run_of


__all__ = ["run"]
