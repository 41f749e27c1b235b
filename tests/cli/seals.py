# SPDX-License-Identifier: Apache-2.0
"""Files of ours that hold their own SHA-256, changed and sealed again: what reads them is tried behind the seal."""
import hashlib
import json


def unsealed(text):
    """The text before it was sealed."""
    return "{" + text[len(sealed("{  ")) - 2:]


def sealed(text):
    """The text of a JSON object, with that of the object before it; what is no object stays as it is."""
    if not text.startswith("{") or len(text) < 3:
        return text
    return f'{{"sha256": "{hashlib.sha256(text.encode()).hexdigest()}",' + text[1:]


def sealed_json(value, **how):
    if isinstance(value, dict):
        value = {name: member for name, member in value.items() if name != "sha256"}
    return sealed(json.dumps(value, **how))
