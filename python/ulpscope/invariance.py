# SPDX-License-Identifier: Apache-2.0
"""Does a row's result depend on its batch, the splits, the run? A function for every operation of `ulpscope invariance`.

Each takes the outputs as a dictionary: what was different, and the output; (output, row) where it holds some rows of the result,
from that one on. Returns a Result: its table has a row for each pair of outputs, its `outcome` is `fail` where something moved or
is wrong."""
from . import _core
from ._requests import documented, operands_of, study
from .verify import formula_options, inputs_of


def _operation(kind):
    name = kind.split(" ", 1)[1]
    inputs = inputs_of(name)

    def compare(outputs, *operands, **options) -> "Any":
        if name == "expr":
            options = formula_options(options, kind)
        given = operands_of(f"invariance.{name}", "outputs", inputs, operands, options)
        if not isinstance(outputs, dict):
            raise TypeError(f"invariance.{name}: outputs are a dictionary, such as {{'batch': d, 'alone': (d0, 0)}}")
        return study(kind, {"output": outputs, **given, **options})

    compare.__name__, compare.__qualname__, compare.__module__ = name, name, __name__
    compare.__doc__ = f"{dict(_core.kinds())[kind]} The outputs, then the operands; returns a Result. Raises ulpscope.Error."
    return documented(kind, compare, ("outputs", *inputs), of_fields=("output", *inputs))


for _kind, _ in _core.kinds():
    if _kind.startswith("invariance "):
        globals()[_kind.split(" ", 1)[1]] = _operation(_kind)
