#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a person runs before a release, or a CI system for a change: sanitizers, clang-tidy, fuzzing. One line a part at the end;
exit code 1 if one failed.

usage: ./bootstrap check [PART...] [--since COMMIT] [--only PATH] [--seconds N] [--minutes N] [--deep] [--jobs N]

PART       sanitize  the sanitized build and its default tests but those tagged [long]
           tidy      clang-tidy over all sources
           fuzz      every corpus given to every reader, then each target fuzzed for --seconds (60)
           changed   tidy and fuzz of what changed since a commit, for CI: within twice --minutes (3), builds apart
           all but `changed` if none is named
--since    a commit: tidy and fuzz only what differs from it, but the readers `layouts`, `parts`, `plan`, `saved_run`, `study`,
           `times` and `train`, for which all is built; of `changed` HEAD^ unless given
--only     tidy files below a folder, or a file; may be repeated
--minutes  tidy begins no file after so many minutes, and says how many it left out, and fuzzing takes so many for all targets
           together; without it there is no limit
--deep     tidy follows the paths of a function as far as clang's analyzer does by itself, which takes two to three times as long;
           without it a third as far
--jobs     compilations, tests and files at once; the processors
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import batches
import changes

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
TIDY = ["clang-tidy-19", "--quiet", "--warnings-as-errors=*", "--extra-arg=-Wno-unknown-warning-option"]
# The analyzer's own `shallow` limit of steps in one function, a third of its usual one, which costs three times all the rest.
SHALLOW = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=75000")]
PARTS = ("sanitize", "tidy", "fuzz")
LIMIT = 6 * 3600  # seconds of one command, on any machine


class Failed(Exception):
    """A part found something, or could not be done; the text says what in one line."""


def say(text):
    print(f"== {text}", flush=True)


def run(command, log, what):
    """Runs a command into a log; what it said last is shown where it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "a") as out:
        code = subprocess.run([str(word) for word in command], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, timeout=LIMIT).returncode
    if code != 0:
        sys.stdout.writelines(log.read_text(errors="replace").splitlines(keepends=True)[-60:])
        raise Failed(f"{what} failed (log: {log.relative_to(ROOT)})")


def log_of(part):
    log = BUILD / "check" / f"{part}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    return log


def sanitize(options):
    log = log_of("sanitize")
    say(f"building build/sanitize (log: {log.relative_to(ROOT)})")
    run(["cmake", "--preset", "sanitize"], log, "configuring")
    run(["cmake", "--build", "--preset", "sanitize", "-j", options.jobs], log, "the build")
    say("running its default tests")
    run(["ctest", "--preset", "sanitize", "-j", options.jobs], log, "a test")
    return re.findall(r"^\d+% tests passed, \d+ tests? failed out of \d+", log.read_text(errors="replace"), re.MULTILINE)[-1]


def tidy(options):
    log = log_of("tidy")
    run(["cmake", "--preset", "tidy"], log, "configuring")
    known = batches.commands(ROOT, BUILD / "tidy")
    chosen = list(known) if options.since is None else changes.to_compile(ROOT, list(known), changes.changed(ROOT, options.since))
    if options.only:
        chosen = [name for name in chosen if any(name == only or name.startswith(only.rstrip("/") + "/") for only in options.only)]
    say(f"clang-tidy over {len(chosen)} of {len(known)} sources (log: {log.relative_to(ROOT)})")
    some = batches.batches(ROOT, known, chosen, BUILD / "check/batches", options.jobs)
    (BUILD / "check/compile_commands.json").write_text(json.dumps([batch.command for batch in some]))
    tool = TIDY if options.deep else [*TIDY, *SHALLOW]
    end = time.monotonic() + 60 * options.minutes if options.minutes else None

    def look(batch):
        if end and time.monotonic() > end:
            return batch, "not looked at", ""
        begin = time.monotonic()
        done = subprocess.run([*tool, "-p", BUILD / "check", batch.file], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
        return batch, f"{'findings' if done.returncode else 'ok'} after {time.monotonic() - begin:.0f} s", batch.named(done.stdout)

    wrong, left = [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(log, "a") as out:
        for batch, state, said in pool.map(look, some):
            left += len(batch.sources) if state == "not looked at" else 0
            if state.startswith("findings"):
                wrong.append(said)
                print(said, end="", flush=True)
            out.write(f"{' '.join(batch.sources)}: {state}\n{said}")
            out.flush()
    rest = f", {left} left for want of time" if left else ""
    if wrong:
        found = sorted(set(re.findall(r"^(\S+?):\d+:\d+: (?:error|warning):", "".join(wrong).replace(f"{ROOT}/", ""), re.MULTILINE)))
        raise Failed(f"findings in {len(chosen) - left} files{rest}: {' '.join(found)}")
    return f"{len(chosen) - left} files without findings{rest}"


def fuzz(options):
    log = log_of("fuzz")
    os.environ["FUZZ_JOBS"] = str(options.jobs)
    targets = list(changes.readers(ROOT)) if options.since is None else changes.to_fuzz(ROOT, changes.changed(ROOT, options.since))
    replayed = list(changes.readers(ROOT))
    if options.since is not None:
        replayed, targets = ([name for name in names if name not in changes.NEED_ALL] for names in (replayed, targets))
    say(f"fuzzing, after the corpora: {' '.join(targets) or 'nothing changed'} (log: {log.relative_to(ROOT)})")
    run(["tests/fuzz/run", "--replay", *replayed], log, "a corpus")
    if targets:
        seconds = min(options.seconds, max(1, int(60 * options.minutes * options.jobs) // len(targets))) if options.minutes else options.seconds
        run(["tests/fuzz/run", "--seconds", seconds, *targets], log, "fuzzing")
    counts = re.findall(r"^(\w+): (\d+) inputs$", log.read_text(errors="replace"), re.MULTILINE)
    fuzzed = ", ".join(f"{name} {count}" for name, count in counts) or "none, no reader changed"
    return f"{len(replayed)} corpora replayed; inputs: {fuzzed}"


def main():
    parser = argparse.ArgumentParser(prog="./bootstrap check", usage=__doc__.split("usage: ")[1].rstrip(), add_help=False)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--since")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--arguments-only", action="store_true", help=argparse.SUPPRESS)  # before anything is installed
    options = parser.parse_args()
    parts = options.parts or PARTS
    for part in parts:
        if part not in (*PARTS, "changed"):
            parser.exit(2, f"check: {part}: give {', '.join(PARTS)} or changed\n")
    if "changed" in parts:
        parts = [part for name in parts for part in (("fuzz", "tidy") if name == "changed" else (name,))]
        options.since, options.minutes = options.since or "HEAD^", options.minutes or 3
    if options.since:
        known = subprocess.run(["git", "rev-parse", "--verify", "--quiet", options.since + "^{commit}"], cwd=ROOT, stdout=subprocess.DEVNULL,
                               timeout=LIMIT)
        if known.returncode != 0:
            parser.exit(2, f"check: --since {options.since}: is no commit here\n")
    if options.arguments_only:
        return 0

    lines, failed = [], False
    for part in dict.fromkeys(parts):
        begin = time.monotonic()
        try:
            state, said = "ok", {"sanitize": sanitize, "tidy": tidy, "fuzz": fuzz}[part](options)
        except Failed as failure:
            state, said, failed = "FAILED", str(failure), True
        lines.append(f"{part:9} {state:6} {(time.monotonic() - begin) / 60:5.1f} min  {said}")
    print("\n".join(lines))
    return int(failed)


sys.exit(main())
