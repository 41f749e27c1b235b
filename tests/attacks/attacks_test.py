#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile files, read under a limit of address space: refused in one line with exit code 2, or read within their means; and nothing
that a file says acts on a terminal or a CI system. usage: attacks_test.py PROGRAM [--sanitized]"""
import hashlib
import json
import os
import re
import resource
import shlex
import stat
import struct
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree
import zipfile

import hostile_files as hostile
from attack import FREE, LIMIT, MEBIBYTE, Attack


class DeepJson(Attack):
    DEPTH = 140_000

    def test_in_a_ledger(self):
        head = '{"ulpscope_ledger":1}\n'
        case = hostile.ledger("case").decode().splitlines()[1]
        for line in (case.replace('{"case"', '{"x":' + hostile.nested(self.DEPTH) + ',"case"'), hostile.nested(self.DEPTH), '{"case":' + "[" * self.DEPTH + "]" * self.DEPTH + "}",
                     '{"' + "x" + '":' + "[" * self.DEPTH):
            self.write("deep.ledger", head + line + "\n")
            for words in (["show", "deep.ledger"], ["diff", "deep.ledger", "deep.ledger"],
                          ["check", "deep.ledger", "case", "--output", "a.npy"]):
                self.assertEqual(self.refused("ledger", *words), "deep.ledger: line 2: JSON is nested more than 64 deep")
        self.write("deep.ledger", head + hostile.nested(70) + "\n")
        self.assertIn("nested more than 64 deep", self.refused("ledger", "show", "deep.ledger"))
        self.write("deep.ledger", head + hostile.nested(60) + "\n")
        self.assertNotIn("nested", self.refused("ledger", "show", "deep.ledger"))

    def test_in_the_manifest_of_a_folder_for_a_report(self):
        (self.path / "report").mkdir()
        depth = 130_000
        for manifest in ('{"program":"ulpscope","x":' + "[" * depth + "]" * depth + ',"files":{}}', '{"program":' + hostile.nested(depth) + "}",
                         '{"program":"ulpscope","files":' + hostile.nested(depth) + "}"):
            self.write("report/manifest.json", manifest)
            for command in ("sweep", "census"):
                self.assertIn("report holds manifest.json, which is not part of a report",
                              self.refused(command, "normal:0,1:8", "--to", "e4m3", "-o", "report"))
            self.assertIn("report/manifest.json: is no manifest of a report by ulpscope: JSON is nested more than 64 deep",
                          self.refused("report", "diff", "report", "report"))

    def test_in_the_header_of_a_tensor_file(self):
        for header in (hostile.nested(self.DEPTH), '{"a":' + "[" * self.DEPTH, '{"__metadata__":' + hostile.nested(self.DEPTH) + "}"):
            self.write("deep.safetensors", hostile.safetensors(header.encode()))
            self.assertEqual(self.refused("info", "deep.safetensors"),
                             "deep.safetensors: malformed safetensors header: JSON is nested more than 64 deep")


class DeepToml(Attack):
    def test_in_every_file_of_toml(self):
        keys = ".".join(["a"] * 100_000)
        for text in (keys + "=1", f"[{keys}]", f"[[{keys}]]", "x={" + keys + "=1}", "x=" + "[" * 100_000, "x=" + "{a=" * 100_000):
            self.write("deep.toml", text)
            for words in (["run", "deep.toml", "--dry-run"], ["train", "deep.toml"], ["recipes", "deep.toml"],
                          ["cast", "normal:0,1:8", "--plan", "deep.toml", "-o", "x.safetensors"]):
                self.assertEqual(self.refused(*words), "deep.toml:1: nested deeper than 32", words)


class ManyKeys(Attack):
    """Time grows with the length of a file, not with its square: the keys of each are seconds, they were minutes."""
    COUNT = 20_000 if FREE else 150_000

    def setUp(self):
        super().setUp()
        self.keys = {f"k{i}": "v" for i in range(self.COUNT)}

    def in_time(self, *words):
        def spent():
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        start = spent()
        done = self.run_here(*words)
        if not FREE:
            self.assertLess(spent() - start, 20, words)
        return done

    def test_of_a_ledger(self):
        for where in ("declared", "options"):
            self.write("k.ledger", hostile.ledger("case", **{where: self.keys}))
            self.assertEqual(self.in_time("ledger", "show", "k.ledger", "--csv")[0], 0)
            self.assertEqual(self.in_time("ledger", "diff", "k.ledger", "k.ledger", "--csv")[0], 0)
        self.write("n.ledger", hostile.ledger("case", declared={"a\x00b": "v"}))
        self.assertEqual(self.run_here("ledger", "show", "n.ledger", "--csv")[0], 0)

    def test_of_a_manifest(self):
        (self.path / "report").mkdir()
        self.write("report/manifest.json", json.dumps({"program": "ulpscope", "version": "x", "arguments": ["census"], "files": self.keys}))
        self.assertEqual(self.in_time("report", "diff", "report", "report")[0], 0)  # there is no table

    def test_of_metadata(self):
        self.write("m.safetensors", hostile.one_tensor(__metadata__=self.keys))
        self.assertEqual(self.in_time("cast", "m.safetensors", "--to", "e4m3", "-o", "cast.safetensors")[0], 0)
        raw = (self.path / "cast.safetensors").read_bytes()
        self.assertEqual({key: word for key, word in json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])["__metadata__"].items()
                          if key in self.keys}, self.keys)

    def test_of_metadata_that_files_dispute(self):
        (self.path / "m").mkdir()
        for name, word in (("a", "v"), ("b", "w")):
            self.write(f"m/{name}.safetensors", hostile.one_tensor(name, __metadata__=dict.fromkeys(self.keys, word)))
        code, _, err = self.in_time("cast", "m", "--to", "e4m3", "-o", "m.safetensors")
        self.assertEqual(code, 0, err)
        self.assertIn(f"'k0', 'k1', 'k10' and {self.COUNT - 3} more", err)

    def test_of_plans(self):
        """Sets of fused tensors, and rules; rules with wildcards are asked of all names, and there are few."""
        count = self.COUNT // 7
        names = [f"t{i}.q0.w" for i in range(count // 4)]
        self.write("m.safetensors", hostile.safetensors(json.dumps({n: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in names}).encode()))
        rule = lambda match: f'[[tensors]]\nmatch = "{match}"\nto = "e4m3"\nscale = "amax"\n'
        sets = ",".join(f'"r{i},k{i}"' for i in range(count))
        self.write("sets.toml", f'fused = [{sets}, "q0,q1"]\n' + rule("*"))
        self.write("long.toml", 'fused = ["' + ",".join(f"q{i}" for i in range(count)) + '"]\n' + rule("*"))
        self.write("names.toml", "".join(map(rule, names)))
        self.write("stars.toml", "".join(rule(f"*.w{i}") for i in range(count)) + rule("*"))
        for plan in ("sets", "long", "names"):
            self.assertEqual(self.in_time("cast", "m.safetensors", "--plan", plan + ".toml", "-o", plan + ".safetensors")[0], 0, plan)
        self.assertIn("stars.toml:4001: a plan has at most 1000 rules with wildcards",
                      self.refused("cast", "m.safetensors", "--plan", "stars.toml", "-o", "stars.safetensors"))

    def test_of_columns_of_reports(self):
        for name, other in (("a", "b"), ("b", "a")):
            (self.path / name).mkdir()
            table = ",".join(f"{other}{i}" for i in range(self.COUNT)) + "\n" + ",".join("1" for _ in range(self.COUNT)) + "\n"
            self.write(f"{name}/census.csv", table)
            files = {"census.csv": hashlib.sha256(table.encode()).hexdigest()}
            self.write(f"{name}/manifest.json", json.dumps({"program": "ulpscope", "version": "x", "arguments": ["census"], "files": files}))
        self.assertEqual(self.in_time("report", "diff", "a", "b")[0], 1)

    def report(self, name, table):
        (self.path / name).mkdir()
        self.write(f"{name}/census.csv", table)
        self.write(f"{name}/manifest.json", json.dumps({"program": "ulpscope", "arguments": ["census"], "files": {"census.csv": ""}}))

    def test_of_rows_of_reports_that_are_alike(self):
        table = ",".join(f"c{i}" for i in range(self.COUNT)) + "\n" + 2 * (",".join("1" for _ in range(self.COUNT)) + "\n")
        self.report("a", table), self.report("b", table)
        self.assertEqual(self.in_time("report", "diff", "a", "b")[0], 0)

    def test_of_long_names_in_reports(self):
        """Of a row or a column, in which all cells differ."""
        long, count = "k" * self.COUNT, self.COUNT // 5
        for a, b, rows in (("a", "b", [["k"] + [f"c{i}" for i in range(count)], [long] + count * ["{}"]]),
                           ("c", "d", [["k", long]] + [[str(i), "{}"] for i in range(count)])):
            table = "".join(",".join(row) + "\n" for row in rows)
            self.report(a, table.replace("{}", "1")), self.report(b, table.replace("{}", "2"))
            code, out, err = self.in_time("report", "diff", a, b, "--csv")
            self.assertEqual((code, out.count("\n"), err), (1, count + 1, ""))
            self.assertEqual(self.in_time("report", "diff", a, b, "--rows", "1", "--csv")[1], "\n".join(out.split("\n")[:2]) + "\n")


class Injection(Attack):
    """What files name is printed, and what is printed obeys nobody."""

    def outputs(self, *words):
        """What a command says in each rendering, as it leaves and as a parser of it gives it."""
        for rendering in ("--text", "--csv", "--json"):
            code, out, err = self.run_here(*words, rendering)
            yield rendering, code, out, err
            if rendering == "--json" and out:
                rows = json.loads(out)
                yield "parsed", code, json.dumps(rows, ensure_ascii=False), err

    def assert_harmless(self, *words, shown):
        for rendering, code, out, err in self.outputs(*words):
            self.assertEqual(code, 0, (words, err))
            self.harmless(out)
            self.harmless(err)
            if rendering in ("--csv", "parsed"):
                self.assertIn(shown, out.replace("\\\\", "\\"))
                self.assertIn("\u00e9 \u91cd", out)

    def test_names_and_dtypes_of_tensors(self):
        self.write("names.safetensors", hostile.one_tensor(hostile.NAME))
        # libzip refuses archives of names with most control characters.
        self.write("names.npz", hostile.npz({re.sub("[\x00-\x1f]", "", hostile.NAME) + ".npy": hostile.npy()}))
        for file, shown in (("names.safetensors", r"\x1b[31m"), ("names.npz", r"\u009b31m")):
            self.assert_harmless("info", file, shown=shown)
            self.assert_harmless("census", file, "--to", "e4m3", shown=shown)
            self.assert_harmless("sweep", file, "--to", "e4m3", shown=shown)
        self.write("dtypes.safetensors", hostile.one_tensor("w", "F7" + hostile.NAME))
        for words in (["census", "dtypes.safetensors", "--to", "e4m3"], ["info", "dtypes.safetensors:w"],
                      ["cast", "dtypes.safetensors", "--to", "e4m3", "-o", "x.npy"]):
            self.assertIn(r"\x1b[31m", self.refused(*words))
        self.assertIn(r"\x1b[31m", self.refused("info", "names.safetensors:other"))
        two = {name: {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]} for i, name in enumerate((hostile.NAME, "b"))}
        self.write("two.safetensors", hostile.safetensors(two, bytes(8)))
        self.assertIn(r"\x1b[31m", self.refused("matmul", "two.safetensors", "two.safetensors", "--engine", "fma"))

    def test_a_printed_name_selects_its_tensor(self):
        self.write("names.safetensors", hostile.one_tensor(hostile.NAME))
        _, out, _ = self.run_here("info", "names.safetensors", "--json")
        label = json.loads(out)[0]["tensor"]
        self.assertEqual(self.run_here("info", label, "--json")[:2], (0, out))
        self.assertEqual(self.run_here("cast", "names.safetensors", "--to", "bf16", "-o", "cast.safetensors")[0], 0)
        raw = (self.path / "cast.safetensors").read_bytes()
        size, = struct.unpack("<Q", raw[:8])
        self.assertEqual(list(json.loads(raw[8:8 + size])), [hostile.NAME])  # data keep their names

    def test_a_nul_does_not_end_what_is_said(self):
        self.write("n.toml", '[[study]]\nname="a\\u0000b"\nkind="census"\n')
        self.assertIn(r"n.toml:1: name 'a\x00b': ", self.refused("run", "n.toml", "--dry-run"))
        self.write("k.toml", '"a\\u0000b" = 1\n')
        self.assertIn(r"k.toml:1: unknown key 'a\x00b'; ", self.refused("run", "k.toml", "--dry-run"))
        self.write("v.toml", '[[study]]\nkind="census"\ninputs=["normal:0,1:8"]\nto=["a\\u0000b"]\n')
        self.assertIn(r"unknown format 'a\x00b'", self.refused("run", "v.toml", "--dry-run"))
        self.write("t.ledger", hostile.ledger("case", **{"a\x00b": 1}))
        self.assertIn(r"'/a\x00b' is nothing a ledger holds", self.refused("ledger", "show", "t.ledger"))
        self.write("j.ledger", hostile.ledger("case").replace(b'"case": ', rb'"a\u0000b": 1, "a\u0000b": 2, "case": '))
        self.assertIn(r"the key 'a\x00b' occurs twice", self.refused("ledger", "show", "j.ledger"))
        self.write("f.safetensors", hostile.one_tensor("a\x00b", "F7"))
        self.assertRegex(self.refused("info", "f.safetensors:w"), r"a\\x00b")
        self.write("n.csv", "1,a\0b\n")
        self.assertIn(r"'a\x00b' is not a number", self.refused("info", "n.csv"))

    def test_commands_at_the_beginning_of_a_line(self):
        for name in hostile.COMMANDS:
            self.write("commands.ledger", hostile.ledger(name))
            for words in (["show", "commands.ledger"], ["diff", "commands.ledger", "commands.ledger", "--junit", "j.xml"]):
                for rendering, code, out, err in self.outputs("ledger", *words):
                    self.assertEqual(code, 0, err)
                    self.harmless(out if rendering != "parsed" else "")
                    self.harmless(err)
            self.harmless((self.path / "j.xml").read_text())
        _, out, _ = self.run_here("ledger", "show", "commands.ledger", "--csv")
        self.assertTrue(out.splitlines()[1].startswith(r"\x23#vso[task"), out)

    def test_plain_names_stay_as_they_are(self):
        for name in ("layer.0/weight", "\u00e9t\u00e9::\u91cd\u307f", "a b", "# 1", "::", "x::y", "emoji \U0001f389", "##"):
            self.write("plain.safetensors", hostile.one_tensor(name))
            _, out, _ = self.run_here("info", "plain.safetensors", "--csv")
            self.assertIn(f"plain.safetensors:{name},", out)

    def test_reports_and_their_pages(self):
        self.write("names.safetensors", hostile.one_tensor(hostile.NAME))
        self.assertEqual(self.run_here("sweep", "names.safetensors", "--to", "e4m3", "-o", "report")[0], 0)
        for name in ("index.html", "sweep.csv"):
            self.harmless((self.path / "report" / name).read_text())
        file = self.write("\u009b31m\u202e\x7f \u00e9.npy", hostile.npy())
        self.assertEqual(self.run_here("sweep", file, "--to", "e4m3", "-o", "of a file")[0], 0)
        manifest = (self.path / "of a file/manifest.json").read_text()
        self.harmless(manifest)
        self.assertIn(file, json.loads(manifest)["arguments"])  # which asks for the same again

    def test_names_of_files_begin_no_line(self):
        file = self.write("a\nBEGINS.npy", hostile.npy(shape="(2, 2)", data=struct.pack("<4f", 1, 2, 3, 4)))
        row = self.write("b\nBEGINS.npy", hostile.npy(shape="(2,)", data=struct.pack("<2f", 0, 0)))
        true = self.script("yes\nBEGINS", "")
        matmul, out = ["matmul", file, file, "--in", "fp32", "--out", "fp32"], ["--output", file, "--out", "fp32"]
        for words in (["info", file], ["census", file, "--to", "e4m3"], ["sweep", file, "--to", "e4m3"], ["precision", file],
                      ["cast", file, "--to", "e4m3", "-o", "made\nBEGINS.npy"], ["diff", file, row], ["diff", file, file], matmul,
                      [*matmul, "--scale-a", row], ["accumulation", file, file], ["run", file], ["ledger", "show", file],
                      ["verify", *matmul, "--output", file, "--rules", file], ["verify", "sum", file, *out], ["verify", "relu", file, *out],
                      ["verify", "softmax", file, *out], ["verify", "layer_norm", file, *out, "--save-mean", row, "--save-rstd", row],
                      ["verify", "attention", file, file, file, *out, "--mask", row], ["verify", "expr", "x\n+1", f"x={file}", *out],
                      ["verify", *matmul, "--output", file, "--against", file], ["verify", *matmul[:-2], "--output", row],
                      ["explain", *matmul, "--output", file], ["explain", "sum", file, *out], ["invariance", "sum", file, "--out", "fp32"],
                      ["audit", "sum", file, "--out", "fp16", "--rule", "allclose:atol=1", "--rule", f"program:'./{true}' {{out}}"],
                      ["ledger", "record", "made.ledger", "sum", file, *out, "--case", "c\nBEGINS"], ["ledger", "check", "made.ledger", *out[:2]],
                      ["conform", "--program", f"./{true}", "--from", "fp16", "--to", "e4m3"]):
            for rendering in ("--text", "--csv", "--json"):
                code, said, err = self.run_here(*words, rendering)
                self.assertNotRegex(said + err, r"(?m)^BEGINS|^\S+ BEGINS", words)
                self.assertIn(code, (0, 1, 2, 3), words)

    def test_junit_of_names_that_are_no_text(self):
        self.write("bytes.ledger", hostile.ledger(hostile.NAME))
        code, _, err = self.run_here("ledger", "diff", "bytes.ledger", "bytes.ledger", "--junit", "j.xml")
        self.assertEqual(code, 0, err)
        tree = xml.etree.ElementTree.parse(self.path / "j.xml")
        self.assertIn(r"\x1b[31m", tree.find(".//testcase").attrib["name"])
        name = b"\xff\xfe\x9b31m.npy"
        (self.path / os.fsdecode(name)).write_bytes(hostile.npy(shape="(1, 1)"))
        code, out, err = self.run_here("verify", "matmul", "uniform:0,0:1x1", "uniform:0,0:1x1", "--in", "fp32", "--out", "fp32", "--output",
                                       os.fsdecode(name), "--junit", "j.xml", "--csv")
        self.assertIn(code, (0, 3), err)
        self.harmless(out + err)
        xml.etree.ElementTree.parse(self.path / "j.xml")

    def test_long_lists_are_cut_in_messages(self):
        self.write("a.safetensors", hostile.one_tensor(shape=[1] * 1_000_000))
        self.write("b.npy", hostile.npy(shape="(2,)", data=bytes(8)))
        self.refused("diff", "a.safetensors", "b.npy")
        self.refused("matmul", "a.safetensors", "b.npy", "--engine", "fma", "--in", "fp32")
        code, out, err = self.run_here("info", "a.safetensors", "--csv")
        self.assertEqual(code, 0, err)
        self.assertIn("(1000000 extents)", out)
        self.assertLess(len(out), 2000)
        self.write("long.safetensors", hostile.one_tensor("n" * 5_000_000, "F7"))
        self.refused("census", "long.safetensors", "--to", "e4m3")


class Memory(Attack):
    """Small files that promise much."""

    def test_members_that_are_not_asked_for_are_not_inflated(self):
        bomb = hostile.zeros_deflated(200 * MEBIBYTE, hostile.npy_start(f"({50 * MEBIBYTE},)"))
        self.write("bomb.npz", bomb)
        with zipfile.ZipFile(self.path / "bomb.npz", "a") as archive:
            archive.writestr("small.npy", hostile.npy())
        self.assertLess((self.path / "bomb.npz").stat().st_size, MEBIBYTE)
        code, out, err = self.run_here("info", "bomb.npz:small", "--csv", memory=180 * MEBIBYTE)
        self.assertEqual((code, "bomb.npz:small" in out), (0, True), err)

    def test_members_are_read_in_blocks(self):
        self.write("w.npz", hostile.zeros_deflated(128 * MEBIBYTE, hostile.npy_start(f"({32 * MEBIBYTE},)")))
        for most in ("1M", "130M"):
            code, out, err = self.run_here("info", "w.npz", "--csv", "--max-memory", most, memory=180 * MEBIBYTE)
            self.assertEqual(code, 0, err)
            self.assertIn(f"{32 * MEBIBYTE}", out)

    def test_more_than_may_be_taken_is_refused_in_one_line(self):
        self.write("w.npz", hostile.zeros_deflated(64 * MEBIBYTE, hostile.npy_start(f"({16 * MEBIBYTE},)")))
        self.assertEqual(self.refused("info", "w.npz", "--max-memory", "1000K"),
                         "w.npz:w: 1048576 bytes of memory are needed, and 1024000 of the 1024000 that tensors may take are left; "
                         "--max-memory SIZE allows more")
        self.write("long.csv", "0\n" * 400_000)
        self.assertIn("--max-memory", self.refused("info", "long.csv", "--max-memory=2M"))
        self.assertIn("--max-memory", self.refused("info", self.write("many.safetensors", hostile.safetensors(b"{" + b" " * 200_000 + b"}")),
                                                   "--max-memory", "1M"))
        for word in ("", "x", "1X", "-1", "0", "1GB", "99999999999G"):
            self.assertIn("give bytes", self.refused("info", "w.npz", "--max-memory", word))

    def test_contradictions_are_refused_before_anything_is_inflated(self):
        lies = {
            "more zeros than the header promises": hostile.zeros_deflated(200 * MEBIBYTE, hostile.npy_start("(1,)")),
            "fewer": hostile.zeros_deflated(4, hostile.npy_start(f"({100 * MEBIBYTE},)")),
            "a size that the archive alone claims": hostile.zeros_deflated(4, hostile.npy_start("(1000000000,)"), claimed=4_000_000_128),
            "no header": hostile.zeros_deflated(200 * MEBIBYTE),
            "a header of 4 GB": hostile.zeros_deflated(0, b"\x93NUMPY\x02\x00" + struct.pack("<I", 0xffffffff)),
        }
        for what, data in lies.items():
            with self.subTest(what):
                self.write("lie.npz", data)
                self.refused("info", "lie.npz", memory=150 * MEBIBYTE)
        # Sizes that agree, data that are shorter or longer than both.
        for count in (10, 1000):
            start = hostile.npy_start("(100,)")
            self.write("lie.npz", hostile.zeros_deflated(count, start, claimed=len(start) + 400))
            self.assertIn("damaged member", self.refused("info", "lie.npz"))

    def test_archives_that_are_no_arrays(self):
        with zipfile.ZipFile(self.path / "none.npz", "w"):
            pass
        self.assertIn("none.npz: ", self.refused("info", "none.npz"))
        self.write("other.npz", hostile.npz({"w.txt": b"w"}))
        self.assertIn("member 'w.txt' is not a .npy file", self.refused("info", "other.npz"))
        twice = hostile.npz({"a.npy": hostile.npy(), "b.npy": hostile.npy()}).replace(b"b.npy", b"a.npy")
        self.write("twice.npz", twice)
        self.assertIn("twice.npz: ", self.refused("info", "twice.npz"))

    def test_archives_that_are_damaged(self):
        whole = hostile.npz({"a.npy": hostile.npy(), "b.npy": hostile.npy()}, zipfile.ZIP_STORED)
        directory = whole.index(b"PK\x01\x02")
        wide = whole[:directory + 20] + b"\xff" * 8 + whole[directory + 28:]  # the two sizes of the first member (APPNOTE 4.3.12)
        damaged = "x.npz: is a damaged .npz (zip) file: "
        self.write("x.npz", wide)
        cut_off = damaged + "it is cut off, has bytes of others before or behind it, or its directory is wrong"
        self.assertIn(self.refused("info", "x.npz"),  # libzip from 1.11 on does not tell the two apart
                      (damaged + "sizes of 64 bits, which it announces, are missing", cut_off))
        for bad in (whole[:40], whole[:-1], whole[:-22], whole + hostile.npz({"c.npy": hostile.npy()}), whole[:directory] + b"X" + whole[directory + 1:]):
            self.write("x.npz", bad)
            self.assertIn(self.refused("info", "x.npz"), (cut_off, damaged + "it contradicts itself"))
        self.write("x.npz", whole + b"xxxx")
        self.assertEqual(self.refused("info", "x.npz"), damaged + "it contradicts itself")
        for none in (b"P", b"hello world", hostile.npy(), b"xxxx" + whole):
            self.write("x.npz", none)
            self.assertEqual(self.refused("info", "x.npz"), "x.npz: is no .npz (zip) file: it does not begin as one")

    def test_compressions_that_are_not_read(self):
        self.write("x.npz", hostile.npz({"w.npy": hostile.npy()}, zipfile.ZIP_LZMA))
        self.assertIn("is compressed by method 14", self.refused("info", "x.npz"))

    def test_a_header_of_many_values(self):
        self.write("many.safetensors", hostile.safetensors(b'{"a":[' + b"{}," * 2_000_000 + b"{}]}"))
        said = self.refused("info", "many.safetensors", memory=256 * MEBIBYTE)
        if not FREE:
            self.assertIn("may take 32 times as much memory", said)


class Headers(Attack):
    """What the description of the format forbids. The reference implementation (safetensors 0.8.0 on PyPI) refuses the same but for
    what docs/limits.md names."""

    def test_they_are_refused(self):
        good = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})
        self.write("x.safetensors", hostile.safetensors(good.encode(), bytes(4)))
        self.assertEqual(self.run_here("info", "x.safetensors")[0], 0)
        self.write("x.safetensors", hostile.safetensors((good + "   ").encode(), bytes(4)))  # the writer's own padding
        self.assertEqual(self.run_here("info", "x.safetensors")[0], 0)
        for bad in (b"\xef\xbb\xbf" + good.encode(), b" " + good.encode(), b"\n" + good.encode(), good.encode() + b"\0garbage",
                    good.encode() + b"\0", good.encode() + b"x", good.encode() + good.encode(), b"[" + good.encode() + b"]",
                    good.replace('"w"', '"w\xff"').encode("latin-1"), good.replace("[0, 4]", "[0.0, 4]").encode(),
                    *(good.replace("{", '{"__metadata__":' + other + ",", 1).encode()
                      for other in ("1", "[]", '"a"', '{"a":1}', '{"a":null}', '{"a":{"b":"c"}}')),
                    good.replace("}}", ',"x":1}}').encode(), b'{"w":["F32",[1],[0,4]]}'):
            self.write("x.safetensors", hostile.safetensors(bad, bytes(4)))
            self.refused("info", "x.safetensors")

    def test_a_file_without_tensors(self):
        """What works on numbers says so; what lists or compares tensors has none to name."""
        self.write("good.safetensors", hostile.one_tensor())
        for header in (b"{}", b'{"__metadata__":null}'):
            self.write("none.safetensors", hostile.safetensors(header))
            code, out, err = self.run_here("info", "none.safetensors", "--json")
            self.assertEqual((code, json.loads(out), err), (0, [], ""))
            for words in (["census", "none.safetensors", "--to", "e4m3"], ["cast", "none.safetensors", "--to", "e4m3", "-o", "x.safetensors"],
                          ["choose", "none.safetensors", "--to", "e4m3", "--sqnr", "9"], ["matmul", "none.safetensors", "good.safetensors", "--engine", "fma"]):
                self.assertIn("none.safetensors: holds no tensors", self.refused(*words))
            for words in (["none.safetensors", "none.safetensors"], ["none.safetensors", "good.safetensors"], ["good.safetensors", "none.safetensors"]):
                code, _, err = self.run_here("diff", *words)
                self.assertIn("0 tensors compared", err)
            self.assertIn("holds no tensor 'w'", self.refused("info", "none.safetensors:w"))


class Gguf(Attack):
    """What ggml's reader (gguf.cpp) refuses, and gguf-py 0.19.0 in part."""

    def refusal(self, *what, **more):
        self.write("t.gguf", hostile.gguf(*what, **more))
        return self.refused("info", "t.gguf").removeprefix("t.gguf: ")

    def test_a_key_twice(self):
        w = [("w", 8, 0)]
        self.assertEqual(self.refusal(w, ["k", "j", "k"]), "has the metadata key 'k' twice")
        self.assertIn(r"has the metadata key 'w\x1b[31m", self.refusal(w, [hostile.NAME] * 2))
        many = [f"key {i}" for i in range(100_000)]
        self.write("t.gguf", hostile.gguf(w, many))
        self.assertEqual(self.run_here("info", "t.gguf")[0], 0)
        self.assertEqual(self.refusal(w, many + many[:1]), "has the metadata key 'key 0' twice")

    def test_data_that_overlap_leave_holes_or_are_in_another_order(self):
        """Tensors of 9 numbers are 36 bytes, padded to 64."""
        for second in (64, 96):
            self.write("t.gguf", hostile.gguf([("a", 9, 0), ("none", 0, 64), ("b", 1, 64), ("c", 1, second)]))
            self.assertEqual(self.run_here("info", "t.gguf")[0], 2 if second == 64 else 0)
        for offsets, wrong, wanted in (((32, 96), 32, 0), ((0, 0), 0, 64), ((0, 32), 32, 64), ((0, 96), 96, 64), ((64, 0), 64, 0)):
            tensors = [(name, 9, offset) for name, offset in zip("ab", offsets)]
            self.assertEqual(self.refusal(tensors, data=bytes(256)),
                             f"tensor '{'a' if wanted == 0 else 'b'}': has offset {wrong}, where {wanted} is expected: tensors follow each other "
                             "without overlap or hole")
        self.assertIn("its data end beyond the file", self.refusal([("a", 9, 0), ("b", 9, 64)], data=bytes(99)))

    def test_behind_a_tensor_of_an_unknown_type_the_next_begins_anywhere_but_in_those_before(self):
        def of_type_19(data, name):
            place = data.index(struct.pack("<Q", len(name)) + name.encode()) + 8 + len(name) + 12
            return data[:place] + struct.pack("<I", 19) + data[place + 4:]
        for offsets, wrong in (((0, 32, 64), None), ((0, 32, 96), None), ((0, 32, 32), "c"), ((0, 0, 64), "b"), ((0, 64, 96), "b"), ((0, 32, 128), "c")):
            self.write("t.gguf", of_type_19(hostile.gguf([(name, 8, offset) for name, offset in zip("abc", offsets)]), "b"))
            if wrong:
                self.assertIn(f"tensor '{wrong}': ", self.refused("info", "t.gguf"))
            else:
                self.assertEqual(self.run_here("info", "t.gguf")[0], 0, offsets)


