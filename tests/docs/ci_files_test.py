#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ready CI files are YAML of the shape that their systems read; what they name of ulpscope exists; their scripts are bash, and
the ones that need no network run: the check itself passes for the right kernel and ends with 1 for the wrong one.

usage: ci_files_test.py ROOT ULPSCOPE RIGHT_KERNEL WRONG_KERNEL    (programs that write a.npy b.npy d.npy)
"""
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    yaml = None

WANTED = {  # where YAML cannot be parsed: lines that must be there
    "github-actions.yml": ("on:", "jobs:", "steps:", "uses: actions/checkout@"),
    "gitlab-ci.yml": ("script:", "artifacts:", "junit:"),
}


def check(condition, message):
    if not condition:
        raise SystemExit(message)


def scripts_of_github(document):
    triggers = document.get("on", document.get(True))  # YAML 1.1 reads `on` as true
    check(set(triggers) == {"push", "pull_request"}, f"github: triggers are {triggers}")
    for job in document["jobs"].values():
        check("runs-on" in job, "github: a job without runs-on")
        for step in job["steps"]:
            check(("run" in step) != ("uses" in step), f"github: {step}: either run or uses")
            if "run" in step:
                yield step["run"]


def scripts_of_gitlab(document):
    check(set(document) == {"variables", "numerics"}, f"gitlab: {sorted(document)}")
    job = document["numerics"]
    check(job["artifacts"]["reports"]["junit"] == "build/verify.xml", "gitlab: no JUnit report")
    check(job["artifacts"]["when"] == "always" and job["allow_failure"] == {"exit_codes": 4}, "gitlab: exit codes")
    check(all(isinstance(line, str) for line in job["script"]), "gitlab: a line of script is no text")
    yield "\n".join(job["script"])


def check_names(root, name, text):
    """What a file says of this repository is so."""
    options = re.findall(r"-D(ULPSCOPE_\w+)=", text)
    check(options, f"{name}: no option found")
    for option in options:
        check(f"option({option} " in (root / "CMakeLists.txt").read_text(), f"{name}: no option {option}")
    for preset in re.findall(r"--preset (\S+)", text):
        check(f'"name": "{preset}"' in (root / "CMakePresets.json").read_text(), f"{name}: no preset {preset}")
    for command in re.findall(r"\./bootstrap (\w+)", text):
        check(f"  {command})" in (root / "bootstrap").read_text(), f"{name}: no ./bootstrap {command}")


def run_check(script, program, kernel, expected):
    """The lines of the script from the kernel on, in a folder of their own."""
    lines = script[script.index("./run_kernel"):].replace("./run_kernel", kernel).replace("/opt/ulpscope/bin/ulpscope", program)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["bash", "-ec", lines], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        check(done.returncode == expected, f"{lines}: {done.returncode} instead of {expected}\n{done.stdout}")
        junit = (pathlib.Path(folder) / "verify.xml").read_text()
        check(f'failures="{expected}"' in junit, junit)
        check((pathlib.Path(folder) / "failure").exists() == (expected != 0), "a failing case is kept, and no other")


def main():
    root = pathlib.Path(sys.argv[1])
    program, right, wrong = (str(pathlib.Path(word).resolve()) for word in sys.argv[2:])
    for name, wanted in WANTED.items():
        text = (root / "examples/verify" / name).read_text()
        check_names(root, name, text)
        if yaml is None:
            check("\t" not in text and all(line in text for line in wanted), f"{name}: lacks one of {wanted}")
            continue
        document = yaml.safe_load(text)
        scripts = list((scripts_of_github if name.startswith("github") else scripts_of_gitlab)(document))
        check(scripts, f"{name}: no scripts")
        for script in scripts:
            subprocess.run(["bash", "-n"], input=script, text=True, check=True, timeout=120)
        if name.startswith("gitlab"):
            run_check(scripts[0], program, right, 0)
            run_check(scripts[0], program, wrong, 1)
    print("the CI files are sound" + ("" if yaml else "; python3-yaml is not there, so their syntax was not parsed"))


main()
