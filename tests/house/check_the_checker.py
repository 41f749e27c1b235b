#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults in a copy of the tree, at most one in a file at a time; the checkers must report each, and nothing in the copy itself.

usage: check_the_checker.py ROOT
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

LICENCE = "SPDX-License-Identifier: Apache-2.0"
INCLUDES, SOURCES, DRAWS = "check_includes.py", "check_sources.py", "check_draws.py"
WAITS = "# SPDX-License-Identifier: Apache-2.0\nsubprocess.run([], timeout=1), process.wait(30)\n{}"
PLANTED = [  # checker, file, appended line, what the report must name
    (INCLUDES, "emu/format.hpp", '#include "studies/census/census.hpp"', "emu/format.hpp"),
    (INCLUDES, "emu/format.hpp", "#include <fmt/format.h>", "emu/format.hpp"),
    (INCLUDES, "emu/format.hpp", '#include "bits.hpp"', "emu/format.hpp"),
    (INCLUDES, "emu/number_fmt.hpp", "#include <fmt/ostream.h>", "emu/number_fmt.hpp"),
    (INCLUDES, "emu/number_io.hpp", "#include <fmt/format.h>", "emu/number_io.hpp"),
    (INCLUDES, "emu/number.hpp", '#include "emu/number_fmt.hpp"', "emu/number.hpp"),
    (INCLUDES, "emu/bulk/planted.cpp", "#include <hwy/highway.h>", "emu/bulk/planted.cpp"),
    (INCLUDES, "training/planted.cpp", '#include "study_files/kinds.hpp"', "training/planted.cpp"),
    (INCLUDES, "reports/planted.cpp", '#include "emu/format.hpp"', "reports/planted.cpp"),
    (INCLUDES, "reports/planted.cpp", "#include <emu/format.hpp>", "reports/planted.cpp"),
    (INCLUDES, "studies/planted.cpp", '  #  include "reports/page_html.hpp"', "studies/planted.cpp"),
    (INCLUDES, "verify/verdict.cpp", '#include "reports/render.hpp"', "verify/verdict.cpp"),
    (INCLUDES, "verify/verdict_text.cpp", '#include "reports/page_html.hpp"', "verify/verdict_text.cpp"),
    (INCLUDES, "tensors/planted.cpp", '#include "cli/options.hpp"', "tensors/planted.cpp"),
    (INCLUDES, "cli/census.cpp", "#include <CLI/CLI.hpp>", "cli/census.cpp"),
    (INCLUDES, "gpu/planted.cu", '#include "studies/census/census.hpp"', "gpu/planted.cu"),
    (INCLUDES, "cellar/planted.cpp", "int planted;", "cellar/"),
    (SOURCES, "emu/unlicensed.hpp", "#pragma once", "emu/unlicensed.hpp"),
    (SOURCES, "emu/planted.hpp", "// SPDX-License-Identifier: Apache-2.0\n#pragma once", "emu/planted.hpp"),
    (SOURCES, "studies/census/census.cpp", "const double planted = std::log10(2.0);", "studies/census/census.cpp"),
    (SOURCES, "verify/planted.cpp", "// " + LICENCE + "\nconst double planted = std::hypot(2.0, 3.0);", "verify/planted.cpp:2"),
    (SOURCES, "training/planted.cpp", "// " + LICENCE + "\nconst double planted = std::exp(2.0);", "training/planted.cpp:2"),
    (SOURCES, "emu/names.hpp", "inline int planted(int x) { return std::clamp(x, 0, 1); }", "emu/names.hpp"),
    (SOURCES, "gpu/element_model.hpp", "using Real = emu::detail::Real<int>;", "gpu/element_model.hpp"),
    (SOURCES, "tests/planted.py", "pass", "tests/planted.py"),
    (SOURCES, "tests/runs.py", WAITS.format("subprocess.run(['true'], check=True)"), "tests/runs.py:3"),
    (SOURCES, "tests/communicates.py", WAITS.format("process.communicate(b'')"), "tests/communicates.py:3"),
    (SOURCES, "tests/waits.py", WAITS.format("process.wait()"), "tests/waits.py:3"),
    (SOURCES, "docs/architecture.md", "TO" "DO: say more", "docs/architecture.md"),
]
TWO_DRAWS = [  # a statement of a function that has std::mt19937_64& random and int* p
    "use(random(), random());",
    "p[random() % 4] = 1, use(low(random), 2, high(random));",
    "return random() % 4 + random() % 4;",
    "if (random() * random() > 3) return;",
    "const auto some = [&] { return random() % 7; };  use({.a = 1, .b = some() ^ some()});",
    "const auto word = random() << 32 | random();",
    "std::ldexp(1 + uniform(random), (p[0] > 0 ? 1 : int(random() % 3)));",
    "ProbeCases cases(bench, 0);  use(cases.below(2) - cases.below(3));",
    "Adversary adversary(shape, 0, 0);  use(adversary.operand(x), adversary.operand(y));",
]
IN_ORDER = [
    "const int a = random(), b = random();",
    "const Pair list{random(), random()};",
    "const auto some = [&] { return random() % 7; };  if (some() == 1 && some() == 2) swap(p[0], p[random() % 3]);",
    "for (int i = random() % 3; i < 9; i += random() % 2) p[i] = random() != 0 ? random() : 0;",
    "out << random() << random();",
    "use(random, random() % 3);",
    "generate(p, q, [&] { return random(); });",
]