class Onnx(Attack):
    """Data beside a model: links that an archive can plant lead nowhere else. What onnx 1.23 refuses, but that it takes no link at all."""

    def setUp(self):
        super().setUp()
        self.write("out.bin", bytes(32))
        for folder in ("o/sub", "hub/blobs", "hub/snapshots/1/onnx"):
            (self.path / folder).mkdir(parents=True)

    def code(self, name, location=None, *fields):
        self.write(name, hostile.onnx(*fields, location=location))
        return self.run_here("info", name)[0]

    def link(self, name, to):
        (self.path / name).symlink_to(to)

    def test_links_out_of_the_folder(self):
        self.write("o/in.bin", bytes(32))
        self.write("o/sub/in.bin", bytes(32))
        for name, to in (("dl", ".."), ("link.bin", "../out.bin"), ("sub/link.bin", "../../out.bin"), ("twice.bin", "link.bin"), ("sub2", "sub"),
                         ("whole.bin", self.path / "out.bin"), ("near.bin", "../o2/in.bin")):
            self.link(f"o/{name}", to)
        (self.path / "o2").mkdir()
        self.write("o2/in.bin", bytes(32))  # a name that begins as the folder's does
        for location, link in (("dl/out.bin", "dl"), ("./dl/out.bin", "./dl"), ("dl/o/in.bin", "dl"), ("link.bin", "link.bin"), ("sub/link.bin", "sub/link.bin"),
                               ("twice.bin", "twice.bin"), ("sub2/in.bin", "sub2"), ("whole.bin", "whole.bin"), ("near.bin", "near.bin")):
            self.write("o/m.onnx", hostile.onnx(location=location))
            for path in ("o/m.onnx", f"{self.path}/o/m.onnx"):
                self.assertIn(f"tensor 'w' names data in '{location}', where '{link}' is a link that may lead out of the model's folder",
                              self.refused("info", path))
        self.link("o/none.bin", "../none.bin")
        self.write("o/m.onnx", hostile.onnx(location="none.bin"))
        self.assertIn("none.bin: No such file or directory", self.refused("info", "o/m.onnx"))

    def test_files_and_links_in_the_folder(self):
        self.write("o/in.bin", bytes(32))
        self.write("o/sub/in.bin", bytes(32))
        self.link("o/link.bin", "sub/in.bin")
        self.link("o/sub/up.bin", "../in.bin")
        self.link("way", "o")  # to the model, which the user wrote
        for location in ("in.bin", "sub/in.bin", "link.bin", "sub/up.bin"):
            self.assertEqual(self.code("o/m.onnx", location), 0, location)
            self.assertEqual(self.run_here("info", "way/m.onnx")[0], 0, location)

    def test_caches_of_models(self):
        """As huggingface_hub has them: each file of a revision is a link to its blob."""
        self.write("hub/blobs/2", bytes(32))
        self.write("hub/blobs/1", hostile.onnx(location="m.onnx_data"))
        for name, to in (("m.onnx", "blobs/1"), ("m.onnx_data", "blobs/2")):
            self.link(f"hub/snapshots/1/onnx/{name}", f"../../../{to}")
        self.assertEqual(self.run_here("info", "hub/snapshots/1/onnx/m.onnx")[0], 0)
        (self.path / "hub/snapshots/1/onnx/m.onnx_data").unlink()
        self.link("hub/snapshots/1/onnx/m.onnx_data", "../../../../out.bin")
        self.assertIn("may lead out", self.refused("info", "hub/snapshots/1/onnx/m.onnx"))
        for folder, wanted in (("cache/models--a--b/blobs", 0), ("cache/models--a--b", 2), ("cache/models/blobs", 2)):
            (self.path / folder).mkdir(parents=True, exist_ok=True)
            self.write(f"{folder}/2", bytes(32))
            (self.path / "o/large.bin").unlink(missing_ok=True)
            self.link("o/large.bin", self.path / folder / "2")
            self.assertEqual(self.code("o/m.onnx", "large.bin"), wanted, folder)

    def test_segments_and_data_in_two_places(self):
        self.write("o/in.bin", bytes(32))
        raw, floats, segment = hostile.onnx_field(9, bytes(32)), hostile.onnx_field(4, bytes(32)), hostile.onnx_field(3, hostile.onnx_field(1, 1))
        for location, fields, said in (("in.bin", [raw], "has data in the file and in one beside it"),
                                       ("in.bin", [floats], "has data in the file and in one beside it"),
                                       (None, [raw, segment], "is a segment of one in parts, which are not read"),
                                       (None, [segment, raw], "is a segment of one in parts, which are not read"),
                                       ("in.bin", [segment], "is a segment of one in parts, which are not read")):
            self.write("o/m.onnx", hostile.onnx(*fields, location=location))
            self.assertEqual(self.refused("info", "o/m.onnx"), f"o/m.onnx: tensor 'w' {said}")
        for location, fields in (("in.bin", []), ("in.bin", [hostile.onnx_field(9, b"")]), (None, [raw]), (None, [floats])):
            self.assertEqual(self.code("o/m.onnx", location, *fields), 0)


