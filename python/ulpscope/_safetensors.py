# SPDX-License-Identifier: Apache-2.0
"""Files of tensors (.safetensors): what is recorded while a model is trained, and what failed checks keep."""
import json
import os
import shutil
import tempfile

from ._files import NewFile


def header(tensors):
    """The bytes before the data of (name, dtype of safetensors, shape, bytes), in their order."""
    entries, at = {}, 0
    for name, dtype, shape, size in tensors:
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


class Writer:
    """Tensors of float32 or float64, one after the other, that become the file `path` with close(); until then they are in a file
    without a name in its folder.

    Raises OSError where that cannot be written."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._file, self._data = NewFile(self.path), tempfile.TemporaryFile(dir=os.path.dirname(self.path) or ".")
        self._tensors, self._names = [], {}

    def add(self, name, array):
        """`array`: of numpy. A name that is there already gets .2, .3, ..."""
        times = self._names[name] = self._names.get(name, 0) + 1
        name += f".{times}" if times > 1 else ""
        data = array.tobytes()
        self._data.write(data)
        self._tensors.append((name, f"F{8 * array.itemsize}", array.shape, len(data)))

    def close(self):
        """Writes the file. Once is enough."""
        if self._data.closed:
            return
        self._data.seek(0)
        self._file.write(header(self._tensors))
        shutil.copyfileobj(self._data, self._file)
        self._file.commit()
        self._data.close()
