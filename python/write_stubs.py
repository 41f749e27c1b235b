#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a type stub beside every public module of the package: signatures as the requests' descriptions make them.

usage: write_stubs.py FOLDER, the one that holds the package"""
import importlib
import inspect
import pathlib
import sys
import textwrap

MODULES = ["", ".explain", ".invariance", ".testing", ".verify"]


def annotation(value):
    """A parameter's or result's type as it is written in a stub."""
    if value is inspect.Signature.empty:
        return "Any"
    return value if isinstance(value, str) else value.__name__


def signature(function, method):
    """`(x: Any, *, seed: int = 0) -> Table`."""
    words, keywords = [], False
    given = inspect.signature(function)
    for parameter in given.parameters.values():
        if parameter.kind == parameter.KEYWORD_ONLY and not keywords:
            keywords = True
            words.append("*")
        prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        keywords |= prefix == "*"
        if method and parameter.name == "self":
            words.append("self")
            continue
        standard = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        words.append(f"{prefix}{parameter.name}: {annotation(parameter.annotation)}{standard}")
    result = "None" if function.__name__ == "__init__" else annotation(given.return_annotation)
    return f"({', '.join(words)}) -> {result}"


def documented(text, indent):
    """A docstring at this depth, and a line's end; nothing where there is none."""
    if not text:
        return ""
    return textwrap.indent(f'"""{inspect.cleandoc(text)}"""', indent) + "\n"


def of_function(name, function, indent=""):
    """`def` and its docstring."""
    head = f"{indent}def {name}{signature(function, bool(indent))}:\n"
    return head + documented(function.__doc__, indent + "    ") + f"{indent}    ...\n"


def of_class(name, kind):
    """A class with its public methods and properties; attributes that are not known here are Any."""
    bases = "(ValueError)" if issubclass(kind, ValueError) else ""
    text = f"class {name}{bases}:\n" + documented(kind.__doc__, "    ")
    for key, value in vars(kind).items():
        if key.startswith("_") and key not in ("__init__", "__getitem__", "__len__", "__bool__"):
            continue
        if isinstance(value, property):
            text += f"    @property\n    def {key}(self) -> Any:\n{documented(value.__doc__, '        ')}        ...\n"
        elif inspect.isfunction(value):
            text += of_function(key, value, "    ")
    return text + ("    ...\n" if bases else "    def __getattr__(self, name: str) -> Any: ...\n")


def stub(module):
    """The text of a module's stub."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    text = "from collections.abc import Sequence\nfrom typing import Any\n\n"
    if module.__name__ != "ulpscope":
        text += "from . import Table\n" + ("from .verify import Verdict\n" if module.__name__.endswith("testing") else "")
    else:
        text += "from . import explain as explain, invariance as invariance, testing as testing, torch as torch, verify as verify\n\n__version__: str\n"
    for name in names:
        value = getattr(module, name)
        if inspect.isclass(value) and value.__module__.startswith("ulpscope") and (module.__name__ == "ulpscope" or value.__module__ == module.__name__):
            text += "\n" + of_class(name, value)
        elif inspect.isfunction(value) and (module.__name__ == "ulpscope" or value.__module__ == module.__name__):
            text += "\n" + of_function(name, value)
    return text


def main():
    folder = pathlib.Path(sys.argv[1])
    sys.path.insert(0, str(folder))
    for word in MODULES:
        module = importlib.import_module("ulpscope" + word)
        path = folder / "ulpscope" / ((word[1:] or "__init__") + ".pyi")
        path.write_text(stub(module))


if __name__ == "__main__":
    main()