class Advice(Attack):
    def test_a_pickle_is_not_run_and_its_name_is_quoted(self):
        os.mkdir(self.path / "bin")
        python = self.path / "bin" / "python3"
        python.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\" > said\n")
        python.chmod(python.stat().st_mode | stat.S_IXUSR)
        for name in ("m.pt", "m$(touch X)').pt", "a b.pth", "`touch X`.pt", "new\nline.pt", "./-c.pt", "q\"'\\.pt"):
            self.write(name, b"PK")
            said = self.refused("census", name, "--to", "e4m3")
            command = said[said.index("python3 -c"):]
            self.assertIn("weights_only=True", command)
            subprocess.run(["bash", "-c", command], cwd=self.path, check=True, timeout=LIMIT, env={**os.environ, "PATH": f"{self.path}/bin:{os.environ['PATH']}"})
            words = (self.path / "said").read_text()
            self.assertTrue(words.startswith("-c\n"), words)
            self.assertTrue(words.endswith(f"\n{name}\n{name.rsplit('.', 1)[0]}.safetensors\n"), words)
            self.assertNotIn(name, shlex.split(command)[2])
            (self.path / "torch.py").write_text("open('X', 'w')\n")
            subprocess.run(["bash", "-c", command], cwd=self.path, timeout=LIMIT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertFalse((self.path / "X").exists())


unittest.main()
