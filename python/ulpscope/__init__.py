# SPDX-License-Identifier: Apache-2.0
"""Low-precision numerics, bit for bit: formats, rounding, emulated matrix engines, and checks of kernels.

Arrays may be numpy's, torch's, jax's or plain numbers. Words (formats, engines, scale rules) are those of the program
`ulpscope`, and so are results, to the last bit. Errors are `ulpscope.Error`, a ValueError of one line."""
from . import _core, explain, verify
from ._arrays import as_numpy, hold, like
from ._requests import Asked, documented, run, study
from ._table import Table
from ._core import Error

__version__ = _core.version
__all__ = ["Error", "Format", "Quantized", "Scaler", "Table", "census", "decode", "diff", "encode", "engines", "explain",
           "formats", "matmul", "quantize", "recipes", "round", "run", "scaler", "scalers", "study", "sweep", "verify"]


class Format:
    """A format's facts: an attribute for each column of `ulpscope formats` (`max_finite`, `bits`, `epsilon`, ...).

    Raises ulpscope.Error naming the nearest formats."""

    def __init__(self, word):
        _, columns, rows = _core.formats([word])
        self.__dict__.update(zip(columns, rows[0]))

    def __repr__(self):
        return f"Format('{self.name}')"

    def __eq__(self, other):
        return isinstance(other, Format) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


def formats(*words) -> "Table":
    """The table of `ulpscope formats`: of all named formats, or of these."""
    return Table(*_core.formats(list(words)))


def engines() -> "list[str]":
    """Names of all emulated engines."""
    return _core.engines()


def recipes() -> "dict[str, str]":
    """The recipes that come with the program: a dictionary of names and TOML texts."""
    return dict(_core.recipes())


def round(x, to, **options):
    """`x` rounded to the format `to`: the type, shape, dtype and device of `x`; of integers float32 or float64."""
    asked = Asked("cast", {"input": hold_as_array(x), "to": to, **options})
    return like(asked.call(_core.round), x)


def encode(x, to, **options):
    """Codes of `x` in the format `to`: the least unsigned integers of numpy that have its bits, in the shape of `x`."""
    asked = Asked("cast", {"input": hold_as_array(x), "to": to, **options})
    return asked.call(_core.encode)


def decode(codes, to=None):
    """Values of codes of the format `to`, float32 where all fit, else float64. Without `to` the dtype of `codes` says it."""
    word = None if to is None else _core.format_name(_word(to))
    own = as_numpy(codes)[1]
    if word is not None and own != word and not own.startswith("uint"):
        raise Error(f"codes: are {own}; codes of {word} are unsigned integers")
    held = hold(codes, "codes", word)
    return _core.decode(held.word)


class Quantized:
    """Codes under scales: `codes`, `scales` (None where there are none), `scale_format`, `tensor_scale`, `format`.

    A value is decode(code) times the scale of its block, in nvfp4 divided by `tensor_scale`; dequantize() gives what a census
    measures, where scales of float32 are divided by as they were multiplied by."""

    def __init__(self, out):
        self.format, self.codes, self.scales = out["format"], out["codes"], out["scales"]
        self.scale_format, self.tensor_scale, self._values = out["scale_format"], out["tensor_scale"], out["values"]

    def dequantize(self):
        """float64, in the shape of what was quantized."""
        return self._values


def quantize(x, to, scale="none", **options) -> "Quantized":
    """`x` as a quantizer stores it in the format `to`: every rule of `--scale`. Returns Quantized."""
    asked = Asked("cast", {"input": hold_as_array(x), "to": to, **options})
    return Quantized(asked.call(_core.quantize, scale))


def matmul(a, b, c=None, **options):
    """D = A.B + C on an emulated engine: float32, float64 where D is; a torch tensor where `a` is one."""
    asked = Asked("product", {"a": hold_as_array(a), "b": hold_as_array(b), "c": c if c is None else hold_as_array(c), **options})
    d = asked.call(_core.matmul)
    if type(a).__module__.split(".")[0] == "torch":
        import torch

        return torch.from_numpy(d).to(a.device)
    return d


def _word(to):
    return to if isinstance(to, str) else to.name


def hold_as_array(x):
    """Numbers and lists as arrays; words (files, synthetic tensors) and arrays as they are."""
    if isinstance(x, (bool, int, float, list, tuple)):
        import numpy

        return numpy.asarray(x)
    return x


def _inputs(x):
    return x if isinstance(x, (dict, list, tuple, str)) else {"x": x}


def census(x, **options) -> "Table":
    """What formats do to `x`: an array, a dictionary of arrays by name, or words of the command line. Returns a Table."""
    return study("census", {"inputs": _inputs(x), **options}).tables[0]


def sweep(x, log2_scale=None, **options) -> "Table":
    """The same at every loss scale 2^k; `log2_scale`: a range of Python, or LO:HI[:STEP], HI included. Returns a Table."""
    if isinstance(log2_scale, range):
        if len(log2_scale) == 0 or log2_scale.step < 1:
            raise Error(f"log2_scale: {log2_scale} has no scales in ascending order")
        log2_scale = f"{log2_scale[0]}:{log2_scale[-1]}:{log2_scale.step}"
    return study("sweep", {"inputs": _inputs(x), "log2_scale": log2_scale, **options}).tables[0]


def diff(reference, output, **options) -> "Table":
    """How an output differs from a reference of its shape. Returns a Table."""
    return study("diff", {"reference": hold_as_array(reference), "output": hold_as_array(output), **options}).tables[0]


class Scaler:
    """A loss scaler by its published semantics. `scale` is for the next step."""

    def __init__(self, words, to="fp16"):
        self._scaler = _core.Scaler(words, _word(to))

    def step(self, found_inf=False, amax=None, upper=None):
        """Goes one step on; returns whether the optimizer skips it."""
        return self._scaler.step(bool(found_inf), amax, upper).skipped

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
        """Sets what state_dict() gave. Raises ulpscope.Error where names or sizes are others."""
        self._scaler.set_state(list(state.items()))

    def __repr__(self):
        return f"<scaler {self.words}, scale {_core.shortest(self.scale)}>"


def scaler(words, to="fp16") -> "Scaler":
    """A loss scaler: `pytorch:growth_interval=100`, `megatron`, ... Raises ulpscope.Error naming the nearest."""
    return Scaler(words, to)


def scalers(name="") -> "Table":
    """The table of `ulpscope scalers`: all, or the parameters of one."""
    return Table(*_core.scalers(name))


documented("cast", round, ("x", "to"), ("input", "to"))
documented("census", census, ("x",), ("inputs",))
documented("sweep", sweep, ("x",), ("inputs",))
documented("diff", diff, ("reference", "output"))
documented("product", matmul, ("a", "b"))
