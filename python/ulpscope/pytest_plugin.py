# SPDX-License-Identifier: Apache-2.0
"""The plugin of pytest: failed assertions of ulpscope.testing show their census, and with --ulpscope-save DIR their arrays
are kept, with the line of shell that repeats the check.

It imports the package only where a test has done so."""
import pathlib
import re
import sys

import pytest

_FOLDERS = pytest.StashKey()


def pytest_addoption(parser):
    parser.getgroup("ulpscope").addoption(
        "--ulpscope-save", metavar="DIR", help="keep the arrays of failed checks of ulpscope.testing in DIR/TEST"
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    failure = getattr(call.excinfo.value, "ulpscope", None) if call.excinfo else None
    testing = sys.modules.get("ulpscope.testing")
    if testing is None or not isinstance(failure, testing.Failure):
        return
    table = failure.verdict.table()
    lines = [f"{column}: {value}" for column, value in zip(table.columns, table.rows[0]) if value != ""]
    folder = item.config.getoption("--ulpscope-save")
    if folder:
        try:
            lines.append("repeat: " + failure.save(pathlib.Path(folder).absolute() / _folder_of(item)))
        except Exception as error:  # of whatever the test has given: other tests go on
            lines.append(f"not saved: {error}")
    else:
        lines.append("--ulpscope-save DIR keeps the arrays and says how to repeat the check on them")
    report.sections.append(("ulpscope " + failure.kind, "\n".join(lines)))


def _folder_of(item):
    """The name of a test as that of a folder; a second test of the same one gets -2."""
    names = item.config.stash.setdefault(_FOLDERS, {})
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", item.nodeid).strip("._")
    own = names.setdefault(name, [])
    if item.nodeid not in own:
        own.append(item.nodeid)
    at = own.index(item.nodeid)
    return name + (f"-{at + 1}" if at else "")
