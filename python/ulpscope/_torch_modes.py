# SPDX-License-Identifier: Apache-2.0
"""What sees the calls of torch while a model is emulated: functions, which the laboratory computes, and beside them the
operations below that torch is left with."""
import functools
import inspect
import types

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from . import _torch_layers, _torch_products  # noqa: F401: they fill KNOWN
from ._torch_functions import IN_PLACE, KNOWN, tensors_of

# What carries numbers along as they are: torch does it, and the format goes with them.
_MOVES = {
    getattr(torch.Tensor, name)
    for name in """reshape view view_as transpose permute contiguous unsqueeze squeeze expand expand_as flatten unflatten repeat t
    chunk split unbind narrow select __getitem__ clone to float detach masked_fill movedim swapaxes index_select gather type_as
    cpu cuda flip repeat_interleave roll""".split()
} | {
    getattr(torch, name)
    for name in """reshape transpose permute unsqueeze squeeze flatten chunk split unbind narrow select clone cat concat stack
    masked_fill movedim swapaxes index_select gather dropout where tril triu flip repeat_interleave roll""".split()
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

# Products of torch's own: operations of aten that multiply and add, and how the names of others begin.
_PRODUCTS = set(
    """mm bmm addmm addmm_ baddbmm addbmm addmv mv dot vdot addr linear linear_backward mkldnn_linear convolution _convolution
    convolution_backward convolution_overrideable mkldnn_convolution mkldnn_rnn_layer mkldnn_rnn_layer_backward _trilinear
    _int_mm _scaled_mm _grouped_mm _scaled_grouped_mm _thnn_fused_lstm_cell _thnn_fused_gru_cell _native_multi_head_attention
    _transformer_encoder_layer_fwd _cdist_forward""".split()
)
_PREFIXES = ("_scaled_dot_product", "_flash_attention", "_efficient_attention", "_cudnn_attention", "_weight_int", "_cslt_sparse",
             "_sparse_mm", "_sparse_addmm", "cudnn_convolution", "miopen_convolution")


# Which operand torch means by a keyword, where functions here have another name for it; of products with a summand one later.
_OPERANDS = {"input": 0, "self": 0, "query": 0, "other": 1, "key": 1, "value": 2, "target": 1, "exponent": 1, "tensor": 1, "vec": 1,
             "vec2": 1, "mat1": 1, "batch1": 1, "batch2": 2, "mat2": 1}


@functools.cache
def _signature(known):
    """What a function of KNOWN takes behind the run."""
    return inspect.Signature(list(inspect.signature(known).parameters.values())[1:])


def computed(run, known, args, kwargs):
    """What `known` makes of a call of torch; NotImplemented also where it takes no such arguments."""
    signature = _signature(known)
    names = list(signature.parameters)
    given = {}
    for key, value in kwargs.items():
        if key not in names:
            at = _OPERANDS.get(key)
            if key == "mat2" and ("mat1" in kwargs or len(args) > 1):
                at = 2
            key = "dim" if key == "axis" else names[at] if at is not None and at < len(names) else key
        given[key] = value
    try:
        signature.bind(*args, **given)
    except TypeError:
        return NotImplemented
    return known(run, *args, **given)


def _run_under(mode, function):
    """A function of torch.autograd whose engine runs under `mode`, as if its caller's modes were not set aside for it: hooks, functions
    of autograd and what is computed again for a gradient are seen, too."""
    scope = dict(function.__globals__)
    engine = scope.get("_engine_run_backward")

    def under(*args, **kwargs):
        mode.backwards += 1
        try:
            with mode:
                return engine(*args, **kwargs)
        finally:
            mode.backwards -= 1

    if engine is None:
        return function
    scope["_engine_run_backward"] = under
    made = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


class Functions(torch.overrides.TorchFunctionMode):
    """Functions of torch that recipes speak of are computed by the run."""

    def __init__(self, run):
        super().__init__()
        self.run = run
        self.backwards = 0  # that are under way
        self._backward, self._grad = (_run_under(self, f) for f in (torch.autograd.backward, torch.autograd.grad))

    def __torch_function__(self, function, types_, args=(), kwargs=None):
        kwargs, run = kwargs or {}, self.run
        if run._busy:
            return function(*args, **kwargs)
        if function is torch.Tensor.backward:
            given = inspect.signature(function).bind(*args, **kwargs)
            given.apply_defaults()
            tensor, gradient, *more = given.args
            return self._backward(tensor, gradient, *more[:2], inputs=given.arguments["inputs"])
        if function is torch.autograd.backward:
            return self._backward(*args, **kwargs)
        if function is torch.autograd.grad:
            return self._grad(*args, **kwargs)
        if function is torch._amp_update_scale_:
            run.scaler_updated()
        known = KNOWN.get(function)
        if function in IN_PLACE and run.tags and isinstance(args[0], torch.nn.Parameter) and not torch.is_grad_enabled():
            run._not_known(function.__name__, f"of a weight is no optimizer of recipes; torch leaves it in {run.word}")
        if known is not None and not self._is_bookkeeping(function, args, kwargs):
            if run.tags:
                for t in tensors_of([*args, *kwargs.values()]):
                    if isinstance(t, torch.nn.Parameter):
                        run.tag(t)
            out = computed(run, known, args, kwargs)
            if out is not NotImplemented:
                return out
            run._not_known(function.__name__, f"with these arguments is no operation of recipes; torch computes it in {run.word}")
            return function(*args, **kwargs)
        out = function(*args, **kwargs)
        if known is None and function not in _SEEN:
            self._follow(function, args, kwargs, out)
        return out

    def _is_bookkeeping(self, function, args, kwargs):
        """Arithmetic that is no model's: of whole numbers; outside of layers of losses, which are single numbers, as scalers multiply
        them, and of moving averages."""
        given = [t for t in tensors_of([*args, *kwargs.values()]) if t.is_floating_point()]
        if not given:
            return True
        if self.run._entered:
            return False
        return all(t.dim() == 0 for t in given) or function in IN_PLACE and not torch.is_grad_enabled()

    def _follow(self, function, args, kwargs, out):
        """The format of what torch made, and the name of what nobody here knows."""
        made = [t for t in tensors_of([out]) if t.is_floating_point()]
        given = [t for t in tensors_of([*args, *kwargs.values()]) if t.is_floating_point()]
        if not made or not given or getattr(function, "__name__", "") == "__get__":
            return
        if made[0] is given[0] and made[0].is_leaf:  # as weights are filled at first
            return
        if function in _MOVES:
            formats = {getattr(t, "_ulpscope_format", None) for t in given}
            for t in made:
                if len(formats) == 1 and t is not given[0]:
                    t._ulpscope_format = next(iter(formats))
        elif all(t.dim() == 0 for t in given):
            return
        elif isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
            return  # which Operations sees
        elif self.run._entered or self.backwards or any(not t.is_leaf or t.requires_grad for t in made) or any(_is_computed(t) for t in given):
            self.run._not_known(getattr(function, "__name__", str(function)))


class Operations(TorchDispatchMode):
    """Below the functions: products that torch forms unseen are named, and gradients of a value that is used several times are
    added in its format, rounded at each addition."""

    def __init__(self, run):
        super().__init__()
        self.run = run

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        out = operation(*args, **(kwargs or {}))
        if self.run._busy:
            return out
        name = operation.overloadpacket.__name__
        if name in _PRODUCTS or name.startswith(_PREFIXES):
            self.run._not_known(f"aten.{name}", f"is formed by torch itself, in {self.run.word} and unseen by recipes")
        elif name in ("add", "add_") and len(args) == 2:
            words = {getattr(t, "_ulpscope_gradient", None) for t in args}
            word = words.pop()
            if word is not None and not words:
                with self.run._own_work():
                    out.copy_(self.run._rounded(out, word))
                    out._ulpscope_gradient = word
        return out


def _is_computed(tensor):
    """Whether it is an operation's result, and no weight."""
    return hasattr(tensor, "_ulpscope_format") and not isinstance(tensor, torch.nn.Parameter)
