# SPDX-License-Identifier: Apache-2.0
"""Requests: keywords of Python as the fields that the command line, study files and this package share."""
import difflib
import functools
import inspect
import operator
import os
import re

import numpy as np

from . import _core
from ._arrays import BUFFERS, are_numbers, array_of, hold, in_float32, said
from ._progress import shown
from ._table import Table, escaped, figures, framed


@functools.cache
def fields(kind):
    """The fields of a request by the names that keywords have: those of the command's options with `_` for `-`; `in` is `in_`."""
    return {keyword(field["name"]): field for field in _core.fields(kind)}


def keyword(name):
    """The keyword of a field."""
    return name + "_" if name in ("in", "from") else name


def name_of(value):
    """The word for a format, a dtype, the class of one or another value with a name; None if it has none."""
    if isinstance(value, type):
        try:
            dtype = np.dtype(value)
        except TypeError:  # an abstract one, as np.floating
            return None
        return None if dtype.kind in "OSUMm" else dtype.name
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
    raise TypeError(f"{said(value)} is no word, number or format")


def whole(value, what, least, error):
    """A whole number below 2^64, of numpy or torch too. Raises `error` in one line."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not least <= number < 2**64:
        raise error(f"{what} {said(value)}; give a whole number from {least} to {2**64 - 1}")
    return number


def takes_array(field):
    """Whether a field names a tensor: an operand, an output, scales, a mask."""
    return field["input"] or any(word in field["value"] for word in ("FILE", ".npy")) or field["value"] == "S"


#: fields whose whole numbers count or name something, or are truth values
_WHOLE = ("mask", "offsets", "group_of_row", "block_table", "key_lengths", "query_starts", "key_starts")


def given_array(field, value, has_name=False):
    """Plain numbers and lists of them as the array that a field of tensors is given; any other value as it is. `has_name`: it is one
    of a dictionary."""
    is_one = isinstance(value, (bool, int, float)) and (has_name or not field["list"])
    if not takes_array(field) or not (is_one or are_numbers(value)):
        return value
    of_formula = field["value"] == "NAME=FILE"  # which has whole numbers, too
    array = array_of(value, field["name"] in _WHOLE or of_formula)
    return in_float32(array) if of_formula else array


def by_name(values, what):
    """A dictionary whose keys are words. Raises TypeError where two of them are the same one."""
    named = {str(name): value for name, value in values.items()}
    if len(named) != len(values):
        words = [str(name) for name in values]
        twice = next(word for word in words if words.count(word) > 1)
        raise TypeError(f"{what}: two are named '{_core.visible(twice)}'")
    return named


_HAS_DIGIT = r"(?:[\w.]|[,:](?=\w))*\d(?:[\w.]|[,:](?=\w))*"  # `64`, `sm_90`, `0,128`: a value, not the sentence's next word


#: what the command line says of files, and this package of arrays
_OF_ARRAYS = (
    (", and FILE:NAME names one", ""),
    ("; of some of its rows write the first one behind the file, FILE@ROW", "; of some of its rows give (output, first row)"),
    ("--output: give two or more, each as NAME=FILE", "outputs: give two or more, each by its name"),
)


def with_keywords(kind, text, given=(), beside=None):
    """A line of the command's with the keywords of Python in the place of its options. `given`: fields' names, and their words.
    `beside`: more keywords, and their fields."""
    words, parts = dict(given), text.split("`")  # between backquotes stand commands
    for key, field in {**fields(kind), **(beside or {})}.items():
        if not field["option"].startswith("--"):
            continue
        mine = words.get(field["name"], [])
        choices = field["value"].split("|") if re.fullmatch(r"\w+(\|\w+)+", field["value"]) else []
        behind = (*mine, ",".join(mine), *choices, re.split(r"[,[]", field["value"])[0], field["name"])
        value = "|".join([*(re.escape(word) for word in behind if word), _HAS_DIGIT])

        def put(found):
            ends = found.string[found.end() :][:1] in (":", ",", "")
            if field["flag"] and not ends:
                return f"{key}=True"
            if found["value"] and found["value"] != field["name"]:  # not an array, which has the field's name
                quote = "'" if found["value"] in (*mine, *choices) and not field["whole"] and not field["real"] else ""
                return f"{key}={quote}{found['value']}{quote}"
            return key if ends or found.start() == 0 else f"`{key}`"

        pattern = rf"(?<![\w-]){field['option']}(?![\w-])(?: (?P<quote>'?)(?P<value>{value})(?P=quote)(?!\w))?"
        parts[::2] = [re.sub(pattern, put, part) for part in parts[::2]]
    return "`".join(parts)


class Asked:
    """Words of a request, and the arrays that some of them name, which live as long as it does. `called`: what errors call it.
    `beside`: keywords that are none of the request, each with its field and its word."""

    def __init__(self, kind, values, called=None, beside=None):
        self.kind, self.held, self.values, self.beside = kind, [], [], beside or {}
        called, known = called or kind, fields(kind)
        for key, field in known.items():
            if field["required"] and values.get(key) is None:
                raise TypeError(f"{called}: {key} is missing" + (f": {field['help']}" if field["help"] else ""))
        for key, value in values.items():
            if key not in known:
                near = difflib.get_close_matches(key, known, 3, 0.4)
                raise TypeError(f"{called}: there is no '{_core.visible(key)}'" + (f"; nearest: {', '.join(near)}" if near else ""))
            if value is None or (known[key]["flag"] and value is False):
                continue
            self.values.append((known[key]["name"], self._words(known[key], value)))

    def _words(self, field, value):
        label = field["name"]
        if isinstance(value, str):
            return value.split(",") if field["commas"] else [value]
        value = given_array(field, value)
        is_number = isinstance(value, (bool, int, float, np.generic))
        if is_number and not (takes_array(field) and not field["list"]):
            return [_one_word(value.item() if isinstance(value, np.generic) else value)]
        if isinstance(value, dict):
            value = by_name(value, f"{self.kind}: {label}")
        if isinstance(value, dict) and field["value"] == "NAME=NUMBER":
            return [f"{name}={_one_word(one)}" for name, one in value.items()]
        if isinstance(value, dict) and field["value"].startswith("NAME="):
            return [self._condition(field, name, one) for name, one in value.items()]
        if isinstance(value, dict):
            return [self._hold(given_array(field, array, has_name=True), name) for name, array in value.items()]
        if isinstance(value, (list, tuple, range)):
            if not field["list"] and not takes_array(field):
                return [",".join(map(_one_word, value))]
            if field["list"]:
                many = len(value) > 1

                def is_held(one):
                    return takes_array(field) and (is_array(one) or (field["input"] and isinstance(one, (int, float))))

                return [
                    self._hold(one, f"{label}{i}" if many else label) if is_held(one) else _one_word(one)
                    for i, one in enumerate(value)
                ]
        if is_number or (takes_array(field) and is_array(value)):
            return [self._hold(value, label)]
        return [_one_word(value)]

    def _condition(self, field, name, value):
        """`NAME=WORD`, `NAME=WORD@ROW` of (output, row)."""
        if "=" in name:
            raise TypeError(f"{self.kind}: '{_core.visible(name)}' is no name of an output")
        may_be_rows = "@ROW" in field["value"] and isinstance(value, tuple) and len(value) == 2
        array, row = value if may_be_rows and isinstance(value[1], (int, np.integer)) else (value, None)
        array = given_array(field, array, has_name=True)
        if row is not None and getattr(array, "ndim", None) == 0:  # one number is one row's
            array = array.reshape(1)
        return f"{name}={self._hold(array, name)}" + ("" if row is None else f"@{whole(row, 'row', 0, TypeError)}")

    def _hold(self, array, label):
        if isinstance(array, str):
            return array
        self.held.append((hold(array, label), label))
        return self.held[-1][0].word

    def named(self, value, shown=str):
        """A result with the arrays' names, as `shown` has them, in the place of the words they are held under."""
        if isinstance(value, str) and self.held:
            labels = {held.word: shown(label) for held, label in self.held}
            longest_first = sorted(labels, key=len, reverse=True)  # `memory:1` begins `memory:12`
            return re.sub("|".join(map(re.escape, longest_first)), lambda word: labels[word[0]], value)
        if isinstance(value, (list, tuple)):
            return type(value)(self.named(one, shown) for one in value)
        return value

    def named_text(self, text):
        """The same of lines to be read, in which nothing of a name acts."""
        return _core.visible_lines(self.named(text, _core.visible))

    def told(self, line):
        """A line of the command's in words of Python: of arrays and keywords. Nothing of their names acts."""
        for of_files, of_arrays in _OF_ARRAYS if self.held else ():
            line = line.replace(of_files, of_arrays)
        given = [*self.values, *((field["name"], [word]) for field, word in self.beside.values())]
        beside = {key: field for key, (field, _) in self.beside.items()}
        return _core.visible(with_keywords(self.kind, self.named(line), given, beside))

    def call(self, function, *more):
        """`function(values, ...)`, whose errors name arrays and keywords. Raises ulpscope.Error."""
        try:
            return function(self.values, *more)
        except _core.Error as error:
            raise _core.Error(self.told(str(error))) from None


