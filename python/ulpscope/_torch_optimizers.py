# SPDX-License-Identifier: Apache-2.0
"""Optimizers of torch as those of the laboratory."""
import torch

from . import _core

_KNOWN = {torch.optim.SGD: "sgd", torch.optim.Adam: "adam", torch.optim.AdamW: "adamw"}
if hasattr(torch.optim, "Muon"):
    _KNOWN[torch.optim.Muon] = "muon"
_ITERATION = (3.4445, -4.7750, 2.0315, 1e-7)  # Muon's coefficients, and what its norm is at least: its authors' and torch's


def settings_of(optimizer, weights, word, recipe):
    """A function that gives a parameter group's kind and settings as the laboratory has them; where it has no such optimizer the
    optimizer's name. Raises ulpscope.Error there where the recipe's weights are not `word`, in which torch would leave them."""
    kind = _KNOWN.get(type(optimizer))
    unknown = None if kind else type(optimizer).__name__
    if kind and any(group.get("amsgrad") for group in optimizer.param_groups):
        unknown = f"{type(optimizer).__name__} with amsgrad"
    if kind == "muon" and any((*group["ns_coefficients"], group["eps"]) != _ITERATION for group in optimizer.param_groups):
        unknown = "Muon with another iteration"
    if unknown and weights != word:
        known = ", ".join(sorted({one.__name__ for one in _KNOWN}))
        raise _core.Error(f"emulate: {unknown} is no optimizer of recipes, and {_core.visible(recipe)} stores weights in {weights}; there are {known}")
    if unknown:
        return unknown

    def of_group(group):
        keys = ("lr", "momentum", "dampening", "nesterov", "weight_decay", "eps", "ns_steps")
        found = {key: float(group[key]) for key in keys if key in group}
        if "betas" in group:
            found["beta1"], found["beta2"] = (float(beta) for beta in group["betas"])
        if kind == "muon":
            found.pop("eps")  # of the norm that the iteration begins with
            found["match_rms_adamw"] = float(group["adjust_lr_fn"] == "match_rms_adamw")
        return "adamw" if kind == "adam" and group.get("decoupled_weight_decay") else kind, found

    return of_group


#: torch's names of moments, by kind
_MOMENTS = {"sgd": {"first": "momentum_buffer"}, "muon": {"first": "momentum_buffer"}}
_OF_ADAM = {"first": "exp_avg", "second": "exp_avg_sq"}


def _names_of(kind):
    return {**_MOMENTS.get(kind, _OF_ADAM), "compensation": "compensation"}


def take_moments(state, kind, kept, numbers_of):
    """Fills a state of the laboratory from torch's own of a weight: what another block, torch itself or a checkpoint left there."""
    found = {name: kept[key] for name, key in _names_of(kind).items() if kept.get(key) is not None}
    for name, moment in found.items():
        setattr(state, name, numbers_of(moment).reshape(-1))
    state.steps = int(kept["step"]) if "step" in kept else int("first" in found)


def give_moments(state, kind, kept, weight):
    """The other way: they are in the optimizer's state_dict(), and torch can go on from them."""
    for name, key in _names_of(kind).items():
        moment = torch.from_numpy(getattr(state, name))
        if moment.numel() == weight.numel():
            kept[key] = moment.reshape(weight.shape).to(weight.device)
    if kind not in _MOMENTS:
        kept["step"] = torch.tensor(float(state.steps))


def has_closure(args, kwargs):
    """Whether optimizer.step(), of whose hooks these are the arguments, was given a closure."""
    return kwargs.get("closure", args[1] if len(args) > 1 else None) is not None


def unscaled(optimizer, gradient):
    """The gradient, divided by the scale that a loss scaler gave to an optimizer that divides by itself (`fused`)."""
    scale = getattr(optimizer, "grad_scale", None)
    return gradient if scale is None else gradient / scale
