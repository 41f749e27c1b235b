# SPDX-License-Identifier: Apache-2.0
"""Looking on while a model of torch is trained."""
import math
import os
import warnings
from typing import Any, Union

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from . import Table
from ._requests import whole
from ._safetensors import Writer
from ._torch_functions import tensors_of
from ._torch_optimizers import has_closure

_NOT_FINITE = 2199  # the bin of infinities and NaN; bin 0 is that of zeros, the others are those of binades


def _bins(x, least):
    """The bin of each number: its binade's exponent less `least`."""
    if x.dtype == torch.float64:
        exponents = torch.frexp(x)[1] - 1
        zero, finite = x == 0, x.isfinite()
    else:  # from the bits, which is many times faster; subnormals are made normal first
        small = x.abs() < 2.0**-126
        bits = torch.where(small, x * 2.0**24, x).view(torch.int32) >> 23 & 255
        exponents = bits - torch.where(small, 127 + 24, 127).to(torch.int32)
        zero, finite = bits == 0, bits != 255
    return torch.where(finite, (exponents - least).masked_fill(zero, 0), _NOT_FINITE)


def _counted(x, least):
    """How many numbers are in each bin, and the largest finite magnitude; on the tensor's device."""
    if x.dtype == torch.float32 and x.device.type == "cpu":  # few passes, where there are neither subnormals nor infinities
        binades = torch.bincount((x.view(torch.int32) >> 23 & 255).flatten(), minlength=256)
        if not binades[255] and (not binades[0] or binades[0] == x.numel() - torch.count_nonzero(x)):
            bins = torch.zeros(_NOT_FINITE + 1, dtype=torch.int64)
            bins[0] = binades[0]
            bins[1 - 127 - least : 255 - 127 - least] = binades[1:255]
            return bins, torch.stack(torch.aminmax(x)).abs().max()
    bins = torch.bincount(_bins(x, least).flatten(), minlength=_NOT_FINITE + 1)
    return bins, torch.where(x.isfinite(), x, 0).abs().max()


def _below_half_ulp(before, now, fraction_bits, least_exponent):
    """How many numbers changed, and how many by less than half an ulp of a format with so many bits of fraction and that exponent
    of its least normal numbers."""
    update = (now - before).abs_()
    wanted = torch.count_nonzero(update)
    if before.dtype == torch.float32 and least_exponent >= -126:
        power = ((before.view(torch.int32) >> 23 & 255).clamp_(min=least_exponent + 127) << 23).view(torch.float32)
    else:
        exponent = (torch.frexp(before)[1] - 1).clamp(min=least_exponent)
        power = torch.ldexp(torch.ones_like(before), exponent)
    small = update.mul_(2.0 ** (1 + fraction_bits)) < power
    return wanted, small.sum() - (update.numel() - wanted)


