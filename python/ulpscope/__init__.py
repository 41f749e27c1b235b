# SPDX-License-Identifier: Apache-2.0
"""Low-precision numerics, bit for bit: formats, rounding, emulated matrix engines, and checks of kernels.

Arrays may be numpy's, torch's, jax's or plain numbers. Words (formats, engines, scale rules) are those of the program
`ulpscope`, and so are results, to the last bit. Errors are `ulpscope.Error`, a ValueError of one line.

`ulpscope.testing` has assertions for tests of kernels, `ulpscope.torch` (where torch is installed) models under recipes."""
import importlib
import math
import re
import warnings

import numpy as np

from . import _core, explain, invariance, verify
from ._arrays import BUFFERS, are_numbers, array_of, as_numpy, hold, like, said
from ._requests import Asked, _one_word, documented, fields, name_of, run, study
from ._table import Table
from ._core import Error

__version__ = _core.version
__all__ = ["Error", "Format", "Quantized", "Scaler", "Table", "census", "decode", "diff", "encode", "engines", "explain",
           "formats", "invariance", "loss_scales", "matmul", "quantize", "recipes", "round", "run", "scaler", "scalers", "study", "sweep", "verify"]


def __getattr__(name):
    """`ulpscope.torch` and `ulpscope.testing`, where they are asked for first."""
    if name in ("torch", "testing"):
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'ulpscope' has no attribute '{_core.visible(name)}'")


class Format:
    """A format's facts: an attribute for each column of `ulpscope formats` (`bits`, `bias`, `max_finite`, `min_normal`, `epsilon`,
    ...), numbers as float or int, words as str, `has_inf` as bool; docs/numerics.md says what each is. `min_subnormal` is None
    where there is none.

    word: a name (`e4m3fn`, `bf16`, `float8_e5m2`), a made one such as `e3m2`, or a dtype. Raises ulpscope.Error naming the
    nearest."""

    def __init__(self, word):
        _, columns, rows = _core.formats([_word(word)])
        facts = dict(zip(columns, rows[0]))
        facts["has_inf"] = facts["has_inf"] == "true"
        facts["min_subnormal"] = None if facts["min_subnormal"] == "" else facts["min_subnormal"]
        self.__dict__.update(facts)

    def __repr__(self):
        return f"Format('{self.name}')"

    def __eq__(self, other):
        return isinstance(other, Format) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


def formats(*words) -> "Table":
    """The table of `ulpscope formats`: a row for each named format, or for each of these words. Raises ulpscope.Error."""
    return Table(*_core.formats([_word(word) for word in words]))


def engines() -> "list[str]":
    """Names of all emulated matrix engines: what `engine=` takes (docs/engines.md says what each is and how it is known)."""
    return _core.engines()


def recipes() -> "dict[str, str]":
    """The recipes that come with the program: a dictionary of names and TOML texts."""
    return dict(_core.recipes())


def round(x, to, **options):
    """`x` rounded to the format `to`.

    x: numbers of any shape: an array of numpy, torch or jax, lists, a float, or a word of the command line. to: a format: a name,
    a dtype, or a dtype's class.
    Returns what `x` is: its type, shape, dtype and device; of integers float32, or float64 where it needs that; of lists, whose
    numbers are float64, an array of float64.
    Raises ulpscope.Error for words that there are not, ValueError where the dtype of `x` cannot hold a result. Rounding is
    IEEE 754-2019, section 4.3, and what docs/numerics.md adds."""
    asked = Asked("cast", {"input": hold_as_array(x), "to": to, **options}, "round")
    return like(asked.call(_core.round), x)


def encode(x, to, **options):
    """Codes of `x` in the format `to`: an array of numpy in the shape of `x`, of the least of uint8, uint16, uint32 and uint64 that
    has the format's bits, which stand lowest; of integers `intN` the numbers themselves, in int8, int16 or int32. Raises
    ulpscope.Error."""
    asked = Asked("cast", {"input": hold_as_array(x), "to": to, **options}, "encode")
    return asked.call(_core.encode)


