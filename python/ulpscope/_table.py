# SPDX-License-Identifier: Apache-2.0
"""Tables: what studies give."""
import html
import math

from . import _core
from ._files import write_file

_MOST_ROWS = 20  # that a notebook shows
_STYLE = """<style>
.ulpscope { overflow-x: auto; }
.ulpscope svg { max-width: 100%; height: auto; }
.ulpscope p { margin: .4em 0; opacity: .75; font-size: 90%; }
.ulpscope table { border-collapse: collapse; border: none; margin: .4em 0; font-size: inherit; font-variant-numeric: tabular-nums; }
.ulpscope th, .ulpscope td { padding: .15em .7em; text-align: right; white-space: nowrap; border: none; }
.ulpscope thead th { border-bottom: 1px solid currentColor; vertical-align: bottom; }
.ulpscope tbody tr:nth-child(even) { background: rgba(127, 127, 127, .1); }
.ulpscope .words { text-align: left; }
.ulpscope figure { margin: .6em 0; }
.ulpscope figcaption { margin-bottom: .4em; max-width: 60em; }
.ulpscope pre { margin: .4em 0; white-space: pre-wrap; }
</style>"""


def framed(content):
    """What a notebook shows: HTML under the package's style."""
    return f'{_STYLE}<div class="ulpscope">{content}</div>'


def escaped(text, lines=False):
    """As HTML. Names come from others: nothing of them acts, there as elsewhere; of `lines` their ends stay."""
    return html.escape(_core.visible_lines(text) if lines else _core.visible(text))


def _cell(value, column):
    """As text tables have it, with all digits as a tooltip where some are left out."""
    if not isinstance(value, float):
        return escaped(str(value))
    short = _core.percent_text(value) if column.endswith("%") and not math.isnan(value) else f"{value:.5g}"
    exact = _core.shortest(value)
    return short if short == exact else f'<span title="{exact}">{html.escape(short)}</span>'


class Table:
    """Rows of str, int and float under named columns: what the command of that name writes as CSV.

    `name`, `columns` (list of str) and `rows` (list of lists) may be read. `table["column"]` is a list of its cells,
    `"column" in table` whether there is one; iteration gives rows."""

    outcome = None  #: of a comparison, `pass` or `fail`

    def __init__(self, name, columns, rows):
        self.name, self.columns, self.rows = name, list(columns), rows

    def __getitem__(self, column):
        if column not in self.columns:
            raise KeyError(f"no column {column}; there are {', '.join(self.columns)}")
        at = self.columns.index(column)
        return [row[at] for row in self.rows]

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def __contains__(self, column):
        return column in self.columns

    def to_csv(self, path=None):
        """The bytes that the command line writes (RFC 4180 with LF), as str; with `path` written there, or OSError."""
        text = _core.to_csv(self.name, self.columns, self.rows)
        if path is None:
            return text
        write_file(path, text.encode())
        return None

    def to_pandas(self):
        """A pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.rows, columns=self.columns)

    def __repr__(self):
        return _core.to_text(self.name, self.columns, self.rows, 40, 120)

    def _repr_html_(self):
        """What notebooks show: of a sweep its figures first."""
        return framed(("".join(figures("sweep", [self])) if self.name == "sweep" else "") + self.html())

    def html(self):
        """The table as an element of HTML: columns of one value are stated above it, of many rows the first are shown."""
        words = [any(isinstance(cell, str) for cell in self[column]) for column in self.columns]
        same = [len(self) > 1 and len({repr(cell) for cell in self[column]}) == 1 for column in self.columns]
        said = ", ".join(f"{escaped(self.columns[i])} {_cell(self.rows[0][i], self.columns[i])}" for i in range(len(same)) if same[i])
        kept = [i for i in range(len(same)) if not same[i]]

        def row(tag, cells):
            return "<tr>" + "".join(f'<{tag}{" class=words" if words[i] else ""}>{cell}</{tag}>' for i, cell in cells) + "</tr>"

        head = row("th", [(i, escaped(self.columns[i])) for i in kept])
        body = "".join(row("td", [(i, _cell(cells[i], self.columns[i])) for i in kept]) for cells in self.rows[:_MOST_ROWS])
        more = len(self) - _MOST_ROWS
        return (
            (f"<p>{said}</p>" if said else "")
            + f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
            + (f"<p>... {more} more row{'s' if more > 1 else ''}: rows and to_csv() have them</p>" if more > 0 else "")
        )


def figures(kind, tables):
    """The figures of what a study of this kind gave, as elements of HTML."""
    drawn = _core.figures(kind, [(table.name, table.columns, table.rows) for table in tables])
    return [
        f"<figure><figcaption><strong>{escaped(title)}</strong> {escaped(caption)}</figcaption>{svg}</figure>"
        for title, caption, svg in drawn
    ]
