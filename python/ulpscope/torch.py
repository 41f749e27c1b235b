# SPDX-License-Identifier: Apache-2.0
"""Models of torch under a recipe, unmodified: `with ulpscope.torch.emulate("fp8_deepseek") as run: ...`."""
import warnings

import torch
import torch.nn.functional as F
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from . import _core
from ._table import Table
from ._torch_functions import KNOWN
from ._torch_watch import watch

__all__ = ["Emulation", "emulate", "watch"]

# What carries numbers along as they are: torch does it, and the format goes with them.
_MOVES = {
    getattr(torch.Tensor, name)
    for name in """reshape view view_as transpose permute contiguous unsqueeze squeeze expand expand_as flatten unflatten repeat t
    chunk split unbind narrow select __getitem__ clone to float detach masked_fill movedim swapaxes index_select gather type_as
    cpu cuda""".split()
} | {
    getattr(torch, name)
    for name in """reshape transpose permute unsqueeze squeeze flatten chunk split unbind narrow select clone cat concat stack
    masked_fill movedim swapaxes index_select gather dropout where tril triu""".split()
} | {F.pad, F.dropout}

# What gives no numbers that anybody computes with, or is asked of the model's results.
_SEEN = {
    getattr(torch.Tensor, name)
    for name in """backward size dim numel item tolist numpy argmax eq ne gt lt ge le __eq__ __ne__ __gt__ __lt__ __ge__ __le__
    is_floating_point zero_ copy_ register_hook retain_grad requires_grad_ data_ptr stride is_contiguous isfinite isnan any all
    __len__ __bool__ __repr__ __format__ __hash__ __setitem__ new_zeros new_ones new_full new_empty bool long int masked_fill_
    fill_ normal_ uniform_ set_ __iter__ __array__ element_size is_complex get_device nelement untyped_storage""".split()
} | {torch.isfinite, torch.isnan, torch.argmax, torch.is_floating_point, torch.zeros_like, torch.ones_like, torch.empty_like,
     torch.is_tensor, torch.equal, torch.allclose}


class _Operation(torch.autograd.Function):
    """One operation on the recipe's engine, forward and backward."""

    @staticmethod
    def forward(ctx, run, name, settings, *tensors):
        arrays = [t.detach().to("cpu", torch.float32).contiguous().numpy() for t in tensors]
        trained = [t.requires_grad for t in tensors]
        formats = [getattr(t, "_ulpscope_format", "float32") for t in tensors]
        ctx.done = _core.Done(run._core, name, run.layer, arrays, formats, trained, settings)
        ctx.inputs = [(t.dtype, t.device, t.shape) for t in tensors]
        run._made = ctx.done.format
        return torch.from_numpy(ctx.done.output).to(tensors[0].device)

    @staticmethod
    def backward(ctx, gradient):
        gradients = ctx.done.backward(gradient.detach().to("cpu", torch.float32).contiguous().numpy())
        back = [
            None if one is None else torch.from_numpy(one).reshape(shape).to(device, dtype)
            for one, (dtype, device, shape) in zip(gradients, ctx.inputs)
        ]
        return None, None, None, *back


class Emulation:
    """What `emulate` gives: `census()` and `findings()` of all that was rounded, and `unknown`, the names of operations that
    torch computed in float32 because no recipe speaks of them."""

    def __init__(self, recipe, seed):
        self._core = _core.Emulation(str(recipe), seed)
        self.recipe, self.layer, self.unknown = str(recipe), "", []
        self._names, self._entered, self._made, self._states = {}, [], "float32", {}

    def census(self):
        """What became of the numbers of each layer, operation and place in each step: the Table `tensors` of `ulpscope train`."""
        return Table(*self._core.tensors())

    def findings(self):
        """The first step at which a place loses too much, with the figure and its threshold: `findings` of `ulpscope train`."""
        return Table(*self._core.findings())

    # The layers' names: those of the outermost module that is called.

    def _enter(self, module, _):
        if not self._entered:
            if id(module) not in self._names:
                self._names = {id(m): name for name, m in module.named_modules()}
                has_product = (torch.nn.Linear, torch.nn.Conv2d, torch.nn.MultiheadAttention)
                self._core.set_layers([name for name, m in module.named_modules() if isinstance(m, has_product)])
        self._entered.append(self.layer)
        self.layer = self._names.get(id(module), self.layer)

    def _leave(self, *_):
        if self._entered:
            self.layer = self._entered.pop()

    def _apply(self, name, tensors, **settings):
        settings = {key: [float(x) for x in (value if isinstance(value, list) else [value])] for key, value in settings.items()}
        out = _Operation.apply(self, name, settings, *tensors)
        out._ulpscope_format = self._made
        return out

    def _not_known(self, function):
        name = getattr(function, "__name__", str(function))
        if name not in self.unknown:
            self.unknown.append(name)
            warnings.warn(f"ulpscope.torch.emulate: {name} is no operation of recipes; torch computes it in float32", stacklevel=4)

    # Optimizers: the steps of those that are known are made here, those of others by torch.

    def _before_step(self, optimizer, *_):
        settings = _optimizer(optimizer)
        if settings is None:
            self._not_known(type(optimizer).step)
            return
        kept = []
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self._states.setdefault(id(p), (_core.OptimizerState(), len(self._states)))
                now = self._core.optimizer_step(*settings(group), _numbers(p), _numbers(p.grad), *state)
                with torch.no_grad():
                    p.copy_(torch.from_numpy(now).to(p.device, p.dtype))
                kept.append((p, p.grad))
                p.grad = None
        optimizer._ulpscope_kept = kept

    def _after_step(self, optimizer, *_):
        for p, grad in getattr(optimizer, "_ulpscope_kept", ()):
            p.grad = grad
        optimizer._ulpscope_kept = ()
        self._core.step()