def run(checker, root):
    done = subprocess.run([sys.executable, pathlib.Path(__file__).parent / checker, root], stdout=subprocess.PIPE, text=True, timeout=120)
    return done.returncode, done.stdout


def rounds():
    """The planted faults in as few lists as have no file twice, nor two checkers."""
    lists = []
    for checker, path, line, named in PLANTED:
        for planted in lists:
            if planted[0][0] == checker and all(path != other for _, other, _, _ in planted):
                planted.append((checker, path, line, named))
                break
        else:
            lists.append([(checker, path, line, named)])
    return lists


def unreported(copy, planted):
    """A sentence for each fault that its checker does not name where all of the list are planted."""
    before = {}
    for _, path, line, _ in planted:
        target = copy / path
        before[target] = target.read_text() if target.exists() else None
        target.parent.mkdir(exist_ok=True)
        target.write_text((before[target] or "") + line + "\n")
    checker = planted[0][0]
    code, report = run(checker, copy)
    for target, text in before.items():
        if text is None:
            target.unlink()
        else:
            target.write_text(text)
    return [f"{checker} does not report {line!r} in {path}" for _, path, line, named in planted if code != 1 or named not in report]


def wrong_draws(copy):
    """The checker of draws on all statements at once, each in a file of its own."""
    head = '#include "gpu/adversarial.hpp"\n#include "studies/probe/probe_cases.hpp"\nvoid f(std::mt19937_64& random, int* p) {\n'
    planted = {f"studies/{name}_{i}.cpp": line for name, lines in (("two", TWO_DRAWS), ("order", IN_ORDER))
               for i, line in enumerate(lines)}
    for path, line in planted.items():
        (copy / path).write_text(f"{head}{line}\n}}\n")
    with open(copy / "studies/probe/probe_cases.cpp", "a") as members:
        members.write("void ProbeCases::planted() { use(below(2), fraction(format)); }\n")
    report = run(DRAWS, copy)[1]
    for path, line in planted.items():
        if (f"{path}:4: " in report) != (line in TWO_DRAWS):
            yield f"{DRAWS} is wrong about {line!r}"
    if "studies/probe/probe_cases.cpp:" not in report:
        yield f"{DRAWS} does not see member functions that draw"


def main():
    root = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy"
        for room in ("docs", "emu", "gpu", "reports", "tensors", "studies", "verify", "cli"):
            if (root / room).exists():
                shutil.copytree(root / room, copy / room, ignore=shutil.ignore_patterns("data", "__pycache__"))
        wrong = [f"reported though nothing is planted:\n{report}" for checker in (INCLUDES, SOURCES, DRAWS)
                 for code, report in [run(checker, copy)] if code != 0]
        for planted in rounds():
            wrong += unreported(copy, planted)
        wrong += wrong_draws(copy)
    print("\n".join(wrong) if wrong else f"each of {len(PLANTED) + len(TWO_DRAWS) + 1} planted faults is reported")
    sys.exit(1 if wrong else 0)


main()
