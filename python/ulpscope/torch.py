# SPDX-License-Identifier: Apache-2.0
"""Models of torch under a recipe, unmodified: `with ulpscope.torch.emulate("fp8_deepseek") as run: ...`."""
import numbers
import warnings

import torch
import torch.nn.functional as F
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from . import _core
from ._table import Table

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
        known = _KNOWN.get(function)
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


_KNOWN = {}


def _known(*functions):
    def add(made):
        for function in functions:
            _KNOWN[function] = made
        return made

    return add


def _is_numbers(*values):
    return all(isinstance(v, torch.Tensor) and v.is_floating_point() for v in values)


def _elementwise(name, *functions, inplace=()):
    def compute(run, x, y, *more, alpha=1, out=None, rounding_mode=None):
        if more or alpha != 1 or out is not None or rounding_mode is not None:
            return NotImplemented
        if _is_numbers(x, y):
            return run._apply(name, [x, y])
        if not _is_numbers(x) or not isinstance(y, numbers.Real):
            return NotImplemented
        if name == "divide":  # a quotient rounds once, a product with the reciprocal twice
            return run._apply(name, [x, torch.tensor(float(y), device=x.device)])
        factor, summand = {"add": (1, y), "subtract": (1, -y), "multiply": (y, 0)}[name]
        return run._apply("affine", [x], factor=factor, summand=summand)

    def compute_in_place(run, x, y, *more, **options):
        out = compute(run, x, y, *more, **options)
        if out is NotImplemented:
            return out
        x.copy_(out)
        x._ulpscope_format = out._ulpscope_format
        return x

    for function in functions:
        _KNOWN[function] = compute
    for function in inplace:
        _KNOWN[function] = compute_in_place


_T = torch.Tensor
_elementwise("add", torch.add, _T.add, _T.__add__, _T.__radd__, inplace=(_T.add_, _T.__iadd__))
_elementwise("subtract", torch.sub, torch.subtract, _T.sub, _T.__sub__, inplace=(_T.sub_, _T.__isub__))
_elementwise("multiply", torch.mul, torch.multiply, _T.mul, _T.__mul__, _T.__rmul__, inplace=(_T.mul_, _T.__imul__))
_elementwise("divide", torch.div, torch.divide, torch.true_divide, _T.div, _T.__truediv__, inplace=(_T.div_, _T.__itruediv__))


@_known(_T.__rsub__, torch.rsub)
def _reversed_difference(run, x, y, **options):
    return NotImplemented if options or isinstance(y, torch.Tensor) else run._apply("affine", [x], factor=-1, summand=y)


@_known(_T.__rdiv__, _T.__rtruediv__)
def _reversed_quotient(run, x, y):
    return NotImplemented if isinstance(y, torch.Tensor) else run._apply("divide", [torch.tensor(float(y), device=x.device), x])


def _unary(name, *functions):
    def compute(run, x, inplace=False, approximate="none", **options):
        if options or approximate != "none" or not _is_numbers(x):
            return NotImplemented
        return run._apply(name, [x])

    for function in functions:
        _KNOWN[function] = compute


for _name in ("exp", "log", "sqrt", "square", "relu", "sigmoid", "tanh"):
    _unary(_name, *{getattr(place, _name) for place in (torch, _T, F) if hasattr(place, _name)})
_unary("gelu", F.gelu)
_unary("silu", F.silu)


def _reduction(name, *functions):
    def compute(run, x, dim=None, keepdim=False, dtype=None, out=None):
        if not _is_numbers(x) or dtype not in (None, x.dtype) or out is not None or isinstance(dim, (list, tuple)) and len(dim) != 1:
            return NotImplemented
        if dim is None:
            return run._apply(name, [x]).reshape(())
        dim = (dim[0] if isinstance(dim, (list, tuple)) else dim) % x.dim()
        out = run._apply(name, [x], dimension=dim)
        return out if keepdim else _like(out.squeeze(dim), out)

    for function in functions:
        _KNOWN[function] = compute


_reduction("sum", torch.sum, _T.sum)
_reduction("mean", torch.mean, _T.mean)