def _numbers(tensor):
    return tensor.detach().to("cpu", torch.float32).contiguous().numpy()


def _optimizer(optimizer):
    """The settings of a parameter group as the laboratory has them, or None where it has no such optimizer."""
    known = {torch.optim.SGD: "sgd", torch.optim.Adam: "adam", torch.optim.AdamW: "adamw"}
    kind = known.get(type(optimizer))
    if kind is None or any(g.get("amsgrad") or g.get("maximize") for g in optimizer.param_groups):
        return None

    def of_group(group):
        keys = ("lr", "momentum", "dampening", "nesterov", "weight_decay", "eps")
        found = {key: float(group[key]) for key in keys if key in group}
        if "betas" in group:
            found["beta1"], found["beta2"] = (float(beta) for beta in group["betas"])
        return kind, found

    return of_group


class _Mode(torch.overrides.TorchFunctionMode):
    def __init__(self, run):
        super().__init__()
        self.run = run

    def __torch_function__(self, function, types_, args=(), kwargs=None):
        kwargs = kwargs or {}
        known = KNOWN.get(function)
        if known is not None:
            out = known(self.run, *args, **kwargs)
            if out is not NotImplemented:
                return out
        out = function(*args, **kwargs)
        if known is not None or function not in _SEEN:
            self._follow(function, args, kwargs, out, known)
        return out

    def _follow(self, function, args, kwargs, out, known):
        """The format of what torch made, and the name of what nobody here knows."""
        made = [t for t in (out if isinstance(out, (list, tuple)) else [out]) if isinstance(t, torch.Tensor)]
        made = [t for t in made if t.is_floating_point()]
        given = [t for t in _tensors(args) + _tensors(list(kwargs.values())) if t.is_floating_point()]
        if not made or not given or getattr(function, "__name__", "") == "__get__":
            return
        if function in _MOVES:
            formats = {getattr(t, "_ulpscope_format", "float32") for t in given}
            for t in made:
                if len(formats) == 1:
                    t._ulpscope_format = next(iter(formats))
        elif known is not None or any(t.is_leaf is False or t.requires_grad for t in made):
            self.run._not_known(function)


def _tensors(values):
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found


class emulate:
    """Within the block every product runs on the recipe's engine with its operands rounded as the recipe says, forward and
    backward; every other operation that recipes know rounds where they say; the steps of SGD, Adam and AdamW are taken with
    weights and states in the recipe's formats. The model is not changed. `recipe`: a name of ulpscope.recipes(), or a TOML file;
    `seed`: of stochastic rounding. Under "float32" torch computes as ever. Operations that recipes do not know are computed
    by torch in float32 and named once, by a warning and in `unknown`. Compiled models run uncompiled.

    Gives an Emulation. Raises ulpscope.Error."""

    def __init__(self, recipe, seed=0):
        self.run = Emulation(recipe, seed)
        self._plain = str(recipe) == "float32"

    def __enter__(self):
        if self._plain:
            return self.run
        modules = torch.nn.modules.module
        self._hooks = [
            modules.register_module_forward_pre_hook(self.run._enter),
            modules.register_module_forward_hook(self.run._leave, always_call=True),
            register_optimizer_step_pre_hook(self.run._before_step),
            register_optimizer_step_post_hook(self.run._after_step),
        ]
        self._stance = torch.compiler.set_stance("force_eager") if hasattr(torch.compiler, "set_stance") else None
        if self._stance is not None and hasattr(self._stance, "__enter__"):
            self._stance.__enter__()
        self._mode = _Mode(self.run)
        self._mode.__enter__()
        return self.run

    def __exit__(self, *error):
        if self._plain:
            return
        self._mode.__exit__(*error)
        if self._stance is not None and hasattr(self._stance, "__exit__"):
            self._stance.__exit__(*error)
        for hook in self._hooks:
            hook.remove()
