# SPDX-License-Identifier: Apache-2.0
"""How far a long call is, in a terminal or a notebook: one line on the error stream, which goes when the call is over."""
import contextlib
import sys
import time

from . import _core

_AFTER = 1.0  # seconds; what is shorter shows nothing


def _somebody_looks():
    """A terminal, or a notebook, whose error stream is none."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _words(seconds):
    seconds = int(seconds + 0.5)
    return f"{seconds} s" if seconds < 100 else f"{seconds // 60} min {seconds % 60} s"


class _Line:
    def __init__(self, what, at_once):
        self._what, self._begun, self._width = _core.visible(what), time.monotonic(), 0
        self._after = 0 if at_once else _AFTER

    def __call__(self, done, total):
        spent = time.monotonic() - self._begun
        if spent < self._after:
            return
        left = f", about {_words(spent * (total - done) / done)} left" if done else ""
        self._write(f"{self._what}: {100 * done // total} %{left}")

    def _write(self, text):
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def end(self):
        if self._width:
            self._write("")
            sys.stderr.write("\r")
            sys.stderr.flush()


@contextlib.contextmanager
def shown(what, progress):
    """What a call tells (done, total) to: `progress` itself where it is a function, a line where it is True, or None and somebody
    looks, else None."""
    if callable(progress):
        yield progress
    elif progress or progress is None and _somebody_looks():
        line = _Line(what, progress is True)
        try:
            yield line
        finally:
            line.end()
    else:
        yield None
