# SPDX-License-Identifier: Apache-2.0
"""Functions of torch as operations of the laboratory's tape: elements, sums, norms."""
import numbers

import torch
import torch.nn.functional as F


#: what recipes speak of: functions of torch, and what computes each in their place; NotImplemented where it cannot
KNOWN = {}
#: those of KNOWN that write their result into an operand
IN_PLACE = set()


def known(*functions):
    def add(made):
        for function in functions:
            KNOWN[function] = made
        return made

    return add


def tensors_of(value):
    """All tensors of a value: of tuples, lists and dictionaries those within."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [x for one in value for x in tensors_of(one)]


def is_numbers(*values):
    return all(isinstance(v, torch.Tensor) and v.is_floating_point() for v in values)


def _elementwise(name, *functions, inplace=()):
    def compute(run, x, y, *more, alpha=1, out=None, rounding_mode=None):
        if more or alpha != 1 or out is not None or rounding_mode is not None:
            return NotImplemented
        if is_numbers(x, y):
            return run._apply(name, [x, y])
        if not is_numbers(x) or not isinstance(y, numbers.Real):
            return NotImplemented
        if name == "divide":  # a quotient rounds once, a product with the reciprocal twice
            return run._apply(name, [x, torch.tensor(float(y), dtype=x.dtype, device=x.device)])
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
        IN_PLACE.add(function)


_T = torch.Tensor


def like(moved, source):
    """`moved`, whose numbers are those of `source`: it has their format."""
    moved._ulpscope_format = getattr(source, "_ulpscope_format", None)
    return moved


def single(out):
    """A result of one element as a single number."""
    return like(out.reshape(()), out)


_elementwise("add", torch.add, _T.add, _T.__add__, _T.__radd__, inplace=(_T.add_, _T.__iadd__))
_elementwise("subtract", torch.sub, torch.subtract, _T.sub, _T.__sub__, inplace=(_T.sub_, _T.__isub__))
_elementwise("multiply", torch.mul, torch.multiply, _T.mul, _T.__mul__, _T.__rmul__, inplace=(_T.mul_, _T.__imul__))
_elementwise("divide", torch.div, torch.divide, torch.true_divide, _T.div, _T.__truediv__, inplace=(_T.div_, _T.__itruediv__))


@known(_T.__rsub__, torch.rsub)
def _reversed_difference(run, x, y, **options):
    return NotImplemented if options or isinstance(y, torch.Tensor) else run._apply("affine", [x], factor=-1, summand=y)


@known(_T.__rdiv__, _T.__rtruediv__)
def _reversed_quotient(run, x, y):
    return NotImplemented if isinstance(y, torch.Tensor) else run._apply("divide", [torch.tensor(float(y), dtype=x.dtype, device=x.device), x])


def _unary(name, *functions):
    def compute(run, x, inplace=False, approximate="none", **options):
        if options or approximate != "none" or not is_numbers(x):
            return NotImplemented
        if not inplace:
            return run._apply(name, [x])
        out = run._apply(name, [like(x.clone(), x)])  # whose numbers the gradient needs, when x has other ones
        x.copy_(out)
        return like(x, out)

    for function in functions:
        KNOWN[function] = compute


for _name in ("exp", "log", "sqrt", "square", "relu", "sigmoid", "tanh"):
    _unary(_name, *{getattr(place, _name) for place in (torch, _T, F) if hasattr(place, _name)})
_unary("gelu", F.gelu)
_unary("silu", F.silu)


@known(torch.neg, torch.negative, _T.neg, _T.negative, _T.__neg__)
def _negative(run, x):
    return run._apply("affine", [x], factor=-1, summand=0) if is_numbers(x) else NotImplemented


@known(torch.pow, _T.pow, _T.__pow__)
def _power(run, x, exponent):
    names = {2: "square", 0.5: "sqrt"}
    if not is_numbers(x) or isinstance(exponent, torch.Tensor) or exponent not in names:
        return NotImplemented
    return run._apply(names[exponent], [x])


def _reduction(name, *functions):
    def compute(run, x, dim=None, keepdim=False, dtype=None, out=None):
        if not is_numbers(x) or dtype not in (None, x.dtype) or out is not None:
            return NotImplemented
        if dim is None or isinstance(dim, (list, tuple)) and len(dim) == 0:
            out = run._apply(name, [x])
            return like(out.reshape([1] * x.dim()), out) if keepdim else single(out)
        dims = [dim] if isinstance(dim, int) else list(dim)
        if not all(-x.dim() <= d < x.dim() for d in dims):
            return NotImplemented  # an error of torch
        dims = sorted({d % x.dim() for d in dims})
        if len(dims) == 1:
            out = run._apply(name, [x], dimension=dims[0])
        else:  # the dimensions that are summed as one, the last
            others = [d for d in range(x.dim()) if d not in dims]
            flat = like(x.permute(*others, *dims).flatten(len(others)), x)
            out = run._apply(name, [flat], dimension=len(others))
            out = like(out.reshape([1 if d in dims else x.shape[d] for d in range(x.dim())]), out)
        return out if keepdim else like(out.reshape([x.shape[d] for d in range(x.dim()) if d not in dims]), out)

    for function in functions:
        KNOWN[function] = compute


_reduction("sum", torch.sum, _T.sum)
_reduction("mean", torch.mean, _T.mean)


def _last(name, place):
    def of_functional(run, x, dim=None, _stacklevel=3, dtype=None):
        return compute(run, x, dim, dtype)

    def compute(run, x, dim=None, dtype=None):
        if not is_numbers(x) or dtype not in (None, x.dtype) or dim is None or not -x.dim() <= dim < x.dim():
            return NotImplemented
        dim %= x.dim()
        if dim == x.dim() - 1:
            return run._apply(name, [x])
        out = run._apply(name, [like(x.transpose(dim, -1), x)])
        return like(out.transpose(dim, -1), out)

    return of_functional if place is F else compute


for _name in ("softmax", "log_softmax"):
    for _place in (torch, _T, F):
        KNOWN[getattr(_place, _name)] = _last(_name, _place)


@known(F.layer_norm, torch.layer_norm)
def _layer_norm(run, x, normalized_shape, weight=None, bias=None, eps=1e-5, *_):
    if len(normalized_shape) != 1:
        return NotImplemented
    width = normalized_shape[0]
    weight = torch.ones(width, device=x.device) if weight is None else weight
    bias = torch.zeros(width, device=x.device) if bias is None else bias
    return run._apply("layer_norm", [x, weight, bias], eps=eps)


if hasattr(F, "rms_norm"):

    @known(F.rms_norm, torch.rms_norm)
    def _rms_norm(run, x, normalized_shape, weight=None, eps=None):
        if len(normalized_shape) != 1:
            return NotImplemented
        weight = torch.ones(normalized_shape[0], device=x.device) if weight is None else weight
        return run._apply("rms_norm", [x, weight], eps=torch.finfo(x.dtype).eps if eps is None else eps)

def _affine_of_channels(run, x, weight, bias):
    """x times a weight and plus a bias for each channel of (N, C, ...), where there are some."""
    shape = [1, -1] + [1] * (x.dim() - 2)
    if weight is not None:
        x = run._apply("multiply", [x, like(weight.reshape(shape), weight)])
    if bias is not None:
        x = run._apply("add", [x, like(bias.reshape(shape), bias)])
    return x


@known(F.group_norm, torch.group_norm)
def _group_norm(run, x, num_groups, weight=None, bias=None, eps=1e-5, *_):
    """As layer norms of the groups, then the channels' weight and bias."""
    if not is_numbers(x) or x.dim() < 2 or x.shape[1] % num_groups:
        return NotImplemented
    groups = like(x.reshape(x.shape[0], num_groups, -1), x)
    width = groups.shape[-1]
    ones, zeros = torch.ones(width, device=x.device), torch.zeros(width, device=x.device)
    out = run._apply("layer_norm", [groups, ones, zeros], eps=eps)
    return _affine_of_channels(run, like(out.reshape(x.shape), out), weight, bias)


@known(F.instance_norm, torch.instance_norm)
def _instance_norm(run, x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, *more, eps=1e-5, **_):
    eps = more[1] if len(more) > 1 else eps
    if running_mean is not None or not use_input_stats or not is_numbers(x) or x.dim() < 3:
        return NotImplemented
    return _group_norm(run, x, x.shape[1], weight, bias, eps)


@known(F.batch_norm)
def _batch_norm(run, x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """By the batch's statistics, which the running ones follow in the recipe's format; by the running ones without gradients."""
    if not is_numbers(x) or x.dim() < 2:
        return NotImplemented
    channels = x.shape[1]
    weight = torch.ones(channels, device=x.device) if weight is None else weight
    bias = torch.zeros(channels, device=x.device) if bias is None else bias
    if training:
        kept = [] if running_mean is None else [running_mean, running_var]
        return run._apply("batch_norm", [x, weight, bias], eps=eps, _follows=(kept, momentum))
    if torch.is_grad_enabled() and any(t.requires_grad for t in (x, weight, bias)):
        return NotImplemented
    return run._apply("batch_norm_by", [x, weight, bias, running_mean, running_var], eps=eps)
