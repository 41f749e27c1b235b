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


# What a part that is read line by line holds in lines of its own.
LINES = {"part of a census or sweep": ("tensors", "ranges", "parts"), "part of a training study": ("runs",)}


def open_text(value, **how):
    """An object without the brace that closes it."""
    kind = value.get("ulpscope")
    by_line = LINES.get(kind) if isinstance(kind, str) else None
    if by_line is None:
        return json.dumps(value, **how)[:-1].rstrip("\n")
    compact = {"separators": (",", ":")}
    lines = {name: json.dumps(member, **compact) for name, member in value.items()}
    for name in by_line:
        if name != "ranges" and isinstance(value.get(name), list):
            lines[name] = "[" + ",".join("\n" + json.dumps(one, **compact) for one in value[name]) + "\n]"
    facts = ",".join(f'"{name}":{text}' for name, text in lines.items() if name not in by_line)
    rest = ",\n".join(f'"{name}": {lines[name]}' for name in by_line if name in lines)
    return "{" + facts + ",\n" + rest


def sealed_json(value, **how):
    """What is no object, or an empty one, is not sealed."""
    members = {name: member for name, member in value.items() if name != "sha256"} if isinstance(value, dict) else {}
    return sealed(open_text(members, **how)) if members else json.dumps(value, **how)
