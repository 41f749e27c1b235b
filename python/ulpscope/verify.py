# SPDX-License-Identifier: Apache-2.0
"""Is a kernel's output right? A function for every operation of `ulpscope verify`, each of which returns a Verdict."""
from . import _core
from ._requests import documented, fields, operands_of, study


class Verdict:
    """What is to be said of an output: `passed`, `outcome` (`pass`, `fail`, `vacuous`), `sentence`, `text`, `tables`.

    A check that could not have failed is vacuous and does not pass."""

    def __init__(self, result):
        self.outcome, self.text, self.tables = result.outcome, result.text, result.tables
        said = list(zip(result.findings["value"], result.findings["sentence"]))
        self.sentence = _core.visible(next((sentence for value, sentence in said if value == self.outcome), said[0][1]))
        self.passed = result.outcome == "pass"

    def table(self):
        """The counts: the row that `ulpscope verify --csv` prints."""
        return self.tables[0]

    def __bool__(self):
        return self.passed

    def __repr__(self):
        return self.text


def inputs_of(name):
    """The operands of an operation, in their order."""
    return [key for key, field in fields("verify " + name).items() if field["input"]]


def formula_options(options, kind="verify expr"):
    """Of `expr`: keywords that are no options name tensors and numbers of the formula."""
    known, own = fields(kind), {}
    tensors, numbers = dict(options.get("input") or {}), dict(options.get("let") or {})
    for key, value in options.items():
        if key in known or key == "progress":
            own[key] = value
        elif key in tensors or key in numbers:
            raise TypeError(f"{kind}: {_core.visible(key)} is given twice")
        elif isinstance(value, (bool, int, float)):
            numbers[key] = value
        else:
            tensors[key] = value
    return {**own, "input": tensors, **({"let": numbers} if numbers else {})}


def _operation(kind):
    name = kind.split(" ", 1)[1]
    inputs = inputs_of(name)

    def check(output, *operands, **options) -> "Verdict":
        if kind == "verify expr":
            options = formula_options(options)
        if kind == "verify matmul" and "rule" in options:
            raise TypeError("verify.matmul: 'rule' is the command's alone; testing.audit(rule=...) says what rules let through")
        given = operands_of(f"verify.{name}", "an output", inputs, operands, options)
        return Verdict(study(kind, {"output": output, **given, **options}))

    check.__name__, check.__qualname__, check.__module__ = name, name, __name__
    check.__doc__ = f"{dict(_core.kinds())[kind]} The kernel's output, then the operands; returns a Verdict."
    return documented(kind, check, ("output", *inputs))


OPERATIONS = [kind.split(" ", 1)[1] for kind, _ in _core.kinds() if kind.startswith("verify ")]
for _name in OPERATIONS:
    globals()[_name] = _operation("verify " + _name)
