# SPDX-License-Identifier: Apache-2.0
"""Requests: keywords of Python as the fields that the command line, study files and this package share."""
import difflib
import functools
import html
import inspect
import operator
import os

import numpy as np

from . import _core
from ._arrays import BUFFERS, hold
from ._progress import shown
from ._table import Table, figures, framed


@functools.cache
def fields(kind):
    """The fields of a request by the names that keywords have: those of the command's options with `_` for `-`; `in` is `in_`."""
    return {keyword(field["name"]): field for field in _core.fields(kind)}


def keyword(name):
    """The keyword of a field."""
    return name + "_" if name in ("in", "from") else name


def name_of(value):
    """The word for a format, a dtype or another value with a name; None if it has none."""
    if str(value).startswith("torch."):  # a dtype of PyTorch's, which has no name
        return str(value)
    name = getattr(value, "name", value)
    return name if isinstance(name, str) else None


def _one_word(value):
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _core.shortest(value)
    name = name_of(value)
    if name is not None:
        return name
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return _one_word(value.item())
    raise TypeError(f"{value!r} is no word, number or format")


def whole(value, what, least, error):
    """A whole number below 2^64, of numpy or torch too. Raises `error` in one line."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not least <= number < 2**64:
        raise error(f"{what} {value!r}; give a whole number from {least} to {2**64 - 1}")
    return number


def takes_array(field):
    """Whether a field names a tensor: an operand, an output, scales, a mask."""
    return field["input"] or any(word in field["value"] for word in ("FILE", ".npy")) or field["value"] == "S"


class Asked:
    """Words of a request, and the arrays that some of them name, which live as long as it does. `called`: what errors call it."""

    def __init__(self, kind, values, called=None):
        self.kind, self.held, self.values = kind, [], []
        called, known = called or kind, fields(kind)
        for key, field in known.items():
            if field["required"] and values.get(key) is None:
                raise TypeError(f"{called}: {key} is missing" + (f": {field['help']}" if field["help"] else ""))
        for key, value in values.items():
            if key not in known:
                near = difflib.get_close_matches(key, known, 3, 0.4)
                raise TypeError(f"{called}: there is no '{key}'" + (f"; nearest: {', '.join(near)}" if near else ""))
            if value is None or (known[key]["flag"] and value is False):
                continue
            self.values.append((known[key]["name"], self._words(known[key], value)))

    def _words(self, field, value):
        label = field["name"]
        if isinstance(value, str):
            return value.split(",") if field["commas"] else [value]
        is_number = isinstance(value, (bool, int, float, np.generic))
        if is_number and not (takes_array(field) and not field["list"]):
            return [_one_word(value.item() if isinstance(value, np.generic) else value)]
        if isinstance(value, dict) and field["value"] == "NAME=NUMBER":
            return [f"{name}={_one_word(one)}" for name, one in value.items()]
        if isinstance(value, dict) and field["value"].startswith("NAME="):
            return [self._condition(name, one) for name, one in value.items()]
        if isinstance(value, dict):
            return [self._hold(array, name) for name, array in value.items()]
        if isinstance(value, (list, tuple, range)):
            are_numbers = len(value) > 0 and all(isinstance(one, (bool, int, float, list, tuple)) for one in value)
            if takes_array(field) and are_numbers:
                return [self._hold(np.asarray(value, float), label)]
            if not field["list"] and not takes_array(field):
                return [",".join(map(_one_word, value))]
            if field["list"]:
                many = len(value) > 1
                return [
                    self._hold(one, f"{label}{i}" if many else label) if is_array(one) else _one_word(one)
                    for i, one in enumerate(value)
                ]
        if is_number or is_array(value):
            return [self._hold(value, label)]
        return [_one_word(value)]

    def _condition(self, name, output):
        """`NAME=WORD`, `NAME=WORD@ROW` of (output, row)."""
        if "=" in name:
            raise TypeError(f"{self.kind}: '{name}' is no name of an output")
        rows = isinstance(output, tuple) and len(output) == 2 and isinstance(output[1], (int, np.integer))
        array, row = output if rows else (output, None)
        return f"{name}={self._hold(array, name)}" + ("" if row is None else f"@{whole(row, 'row', 0, TypeError)}")

    def _hold(self, array, label):
        if isinstance(array, str):
            return array
        self.held.append((hold(array, label), label))
        return self.held[-1][0].word

    def named(self, value):
        """A result with the arrays' names in the place of the words they are held under."""
        if isinstance(value, str):
            for held, label in self.held:
                value = value.replace(held.word, label)
            return value
        if isinstance(value, (list, tuple)):
            return type(value)(self.named(one) for one in value)
        return value

    def call(self, function, *more):
        """`function(values, ...)`, whose errors name the arrays. Raises ulpscope.Error."""
        try:
            return function(self.values, *more)
        except _core.Error as error:
            raise _core.Error(_core.visible(self.named(str(error)))) from None