def operands_of(called, first, inputs, operands, options):
    """Operands by the names of their fields. Raises TypeError where there are too many, or one is named as well."""
    if len(operands) > len(inputs):
        raise TypeError(f"{called}: takes {first} and {', '.join(inputs)}")
    for twice in [key for key, _ in zip(inputs, operands) if key in options]:
        raise TypeError(f"{called}: {twice} is given twice")
    return dict(zip(inputs, operands))


def is_array(value):
    """Whether a value is an array, or lists of numbers, and no word."""
    if isinstance(value, type):  # a dtype's class, which has what its numbers have
        return False
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__") or isinstance(value, (list, tuple, *BUFFERS))


class Result:
    """What a study gave, which a notebook shows with its figures: `tables` (a list of Table, what the command writes as CSV), `findings` (a Table: what is to be said of
    it), `remarks` (list of str), `outcome` (`pass`, `fail`, `vacuous`: the command's exit codes 0, 1 and 3) and `text` (str: all of it)."""

    def __init__(self, out, named=lambda value: value, kind=None):
        self.kind = kind
        self.tables = [Table(*named(table)) for table in out["tables"]]
        self.findings = Table(*named(out["findings"]))
        self.remarks = named(out["remarks"])
        self.outcome, self._text = out["outcome"], out["text"]

    @property
    def text(self):
        return _core.visible_lines(self._text or "\n\n".join([*self._sentences(), *map(repr, self.tables)]))

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        parts = [f"<p>{escaped(sentence)}</p>" for sentence in self._sentences()]
        if self._text:
            parts = [f"<pre>{escaped(self._text, lines=True)}</pre>"]
        if self.kind is not None:
            parts += figures(self.kind, self.tables)
        return framed("".join(parts + ([] if self._text else [table.html() for table in self.tables])))

    def _sentences(self):
        return [_core.visible(sentence) for sentence in (*self.findings["sentence"], *self.remarks)]


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
        out = asked.call(lambda given: _core.run(kind, given, told))
    result = Result(out, asked.named, kind)
    result.remarks, result._text = [asked.told(line) for line in out["remarks"]], asked.named_text(out["text"])
    return result


def run(study, directory, only=(), resume=False, progress=None, allow_programs=False):
    """Runs a study file, a path or the name of a built-in study, and writes its report into `directory`: the bytes that
    `ulpscope run STUDY -o DIR` writes. `only`: the studies of these names; `resume`: go on where a run was ended;
    `progress`: as study() has it, told of cells; `allow_programs`: let studies start programs and load libraries that the file
    names. Returns a dictionary of each study's name and Result.

    Raises ulpscope.Error; then nothing is written but the cells that are done, from which `resume` goes on."""
    only = [only] if isinstance(only, str) else list(only)
    with shown(str(study), progress) as told:
        try:
            out = _core.run_file(os.fspath(study), os.fspath(directory), only, resume, bool(allow_programs), told)
        except _core.Error as error:
            line = str(error).replace("--allow-programs", "allow_programs=True").replace("--resume", "resume=True")
            raise _core.Error(line.replace("--only ", "only: ")) from None
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
