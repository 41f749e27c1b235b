# SPDX-License-Identifier: Apache-2.0
"""Functions of torch as operations of the laboratory's tape."""
import numbers

import torch
import torch.nn.functional as F


#: what recipes speak of: functions of torch, and what computes each in their place; NotImplemented where it cannot
KNOWN = {}


def _known(*functions):
    def add(made):
        for function in functions:
            KNOWN[function] = made
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
        KNOWN[function] = compute
    for function in inplace:
        KNOWN[function] = compute_in_place


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
        KNOWN[function] = compute


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
        KNOWN[function] = compute


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
        KNOWN[getattr(_place, _name)] = _last(_name)


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
