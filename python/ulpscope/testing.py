# SPDX-License-Identifier: Apache-2.0
"""Assertions for tests of kernels: one for every operation of `ulpscope verify`, and audits of the test's own check."""
import inspect
import pathlib

import numpy as np

from . import Format, _core, decode, verify
from ._arrays import as_numpy
from ._files import NewFile, write_file
from ._progress import shown
from ._requests import Asked, documented, fields, given_array, is_array, operands_of, takes_array
from ._safetensors import header
from ._table import Table


class Failure:
    """What a failed assertion asked, and its `verdict`; the attribute `ulpscope` of the AssertionError."""

    def __init__(self, kind, values, verdict):
        self.kind, self.values, self.verdict = kind, values, verdict

    def save(self, folder):
        """Writes the arrays into `folder`, which is made, and returns the line of shell that repeats the check on them."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        known = fields(self.kind)

        def kept(name, value):
            return str(_save(folder / name, value)) if is_array(value) else value

        def words(key, value):
            if not takes_array(known[key]):
                return value
            if isinstance(value, dict):
                return {name: kept(f"{key}_{name}", given_array(known[key], one, has_name=True)) for name, one in value.items()}
            value = given_array(known[key], value)
            if isinstance(value, (list, tuple)) and known[key]["list"]:
                return [kept(f"{key}{i}", one) for i, one in enumerate(value)]
            return kept(key, value)

        values = {key: words(key, value) for key, value in self.values.items()}
        return _core.command_line([*self.kind.split(), *_core.words(self.kind, Asked(self.kind, values).values)])


def _save(path, array):
    """.npy of what numpy has a dtype for, and of codes that say no format; else .safetensors, or .npy of the numbers where that has
    no dtype either."""
    array, word = as_numpy(array)
    dtype = None if array.dtype.name == word or word.startswith("void") else Format(word).safetensors
    if not dtype:
        path = path.with_name(path.name + ".npy")
        file = NewFile(path)
        np.save(file, array if dtype is None else decode(array, word))
        file.commit()
        return path
    path = path.with_name(path.name + ".safetensors")
    data = _packed(array, Format(word).bits)
    write_file(path, header([(path.stem, dtype, array.shape, len(data))]) + data)
    return path


def _packed(codes, bits):
    """The bytes of codes, of those of fewer than 8 bits one behind the other from the low bits up, as .safetensors has F4 and F6."""
    if bits >= 8:
        return codes.tobytes()
    each = np.unpackbits(codes.reshape(-1, 1).view(np.uint8), axis=1, count=bits, bitorder="little")
    return np.packbits(each, bitorder="little").tobytes()


def _assertion(name):
    operation = getattr(verify, name)

    def check(output, *operands, **options):
        __tracebackhide__ = True
        if name == "expr":
            options = verify.formula_options(options)
        verdict = operation(output, *operands, **options)
        options.pop("progress", None)
        if not verdict.passed:
            error = AssertionError(verdict.sentence.removeprefix("FAIL: ") + "\n\n" + verdict.text)
            error.ulpscope = Failure("verify " + name, {"output": output, **dict(zip(verify.inputs_of(name), operands)), **options}, verdict)
            raise error

    check.__name__ = check.__qualname__ = "assert_" + name
    check.__module__ = __name__
    check.__doc__ = f"Raises AssertionError, with the census, where ulpscope.verify.{name} does not pass."
    check.__signature__ = operation.__signature__
    return check


for _name in verify.OPERATIONS:
    globals()["assert_" + _name] = _assertion(_name)


class Audit:
    """What a check of one's own lets through: `outcome` (`pass`; `fail`: it rejects the correct output; `vacuous`: an output
    that every check must reject is accepted, or these inputs show no wrong number), `text`, `table`."""

    def __init__(self, outcome, text, table):
        self.outcome, self.text, self.table = outcome, text, table
        self.passed = outcome == "pass"

    def __bool__(self):
        return self.passed

    def __repr__(self):
        return self.text


def _asked_check(check):
    """`check` as it is called: with a reference and an output, also where it takes an output alone; it returns whether it accepts."""
    try:
        inspect.signature(check).bind(None, None)
    except TypeError:
        of_output = check

        def check(reference, output):
            return of_output(output)

    except ValueError:  # a function of C, which says nothing of itself
        pass

    def asked_of(reference, output):
        try:
            accepts = check(reference, output)
        except AssertionError:
            return False
        return accepts is None or bool(accepts)

    return asked_of


def _audited(operation, check, values):
    values = dict(values)
    with shown("audit " + operation, values.pop("progress", None)) as told:
        asked = Asked("audit " + operation, {**values, "rule": ["check"]})
        out = asked.call(lambda given: _core.audit(operation, given, _asked_check(check), told))
    return Audit(out["outcome"], asked.named_text(out["text"]), Table(*asked.named(out["table"])))


def audit(check, a, b, c=None, **options):
    """Can `check` fail? It is asked about wrong products of A and B, and about right ones summed in other orders.

    `check(reference, output)`, or `check(output)`, gets float64 arrays of the shape of D; it returns whether it accepts, or raises
    AssertionError. Returns an Audit."""
    return _audited("matmul", check, {"engine": "fma", "a": a, "b": b, "c": c, **options})


documented("audit matmul", audit, ("check", "a", "b", "c"), ("rule", "a", "b", "c"))


def _operation_audit(name):
    inputs = verify.inputs_of(name)

    def audit_operation(check, *operands, **options):
        if name == "expr":
            options = verify.formula_options(options, "audit expr")
        return _audited(name, check, {**operands_of(f"testing.audit_{name}", "a check", inputs, operands, options), **options})

    audit_operation.__name__ = audit_operation.__qualname__ = "audit_" + name
    audit_operation.__module__ = __name__
    audit_operation.__doc__ = (
        f"Can `check` fail? As audit() asks, of ulpscope.verify.{name}; the check, then the operands. `out` is the output's format."
    )
    return documented("audit " + name, audit_operation, ("check", *inputs), ("rule", *inputs))


for _name in _core.audited_operations():
    globals()["audit_" + _name] = _operation_audit(_name)