def _like(moved, source):
    moved._ulpscope_format = getattr(source, "_ulpscope_format", "float32")
    return moved


def _last(name):
    def compute(run, x, dim=None, _stacklevel=3, dtype=None, **options):
        if options or dtype is not None or not _is_numbers(x) or dim is None:
            return NotImplemented
        dim %= x.dim()
        if dim == x.dim() - 1:
            return run._apply(name, [x])
        out = run._apply(name, [_like(x.transpose(dim, -1), x)])
        return _like(out.transpose(dim, -1), out)

    return compute


for _name in ("softmax", "log_softmax"):
    for _place in (torch, _T, F):
        _KNOWN[getattr(_place, _name)] = _last(_name)


@_known(F.layer_norm, torch.layer_norm)
def _layer_norm(run, x, normalized_shape, weight=None, bias=None, eps=1e-5, *_):
    if len(normalized_shape) != 1:
        return NotImplemented
    width = normalized_shape[0]
    weight = torch.ones(width, device=x.device) if weight is None else weight
    bias = torch.zeros(width, device=x.device) if bias is None else bias
    return run._apply("layer_norm", [x, weight, bias], eps=eps)


if hasattr(F, "rms_norm"):

    @_known(F.rms_norm, torch.rms_norm)
    def _rms_norm(run, x, normalized_shape, weight=None, eps=None):
        if len(normalized_shape) != 1:
            return NotImplemented
        weight = torch.ones(normalized_shape[0], device=x.device) if weight is None else weight
        return run._apply("rms_norm", [x, weight], eps=torch.finfo(x.dtype).eps if eps is None else eps)


@_known(F.linear)
def _linear(run, x, weight, bias=None):
    flat = x if x.dim() > 1 else _like(x.unsqueeze(0), x)
    out = run._apply("linear", [flat, weight] + ([] if bias is None else [bias]))
    return out if x.dim() > 1 else _like(out.squeeze(0), out)


@_known(torch.matmul, torch.mm, torch.bmm, _T.matmul, _T.mm, _T.bmm, _T.__matmul__)
def _matmul(run, a, b, out=None):
    if out is not None or not _is_numbers(a, b):
        return NotImplemented
    x, y = a, b
    if a.dim() == 1:
        x = _like(a.unsqueeze(0), a)
    if b.dim() == 1:
        y = _like(b.unsqueeze(1), b)
    leading = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x = _like(x.expand(*leading, *x.shape[-2:]), x)
    y = _like(y.expand(*leading, *y.shape[-2:]), y)
    d = run._apply("matmul", [x, y])
    shaped = d.squeeze(-2) if a.dim() == 1 else d
    return _like(shaped.squeeze(-1) if b.dim() == 1 else shaped, d)


@_known(torch.addmm, _T.addmm, torch.baddbmm, _T.baddbmm)
def _addmm(run, c, a, b, beta=1, alpha=1, out=None):
    if beta != 1 or alpha != 1 or out is not None:
        return NotImplemented
    return run._apply("add", [c, _matmul(run, a, b)])


