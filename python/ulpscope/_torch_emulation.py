# SPDX-License-Identifier: Apache-2.0
"""A recipe at work: operations on its engines, forward and backward, layers' names, the optimizers' steps, what is recorded."""
import threading
import warnings

import torch

from . import Table, _core
from ._torch_optimizers import give_moments, has_closure, settings_of, take_moments, unscaled

#: operands and results of products that `record` may keep beside the parameters' gradients
PLACES = ("gradients", "input", "weight", "output", "grad_output", "grad_input", "grad_weight")
_PRODUCTS = ("linear", "matmul", "attention_scores", "attention_mean", "convolution")


class _Operation(torch.autograd.Function):
    """One operation on the recipe's engine, forward and backward."""

    @staticmethod
    def forward(ctx, run, name, layer, settings, *tensors):
        arrays = [run.numbers_of(t) for t in tensors]
        trained = [t.requires_grad for t in tensors]
        formats = [getattr(t, "_ulpscope_format", None) or run.word for t in tensors]
        ctx.done = run._done = run._done_type(run._core, name, layer, arrays, formats, trained, settings)
        ctx.run, ctx.inputs = run, [(t.dtype, t.device, t.shape, word) for t, word in zip(tensors, formats)]
        ctx.recorded = None
        out = ctx.done.output
        ctx.shape = out.shape
        if run._recorder is not None and name in _PRODUCTS:
            ctx.recorded = layer
            run._record(layer, {"input": arrays[0], "weight": arrays[1], "output": out})
        return torch.from_numpy(out).to(tensors[0].device)

    @staticmethod
    def backward(ctx, gradient):
        if torch.is_grad_enabled():
            raise _core.Error("emulate: create_graph=True; gradients of gradients are not known to recipes")
        with ctx.run._own_work():
            if gradient is None:  # of nothing
                gradient = torch.zeros(ctx.shape)
            given = ctx.run.numbers_of(gradient)
            gradients = ctx.done.backward(given)
            if ctx.recorded is not None:
                found = {"grad_output": given, "grad_input": gradients[0], "grad_weight": gradients[1]}
                ctx.run._record(ctx.recorded, {place: one for place, one in found.items() if one is not None})
            back = []
            for one, (dtype, device, shape, word), is_wanted in zip(gradients, ctx.inputs, ctx.needs_input_grad[4:]):
                if one is None and is_wanted:  # of a result without elements
                    one = torch.zeros(shape, dtype=ctx.run._dtype).numpy()
                back.append(None if one is None else torch.from_numpy(one).reshape(shape).to(device, dtype))
                if one is not None and word != ctx.run.word:
                    back[-1]._ulpscope_gradient = word
        return None, None, None, None, *back


