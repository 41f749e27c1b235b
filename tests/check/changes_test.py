#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a change reaches, in a tree made for it and in our own.   usage: changes_test.py ROOT"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import batches  # noqa: E402
import changes  # noqa: E402

ROOT = pathlib.Path(sys.argv.pop())


class Changes(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.write("a/own.hpp", "")
        self.write("a/deep.hpp", "")
        self.write("a/through.hpp", '#include "a/deep.hpp"\n')
        self.write("a/first.cpp", '#include "a/own.hpp"\n  #  include "a/through.hpp"\n')
        self.write("a/own.cpp", '#include "a/own.hpp"\n')
        self.write("a/other.cpp", "#include <vector>\n")

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def compiled(self, *names):
        return changes.to_compile(self.root, ["a/first.cpp", "a/other.cpp", "a/own.cpp"], names)

    def test_sources_stand_for_themselves_and_headers_have_one_that_sees_them(self):
        self.assertEqual(self.compiled("a/other.cpp"), ["a/other.cpp"])
        self.assertEqual(self.compiled("a/own.hpp"), ["a/own.cpp"])
        self.assertEqual(self.compiled("a/deep.hpp", "a/through.hpp"), ["a/first.cpp"])
        self.assertEqual(self.compiled("a/none.hpp", "a/none.cpp", "README.md"), [])

    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_files_that_differ_from_a_commit(self):
        def git(*words):
            subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x", *words], cwd=self.root, check=True, capture_output=True, timeout=60)
        git("init"), git("add", "."), git("commit", "-m", "first")
        self.write("a/own.hpp", "// new")
        self.write("a/other.cpp", "// new")
        git("commit", "-a", "-m", "second")
        self.write("a/own.cpp", "// not committed")
        (self.root / "a/first.cpp").unlink()
        self.assertEqual(changes.changed(self.root, "HEAD^"), ["a/own.cpp", "a/other.cpp", "a/own.hpp"])
        git("checkout", "a/own.cpp")
        self.write("a/own.hpp", "// newer")
        git("commit", "-a", "-m", "third")
        self.assertEqual(changes.changed(self.root, "HEAD~2"), ["a/own.hpp", "a/other.cpp"])
        self.assertEqual(self.compiled(*changes.changed(self.root, "HEAD~2")), ["a/own.cpp", "a/other.cpp"])

    def test_sources_of_one_command_are_one_file_whose_lines_have_their_names(self):
        self.write("build/x/Unity/unity_0_cxx.cxx", "".join(f'#include "{self.root}/a/{name}.cpp"\n' for name in ("first", "own")))
        unity = str(self.root / "build/x/Unity/unity_0_cxx.cxx")
        entries = [(unity, f"c++ -c {unity}"), (str(self.root / "a/other.cpp"), f"c++ -c {self.root}/a/other.cpp"), (str(self.root / "a/own.cpp"), "c++")]
        self.write("build/compile_commands.json", json.dumps([{"directory": "/", "file": file, "command": command} for file, command in entries]))
        known = batches.commands(self.root, self.root / "build")
        self.assertEqual(sorted(known), ["a/first.cpp", "a/other.cpp", "a/own.cpp"])
        made = batches.batches(self.root, known, ["a/other.cpp", "a/own.cpp", "a/first.cpp"], self.root / "build/batches", 1)
        self.assertEqual([batch.sources for batch in made], [["a/other.cpp"], ["a/own.cpp", "a/first.cpp"]])
        self.assertEqual([batch.command["command"] for batch in made], [f"c++ -iquote{self.root}/a -c {batch.file}" for batch in made])
        lines = made[1].file.read_text().split("\n")
        said = "".join(f"{made[1].file}:{1 + lines.index(line)}:2: error\n" for line in ('#include "a/own.hpp"', '  #  include "a/through.hpp"'))
        self.assertEqual(made[1].named(said), "a/own.cpp:1:2: error\na/first.cpp:2:2: error\n")

    def test_sources_of_one_folder_are_one_file_where_that_compiles(self):
        self.write("b/four.hpp", "inline int four() { return 4; }\n")
        texts = {"one": "static int f() { return 1; }\n", "two": "static double f() { return 2; }\n", "three": "int three() { return 3; }\n",
                 "four": '#include "four.hpp"\nint main() { return four(); }\n', "five": '#define HWY_TARGET_INCLUDE "five.cpp"\n'}
        for name, text in texts.items():
            self.write(f"b/{name}.cpp", text)
        self.write("c/six.cpp", "int six() { return 6; }\n")
        names = [*(f"b/{name}.cpp" for name in texts), "c/six.cpp"]
        self.write("build/compile_commands.json", json.dumps([{"directory": str(self.root), "file": str(self.root / name),
                                                               "command": f"c++ -o {name}.o -c {self.root / name}"} for name in names]))
        made = batches.batches(self.root, batches.commands(self.root, self.root / "build"), names, self.root / "build/batches", 2)
        self.assertEqual([batch.sources for batch in made], [["b/one.cpp", "b/three.cpp", "b/four.cpp"], ["b/two.cpp"], ["b/five.cpp"], ["c/six.cpp"]])

    def test_every_target_of_the_fuzzer_has_its_files_which_exist(self):
        readers = changes.readers(ROOT)
        targets = re.findall(r'\{"(\w+)", read_\w+\}', (ROOT / "tests/fuzz/targets.hpp").read_text())
        self.assertGreater(len(targets), 10)
        self.assertEqual(sorted(readers), sorted(targets))
        self.assertEqual([part for parts in readers.values() for part in parts if not ((ROOT / part).is_dir() if part.endswith("/") else (ROOT / part).is_file())], [])

    def test_readers_are_fuzzed_for_their_files_headers_and_seeds(self):
        self.assertEqual(changes.to_fuzz(ROOT, ["requests/toml.hpp"]), ["plan", "recipe", "study", "toml", "train"])
        self.assertEqual(changes.to_fuzz(ROOT, ["tests/fuzz/corpus/csv/new.csv", "tests/fuzz/dictionaries/npz.dict"]), ["csv", "npz"])
        self.assertEqual(changes.to_fuzz(ROOT, ["verify/expressions/new.cpp"]), ["formula"])
        self.assertEqual(changes.to_fuzz(ROOT, ["tests/fuzz/target.cpp"]), sorted(changes.readers(ROOT)))
        self.assertEqual(changes.to_fuzz(ROOT, ["README.md", "cli/main.cpp"]), [])


class Corpora(unittest.TestCase):
    def test_small_inputs_that_the_fuzzer_takes_for_new_are_kept(self):
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            for name, text in {"tests/fuzz/corpus/x/seed": "s", "build/fuzz/grown/x/small": "n" * 256, "build/fuzz/grown/x/large": "n" * 257,
                               "build/fuzz/build.ninja": "", "bin/cmake": "#!/bin/sh\n",
                               # Of what it is offered all is new.
                               "build/fuzz/tests/fuzz/x_fuzz": '#!/bin/bash\n[ "$1" = -set_cover_merge=1 ] && cp "${@: -1}"/* "${@: -2:1}"\n'}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
                (root / name).chmod(0o755)
            shutil.copy(ROOT / "tests/fuzz/run", root / "tests/fuzz/run")
            done = subprocess.run([root / "tests/fuzz/run", "--keep"], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "PATH": f"{root}/bin:{os.environ['PATH']}"})
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "x: 1 inputs kept, now 257 bytes\n", ""))
            self.assertEqual(sorted(path.name for path in (root / "tests/fuzz/corpus/x").iterdir()), ["seed", "small"])


class Arguments(unittest.TestCase):
    def check(self, *words):
        done = subprocess.run([sys.executable, ROOT / "tests/check/check.py", *words, "--arguments-only"], capture_output=True, text=True,
                              timeout=60)
        return done.returncode, done.stderr

    def test_what_is_asked_wrongly_is_told_in_one_line(self):
        self.assertEqual(self.check("fuzzy"), (2, "check: fuzzy: give sanitize, tidy, fuzz or changed\n"))
        self.assertEqual(self.check("--since", "no commit"), (2, "check: --since no commit: is no commit here\n"))
        self.assertEqual(self.check("tidy", "--only", "files"), (0, ""))


unittest.main()
