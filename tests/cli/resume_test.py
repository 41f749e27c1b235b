#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Censuses, sweeps and casts that end before they are done go on with --resume: the same bytes as without an end, and none of what was kept
is made again; other work is refused. usage: resume_test.py PROGRAM"""
import hashlib
import json
import os
import re
import shutil
import stat
import struct
import subprocess
import unittest

from files_test import PROGRAM, safetensors
from resuming import KEPT, TENSORS, UNSAMPLED, Resuming
from time_limit import LIMIT


class Measured(Resuming):
    def check(self, *words, most=30000):
        right = self.undisturbed(*words)
        self.ended(*words, most=most)
        kept = self.whole_lines()
        self.assertTrue(0 < kept < TENSORS, kept)
        self.assertFalse((self.path / KEPT).read_bytes().endswith(b"\n"), "no line is torn")
        self.ended(*words, most=2 * most)  # it goes on, and ends again
        self.assertGreater(self.whole_lines(), kept)
        self.numbers["t00"][UNSAMPLED] += 1  # kept tensors are not read again, but for their samples
        self.write()
        self.program(*words, "-o", "out", "--resume")
        self.assertEqual(self.contents("out"), right)
        self.assertEqual(sorted(os.listdir(self.path)), ["m.safetensors", "out"])

    def test_a_census(self):
        self.check("census", "m.safetensors", "--to", "e4m3,bf16", "--threads", "1")

    def test_a_census_under_scales_of_blocks_with_groups(self):
        self.check("census", "m.safetensors", "--to", "e2m1", "--scale", "nvfp4", "--all-tensors", "--group", "t(.)", "--threads", "1", most=10000)

    def test_a_census_of_blocks(self):
        self.check("census", "m.safetensors", "--to", "e2m1", "--scale", "nvfp4", "--blocks", "--all-tensors", "--group", "t(.)", "--threads", "1", most=25000)

    def test_a_shard_of_blocks(self):
        self.check("census", "m.safetensors", "--to", "e4m3,e5m2", "--scale", "128x128:divide", "--blocks", "--shard", "0/1", "--threads", "1", most=6000)

    def test_a_sweep(self):
        self.check("sweep", "m.safetensors", "--to", "e4m3", "--log2-scale", "0:2", "--threads", "1", most=10000)

    def test_a_census_whose_sums_depend_on_their_order(self):
        self.check("census", "m.safetensors", "--to", "e4m3", "--rounding", "stochastic", "--threads", "1")

    def test_a_shard(self):
        self.check("census", "m.safetensors", "--to", "e4m3,bf16", "--shard", "0/2", "--threads", "1")

    def test_a_run_that_does_not_end_leaves_the_report_alone(self):
        words = ("census", "m.safetensors", "--to", "e4m3")
        right = self.undisturbed(*words)
        self.program(*words, "-o", "out", "--resume")
        self.assertEqual(self.contents("out"), right)
        self.assertNotIn("--resume", json.loads(right["manifest.json"])["arguments"])
        self.assertEqual(sorted(os.listdir(self.path)), ["m.safetensors", "out"])

    def test_what_a_killed_process_has_kept(self):
        words = ("sweep", "m.safetensors", "--to", "e4m3,e5m2,bf16", "--rounding", "stochastic", "--threads", "1")
        right = self.undisturbed(*words)
        process = subprocess.Popen([PROGRAM, *words, "-o", "out", "--resume"], cwd=self.path, stderr=subprocess.DEVNULL)
        while process.poll() is None and not ((self.path / KEPT).exists() and self.whole_lines() > 2):
            pass
        process.kill()
        process.wait(timeout=LIMIT)
        self.assertTrue((self.path / KEPT).exists() or (self.path / "out").exists())
        self.program(*words, "-o", "out", "--resume")
        self.assertEqual(self.contents("out"), right)

    def test_other_work_is_refused(self):
        words = ("census", "m.safetensors", "--to", "e4m3", "--threads", "1")
        self.ended(*words)
        kept = self.contents("out.partial")
        self.assertIn("out.partial: holds what a run that was ended has measured; --resume goes on with it, or remove it",
                      self.refused(*words, "-o", "out"))
        self.assertIn("out.partial: is of other work: 'census m.safetensors --to", self.refused(*words[:3], "bf16", "-o", "out", "--resume"))
        self.assertIn("is of other work", self.refused("sweep", *words[1:], "-o", "out", "--resume"))
        self.numbers["t05"][0] += 1
        self.write()
        self.assertRegex(self.refused(*words, "-o", "out", "--resume"),
                         "is of other work: 'm.safetensors:t05, float32 64 64, sample [0-9a-f]{16}' there, 'm.safetensors:t05, .*' now")
        self.write(ending=".weight")
        self.assertIn("'m.safetensors:t00.weight, ", self.refused(*words, "-o", "out", "--resume"))
        self.numbers["t05"][0] -= 1
        self.write()
        request = self.path / "out.partial/request.txt"
        request.write_text(re.sub("^ulpscope [^ ]*", "ulpscope 0.0.1", request.read_text()))
        self.assertRegex(self.refused(*words, "-o", "out", "--resume"), "is of other work: 'ulpscope 0.0.1 .*' there, 'ulpscope .*' now")
        request.write_bytes(kept["request.txt"])
        self.assertEqual(self.contents("out.partial"), kept)

    def test_counts_that_cannot_be_are_not_taken(self):
        for more in ((), ("--shard", "0/1")):
            words = ("census", "m.safetensors", "--to", "e4m3", *more, "--threads", "1")
            self.ended(*words)
            lines = (self.path / KEPT).read_text().splitlines()
            place, text = lines[0].split(" ", 1)[1].split(" ", 1)
            part = json.loads(text)
            part["census"][0]["counts"][4] += 1
            changed = f"{place} {json.dumps(part)}"
            (self.path / KEPT).write_text("\n".join([f"{hashlib.sha256(changed.encode()).hexdigest()} {changed}", *lines[1:]]) + "\n")
            self.assertIn("measured.txt: m.safetensors:t00 has counts that do not add up to its elements", self.refused(*words, "-o", "out", "--resume"))
            shutil.rmtree(self.path / "out.partial")

    def test_what_cannot_be_kept_is_told(self):
        census = ("census", "m.safetensors", "--to", "e4m3", "--resume")
        self.assertIn("--resume: -o DIR is missing", self.refused(*census))
        self.assertIn("--resume: -o DIR is missing", self.refused("sweep", *census[1:], "--best"))
        self.ended(*census[:-1], "--threads", "1")
        (self.path / "victim").write_text("years of work")
        (self.path / KEPT).unlink()
        (self.path / KEPT).symlink_to(self.path / "victim")
        self.assertIn("measured.txt: cannot be written: it is a link", self.refused(*census, "--threads", "1", "-o", "out"))
        self.assertEqual((self.path / "victim").read_text(), "years of work")
        shutil.rmtree(self.path / "out.partial")
        (self.path / "elsewhere").mkdir()
        (self.path / "out.partial").symlink_to("elsewhere")
        self.assertIn("out.partial: is a link", self.refused(*census, "-o", "out"))

    def test_a_folder_that_says_of_no_work_is_left_alone(self):
        words = ("census", "m.safetensors", "--to", "e4m3", "--threads", "1")
        self.ended(*words)
        (self.path / "out.partial/request.txt").unlink()
        kept = self.contents("out.partial")
        said = "out.partial: holds measured.txt, but no request.txt that says of which work; move it away, or name another folder for the report"
        self.assertIn(said, self.refused(*words[:3], "e5m2", *words[4:], "-o", "out", "--resume"))
        self.assertIn(said, self.refused(*words, "-o", "out", "--resume"))
        self.assertEqual(self.contents("out.partial"), kept)

    def test_no_work_is_kept_beside_the_input(self):
        (self.path / "out.partial").mkdir()
        (self.path / "m.safetensors").rename(self.path / "out.partial/m.safetensors")
        (self.path / "link.safetensors").symlink_to("out.partial/m.safetensors")
        before = self.contents("out.partial")
        for command in (("census", "out.partial/m.safetensors"), ("sweep", "out.partial/m.safetensors:t00"), ("census", "out.partial"),
                        ("census", "link.safetensors"), ("census", "normal:0,1:8x8", "out.partial:t0*", "--shard", "0/2")):
            self.assertRegex(self.refused(*command, "--to", "e4m3", "-o", "out", "--resume"),
                             "--resume: keeps its work in out.partial, which holds the input [^ ]*.safetensors; name another folder")
        self.assertEqual(self.contents("out.partial"), before)


class Cast(Resuming):
    WORDS = ("cast", "model", "--to", "e4m3", "--scale", "amax")

    def setUp(self):
        super().setUp()
        shutil.rmtree(self.path / "model", ignore_errors=True)
        small = dict(list(self.numbers.items())[:3])
        self.large = {f"big{i}": of * 8 for i, of in enumerate(list(self.numbers.values())[:2])}
        self.write("model/a.safetensors", small)
        self.write("model/b.safetensors", small, ".b")
        self.write("model/c.safetensors", self.large)
        names = {key + ending: file for file, of, ending in (("a", small, ""), ("b", small, ".b"), ("c", self.large, "")) for key in of}
        (self.path / "model/model.safetensors.index.json").write_text(
            json.dumps({"metadata": {}, "weight_map": {key: f"{file}.safetensors" for key, file in names.items()}}))

    def end(self):
        self.ended(*self.WORDS, most=40000)  # c is larger

    def test_files_that_are_done_are_kept(self):
        right = self.undisturbed(*self.WORDS)
        self.end()
        kept = [f"{i}.safetensors{ending}" for i in range(2) for ending in ("", ".sha256")]
        self.assertEqual(sorted(os.listdir(self.path / "out.partial")), [*kept, "request.txt"])
        for name in kept[::2]:
            digest = hashlib.sha256((self.path / "out.partial" / name).read_bytes()).hexdigest()
            self.assertEqual((self.path / f"out.partial/{name}.sha256").read_text(), f"{digest}  {name}\n")
        (self.path / "out").mkdir()
        (self.path / "out/a.safetensors").write_bytes(b"former")
        (self.path / "out/notes").write_bytes(b"years of work")
        changed = {key: list(of) for key, of in list(self.numbers.items())[:3]}
        changed["t00"][UNSAMPLED] += 1  # none is made again
        self.write("model/a.safetensors", changed)
        self.program(*self.WORDS, "-o", "out", "--resume")
        self.assertEqual(self.contents("out"), right | {"notes": b"years of work"})
        self.assertFalse((self.path / "out.partial").exists())

    def test_other_work_is_refused(self):
        self.end()
        kept = self.contents("out.partial")
        self.assertIn("out.partial: holds files of a cast that was ended; --resume goes on with it, or remove it",
                      self.refused(*self.WORDS, "-o", "out"))
        self.assertIn("is of other work: 'cast model --to e4m3 --scale amax' there, 'cast model --to e5m2 --scale amax' now",
                      self.refused("cast", "model", "--to", "e5m2", *self.WORDS[4:], "-o", "out", "--resume"))
        self.large["big1"][-1] += 1
        self.write("model/c.safetensors", self.large)
        self.assertIn("is of other work: 'model/c.safetensors:big1, ", self.refused(*self.WORDS, "-o", "out", "--resume"))
        self.assertEqual(self.contents("out.partial"), kept)

    def test_a_file_of_another_user_is_not_taken(self):
        self.end()
        kept = self.path / "out.partial/0.safetensors"
        try:
            os.chown(kept, 12345, -1)
        except PermissionError:
            self.skipTest("files can be given to others by root alone")
        self.assertIn("0.safetensors: belongs to another user; remove it", self.refused(*self.WORDS, "-o", "out", "--resume"))
        kept.unlink()
        self.program(*self.WORDS, "-o", "out", "--resume")

    def test_permissions_are_those_of_an_undisturbed_cast(self):
        def modes(name):
            return {str(p.relative_to(self.path)): stat.S_IMODE(p.stat().st_mode) for p in (self.path / name, *(self.path / name).rglob("*"))}
        for former in (False, True):
            def begin():
                shutil.rmtree(self.path / "out", ignore_errors=True)
                if former:
                    (self.path / "out").mkdir()
                    (self.path / "out/a.safetensors").touch(mode=0o600)
                    (self.path / "out/c.safetensors").touch(mode=0o600)
            begin()
            self.program(*self.WORDS, "-o", "out")
            right = modes("out")
            begin()
            self.assertIn("File too large", self.program(*self.WORDS, "-o", "out", "--resume", code=2, most=40000))
            self.assertEqual(modes("out.partial")["out.partial"], 0o700)
            self.program(*self.WORDS, "-o", "out", "--resume")
            self.assertEqual(modes("out"), right)

    def test_a_file_that_is_damaged_is_written_anew(self):
        right = self.undisturbed(*self.WORDS)
        kept = self.path / "out.partial/0.safetensors"
        def truncate():
            os.truncate(kept, 3000)
        def flip():
            damaged = bytearray(kept.read_bytes())
            damaged[-1] ^= 1
            kept.write_bytes(damaged)
        def forget():
            (self.path / "out.partial/0.safetensors.sha256").unlink()
            flip()
        def empty():
            (self.path / "out.partial/0.safetensors.sha256").write_bytes(b"")
            kept.write_bytes(b"")
        for damage in (truncate, flip, forget, empty, kept.unlink):
            with self.subTest(damage=damage.__name__):
                self.end()
                damage()
                self.program(*self.WORDS, "-o", "out", "--resume")
                self.assertEqual(self.contents("out"), right)
                self.assertFalse((self.path / "out.partial").exists())
                shutil.rmtree(self.path / "out")

    def test_other_inputs_that_are_copied_are_refused(self):
        def write(b=1.0, i=5, unknown=b"x", metadata="former"):
            (self.path / "model/a.safetensors").write_bytes(safetensors({
                "w": ("BF16", [4], bytes(8)), "b": ("F32", [2], struct.pack("<2f", b, 2)), "i": ("I64", [2], struct.pack("<2q", i, 6)),
                "u": ("F9", [1], unknown)}, {"note": metadata}))
        for key in ("a", "b"):
            (self.path / f"model/{key}.safetensors").unlink()
        (self.path / "model/model.safetensors.index.json").unlink()
        self.large = {"big": self.large["big0"]}
        self.write("model/c.safetensors", self.large)
        for words in (("cast", "model", "--to", "e4m3"), ("cast", "model", "--to", "e4m3", "--only-dtype", "fp32")):
            shutil.rmtree(self.path / "out.partial", ignore_errors=True)
            write()
            self.ended(*words, most=30000)
            self.assertIn("0.safetensors", os.listdir(self.path / "out.partial"))
            kept = self.contents("out.partial")
            for changed, said in (({"b": 7.0}, "a.safetensors:b, "), ({"i": 1005}, "a.safetensors:i, "), ({"unknown": b"y"}, "a.safetensors:u, "),
                                  ({"metadata": "latter"}, "a.safetensors, [0-9]* bytes, metadata ")):
                with self.subTest(changed=changed):
                    write(**changed)
                    self.assertRegex(self.refused(*words, "-o", "out", "--resume"), f"is of other work: '(model/)?{said}")
            write()
            self.write("model/0.safetensors", {"first": self.numbers["t00"]})
            with self.subTest("a file before it"):
                self.assertRegex(self.refused(*words, "-o", "out", "--resume"), "is of other work: 'a.safetensors, .*' there, '0.safetensors, ")
            (self.path / "model/0.safetensors").unlink()
            self.assertEqual(self.contents("out.partial"), kept)
            self.program(*words, "-o", "out", "--resume")
            shutil.rmtree(self.path / "out")

    def test_a_foreign_file_is_not_taken(self):
        (self.path / "out.partial").mkdir()
        shutil.copy(self.path / "model/b.safetensors", self.path / "out.partial/0.safetensors")
        self.assertIn("out.partial: holds 0.safetensors, but no request.txt", self.refused(*self.WORDS, "-o", "out", "--resume"))
        self.assertFalse((self.path / "out").exists())

    def test_one_file_has_nothing_to_keep(self):
        for name in ("out.safetensors", "out.npy"):
            self.assertIn(f"--resume: {name} is one file", self.refused("cast", "m.safetensors", "--to", "e4m3", "-o", name, "--resume"))

    def test_no_input_is_written_over(self):
        (self.path / "model").rename(self.path / "out.partial")
        (self.path / "out.partial/a.safetensors").rename(self.path / "out.partial/0.safetensors")
        index = self.path / "out.partial/model.safetensors.index.json"
        index.write_text(index.read_text().replace("a.safetensors", "0.safetensors"))
        before = self.contents("out.partial")
        said = self.refused("cast", "out.partial", *self.WORDS[2:], "-o", "out", "--resume")
        self.assertIn("--resume: keeps its work in out.partial, which holds the input out.partial/", said)
        self.assertEqual(self.contents("out.partial"), before)
        self.assertFalse((self.path / "out").exists())


unittest.main()
