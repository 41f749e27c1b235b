#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a command writes is none of its inputs and no other output of it, and is refused before any work; parts are replaced by themselves
alone; names on terminals and in printed commands. usage: outputs_test.py PROGRAM"""
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import tempfile
import unittest

from emulation import not_emulated
from files_test import PROGRAM, npy, run
from terminals import on_a_terminal
from time_limit import LIMIT

NPY = npy("<f4", (2, 2), struct.pack("<4f", 1, 2, 3, 4))


class Outputs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        for name in ("a", "b", "d", "row"):
            self.write(f"{name}.npy", NPY if name != "row" else npy("<f4", (2,), struct.pack("<2f", 1, 2)))
        self.write("e.csv", NPY[:0] + b"x,y\n1,2\n")
        self.matmul = ["matmul", "a.npy", "b.npy", "--in", "fp32", "--out", "fp32"]

    def write(self, name, data):
        (self.path / name).write_bytes(data)

    def files(self):
        return {path: path.read_bytes() for path in sorted(self.path.rglob("*")) if path.is_file()}

    def run_here(self, *words, code=0):
        got, out, err = run(*words, cwd=self.path)
        self.assertEqual(got, code, (words, err))
        return out, err

    def refused(self, *words):
        before = self.files()
        out, err = self.run_here(*words, code=2)
        self.assertEqual((out, err.count("\n"), err[:10]), ("", 1, "ulpscope: "), (words, err))
        self.assertEqual(self.files(), before, words)
        return err[10:-1]

    def test_inputs_stay(self):
        self.run_here("ledger", "record", "L", *self.matmul, "--output", "d.npy", "--case", "c", code=1)
        check = ["verify", *self.matmul, "--output", "d.npy"]
        invariance = ["invariance", *self.matmul, "--output", "x=d.npy", "--output", "y=d.npy"]
        (self.path / "link.npy").symlink_to("d.npy")
        for words, name in (
                (["ledger", "diff", "L", "L", "--junit", "L"], "L"), (["ledger", "check", "L", "c", "--output", "d.npy", "--junit", "L"], "L"),
                (["ledger", "check", "L", "c", "--output", "d.npy", "--junit", "d.npy"], "d.npy"),
                ([*check, "--junit", "d.npy"], "d.npy"), ([*check, "--junit", "a.npy"], "a.npy"), ([*check, "--junit", "./a.npy"], "./a.npy"),
                ([*check, "--junit", "link.npy"], "link.npy"), ([*invariance, "--junit", "d.npy"], "d.npy"),
                ([*self.matmul[:5], "--engine", "fma", "--scale-a", "row.npy", "-o", "row.npy"], "row.npy"),
                ([*self.matmul[:5], "--engine", "fma", "-o", "b.npy"], "b.npy"),
                (["sweep", "a.npy", "--to", "e4m3", "--svg", "a.npy"], "a.npy"),
                (["choose", "a.npy", "--to", "e4m3", "-o", "a.npy"], "a.npy")):
            self.assertIn(f"{name}: is the input itself", self.refused(*words))
        self.refused("conform", "--from", "e4m3", "--to", "e4m3", "--dump", "d.npy", "--write-inputs", "d.npy")
        self.assertIn("--write-inputs new: checks nothing",
                      self.refused("conform", "--from", "e4m3", "--to", "e4m3", "--dump", "d.npy", "--write-inputs", "new"))

    def test_outputs_are_apart(self):
        invariance = ["invariance", *self.matmul, "--output", "x=d.npy", "--output", "y=d.npy"]
        for junit, folder, why in (("R", "R", "is what -o writes, too"), ("R/../R", "./R", "is what -o writes, too"),
                                   ("R/manifest.json", "R", "lies in the folder that -o writes"),
                                   ("R/deep/j.xml", "R/", "lies in the folder that -o writes")):
            self.assertIn(why, self.refused(*invariance, "--junit", junit, "-o", folder))
        self.assertIn("--junit K/j.xml: lies in the folder that --save writes",
                      self.refused("verify", *self.matmul, "--output", "d.npy", "--save", "K", "--junit", "K/j.xml"))

    def test_places_are_looked_at_first(self):
        check = ["verify", *self.matmul, "--output", "d.npy", "--junit"]
        (self.path / "folder").mkdir()
        self.assertEqual(self.refused(*check, "folder"), "--junit folder: is a folder; give a file")
        self.assertEqual(self.refused(*check, "."), "--junit .: is a folder; give a file")
        self.assertEqual(self.refused(*check, "no/such/j.xml"), "--junit no/such/j.xml: cannot be written: there is no folder no/such")
        self.run_here(*check, "folder/j.xml", code=1)
        self.assertTrue((self.path / "folder/j.xml").exists())

    def test_wrong_options_are_the_one_line(self):
        header = b'{"i":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}'
        self.write("mixed.safetensors", struct.pack("<Q", len(header)) + header + bytes(8))
        self.assertIn("left out", self.run_here("census", "mixed.safetensors", "--to", "e4m3")[1])
        (self.path / "full").mkdir()
        self.write("full/mine", b"")
        for command in ("census", "sweep"):
            for options in (["--sort", "nosuch"], ["--where", "nosuch > 1"], ["-o", "full"]):
                self.refused(command, "mixed.safetensors", "--to", "e4m3", *options)
        self.refused("census", "mixed.safetensors", "--to", "e4m3", "--blocks", "--scale", "mx:even", "--sort", "nosuch")

    def test_parts(self):
        study = b'[[study]]\nkind = "quantization"\ninputs = ["normal:0,1:64"]\nto = [["e4m3"],["int8"]]\n'
        self.write("g.toml", study)
        census = ["census", "a.npy", "--to", "e4m3"]
        for make in (["run", "g.toml"], census):
            for i in (0, 1):
                self.run_here(*make, "--shard", f"{i}/2", "-o", f"P/{i}")
            for merge in (["P/0", "P/1", "-o", "P/1"], ["P", "-o", "P/0"], ["P", "-o", "P"], ["P/0", "P/1", "-o", "P/../P/0/"]):
                self.refused("merge", *merge)
            self.assertIn("P/0: holds part 0-of-2, not 1-of-2", self.refused(*make, "--shard", "1/2", "-o", "P/0"))
            self.assertIn("P/0: holds a part", self.refused(*census, "-o", "P/0"))
            self.assertIn("P/0: holds a part", self.refused("run", "g.toml", "-o", "P/0"))
            for other in (["run", "g.toml", "--only", "quantization"], census[:-1] + ["e5m2"], ["sweep", "a.npy", "--to", "e4m3"]):
                self.assertIn("P/0: holds a part of `ulpscope ", self.refused(*other, "--shard", "0/2", "-o", "P/0"))
            self.run_here(*make, "--shard", "0/2", "--threads", "1", "-o", "P/0")  # again
            self.run_here("merge", "P", "-o", "M")
            shutil.rmtree(self.path / "P"), shutil.rmtree(self.path / "M")

    def test_a_refused_training_says_nothing_of_its_study(self):
        self.write("t.toml", b'[model]\nkind = "mlp"\nheads = 2\n[data]\ntable = "digits"\n[run]\nsteps = 1\n')
        _, err = self.run_here("train", "t.toml", "--steps", "1")
        self.assertIn("[model] heads has no effect", err)
        self.assertIn("--record: -o DIR is missing", self.refused("train", "t.toml", "--record", "weights"))

    def test_words_that_are_empty(self):
        self.write("g.toml", b'[[study]]\nkind = "breaks"\n')
        for words in (["run", "g.toml", "--shard", "", "-o", "W"], ["census", "", "--to", "e4m3"], ["train", ""], ["merge", "", "-o", "X"],
                      ["report", "check", ""], ["recipes", ""], ["scalers", ""], [*self.matmul[:5], "--engine", ""],
                      [*self.matmul[:5], "--engine", "fma", "--device", ""], ["census", "a.npy", "--to", "e4m3", "--group", ""]):
            self.assertIn("'': give a word", self.refused(*words))

    def test_manual_pages_are_all_there_or_none(self):
        (self.path / "man").mkdir()
        (self.path / "man/ulpscope-train.1").symlink_to("x")
        self.run_here("man", "-o", "man", code=2)
        self.assertEqual(os.listdir(self.path / "man"), ["ulpscope-train.1"])
        (self.path / "man/ulpscope-train.1").unlink()
        self.run_here("man", "-o", "man")
        self.assertGreater(len(os.listdir(self.path / "man")), 50)

    def test_the_version_is_printed_or_refused(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "--version"], stdout=full, stderr=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1))
        self.assertRegex(self.run_here("--version")[0], r"^ulpscope \d+\.\d+")

    def test_printed_commands_are_words_of_a_shell(self):
        for words in (["generate", "matmul", "ties", "--m", "2", "--n", "2", "--k", "8"], ["generate", "cast", "--to", "e4m3"]):
            out, _ = self.run_here(*words, "-o", "a b;touch X")
            commands = [shlex.split(line) for line in out.splitlines() if line.startswith("ulpscope ") and "touch" in line]
            self.assertTrue(commands)
            for command in commands:
                self.assertTrue(all(word.startswith("a b;touch X/") for word in command if "touch" in word), command)

    @not_emulated(PROGRAM, "it takes longer than a second there, whatever is trained")
    def test_names_in_the_line_of_progress(self):
        name = "r\x1b]0;OWNED\x07\x1b[31m.toml"
        self.write(name, self.run_here("recipes", "float32")[0].encode())
        self.write("t.toml", ('[model]\nkind="mlp"\nwidths=[64,64,10]\n[data]\ntable="digits"\nbatch=8\n[loss]\nkind="cross_entropy"\n[optimizer]\n'
                              'kind="sgd"\nlr=1e-2\n[run]\nsteps=6000\nrecipes=["r\\u001b]0;OWNED\\u0007\\u001b[31m.toml"]\n').encode())
        said = on_a_terminal([PROGRAM, "train", "t.toml", "--threads", "1"], self.path)
        self.assertIn(r"\x1b]0;OWNED\x07", said)
        self.assertIsNone(re.search("\x1b(?!\\[K)|\x07", said), repr(said[:400]))

    def test_a_recipe_is_refused_before_it_trains(self):
        self.write("t.toml", (b'[model]\nkind="mlp"\nwidths=[64,8,10]\n[data]\ntable="digits"\nbatch=8\n[loss]\nkind="cross_entropy"\n'
                              b'[optimizer]\nkind="sgd"\n[run]\nsteps=1\nrecipes=["r.toml"]\n'))
        self.write("r.toml", self.run_here("recipes", "float32")[0].encode() + b'\n[[rule]]\noperations=["linear"]\nengine="sm_99"\n')
        wanted = "unknown engine 'sm_99'; nearest: sm_89, sm_90, sm_70"
        self.assertEqual(self.refused("train", "t.toml", "--dry-run"), self.refused("train", "t.toml"))
        self.assertIn(wanted, self.refused("train", "t.toml", "--dry-run"))
        self.assertIn("recipe r: linear: " + wanted, self.refused("recipes", "r.toml"))

    def test_a_model_that_finds_no_room(self):
        self.write("m.toml", (b'[model]\nkind="layers"\nlayers=[{linear=[64,4000000]},{linear=[4000000,10]}]\n[data]\ntable="digits"\nbatch=8\n[loss]\n'
                              b'kind="cross_entropy"\n[optimizer]\nkind="sgd"\nlr=1e-2\n[run]\nsteps=1\nrecipes=["float32"]\n'))
        self.assertRegex(self.refused("train", "m.toml", "--max-memory", "100M"), r"\[model\]: its weights and their gradients take \d+ MiB")


if __name__ == "__main__":
    unittest.main()