class watch:
    """Looks on while a model is trained, and changes nothing.

        with us.torch.watch(model, every=100, weights="bf16", trace=True, record="gradients.safetensors") as seen:
            train(model)
        seen.table(); seen.binades(); seen.trace("trace.csv")

    Every `every` steps of an optimizer that has the model's weights it counts binades, amax, zeros, infinities and NaN of the inputs,
    weights and gradients of every layer that has weights of its own, and the updates that are below half an ulp of the weight. It
    counts on the tensors' device; nothing is copied to main memory before it is asked for.

    model: a torch.nn.Module.
    every: steps from one look to the next, 1 or more; the steps 0, `every`, ... are looked at.
    weights: the format whose ulp updates are held to.
    trace: the largest gradient of every step, too, for trace().
    scaler: the torch.amp.GradScaler of the run, so that the trace has the steps that it skips; with it there is a trace.
    record: a .safetensors file that gets the parameters' gradients, float32 and unscaled, of the steps that are looked at, named
        STEP/PARAMETER, as `ulpscope scale`, `census` and `sweep` read them. It is written by end().

    end() ends it, as does the end of a `with` block. Raises ulpscope.Error where there is no such format, ValueError where `every`
    is not positive."""

    _LEAST = -1080  # below every exponent of float64

    def __init__(self, model: torch.nn.Module, every: int = 100, weights: str = "bfloat16", trace: bool = False, scaler: Any = None,
                 record: "Union[str, os.PathLike[str], None]" = None) -> None:
        from . import Format

        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"watch: {type(model).__name__} is no torch.nn.Module")
        every = whole(every, "watch: every", 1, ValueError)
        facts = Format(weights)
        self._fraction_bits, self._least_exponent = facts.fraction_bits, 1 - facts.bias
        self.step, self._every, self._counts, self._updates, self._before = 0, every, {}, {}, {}
        self._called = self._warned = False
        self._hooks: "list[Any]" = []
        self._optimizers: "dict[int, Any]" = {}
        self._parameters: "dict[tuple[str, str], Any]" = {}
        self._scaler, self._traces, self._events = scaler, trace or scaler is not None, []  # ("step", amax), ("scale", scale), as they came
        self._recorder = None if record is None else Writer(record)
        for name, module in model.named_modules():
            own = dict(module.named_parameters(recurse=False))
            if not own:
                continue
            name = name.replace("_orig_mod.", "").removesuffix("_orig_mod")  # of torch.compile
            known = {id(p) for p in self._parameters.values()}  # a weight that two layers have is the first one's
            self._parameters.update({(name, key): p for key, p in own.items() if id(p) not in known})
            self._hooks.append(module.register_forward_pre_hook(self._forward(name), with_kwargs=True))
            self._hooks.append(module.register_forward_hook(self._backward(name)))
        if scaler is not None:
            self._hooks.append(model.register_forward_pre_hook(self._look_at_scale))
        self._hooks.append(register_optimizer_step_pre_hook(self._before_step))
        self._hooks.append(register_optimizer_step_post_hook(self._after_step))

    def end(self) -> None:
        """Looks no more; what was counted stays, what was recorded is written."""
        if self._hooks and self._scaler is not None:
            self._look_at_scale()
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        if self._recorder is not None:
            self._recorder.close()

    def __enter__(self) -> "watch":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def trace(self, path: "Union[str, os.PathLike[str], None]" = None) -> Table:
        """A row for every step, looked at or not: `step`, `amax` (the largest magnitude of all unscaled gradients; nan where one of
        them is) and `found_inf` (0 or 1). With `path` it is written there, as CSV: what `ulpscope scale` replays loss scalers on.
        A step that the scaler skipped has the amax inf: what its gradients were is not known. Raises ValueError without `trace` and `scaler`."""
        if not self._traces:
            raise ValueError("watch: there is no trace; watch(model, trace=True) keeps one")
        rows, scale = [], None
        for i, (what, value) in enumerate(self._events):
            number = float(value)
            if what == "step":
                rows.append([len(rows), number, int(not math.isfinite(number))])
            else:
                if scale is not None and number < scale and not any(kind == "step" for kind, _ in self._since_scale(i)):
                    rows.append([len(rows), math.inf, 1])
                scale = number
        table = Table("trace", ["step", "amax", "found_inf"], rows)
        if path is not None:
            table.to_csv(path)
        return table

    def _since_scale(self, index):
        """Events since the scale was looked at last."""
        first = index
        while first > 0 and self._events[first - 1][0] != "scale":
            first -= 1
        return self._events[first:index]

    def table(self) -> Table:
        """A row for each step, layer and place: count, zeros, nonfinite, amax, least and greatest exponent (of powers of two below
        the numbers), and of weights how many updates were wanted, and below half an ulp."""
        rows = []
        for where, (bins, amax) in self._counts.items():
            bins = bins.cpu()
            found = (torch.nonzero(bins[1:_NOT_FINITE]).flatten() + 1 + self._LEAST).tolist()
            ends = [found[0], found[-1]] if found else ["", ""]
            updates = self._updates.get(where, ("", ""))
            rows.append(
                [*where, int(bins.sum()), int(bins[0]), int(bins[_NOT_FINITE]), float(amax), *ends]
                + [one if one == "" else int(one) for one in updates]
            )
        columns = "step layer place count zeros nonfinite amax least_exponent greatest_exponent wanted below_half_ulp"
        return Table("watch", columns.split(), rows)

    def binades(self) -> Table:
        """A row for each step, layer, place and power of two 2^exponent: how many numbers are in [2^exponent, 2^(exponent+1))."""
        rows = []
        for where, (bins, _) in self._counts.items():
            bins = bins.cpu()
            for at in (torch.nonzero(bins[1:_NOT_FINITE]).flatten() + 1).tolist():
                rows.append([*where, at + self._LEAST, int(bins[at])])
        return Table("binades", ["step", "layer", "place", "exponent", "count"], rows)

    @property
    def _looks(self):
        return self.step % self._every == 0 and bool(self._hooks)

    @torch.no_grad()
    def _count(self, layer, place, x):
        if not isinstance(x, torch.Tensor) or not x.is_floating_point() or x.numel() == 0:
            return
        x = x.detach()
        x = x if x.dtype in (torch.float32, torch.float64) else x.float()
        bins, amax = _counted(x, self._LEAST)
        before = self._counts.get((self.step, layer, place))
        if before is not None:  # a layer that is called twice
            bins, amax = bins + before[0], torch.maximum(amax, before[1])
        self._counts[self.step, layer, place] = (bins, amax)

    def _forward(self, name):
        def look(module, inputs, named):
            self._called = True
            if self._looks and torch.is_grad_enabled():
                for x in tensors_of([*inputs, *named.values()]):
                    self._count(name, "input", x)

        return look

    def _backward(self, name):
        def look(module, _, output):
            if self._looks:
                for x in tensors_of(output):
                    if x.requires_grad:
                        x.register_hook(lambda gradient: self._count(name, "grad_output", gradient))

        return look

    def _of(self, optimizer):
        """Those of the model's parameters that the optimizer has."""
        count = sum(len(group["params"]) for group in optimizer.param_groups)
        known = self._optimizers.get(id(optimizer))
        if known is None or known[0] != count:
            own = {id(p) for group in optimizer.param_groups for p in group["params"]}
            known = (count, {where: p for where, p in self._parameters.items() if id(p) in own}, optimizer)
            self._optimizers[id(optimizer)] = known
        return known[1]

    @torch.no_grad()
    def _look_at_scale(self, *_):
        """Between two steps; a scale that shrank with no step of the optimizer is a step that was skipped."""
        scale = getattr(self._scaler, "_scale", None)
        self._event("scale", torch.tensor(self._scaler.get_scale()) if scale is None else scale.detach().clone())

    def _event(self, what, value):
        self._events.append((what, value))
        together = 512  # in one piece of memory, on the device
        if len(self._events) % together == 0:
            last = self._events[-together:]
            values = torch.stack([value.reshape(()).float().to(last[-1][1].device) for _, value in last])
            self._events[-together:] = [(what, values[i]) for i, (what, _) in enumerate(last)]

    @torch.no_grad()
    def _before_step(self, optimizer, args, kwargs):
        if not self._looks and not self._traces:
            return
        own = self._of(optimizer)
        if not own:
            return
        if self._looks:
            for (layer, key), p in own.items():
                self._count(layer, key, p)
                self._before[layer, key] = p.detach().clone()
        if not has_closure(args, kwargs):
            self._look_at_gradients(optimizer, own)

    @torch.no_grad()
    def _look_at_gradients(self, optimizer, own):
        given = [p.grad for p in own.values() if p.grad is not None and not p.grad.is_sparse]
        scale = getattr(optimizer, "grad_scale", None)  # of an optimizer that unscales by itself
        if given and self._traces:
            ends = [torch.stack(torch.aminmax(one)).to(given[0].device, torch.float32) for one in given]
            amax = torch.stack(ends).abs().max()
            self._event("step", amax if scale is None else amax / scale)
        if not self._looks:
            return
        if self._recorder is not None:
            for (layer, key), p in own.items():
                if p.grad is not None:
                    gradient = p.grad if scale is None else p.grad / scale
                    name = f"{layer}.{key}" if layer else key
                    self._recorder.add(f"{self.step}/{name}", gradient.detach().to("cpu", torch.float32).contiguous().numpy())
        for (layer, key), p in own.items():
            if p.grad is not None:
                self._count(layer, "grad_" + key, p.grad)

    def _after_step(self, optimizer, args, kwargs):
        own = self._of(optimizer)
        if not own:
            return
        if has_closure(args, kwargs) and (self._looks or self._traces):
            self._look_at_gradients(optimizer, own)
        for (layer, key), before in self._before.items():
            with torch.no_grad():
                now = self._parameters[layer, key].detach()
                found = _below_half_ulp(before, now, self._fraction_bits, self._least_exponent)
                self._updates[self.step, layer, key] = found
        self._before = {}
        if not self._called and not self._warned:
            self._warned = True
            warnings.warn(
                "ulpscope.torch.watch: no layer was seen at work, as in a model that torch.compile has compiled before: weights, gradients "
                "of weights and updates are counted, inputs and gradients of outputs are not; watch it first",
                stacklevel=3,
            )
        self.step += 1