class Emulation:
    """What `emulate` gives.

    census(): what became of the numbers of each layer, operation and place. findings(): where too much was lost, and when.
    unknown: names of what torch computed by itself, because no recipe speaks of it or because it is hidden from
    this; a list of str. recipe: as it was given. layer: the name of the layer that is running."""

    def __init__(self, recipe: str, seed: int, recorder: object = None, places: "tuple[str, ...]" = ("gradients",), every: int = 1):
        self._core = _core.Emulation(str(recipe), seed)
        wide = self._core.is_wide
        self.word, self._dtype = ("float64", torch.float64) if wide else ("float32", torch.float32)
        self._done_type, self._state_type = (_core.WideDone, _core.WideOptimizerState) if wide else (_core.Done, _core.OptimizerState)
        self.recipe, self.layer = str(recipe), ""
        self.unknown: "list[str]" = []
        self._recorder, self._places, self._every, self._step = recorder, places, every, 0
        self._roots, self._names, self._parameters, self._entered, self._layers = [], {}, {}, [], []
        self._tagged, self._kept = {}, []
        self._busy, self._done, self._stepped = 0, None, False
        self._suspended, self._thread, self._torchs_step = 0, threading.get_ident(), False
        self._weights, self._gradients = self._core.weights_format, self._core.gradients_format
        self._given = self._core.given_format
        self.tags = (self._weights, self._gradients) != (self.word, self.word)

    def census(self) -> Table:
        """What became of the numbers of each layer, operation and place in each step: the Table `tensors` of `ulpscope train`.
        A step begins behind an optimizer's step; gradients of a loss that a scaler multiplied are counted as they were, scaled."""
        return Table(*self._core.tensors())

    def findings(self) -> Table:
        """The first step at which a place loses too much (`overflow`, `gradient_underflow`, `low_sqnr`, ...), with the figure and
        the threshold it passed: the Table `findings` of `ulpscope train`."""
        return Table(*self._core.findings())

    def __repr__(self) -> str:
        return f"<{_core.visible(self.recipe)}: {self._step} steps, {len(self.findings())} findings>"

    def suspend(self):
        """Until resume() torch computes as ever: another block is within this one's."""
        self._busy, self._suspended = self._busy + 1, self._suspended + 1

    def resume(self):
        self._busy, self._suspended = self._busy - 1, self._suspended - 1

    def _is_elsewhere(self):
        """Whether this is another thread than the one that entered the block, of which torch shows the others nothing."""
        if threading.get_ident() == self._thread:
            return False
        self._not_known("another thread", "computes by torch itself: a block is for the thread that enters it")
        return True

    # The layers' names: those of the outermost module that is called.

    def _enter(self, module, _):
        if self._suspended or self._is_elsewhere():
            return
        self._end_of_torchs_step()
        if not self._entered and id(module) not in self._names:
            self._add_root(module)
        self._entered.append(self.layer)
        self.layer = self._names.get(id(module), self.layer)

    def _add_root(self, root):
        for name, p in root.named_parameters():
            if p.is_floating_point() and p.dtype != self._dtype:
                kind = str(p.dtype).removeprefix("torch.")
                made = "call double() on the model" if self.word == "float64" else "give the model in float32"
                raise _core.Error(f"emulate: weight {_core.visible(name)} is {kind}; under {_core.visible(self.recipe)} the model computes in {self.word}: {made}")
        prefix = f"model{len(self._roots) + 1}." if self._roots else ""  # of a second one, such as a discriminator
        self._roots.append(root)
        has_product = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.RNN, torch.nn.GRU)
        for name, module in root.named_modules():
            name = name.replace("_orig_mod.", "").removesuffix("_orig_mod")  # of torch.compile
            self._names[id(module)] = prefix + name if name else prefix.rstrip(".")
            if isinstance(module, torch.nn.MultiheadAttention):
                self._layers.append(f"{prefix}{name}.in_proj")
            elif isinstance(module, torch.nn.LSTM):
                self._layers += [f"{prefix}{name}.ih", f"{prefix}{name}.hh"]
            elif isinstance(module, has_product):
                self._layers.append(prefix + name)
        self._parameters.update({id(p): prefix + name.replace("_orig_mod.", "") for name, p in root.named_parameters()})
        self._core.set_layers(self._layers)
        if self.tags:
            for p in root.parameters():
                self.tag(p)

    def _leave(self, *_):
        if self._entered and not self._suspended and threading.get_ident() == self._thread:
            self.layer = self._entered.pop()

    # Weights that are stored in narrow formats, and their gradients.

    def tag(self, p):
        """Numbers of this parameter are the recipe's weights: they and their gradients are rounded as it says."""
        if id(p) in self._tagged or not p.is_floating_point():
            return
        hooks = []
        p._ulpscope_format = self._weights
        if p.requires_grad:
            hooks = [p.register_hook(self._rounded_gradient), p.register_post_accumulate_grad_hook(self._round_sum)]
        self._tagged[id(p)] = (p, hooks)

    def _rounded(self, tensor, word):
        if word == self.word:
            return tensor
        with self._own_work():
            return torch.from_numpy(_core.rounded(self.numbers_of(tensor), word)).to(tensor.device, tensor.dtype)

    def _rounded_gradient(self, gradient):
        if self._suspended:
            return gradient
        return self._rounded(self._rounded(gradient, self._weights), self._gradients)

    def _round_sum(self, p):
        if self._gradients != self.word and not self._suspended:
            with torch.no_grad(), self._own_work():
                p.grad.copy_(self._rounded(p.grad, self._gradients))

    def _end(self):
        for p, hooks in self._tagged.values():
            del p._ulpscope_format
            for hook in hooks:
                hook.remove()
        self._tagged = {}
        if self._recorder is not None:
            self._recorder.close()

    # Operations.

    def numbers_of(self, tensor):
        """float32 or float64, contiguous, in main memory: an array of numpy over the tensor's own memory where it is so already."""
        return tensor.detach().to("cpu", self._dtype).contiguous().numpy()

    def _own_work(self):
        return _Busy(self)

    def _apply(self, name, tensors, _part="", _formats=False, _follows=None, **settings):
        """The result of an operation. `_part`: of the layer; `_formats`: with its formats; `_follows`: running statistics of a
        batch norm, and their momentum."""
        settings = {key: [float(x) for x in (value if isinstance(value, list) else [value])] for key, value in settings.items()}
        layer = f"{self.layer}.{_part}" if _part and self.layer else self.layer or _part
        with self._own_work():
            out = _Operation.apply(self, name, layer, settings, *tensors)
            done, self._done = self._done, None
            words = done.formats
            out._ulpscope_format = words[-1]
            if _follows is not None and _follows[0]:
                kept, momentum = _follows
                if momentum is None:
                    raise _core.Error(f"emulate: layer {_core.visible(layer)}: batch norm with momentum None; recipes know a number")
                for running, now in zip(kept, done.follow(layer, *(self.numbers_of(t) for t in kept), float(momentum))):
                    running.copy_(torch.from_numpy(now))
        return (out, words) if _formats else out

    def _not_known(self, name, why=None):
        if name not in self.unknown:
            self.unknown.append(name)
            why = why or f"is no operation of recipes; torch computes it in {self.word}"
            warnings.warn(f"ulpscope.torch.emulate: {name} {why}", stacklevel=5)

    def _record(self, layer, found):
        """Operands and results of a product."""
        if self._step % self._every == 0:
            for place, array in found.items():
                if place in self._places:
                    self._recorder.add("/".join(filter(None, (str(self._step), layer, place))), array)

    # Optimizers: the steps of those that are known are made here, those of others by torch.

    def _given_gradient(self, optimizer, gradient):
        """As the optimizer is given it: a scaler and clipping have multiplied what stands for a narrow tensor."""
        return self._rounded(unscaled(optimizer, gradient), self._given)

    def _record_gradients(self, optimizer):
        if self._recorder is None or "gradients" not in self._places or self._step % self._every:
            return
        for group in optimizer.param_groups:
            for i, p in enumerate(group["params"]):
                if p.grad is not None:
                    name = self._parameters.get(id(p), f"parameter{i}")
                    self._recorder.add(f"{self._step}/{name}", self.numbers_of(self._given_gradient(optimizer, p.grad)))

    def _before_step(self, optimizer, args, kwargs):
        if self._suspended or self._is_elsewhere():
            return
        self._end_of_torchs_step()
        if has_closure(args, kwargs):
            raise _core.Error("emulate: optimizer.step(closure); compute the loss and its gradients before, and give no closure")
        settings = settings_of(optimizer, self._weights, self.word, self.recipe)
        with torch.no_grad(), self._own_work():
            if isinstance(settings, str):
                self._not_known(settings, f"is no optimizer of recipes; torch takes its steps in {self.word}")
                self._record_gradients(optimizer)
                self._busy, self._torchs_step = self._busy + 1, True  # until the step is over
                return
            found_inf = getattr(optimizer, "found_inf", None)  # of a scaler, for optimizers that skip by themselves
            if found_inf is not None and bool(found_inf):
                kept = [(p, p.grad) for group in optimizer.param_groups for p in group["params"]]
            else:
                self._record_gradients(optimizer)
                kept = self._step_of(optimizer, settings)
            for p, _ in kept:
                p.grad = None
        optimizer._ulpscope_kept = kept

    def _look_at_step(self, optimizer, args, kwargs):
        """Under float32, where torch does it all. Gradients of a closure are there behind the step."""
        if not self._suspended and not has_closure(args, kwargs):
            self._record_gradients(optimizer)

    def _look_behind_step(self, optimizer, args, kwargs):
        if not self._suspended:
            if has_closure(args, kwargs):
                self._record_gradients(optimizer)
            self._step += 1

    def _step_of(self, optimizer, settings):
        kept = []
        for group in optimizer.param_groups:
            kind, found = settings(group)
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self._state_type()
                take_moments(state, kind, optimizer.state[p], self.numbers_of)
                gradient = self._given_gradient(optimizer, -p.grad if group.get("maximize") else p.grad)
                now = self._core.optimizer_step(kind, found, self.numbers_of(p), self.numbers_of(gradient), state)
                give_moments(state, kind, optimizer.state[p], p)
                p.copy_(torch.from_numpy(now).to(p.device, p.dtype))
                kept.append((p, p.grad))
        return kept

    def _after_step(self, optimizer, *_):
        if self._suspended or threading.get_ident() != self._thread:
            return
        for p, grad in getattr(optimizer, "_ulpscope_kept", ()):
            p.grad = grad
        optimizer._ulpscope_kept = ()
        self._end_of_torchs_step()
        self.next_step()
        self._stepped = True

    def _end_of_torchs_step(self):
        """Also of one that raised, when a layer is called or an optimizer steps next."""
        if self._torchs_step:
            self._busy, self._torchs_step = self._busy - 1, False

    def next_step(self):
        """The step is over: scales of past steps follow it, and stochastic roundings begin anew."""
        self._core.step()
        self._step += 1

    def scaler_updated(self):
        """A loss scaler has ended its step, which it may have skipped."""
        if not self._stepped:
            self.next_step()
        self._stepped = False


class _Busy:
    """What torch does meanwhile is the emulation's own."""

    def __init__(self, run):
        self._run = run

    def __enter__(self):
        self._run._busy += 1

    def __exit__(self, *_):
        self._run._busy -= 1