def operands_of(called, first, inputs, operands, options):
    """Operands by the names of their fields. Raises TypeError where there are too many, or one is named as well."""
    if len(operands) > len(inputs):
        raise TypeError(f"{called}: takes {first} and {', '.join(inputs)}")
    for twice in [key for key, _ in zip(inputs, operands) if key in options]:
        raise TypeError(f"{called}: {twice} is given twice")
    return dict(zip(inputs, operands))


def is_array(value):
    """Whether a value is an array, or lists of numbers, and no word."""
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__") or isinstance(value, (list, tuple, *BUFFERS))


class Result:
    """What a study gave, which a notebook shows with its figures: `tables` (a list of Table, what the command writes as CSV), `findings` (a Table: what is to be said of
    it), `remarks` (list of str), `outcome` (`pass`, `fail`, `vacuous`: the command's exit codes 0, 1 and 3) and `text` (str)."""

    def __init__(self, out, named=lambda value: value, kind=None):
        self.kind = kind
        self.tables = [Table(*named(table)) for table in out["tables"]]
        self.findings = Table(*named(out["findings"]))
        self.remarks = named(out["remarks"])
        self.outcome, self.text = out["outcome"], named(out["text"])

    def __repr__(self):
        return self.text or "\n\n".join([*self._sentences(), *map(repr, self.tables)])

    def _repr_html_(self):
        parts = [f"<p>{html.escape(sentence)}</p>" for sentence in self._sentences()]
        if self.text:
            parts = [f"<pre>{html.escape(self.text)}</pre>"]
        if self.kind is not None:
            parts += figures(self.kind, self.tables)
        return framed("".join(parts + ([] if self.text else [table.html() for table in self.tables])))

    def _sentences(self):
        return [*self.findings["sentence"], *self.remarks]


def study(kind, values, progress=None):
    """Runs a request that a study file may name, its fields by name: study("accumulation", {"k": "64"}). `progress`: None, which
    shows it where somebody may look; True and False, which do and do not; or a function (done, total) that is called now and
    then, in the calling thread. Returns a Result: tables, findings, remarks, outcome, text.

    Raises ulpscope.Error where a value is wrong, TypeError where there is no such field."""
    if kind not in dict(_core.kinds()):
        near = difflib.get_close_matches(str(kind), dict(_core.kinds()), 3, 0.4)
        raise _core.Error(f"there is no study '{_core.visible(str(kind))}'" + (f"; nearest: {', '.join(near)}" if near else ""))
    values = dict(values)
    progress = values.pop("progress", progress)
    asked = Asked(kind, values)
    with shown(kind, progress) as told:
        return Result(asked.call(lambda given: _core.run(kind, given, told)), asked.named, kind)


def run(study, directory, only=(), resume=False, progress=None, allow_programs=False):
    """Runs a study file, a path or the name of a built-in study, and writes its report into `directory`: the bytes that
    `ulpscope run STUDY -o DIR` writes. `only`: the studies of these names; `resume`: go on where a run was ended;
    `progress`: as study() has it, told of cells; `allow_programs`: let studies start programs and load libraries that the file
    names. Returns a dictionary of each study's name and Result.

    Raises ulpscope.Error; then nothing is written but the cells that are done, from which `resume` goes on."""
    with shown(str(study), progress) as told:
        out = _core.run_file(os.fspath(study), os.fspath(directory), [only] if isinstance(only, str) else list(only), resume, bool(allow_programs), told)
    return {name: Result(one) for name, one in out}


def documented(kind, function, positional=(), of_fields=None, more=None):
    """`function` with a signature and help made of the fields of a request. `positional` come first, in this order; they stand
    for the fields `of_fields`, by default those of the same names. `more`: keywords of its own, and their defaults."""
    known = fields(kind)
    needless = [name for name in positional if name in known and known[name]["input"] and not known[name]["required"]]
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=None if name in needless else inspect.Parameter.empty,
        )
        for name in positional
    ]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=standard) for name, standard in (more or {}).items()
    ]
    lines = []
    for name, field in known.items():
        if name in (positional if of_fields is None else of_fields):
            continue
        lines.append(f"    {name}: {field['help']}")
        standard = False if field["flag"] else None
        kind_of = "bool" if field["flag"] else "int" if field["whole"] else "float" if field["real"] else "str"
        kind_of = f"{kind_of} | Sequence[{kind_of}]" if field["list"] else kind_of
        if takes_array(field):
            kind_of = "Any"  # an array, or a word
        if field["words"] and not field["flag"]:
            number = int if field["whole"] else float if field["real"] else str
            words = [number(word) for word in field["words"]]
            standard = words if field["list"] else words[0]
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=standard, annotation=kind_of))
        if standard is None:
            parameters[-1] = parameters[-1].replace(annotation=kind_of if kind_of == "Any" else kind_of + " | None")
    if kind not in ("cast", "product"):  # which are no studies
        parameters.append(inspect.Parameter("progress", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any"))
        lines.append("    progress: as ulpscope.study has it")
    result = function.__annotations__.get("return", inspect.Signature.empty)
    function.__signature__ = inspect.Signature(parameters, return_annotation=result)
    function.__doc__ = (function.__doc__ or "").rstrip() + "\n\n" + "\n".join(lines) + "\n"
    return function
