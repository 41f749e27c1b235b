#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files whose words the program follows (manifests, study files, parts, kept cells, plans) and what they name: they start nothing, write
nothing but what was asked for, and end nothing but themselves. usage: followed_words_test.py PROGRAM [--sanitized]"""
import json
import os
import struct
import subprocess
import unittest
import unittest.mock
import xml.etree.ElementTree

import hostile_files as hostile
from attack import LIMIT, PROGRAM, Attack
from seals import sealed_json


class Followed(Attack):
    def setUp(self):
        super().setUp()
        self.write("victim.csv", "precious")
        self.script("evil.sh", "touch STARTED\ncat\n")

    def tearDown(self):
        self.assertEqual((self.path / "victim.csv").read_text(), "precious")
        self.assertFalse((self.path / "STARTED").exists())

    def done(self, *words):
        code, out, err = self.run_here(*words)
        self.assertEqual(code, 0, err)
        return out

    def empty(self, name):
        for path in (self.path / name).iterdir() if (self.path / name).exists() else ():
            path.unlink()
        if (self.path / name).exists():
            (self.path / name).rmdir()


class Manifests(Followed):
    def check(self, *arguments):
        (self.path / "R").mkdir(exist_ok=True)
        self.write("R/manifest.json", json.dumps({"program": "ulpscope", "arguments": arguments, "files": {}}))
        return self.refused("report", "check", "R")

    def test_a_report_that_is_checked_starts_nothing(self):
        for words in (("conform", "--program", "./evil.sh", "--from", "fp16", "--to", "e4m3"),
                      ("conform", "--library", "./evil.so", "--symbol", "f", "--from", "fp16", "--to", "e4m3"),
                      ("invariance", "sum", "normal:0,1:8x8", "--program", "./evil.sh {x} {out}"),
                      ("audit", "sum", "normal:0,1:8x8", "--out", "fp16", "--rule", "program:./evil.sh {out}")):
            self.assertRegex(self.check(*words), r"R: `ulpscope .*` of its manifest writes no report$")
        words = ("invariance", "sum", "normal:0,1:8x8", "--program", "./evil.sh {x} {out}", "-o", "R")
        self.assertRegex(self.check(*words), r"R: the command of its manifest would (start the program .*\./evil|write /tmp/)")

    def test_nor_waits_or_prints(self):
        for words in (("eval", "--op", "add", "--format", "fp16"), ("formats",), ("formats", "nosuch"), ("--help",), ("",), ("man", "-o", "R"),
                      ("census", "normal:0,1:8", "--to", "e4m3"), ("--version",), ("generate", "cast", "--to", "e4m3", "-o", "R"),
                      ("census", "normal:0,1:8", "--to", "e4m3", "-o", "R", "-o", "R")):
            self.check(*words)  # one line

    def test_nor_writes_beside_itself(self):
        for words in (("cast", "normal:0,1:4", "--to", "bf16", "-o", "victim.npy"),
                      ("cast", "normal:0,1:4", "--to", "bf16", "-o", f"{self.path}/R/../victim.npy"),
                      ("conform", "--write-inputs", "victim.csv", "--from", "fp16", "--to", "e4m3"),
                      ("ledger", "record", "new.ledger", "sum", "normal:0,1:4x4", "--output", "normal:0,1:4", "--case", "c")):
            self.assertRegex(self.check(*words), r"R: `ulpscope .*` of its manifest writes no report$")
            self.assertEqual(sorted(path.name for path in self.path.iterdir()), ["R", "evil.sh", "victim.csv"])

    def test_nor_checks_itself(self):
        (self.path / "scratch").mkdir()
        with unittest.mock.patch.dict(os.environ, TMPDIR=str(self.path / "scratch")):
            for words in (("report", "check", "R"), ("--max-memory", "1G", "report", "check", "R")):
                self.assertRegex(self.check(*words), "^R: `ulpscope .*report check R` of its manifest writes no report$")
        self.assertEqual(list((self.path / "scratch").iterdir()), [])

    def test_nor_to_what_is_open(self):
        (self.path / "R").mkdir()
        log = os.open(self.path / "victim.csv", os.O_WRONLY | os.O_APPEND)
        self.addCleanup(os.close, log)
        for place in ("/dev/stdout", "/dev/stderr", f"/dev/fd/{log}", f"/proc/self/fd/{log}", "/proc/self/fd/1"):
            words = ["conform", "--from", "float32", "--to", "e4m3", "--range", "0x4a325b1b:0x4a325b1c", "--write-inputs", place]
            self.write("R/manifest.json", json.dumps({"program": "ulpscope", "arguments": words, "files": {}}))
            done = subprocess.run([PROGRAM, "report", "check", "R"], cwd=self.path, pass_fds=[log], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertRegex(done.stderr.decode(), "^ulpscope: R: `ulpscope conform .*` of its manifest writes no report\n$")

    def test_reports_beside_which_something_else_was_written(self):
        self.done("cast", "normal:0,1:8", "--to", "float32", "-o", "s.npy")
        self.run_here("invariance", "sum", "normal:0,1:8x8", "--output", "a=s.npy", "--output", "b=s.npy", "--junit", "j.xml", "-o", "I")
        (self.path / "j.xml").unlink()
        self.assertNotIn("changed", self.done("report", "check", "I"))
        self.assertFalse((self.path / "j.xml").exists())
        self.write("q.toml", '[[study]]\nkind = "breaks"\n')
        self.done("run", "q.toml", "--shard", "0/1", "-o", "P")
        self.done("census", "normal:0,1:8", "--to", "e4m3", "--shard", "0/1", "-o", "C")
        self.write("t.toml", '[model]\nkind = "layers"\nlayers = [{linear = [2, 1]}]\n[data]\ninputs = "normal:0,1:4x2"\n[loss]\nkind = "sum"\n'
                             '[run]\nsteps = 2\n')
        self.done("train", "t.toml", "--shard", "0/1", "-o", "T")
        for part in ("P", "C", "T"):  # nothing is said to be written
            code, _, err = self.run_here("report", "check", part)
            self.assertEqual((code, err), (0, ""))

    def test_reports_of_programs_are_checked_where_that_is_allowed(self):
        self.script("good.sh", "cat\n")
        self.write("s.toml", '[[study]]\nkind = "conform"\nfrom = "fp16"\nto = "fp16"\nprogram = "./good.sh"\n')
        self.done("run", "s.toml", "--allow-programs", "-o", "R")
        self.assertIn("would start the program /bin/sh -c ./good.sh; --allow-programs", self.refused("report", "check", "R"))
        self.done("report", "check", "R", "--allow-programs")
        self.done("run", "s.toml", "--allow-programs", "--shard", "0/1", "-o", "P")
        self.done("merge", "P", "-o", "M")  # nothing is started again
        self.done("census", "normal:0,1:8", "--to", "e4m3", "-o", "C")
        self.done("report", "check", "C")


class StudyFiles(Followed):
    def test_they_start_nothing_unless_that_is_allowed(self):
        for key, value in (("program", "./evil.sh"), ("library", "./evil.so")):
            symbol = 'symbol = "f"\n' if key == "library" else ""
            self.write("s.toml", f'[[study]]\nkind = "conform"\nfrom = "fp16"\nto = "e4m3"\n{key} = "{value}"\n{symbol}')
            self.assertIn(f"has a {key}, which no study file starts without --allow-programs", self.refused("run", "s.toml", "-o", "R"))
            self.done("run", "s.toml", "--dry-run")
        self.assertFalse((self.path / "R").exists())

    def test_two_studies_with_one_table(self):
        study = '[[study]]\nname = "{}"\nkind = "quantization"\ninputs = ["normal:0,1:64"]\nto = ["e4m3"]\n'
        self.write("one.toml", study.format("q"))
        self.done("run", "one.toml", "-o", "R")
        other = next(path.stem for path in sorted((self.path / "R").glob("q_*.csv")))
        self.write("two.toml", study.format("q") + study.format(other))
        for words in (("-o", "S"), ("--dry-run",)):
            self.assertIn(f"study '{other}': its table {other}.csv is one of study 'q', too; give it another name", self.refused("run", "two.toml", *words))
        self.assertFalse((self.path / "S").exists())


class Cells(Followed):
    """Of parts, and of a run that was ended."""
    def setUp(self):
        super().setUp()
        self.write("q.toml", '[[study]]\nkind = "quantization"\ninputs = ["normal:0,1:64"]\nto = ["e4m3", "int8"]\n')
        self.done("run", "q.toml", "--shard", "0/1", "-o", "P")
        self.whole = json.loads((self.path / "P/part.json").read_text())

    def refused_everywhere(self, change):
        cells = json.loads(json.dumps(self.whole["cells"]))
        for cell in cells.values():
            change(cell)
        self.write("P/part.json", sealed_json(self.whole | {"cells": cells}, indent=1))
        said = self.refused("merge", "P", "-o", "R")
        (self.path / "R.partial").mkdir()
        for digest, cell in cells.items():
            self.write(f"R.partial/{digest}.json", sealed_json(cell))
        code, _, err = self.run_here("run", "q.toml", "--resume", "-o", "R")
        self.assertIn(code, (0, 2), err)  # 0: computed again
        self.empty("R"), self.empty("R.partial")
        return said

    def test_names_of_tables_lead_nowhere(self):
        for name in ("/../../victim", "../victim", "a/b", "", "..", "x\ny"):
            self.assertIn("has a cell that is no result", self.refused_everywhere(
                lambda cell: cell["tables"].__setitem__(1, {"name": name, "columns": ["* * * root id"], "rows": [[{"t": "x"}]]})))

    def test_tables_that_a_study_does_not_give(self):
        self.assertIn("has a cell that is no result", self.refused_everywhere(lambda cell: cell.update(tables=[])))
        self.assertIn("its cells are not what such a study gives", self.refused_everywhere(
            lambda cell: cell["tables"][0].update(columns=["x" + name for name in cell["tables"][0]["columns"]])))

    def test_a_pipe_or_a_link_in_the_place_of_a_cell(self):
        digest = next(iter(self.whole["cells"]))
        for make in (os.mkfifo, lambda path: path.symlink_to("/dev/null"), lambda path: path.symlink_to("../victim.csv")):
            (self.path / "R.partial").mkdir()
            make(self.path / f"R.partial/{digest}.json")
            self.assertRegex(self.refused("run", "q.toml", "--resume", "-o", "R"), f"{digest}.json: (is|cannot be written: it is) a (pipe|link)")
            self.empty("R.partial")

    def test_exact_sums_whose_terms_lie_far_apart(self):
        self.done("census", "normal:0,1:8x8", "--to", "e4m3", "--shard", "0/1", "-o", "S")
        whole = json.loads((self.path / "S/part.json").read_text())
        for wide, said in (("8" + "0" * 560 + "1 0", "an exact sum has terms that are too far apart"),
                           ("8" + "0" * 600 + "1 0", "is no exact sum"), ("-8" + "0" * 9000 + "1 -10000", "is no exact sum")):
            whole["parts"][0]["census"][0]["exact"]["input"] = wide
            self.write("S/part.json", sealed_json(whole))
            self.assertIn(said, self.refused("merge", "S", "-o", "R"))


class Names(Followed):
    def test_plans_give_back_every_name(self):
        names = ["\nzz.weight", "zz.weight", "a'''b\nc", "a\n'''", "'''\n", 'q"\\', "\u202ex", "tab\t", "\x1b[0m"]
        values = [[1 + i / 97 for i in range(64)], [1.0, 2.0] * 32]  # the latter in any format
        data = b"".join(struct.pack("<64f", *values[i % 2]) for i in range(len(names)))
        header = {name: {"dtype": "F32", "shape": [64], "data_offsets": [256 * i, 256 * i + 256]} for i, name in enumerate(names)}
        self.write("m.safetensors", hostile.safetensors(header, data))
        self.done("choose", "m.safetensors", "--to", "bf16,e2m1", "--sqnr", "40", "-o", "plan.toml")
        self.harmless((self.path / "plan.toml").read_text())
        self.done("cast", "m.safetensors", "--plan", "plan.toml", "-o", "c.safetensors")
        cast = (self.path / "c.safetensors").read_bytes()
        written = json.loads(cast[8:8 + int.from_bytes(cast[:8], "little")])
        for i, name in enumerate(names):
            self.assertEqual(written[name]["dtype"] == "BF16", i % 2 == 0, (name, written[name]))

    def test_one_file_that_an_index_spells_in_two_ways(self):
        (self.path / "in").mkdir()
        header = {name: {"dtype": "F32", "shape": [4], "data_offsets": [16 * i, 16 * i + 16]} for i, name in enumerate("xy")}
        self.write("in/m.safetensors", hostile.safetensors(header, bytes(32)))
        for spelt in ("./m.safetensors", ".//m.safetensors", "./././m.safetensors"):
            self.write("in/model.safetensors.index.json", json.dumps({"weight_map": {"x": "m.safetensors", "y": spelt}}))
            self.done("cast", "in", "--to", "bf16", "-o", "out")
            self.assertEqual(len(self.done("info", "out", "--csv").splitlines()), 3)

    def test_what_no_xml_has(self):
        self.write("f.ledger", hostile.ledger("a\uffffb\ufffec"))
        self.run_here("ledger", "diff", "f.ledger", "f.ledger", "--junit", "j.xml")
        case = xml.etree.ElementTree.parse(self.path / "j.xml").getroot().find(".//testcase")
        self.assertEqual(case.get("name"), "a\\uffffb\\ufffec")

    def test_commands_behind_blanks_of_unicode(self):
        for blank in "\u00a0\u1680\u2000\u200a\u202f\u205f\u3000":
            self.write("l.ledger", hostile.ledger(blank + "::error::pwned"))
            for form in ("--csv", "--text"):
                out = self.done("ledger", "show", "l.ledger", form)
                self.assertIn("pwned", out)
                self.harmless(out)


class Texts(Followed):
    def test_what_is_too_long_is_refused_before_it_is_read(self):
        for name in ("b.ledger", "s.toml"):
            self.write(name, "")
            os.truncate(self.path / name, 3 << 30)
        self.write("l.ledger", hostile.ledger("case"))
        for words in (("ledger", "show", "b.ledger"), ("run", "s.toml", "-o", "R"), ("train", "s.toml", "-o", "R"), ("recipes", "./s.toml"),
                      ("ledger", "check", "l.ledger", "--manifest", "b.ledger")):
            self.assertIn("is too large: ", self.refused(*words))

    def test_toml_takes_what_the_page_of_limits_says(self):
        commands = (("run", "s.toml", "--dry-run"), ("train", "s.toml"), ("recipes", "./s.toml"))
        for start, item, end in (("x=[", "1,", "]"), ("", "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a%d=1\n", "")):
            count = ((4 << 20) - 100) // len(item % 100_000 if "%" in item else item)
            text = start + ("".join(item % i for i in range(count)) if "%" in item else item * count) + end
            self.write("s.toml", text)
            for words in commands:
                self.assertNotIn("too large", self.refused(*words, memory=1024 << 20))
        self.write("s.toml", "x=[" + "1," * (10 << 20) + "]")
        for words in commands:
            self.assertEqual(self.refused(*words, memory=200 << 20), f"{words[1]}: is too large: 4194304 bytes are read at most")
        rules = "".join(f"[[tensors]]\nmatch = 'w{i}'\nto = 'e4m3'\nreason = '{'r' * 160}'\n" for i in range(25_000))
        self.write("plan.toml", rules)
        self.assertIn("no tensor matches 'w0'", self.refused("cast", "normal:0,1:8", "--plan", "plan.toml", "-o", "x.safetensors"))

    def test_a_field_of_a_table_that_does_not_end(self):
        self.write("n.csv", "")
        os.truncate(self.path / "n.csv", 1 << 30)
        self.assertIn("a field is longer than 1048576 bytes", self.refused("info", "n.csv", memory=300 << 20))

    def test_a_list_that_is_a_pipe(self):
        self.write("l.ledger", hostile.ledger("case"))
        os.mkfifo(self.path / "pipe")
        self.assertIn("pipe", self.refused("ledger", "check", "l.ledger", "--manifest", "pipe"))

    def test_a_key_of_gguf_that_is_there_twice(self):
        def pair(value):
            key = b"general.alignment"
            return struct.pack("<Q", len(key)) + key + struct.pack("<II", 4, value)
        self.write("m.gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + pair(32) + pair(64))
        self.assertIn("has the metadata key 'general.alignment' twice", self.refused("info", "m.gguf"))

    def test_rows_of_an_output_beyond_all_numbers(self):
        self.done("cast", "normal:0,1:4", "--to", "float32", "-o", "s.npy")
        for row in (2**64 - 1, 2**64 - 4, 9):
            outputs = [word for name in "ab" for word in ("--output", f"{name}=s.npy@{row}")]
            self.assertIn("the result of these inputs is", self.refused("invariance", "sum", "normal:0,1:8x8", *outputs))


unittest.main()
