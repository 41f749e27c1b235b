# SPDX-License-Identifier: Apache-2.0
"""Tables: what studies give."""
import html

from . import _core


class Table:
    """Rows of str, int and float under named columns: what the command of that name writes as CSV.

    `name`, `columns` (list of str) and `rows` (list of lists) may be read. `table["column"]` is a list of its cells."""

    def __init__(self, name, columns, rows):
        self.name, self.columns, self.rows = name, list(columns), rows

    def __getitem__(self, column):
        if column not in self.columns:
            raise KeyError(f"no column {column}; there are {', '.join(self.columns)}")
        at = self.columns.index(column)
        return [row[at] for row in self.rows]

    def __len__(self):
        return len(self.rows)

    def to_csv(self, path=None):
        """The bytes that the command line writes (RFC 4180 with LF), as str; with `path` written there."""
        text = _core.to_csv(self.name, self.columns, self.rows)
        if path is None:
            return text
        with open(path, "w", newline="") as file:
            file.write(text)
        return None

    def to_pandas(self):
        """A pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.rows, columns=self.columns)

    def __repr__(self):
        return _core.to_text(self.name, self.columns, self.rows, 40, 120)

    def _repr_html_(self):
        """What notebooks show: of a sweep its figures first."""

        def row(tag, cells):
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        def word(cell):
            return _core.shortest(cell) if isinstance(cell, float) else str(cell)

        body = "".join(row("td", [word(cell) for cell in cells]) for cells in self.rows)
        figures = "".join(_core.sweep_figures(self.name, self.columns, self.rows)) if self.name == "sweep" else ""
        return f"{figures}<table><thead>{row('th', self.columns)}</thead><tbody>{body}</tbody></table>"
