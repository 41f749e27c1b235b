# SPDX-License-Identifier: Apache-2.0
"""Arrays of numpy, torch, jax and plain Python as the module takes them, and results as what was given."""
import sys
from array import array as _Array

import numpy as np

from . import _core

#: integers of ml_dtypes that take a byte each
_NARROW_INTEGERS = ("int1", "int2", "int4", "uint1", "uint2", "uint4")
#: dtypes of one byte or two that numpy itself does not have are seen as integers of their width
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


#: plain memory that numpy reads as arrays
BUFFERS = (memoryview, _Array)


def said(value):
    """A value for a message of one line: as Python writes it where that is short, else what it is."""
    text = repr(value)
    if len(text) <= 60 and "\n" not in text:
        return text
    name = type(value).__name__
    if hasattr(value, "shape"):
        return f"{name} of shape {tuple(value.shape)}"
    return f"{name} of {len(value)}" if hasattr(value, "__len__") else name


def are_numbers(x):
    """Whether lists hold plain numbers, numpy's among them: one tensor, not several."""
    plain = (bool, int, float, np.generic, list, tuple)
    return isinstance(x, (list, tuple, range)) and len(x) > 0 and all(isinstance(one, plain) for one in x)


def array_of(x, keep_whole=False):
    """Plain numbers and lists of them as an array: of the dtype that numpy gives them, but of float64 where they are whole numbers
    that it has all of, and not with `keep_whole`. Raises TypeError, one line."""
    try:
        array = np.asarray(x)
    except ValueError:
        raise TypeError("a list whose parts have different shapes is no array") from None
    if keep_whole or array.dtype not in (np.int64, np.uint64, object):
        return array
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return array
    return numbers if np.all(numbers.astype(object) == array.astype(object)) else array  # Python compares exactly


def in_float32(array):
    """An array of float64 as one of float32 where that has all of its numbers; any other as it is."""
    if array.dtype != np.float64:
        return array
    with np.errstate(over="ignore", under="ignore"):
        narrow = array.astype(np.float32)
    return narrow if np.array_equal(narrow, array, equal_nan=True) else array


def _is_torch(x):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _word(name):
    """The name of a dtype for the module: a format's, `int8` to `uint64`, `bool`."""
    return _core.format_of_dtype(name) or _core.format_of_dtype("ml_dtypes." + name) or name.removeprefix("torch.")


def as_numpy(x):
    """(array, word): a C-contiguous array of numpy in main memory, copied only where it must be, and its dtype's word.

    Floats of dtypes that numpy does not have are unsigned integers there, and so is what numpy loads from an .npy of such (`void16`).
    Raises TypeError for what is no array of numbers."""
    if _is_torch(x):
        import torch

        if "x2" in str(x.dtype):
            raise TypeError(f"{x.dtype} holds two codes in a byte; give these as unsigned integers of their own")
        if x.is_meta:
            raise TypeError("a tensor of device meta has no numbers")
        if x.layout != torch.strided:
            raise TypeError(f"a tensor of layout {x.layout}; give its to_dense()")
        x = x.detach().cpu().contiguous().resolve_neg()
        word = _word(str(x.dtype))
        if x.dtype == torch.bfloat16 or "float8" in str(x.dtype):
            return x.view(torch.int16 if x.element_size() == 2 else torch.uint8).numpy(), word
        return x.numpy(), word
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise TypeError("masked elements have no value; give filled()")
    if isinstance(x, (bool, int, float, list, tuple, range)):
        array = array_of(x)
    else:
        array = np.from_dlpack(x) if hasattr(x, "__dlpack__") and not hasattr(x, "__array__") else np.asarray(x)
    if array.dtype == object or array.dtype.kind in "cOSTUMm" or array.dtype.names:
        raise TypeError(f"{type(x).__name__} of dtype {array.dtype} is no array of real numbers")
    if array.dtype.name in _NARROW_INTEGERS:
        array = array.astype(array.dtype.name.rstrip("0123456789") + "8")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    array = np.ascontiguousarray(array).reshape(array.shape)
    word = _word(array.dtype.name)
    if array.dtype.type is np.void and array.dtype.itemsize not in _UNSIGNED:
        raise TypeError(f"{type(x).__name__} of dtype {array.dtype} is no array of real numbers")
    if array.dtype.kind == "V" or array.dtype.name not in np.sctypeDict:
        array = array.view(_UNSIGNED[array.dtype.itemsize])
    return array, word


def hold(x, label, word=None):
    """A tensor over the memory of `x` that requests find by its `.word`, as long as it lives. `word`: codes of that format."""
    array, own = as_numpy(x)
    flat = array.reshape(-1).view(np.uint8)
    return _core.hold(flat, word or own, array.dtype.itemsize, list(array.shape), label)


def like(values, x):
    """`values`, an array of numpy, as the type, dtype and device of `x`. Raises ValueError where its dtype cannot hold them."""
    if isinstance(x, (bool, int, float)) and not isinstance(x, np.generic):
        return float(values)
    if _is_torch(x):
        import torch

        if not x.dtype.is_floating_point:
            return torch.from_numpy(values).to(x.device)
        whole = torch.from_numpy(values)
        out = whole.to(x.dtype)
        _check_held(whole.numpy(), out.to(whole.dtype).numpy(), str(x.dtype))
        return out.to(x.device)
    dtype = getattr(x, "dtype", values.dtype)
    if isinstance(x, (np.ndarray, np.generic)) or not hasattr(x, "dtype"):
        if np.dtype(dtype).kind in "iub" or np.dtype(dtype).type is np.void or np.dtype(dtype).name in _NARROW_INTEGERS:
            return values[()] if isinstance(x, np.generic) else values
        with np.errstate(over="ignore", invalid="ignore"):
            out = values.astype(dtype)
        _check_held(values, out.astype(values.dtype), str(dtype))
        return out[()] if isinstance(x, np.generic) else out
    if "jax" in sys.modules:
        import jax

        if isinstance(x, jax.Array):
            if not jax.numpy.issubdtype(x.dtype, jax.numpy.floating):
                out = jax.numpy.asarray(values)
                _check_held(values, np.asarray(out).astype(values.dtype), str(out.dtype))
                return out
            with np.errstate(over="ignore", invalid="ignore"):
                out = jax.numpy.asarray(values, dtype=x.dtype)
            _check_held(values, np.asarray(out).astype(values.dtype), str(x.dtype))
            return out
    return values


def _check_held(values, back, dtype):
    same = (values == back) | (np.isnan(values) & np.isnan(back))
    if not np.all(same):
        raise ValueError(f"{dtype} cannot hold {np.count_nonzero(~same)} of {same.size} results; give the input as float32")
