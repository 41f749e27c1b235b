# SPDX-License-Identifier: Apache-2.0
"""Files of ours that hold their own SHA-256, changed and sealed again: what reads them is tried behind the seal."""
import hashlib
import json


def unsealed(text):
    """The text before it was sealed, without the brace that closes it."""
    return text[:text.rindex(',\n"sha256": "')]


def sealed(text):
    """A text with its seal, which closes the object that it begins."""
    return f'{text},\n"sha256": "{hashlib.sha256(text.encode()).hexdigest()}"}}\n'


# What a part that is read line by line holds in lines of its own; of a run, its numbers are, too.
LINES = {"part of a census or sweep": ("tensors", "ranges", "parts"), "part of a training study": ("runs",)}


def open_text(value, **how):
    """An object without the brace that closes it."""
    kind = value.get("ulpscope")
    by_line = LINES.get(kind) if isinstance(kind, str) else None
    if by_line is None:
        return json.dumps(value, **how)[:-1].rstrip("\n")
    compact = {"separators": (",", ":")}
    lines = {name: json.dumps(member, **compact) for name, member in value.items()}

    def one_each(values, line):
        return "[" + ",".join("\n" + line(one) for one in values) + "\n]"

    def line_of(one):
        if not isinstance(one, dict) or not isinstance(one.get("numbers"), list):
            return json.dumps(one, **compact)
        facts = json.dumps({key: member for key, member in one.items() if key != "numbers"}, **compact)
        return f'{facts[:-1]},"numbers":{one_each(one["numbers"], lambda some: json.dumps(some, **compact))}}}'

    for name in by_line:
        if name != "ranges" and isinstance(value.get(name), list):
            lines[name] = one_each(value[name], line_of)
    facts = ",".join(f'"{name}":{text}' for name, text in lines.items() if name not in by_line)
    rest = ",\n".join(f'"{name}": {lines[name]}' for name in by_line if name in lines)
    return "{" + facts + ",\n" + rest


def sealed_json(value, **how):
    """What is no object, or an empty one, is not sealed."""
    members = {name: member for name, member in value.items() if name != "sha256"} if isinstance(value, dict) else {}
    return sealed(open_text(members, **how)) if members else json.dumps(value, **how)