def decode(codes, to=None):
    """Values of codes: an array of numpy in their shape, float32 where every number of the format fits, else float64.

    codes: unsigned integers of the format's bits or more, also as numpy loads those of ml_dtypes (`void16`), or an array whose dtype
    says the format by itself (bfloat16 and float8 of ml_dtypes, torch and jax), without `to`; signed integers for `intN`, from
    -2^(N-1) on. to: a format, or `intN`. Raises ulpscope.Error where the dtype is another format's or has fewer bits, or a code has
    more."""
    if isinstance(codes, (int, list, tuple)):
        codes = array_of(codes, keep_whole=True)
    word = None if to is None else _word(to)
    if word is not None and re.fullmatch(r"int\d+", word):
        return _decode_integers(codes, word)
    word = word and _core.format_name(word)
    array, own = as_numpy(codes)
    is_unsigned = own.startswith(("uint", "void"))  # codes of ml_dtypes that numpy has loaded are void
    if word is not None and own != word and not is_unsigned:
        raise Error(f"codes: are {own}; codes of {word} are unsigned integers")
    if word is None and (array.dtype.name == own or is_unsigned) and not own.startswith("float"):
        raise Error(f"codes: {own} says no format; give `to`")
    if word is not None and is_unsigned:
        bits, held_bits, largest = Format(word).bits, 8 * array.itemsize, int(array.max(initial=0))
        if held_bits < bits or own.startswith("void") and held_bits != -(-bits // 8) * 8:
            raise Error(f"codes: {own} holds {held_bits} bits an element, {word} has {bits}")
        if largest >> bits:
            raise Error(f"codes: {largest:#x} has more than the {bits} bits of {word}")
        if own.startswith("uint"):
            codes = array.astype(np.min_scalar_type((1 << bits) - 1))  # the least words that hold the format
    held = hold(codes, "codes", word)
    return _core.decode(held.word)


def _decode_integers(codes, word):
    """As decode(), of integers in two's complement: their own numbers."""
    array, own = as_numpy(codes)
    if not own.startswith("int"):
        raise Error(f"codes: are {own}; codes of {word} are signed integers")
    encode(np.zeros(0, np.float32), word)  # refuses a word that there is not
    most = 2 ** (int(word[3:]) - 1) - 1  # and one more below 0, which symmetric quantizers leave out
    if array.size and not -most - 1 <= int(array.min()) <= int(array.max()) <= most:
        raise Error(f"codes: {int(array.min())} to {int(array.max())} are beyond the {-most - 1} to {most} of {word}")
    return array.astype(np.float32)


class Quantized:
    """Codes under scales: `codes`, `scales` (None where there are none), `scale_format`, `tensor_scale`, `format`, and of integers
    under `minmax` their `zero_points` (else None).

    `scales` has a row for each row of blocks and a column for each block of a row, rows being those of all dimensions but the
    last; one scale has no dimensions. A value is decode(code), less the zero point, times the scale of its block, in nvfp4 divided
    by `tensor_scale`; dequantize() gives what a census measures, where scales of float32 are divided by as they were multiplied
    by."""

    def __init__(self, out):
        self.format, self.codes, self.scales = out["format"], out["codes"], out["scales"]
        self.zero_points = out["zero_points"]
        self.scale_format, self.tensor_scale, self._values = out["scale_format"], out["tensor_scale"], out["values"]

    def __repr__(self):
        scales = "" if self.scales is None else f" under scales {self.scale_format} {self.scales.shape}"
        return f"<{self.format} {self.codes.shape}{scales}>"

    def dequantize(self):
        """An array of its own, float64, in the shape of what was quantized."""
        return self._values.copy()


def quantize(x, to, scale="none", **options) -> "Quantized":
    """`x` as a quantizer stores it: codes of the format `to` under scales of the rule `scale`.

    x: numbers of any shape; blocks lie along the last dimension. scale: a word of `--scale` (`none`, `amax`, `row`, `1x128`,
    `mx:rceil`, `nvfp4`, a number, ...; docs/numerics.md, "Rules of scales"). Returns Quantized. Raises ulpscope.Error."""
    word = scale if isinstance(scale, str) else _one_word(scale)
    beside = {"scale": (fields("census")["scale"], word)}
    asked = Asked("cast", {"input": hold_as_array(x), "to": to, **options}, "quantize", beside)
    made = asked.call(_core.quantize, word)
    if made["outside_rule"]:
        warnings.warn(asked.told(made["outside_rule"]), stacklevel=2)
    return Quantized(made)


def matmul(a, b, c=None, **options):
    """D = A.B + C on an emulated engine, to the last bit of what that hardware is known to give.

    a: (M, K). b: (K, N). c: (M, N), or None for zero. Returns an array (M, N) of numpy, float32, float64 where D is; a tensor of
    torch on the device of `a` where `a` is one. Raises ulpscope.Error where shapes, formats or the engine do not fit together."""
    asked = Asked("product", {"a": hold_as_array(a), "b": hold_as_array(b), "c": c if c is None else hold_as_array(c), **options}, "matmul")
    d = asked.call(_core.matmul)
    if type(a).__module__.split(".")[0] == "torch":
        import torch

        return torch.from_numpy(d).to(a.device)
    return d


def _word(to):
    """A format's word. Raises TypeError, one line."""
    word = name_of(to)
    if word is None:
        raise TypeError(f"{said(to)} is no format and no format's name")
    return word


def hold_as_array(x):
    """Numbers and lists as arrays; words (files, synthetic tensors) and arrays as they are."""
    if isinstance(x, (bool, int, float, list, tuple)):
        return array_of(x)
    return np.asarray(x) if isinstance(x, BUFFERS) else x


def _inputs(x):
    if isinstance(x, (dict, str)) or (isinstance(x, (list, tuple)) and not are_numbers(x)):
        return x
    return {"x": x}


def census(x, **options) -> "Table":
    """What formats do to numbers: a row for each tensor and format, with counts of what becomes zero, subnormal, saturated or
    infinite, errors, and the SQNR in dB: the Table of `ulpscope census`.

    x: an array of any shape, a list of numbers, a dictionary of arrays by name, a list of them, or words of the command line.
    Arrays of integers beside other numbers, as the buffers of a model, are left out with a warning, but for `integers=True`.
    Raises ulpscope.Error."""
    return _told(study("census", {"inputs": _inputs(x), **options})).tables[0]


def sweep(x, log2_scale=None, **options) -> "Table":
    """What formats do to numbers at every loss scale 2^k: the Table of `ulpscope sweep`, which a notebook shows as its figure.

    x: as census() has it. log2_scale: a range of Python, or LO:HI[:STEP] with HI included; None: the default below.
    Raises ulpscope.Error."""
    return _told(_sweep(x, log2_scale, options)).tables[0]


def loss_scales(x, log2_scale=None, **options) -> "Table":
    """Which loss scale to use: a row for each tensor and format with `log2_scale`, what it loses (`to_zero`, `overflow`), and the
    scales that lose no more (`least_log2_scale` to `greatest_log2_scale`): the Table of `ulpscope sweep --best`.

    x: as census() has it. log2_scale: as sweep() has it. Raises ulpscope.Error."""
    return _told(_sweep(x, log2_scale, options)).tables[1]


def _told(result):
    """The result, whose remarks are warnings where a table alone is given back."""
    for line in result.remarks:
        warnings.warn(line, stacklevel=3)
    return result


def _sweep(x, log2_scale, options):
    if isinstance(log2_scale, range):
        if len(log2_scale) == 0 or log2_scale.step < 1:
            raise Error(f"log2_scale: {log2_scale} has no scales in ascending order")
        log2_scale = f"{log2_scale[0]}:{log2_scale[-1]}:{log2_scale.step}"
    return study("sweep", {"inputs": _inputs(x), "log2_scale": log2_scale, **options})


def diff(reference, output, **options) -> "Table":
    """How an output differs from a reference of its shape, in ulp and relatively: the Table of `ulpscope diff`. Its `outcome` is
    `pass` where nothing differs, or all that does is within `tolerance`, else `fail`: the command's exit codes 0 and 1; the cells
    are the same with a tolerance and without. ulpscope.study("diff", ...) has the worst elements, too.

    reference, output: arrays, numbers, or words of the command line. Raises ulpscope.Error where shapes differ."""
    result = study("diff", {"reference": hold_as_array(reference), "output": hold_as_array(output), **options})
    table = result.tables[0]
    table.outcome = result.outcome
    return table


class Scaler:
    """A loss scaler, step by step as its framework has it (docs/training.md, "Loss scalers"). `scale` is for the next step. A copy,
    or what is unpickled, goes on from the same state by itself."""

    def __init__(self, words, to="fp16"):
        self._to = _word(to)
        if not isinstance(words, str):
            raise TypeError(f"{said(words)} is no scaler's name")
        self._scaler = _core.Scaler(words, self._to)

    def __reduce__(self):
        return type(self), (self.words, self._to), self.state_dict()

    def __setstate__(self, state):
        self.load_state_dict(state)

    def step(self, found_inf=False, amax=None, upper=None):
        """Goes one step on; returns whether the optimizer skips it.

        found_inf: whether a scaled gradient was infinite or NaN. amax: the largest magnitude of the unscaled gradients, 0 or more,
        NaN where one of them is: scalers of tensors (`te_delayed`, `te_current`, `ms_amp`) follow it, for others the step overflows
        where it does in `to`, times the scale. upper: the share of magnitudes above popart's edge, 0 to 1. Raises ulpscope.Error; and
        FloatingPointError where the framework ends the training: `deepspeed` and `fairseq` at their least scale."""
        if amax is not None:
            if amax < 0:
                raise Error(f"amax: {amax}: give a magnitude, 0 or more, inf or nan")
            if not self._scaler.follows_amax:
                scaled = float(amax) * self.scale
                found_inf = found_inf or not math.isfinite(round(scaled, self._to))
                if upper is None and self._scaler.bin_edge is not None:
                    upper = float(not scaled <= self._scaler.bin_edge)  # NaN is above
        if upper is not None and not 0 <= upper <= 1:
            raise Error(f"upper: {upper}: give a share, 0 to 1")
        step = self._scaler.step(bool(found_inf), amax, upper)
        if step.raised:
            raise FloatingPointError(f"scaler {self.words}: a step overflowed at the scale {_core.shortest(step.scale)}, and this one goes "
                                     "no lower: the training ends here")
        return step.skipped

    @property
    def scale(self):
        """What the next step multiplies the loss by."""
        return self._scaler.scale

    @property
    def words(self):
        """Its name, and the parameters that are not its source's."""
        return self._scaler.words()

    def state_dict(self):
        """Everything that steps change, by name."""
        return dict(self._scaler.state())

    def load_state_dict(self, state):
        """Sets what state_dict() gave. Raises ulpscope.Error, and sets nothing, where names or sizes are others, or a number is none
        that the scaler could have."""
        if not isinstance(state, dict):
            raise TypeError(f"{type(state).__name__} is no state_dict() of a scaler")
        words = {str(name): values if isinstance(values, (list, tuple)) else [values] for name, values in state.items()}
        try:
            given = [(name, [float(one) for one in values]) for name, values in words.items()]
        except (TypeError, ValueError):
            raise TypeError("a scaler's state has numbers and lists of numbers") from None
        self._scaler.set_state(given)

    def __repr__(self):
        return f"<scaler {self.words}, scale {_core.shortest(self.scale)}>"


def scaler(words, to="fp16") -> "Scaler":
    """A loss scaler: `pytorch:growth_interval=100`, `megatron`, ...; scalers() lists them.

    to: the format of the gradients, of which scalers of tensors take the largest number. Raises ulpscope.Error naming the nearest
    scaler or parameter."""
    return Scaler(words, to)


def scalers(name="") -> "Table":
    """The table of `ulpscope scalers`: name, parameters, rule and source of all; with a name the parameters of one. Raises
    ulpscope.Error."""
    return Table(*_core.scalers(name))


for _function in (round, encode):
    documented("cast", _function, ("x", "to"), ("input", "to"))
documented("cast", quantize, ("x", "to"), ("input", "to"), {"scale": "none"})
documented("census", census, ("x",), ("inputs",))
for _function in (sweep, loss_scales):
    documented("sweep", _function, ("x",), ("inputs",))
documented("diff", diff, ("reference", "output"))
documented("product", matmul, ("a", "b", "c"))
