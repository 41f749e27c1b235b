# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all, through no link: those of the program."""
import errno
import os

import numpy as np

from . import _core


class NewFile:
    """Bytes that become the file `path` with commit(), in place of one that is there; without it nothing is left. A descriptor is
    written to.

    Raises OSError where it cannot be written, at once where that is known."""

    def __init__(self, path):
        self._file = _written(_core.NewFile, f"/dev/fd/{path}".encode() if isinstance(path, int) else os.fsencode(path))

    def write(self, data):
        """Appends bytes, as all that is written to does."""
        bytes_of = np.frombuffer(data, np.uint8)
        _written(self._file.write, bytes_of)
        return bytes_of.size

    def commit(self):
        """Once is enough."""
        if self._file is not None:
            _written(self._file.commit)
            self._file = None


def _written(act, *words):
    try:
        return act(*words)
    except _core.Error as error:
        known = [number for number in errno.errorcode if str(error).endswith(": " + os.strerror(number))]
        raise OSError(*known[:1], str(error)) from None


def write_file(path, data):
    """A file of these bytes. Raises OSError."""
    file = NewFile(path)
    file.write(data)
    file.commit()
