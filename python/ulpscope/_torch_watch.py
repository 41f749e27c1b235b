# SPDX-License-Identifier: Apache-2.0
"""Looking on while a model of torch is trained."""
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ._table import Table


class watch:
    """Looks on while a model is trained, and changes nothing: every `every` steps of an optimizer that has its weights it counts
    binades, amax, zeros, infinities and NaN of the inputs, weights and gradients of every layer that has weights of its own, and
    the updates that are below half an ulp of the weight in the format `weights`. It counts on the tensors' device; nothing is
    copied to main memory before `table()` or `binades()`. `end()` ends it, as does the end of a `with` block.

    Raises ulpscope.Error where there is no such format, ValueError where `every` is not positive."""

    _LEAST = -1080  # below every exponent of float64

    def __init__(self, model, every=100, weights="bfloat16"):
        from . import Format

        if every < 1:
            raise ValueError(f"watch: every {every} steps; give 1 or more")
        facts = Format(weights)
        self._fraction_bits, self._least_exponent = facts.fraction_bits, 2 - facts.bias  # of frexp, whose mantissas are below 1
        self.step, self._every, self._counts, self._updates, self._hooks, self._before = 0, every, {}, {}, [], {}
        self._parameters = {}
        for name, module in model.named_modules():
            own = dict(module.named_parameters(recurse=False))
            if not own:
                continue
            self._parameters.update({(name, key): parameter for key, parameter in own.items()})
            self._hooks.append(module.register_forward_pre_hook(self._forward(name)))
            self._hooks.append(module.register_forward_hook(self._backward(name)))
        self._hooks.append(register_optimizer_step_pre_hook(self._before_step))
        self._hooks.append(register_optimizer_step_post_hook(self._after_step))

    def end(self):
        """Looks no more; what was counted stays."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def table(self):
        """A row for each step, layer and place: count, zeros, nonfinite, amax, least and greatest exponent (of powers of two below
        the numbers), and of weights how many updates were wanted, and below half an ulp."""
        rows = []
        for (step, layer, place), (count, zeros, nonfinite, amax, binades) in self._counts.items():
            found = torch.nonzero(binades).flatten() + self._LEAST
            ends = ["", ""] if len(found) == 0 else [int(found[0]), int(found[-1])]
            updates = self._updates.get((step, layer, place), ("", ""))
            rows.append(
                [step, layer, place, count, int(zeros), int(nonfinite), float(amax), *ends]
                + [one if one == "" else int(one) for one in updates]
            )
        columns = "step layer place count zeros nonfinite amax least_exponent greatest_exponent wanted below_half_ulp"
        return Table("watch", columns.split(), rows)

    def binades(self):
        """A row for each step, layer, place and power of two 2^exponent: how many numbers are in [2^exponent, 2^(exponent+1))."""
        rows = []
        for where, (*_, binades) in self._counts.items():
            for at in torch.nonzero(binades).flatten().tolist():
                rows.append([*where, at + self._LEAST, int(binades[at])])
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
        finite = torch.isfinite(x)
        counted = torch.where(finite, x, 0)
        nonzero = counted != 0
        exponents = (torch.frexp(counted)[1] - 1 - self._LEAST)[nonzero]
        now = [x.numel(), (x == 0).sum(), (~finite).sum(), counted.abs().max(), torch.bincount(exponents, minlength=2200)]
        before = self._counts.get((self.step, layer, place))
        if before is not None:  # a layer that is called twice
            now = [a + b for a, b in zip(now, before)]
            now[3] = torch.maximum(counted.abs().max(), before[3])
        self._counts[self.step, layer, place] = now

    def _forward(self, name):
        def look(module, inputs):
            if self._looks and torch.is_grad_enabled():
                for x in inputs:
                    self._count(name, "input", x)

        return look

    def _backward(self, name):
        def look(module, _, output):
            if self._looks and isinstance(output, torch.Tensor) and output.requires_grad:
                output.register_hook(lambda gradient: self._count(name, "grad_output", gradient))

        return look

    def _of(self, optimizer):
        own = {id(p) for group in optimizer.param_groups for p in group["params"]}
        return {where: p for where, p in self._parameters.items() if id(p) in own}

    def _before_step(self, optimizer, *_):
        own = self._of(optimizer)
        if not own or not self._looks:
            return
        for (layer, key), p in own.items():
            self._count(layer, key, p)
            if p.grad is not None:
                self._count(layer, "grad_" + key, p.grad)
            self._before[layer, key] = p.detach().clone()

    def _after_step(self, optimizer, *_):
        own = self._of(optimizer)
        if not own:
            return
        for (layer, key), before in self._before.items():
            with torch.no_grad():
                update = (self._parameters[layer, key].detach() - before).abs()
                exponent = torch.frexp(before)[1].clamp(min=self._least_exponent)
                half_ulp = torch.ldexp(torch.ones_like(before), exponent - 2 - self._fraction_bits)
                wanted = update > 0
                self._updates[self.step, layer, key] = (wanted.sum(), (wanted & (update < half_ulp)).sum())
        self._before = {}
        self.step += 1