@_known(F.conv2d, torch.conv2d)
def _convolution(run, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    def one(value):
        values = {value} if isinstance(value, int) else set(value)
        return values.pop() if len(values) == 1 else None

    if isinstance(padding, str) or one(dilation) != 1 or groups != 1 or one(stride) is None or one(padding) is None or x.dim() != 4:
        return NotImplemented
    return run._apply(
        "convolution", [x, weight] + ([] if bias is None else [bias]), stride=one(stride), padding=one(padding)
    )


@_known(F.max_pool2d, torch.max_pool2d)
def _max_pool(run, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    size = kernel_size if isinstance(kernel_size, int) else kernel_size[0] if len(set(kernel_size)) == 1 else None
    same = stride in (None, size, (size, size), [size, size], [])
    if size is None or not same or padding not in (0, (0, 0)) or dilation not in (1, (1, 1)) or ceil_mode or return_indices:
        return NotImplemented
    if x.shape[-1] % size or x.shape[-2] % size or x.dim() != 4:
        return NotImplemented
    return run._apply("max_pool", [x], size=size)


@_known(F.embedding)
def _embedding(run, indices, table, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if max_norm is not None or padding_idx not in (None, -1) or scale_grad_by_freq or sparse:
        return NotImplemented
    out = run._apply("gather", [table], rows=indices.reshape(-1).tolist())
    return _like(out.reshape(*indices.shape, table.shape[-1]), out)


@_known(F.scaled_dot_product_attention)
def _attention(run, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, shares_to=None):
    if enable_gqa and q.shape[-3] != k.shape[-3]:
        times = q.shape[-3] // k.shape[-3]
        k, v = (_like(t.repeat_interleave(times, -3), t) for t in (k, v))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = run._apply("affine", [_matmul(run, q, _like(k.transpose(-2, -1), k))], factor=scale, summand=0)
    if is_causal:
        if scores.shape[-1] != scores.shape[-2]:
            return NotImplemented
        scores = run._apply("mask_future", [scores], value=float("-inf"))
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = _like(scores.masked_fill(~attn_mask, float("-inf")), scores)
        else:
            scores = run._apply("add", [scores, attn_mask])
    shares = run._apply("softmax", [scores])
    if dropout_p:
        shares = _like(torch.dropout(shares, dropout_p, True), shares)
    if shares_to is not None:
        shares_to.append(shares)
    return _matmul(run, shares, v)


@_known(F.multi_head_attention_forward)
def _multi_head_attention(
    run, query, key, value, width, heads, in_weight, in_bias, bias_k, bias_v, add_zero_attn, dropout_p, out_weight, out_bias,
    training=True, key_padding_mask=None, need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None,
    k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True, is_causal=False,
):  # fmt: skip
    unusual = (bias_k, bias_v, key_padding_mask, static_k, static_v)
    if any(one is not None for one in unusual) or add_zero_attn or query.dim() != 3:
        return NotImplemented
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_weight.chunk(3)
    biases = (None,) * 3 if in_bias is None else in_bias.chunk(3)
    length, batch, _ = query.shape

    def split(x, weight, bias):
        y = _linear(run, x, weight, bias)
        return _like(y.reshape(x.shape[0], batch, heads, width // heads).permute(1, 2, 0, 3), y)

    q, k, v = (split(x, w, b) for x, w, b in zip((query, key, value), weights, biases))
    if attn_mask is not None and attn_mask.dim() == 3:
        attn_mask = attn_mask.reshape(batch, heads, *attn_mask.shape[-2:])
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = ~attn_mask  # here True is what is left out
    kept = []
    out = _attention(run, q, k, v, attn_mask, dropout_p if training else 0.0, is_causal and attn_mask is None, shares_to=kept)
    if out is NotImplemented:
        return out
    joined = _like(out.permute(2, 0, 1, 3).reshape(length, batch, width), out)
    result = _linear(run, joined, out_weight, out_bias)
    if not need_weights:
        return result, None
    return result, kept[0].mean(1) if average_attn_weights else kept[0]


@_known(F.cross_entropy)
def _cross_entropy(run, x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    plain = weight is None and size_average is None and reduce is None and reduction == "mean" and label_smoothing == 0
    if not plain or target.is_floating_point() or x.dim() != 2 or bool((target == ignore_index).any()):
        return NotImplemented
    return run._apply("cross_entropy", [x], classes=target.tolist()).reshape(())


@_known(F.mse_loss)
def _mse(run, x, target, size_average=None, reduce=None, reduction="mean", weight=None):
    if size_average is not None or reduce is not None or reduction != "mean" or weight is not None or x.shape != target.shape:
        return NotImplemented
    return run._apply("mean_squared_error", [x, target]).reshape(())


@_known(F.binary_cross_entropy_with_logits)
def _bce(run, x, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    if weight is not None or size_average is not None or reduce is not None or reduction != "mean" or pos_weight is not None:
        return NotImplemented
    return run._apply("binary_cross_entropy_with_logits", [x, target]).reshape(())


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
