#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trainings in shards: what `merge` makes of their parts is, byte for byte, what one undivided run writes; parts that are none, that are
missing, doubled or of something else are refused. usage: train_shards_test.py PROGRAM"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from files_test import PROGRAM, run
from seals import sealed, sealed_json, unsealed
from shards_model import LAUNCHERS
from time_limit import LIMIT

SMALL = """
[model]
kind = "layers"
layers = [{batch_norm = 3}, {linear = [3, 2]}]
[data]
inputs = "x.csv"
targets = "normal:0,1:8x2"
[loss]
kind = "mse"
[optimizer]
kind = "adam"
lr = 1e-2
[scaler]
kind = "pytorch"
[run]
steps = 12
average = 0.9
evaluate = ["bf16_amp"]
seeds = [0, 3]
recipes = ["float32", "fp16_amp", "mine.toml"]
"""
GAN = """
[model]
kind = "gan"
widths = [2, 4, 2]
discriminator_widths = [2, 4, 1]
[data]
table = "normal"
samples = 64
batch = 16
[optimizer]
kind = "sgd"
[run]
steps = 4
recipes = ["float32", "bf16_amp"]
"""
# One recipe diverges, another rounds what is never read again; the least loss is known.
GPT = """
expect = "diverges"
[model]
kind = "gpt"
vocabulary = 4
context = 4
width = 8
heads = 2
blocks = 1
[data]
table = "markov"
samples = 32
batch = 8
held_back = 8
[loss]
kind = "cross_entropy"
[optimizer]
kind = "sgd"
lr = 1e-2
[run]
steps = 3
reload_at = 9
reload_loses = ["moments"]
product_times = "times.csv"
recipes = ["float32", "fp16_pure"]
"""
DIVERGES = SMALL.replace("lr = 1e-2", "lr = 1e39").replace('["float32", "fp16_amp", "mine.toml"]', '["float32", "float64"]').replace("evaluate", "# evaluate")
LONG = SMALL.replace("steps = 12", "steps = 20000").replace("seeds = [0, 3]", "seeds = [0]")
TIMES = "format,fast_accumulation,m,n,k,median_us,scale_mode_a,scale_mode_b\nfloat32,no,16,16,16,1,SCALAR_32F,SCALAR_32F\n"


class TrainShards(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        _, bf16, _ = run("recipes", "bf16_pure")
        for folder in ("whole", "parts"):
            for name, text in (("small.toml", SMALL), ("gan.toml", GAN), ("gpt.toml", GPT), ("diverges.toml", DIVERGES), ("long.toml", LONG),
                               ("times.csv", TIMES), ("mine.toml", bf16), ("x.csv", "".join(f"{i},{i * i},{-i}\n" for i in range(8)))):
                self.write(f"{folder}/{name}", text)

    def write(self, name, text):
        (self.path / name).parent.mkdir(exist_ok=True)
        (self.path / name).write_text(text)

    def program(self, where, *words, code=0, environment=None):
        known = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
        done = subprocess.run([PROGRAM, *words], cwd=self.path / where, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
                              env=known | (environment or {}))
        self.assertEqual((done.returncode, done.stdout), (code, ""), (words, done.stderr))
        return done.stderr

    def refused(self, *words, environment=None):
        said = self.program("parts", *words, code=2, environment=environment)
        self.assertEqual(said.count("\n"), 1, said)
        return said.removeprefix("ulpscope: ").rstrip("\n")

    def shards(self, count, *words):
        for index in range(count):
            said = self.program("parts", "train", *words, "--threads", "1", "--shard", f"{index}/{count}", "-o", f"p{count}/{index}")
            self.assertIn(f"p{count}/{index}/part.json written; `ulpscope merge` makes a report of all parts\n", said)
            self.assertNotIn("loss", said)  # what is found, merge says

    def files(self, folder):
        folder = self.path / folder
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def check(self, counts, study, *words, code=0, files=()):
        """One run, and parts of it."""
        said = self.program("whole", "train", study, *words, "-o", "R", code=code)
        wanted = self.files("whole/R")
        for name in ("curves.csv", "manifest.json", "index.html", *files):
            self.assertIn(name, wanted)
        for count in counts:
            self.shards(count, study, *words)
            self.assertEqual(self.program("parts", "merge", f"p{count}", "-o", "R", code=code), said)
            self.assertEqual(self.files("parts/R"), wanted, count)
            shutil.rmtree(self.path / "parts/R")
        self.assertEqual(list((self.path / "parts").rglob("*.unfinished")), [])
        return wanted

    def test_the_bytes_are_those_of_an_undivided_run(self):
        records = ("--record", "weights:6", "--record", "gradients:5")
        wanted = self.check((1, 2, 3, 8), "small.toml", *records, files=("weights/mine-3-12.safetensors", "gradients/fp16_amp-0.safetensors", "evaluations.csv"))
        self.assertIn(b"running_var", wanted["weights/mine-3-12.safetensors"])
        self.assertIn(b"average.", wanted["weights/mine-3-12.safetensors"])

    def test_nothing_is_recorded_unless_it_is_asked_for(self):
        wanted = self.check((2,), "small.toml", "--recipe", "mine.toml", "--seed", "5,6,7", "--steps", "3")
        self.assertFalse([name for name in wanted if "/" in name])

    def test_two_optimizers(self):
        wanted = self.check((2,), "gan.toml", files=("summary.csv",))
        self.assertIn(b"discriminator_loss", wanted["curves.csv"])

    def test_what_only_some_studies_have(self):
        wanted = self.check((2,), "gpt.toml", files=("summary.csv",))
        self.assertIn(b"product_us", wanted["summary.csv"])

    def test_runs_that_diverge(self):
        wanted = self.check((3,), "diverges.toml", "--record", "weights", code=1)
        self.assertIn(b"non_finite", wanted["findings.csv"])

    def test_a_device_counts_its_products(self):
        self.check((2,), "small.toml", "--recipe", "bf16_amp", "--steps", "2", "--device", "emulated:sm_80", "--emulate-rest")

    def test_parts_may_be_named_in_any_order(self):
        self.program("whole", "train", "small.toml", "-o", "R")
        self.shards(3, "small.toml")
        self.program("parts", "merge", "p3/2", "p3/0", "p3/1", "-o", "R")
        self.assertEqual(self.files("parts/R"), self.files("whole/R"))

    def test_only_the_command_line_tells_where_o_stood(self):
        self.program("whole", "train", "-o", "R", "small.toml", "--record", "weights")
        self.shards(2, "small.toml", "--record", "weights")
        self.program("parts", "merge", "p2", "-o", "R")
        one, merged = self.files("whole/R"), self.files("parts/R")
        self.assertEqual({name for name in one | merged if one.get(name) != merged.get(name)}, {"manifest.json", "index.html"})
        facts = [json.loads(files["manifest.json"]) for files in (one, merged)]
        self.assertEqual([fact.pop("arguments") for fact in facts], [["train", "-o", "R", "small.toml", "--record", "weights"],
                                                                     ["train", "small.toml", "--record", "weights", "-o", "R"]])
        self.assertTrue(all(fact["files"].pop("index.html") for fact in facts))
        self.assertEqual(*facts)

    def test_launchers_say_which_shard_this_is(self):
        self.program("whole", "train", "small.toml", "-o", "R")
        for name, places in (("slurm", [{"SLURM_PROCID": str(i), "SLURM_NTASKS": "3"} for i in range(3)]),
                             ("openmpi", [{"OMPI_COMM_WORLD_RANK": str(i), "OMPI_COMM_WORLD_SIZE": "2"} for i in range(2)])):
            for environment in places:
                self.program("parts", "train", "small.toml", "--shard", "auto", "-o", name, environment=environment)
            self.assertEqual(sorted(path.name for path in (self.path / "parts" / name).iterdir()), [f"{i}-of-{len(places)}" for i in range(len(places))])
            self.program("parts", "merge", name, "-o", "R")
            self.assertEqual(self.files("parts/R"), self.files("whole/R"))
            shutil.rmtree(self.path / "parts/R")
        self.assertIn("--shard auto: no place among others", self.refused("train", "small.toml", "--shard", "auto", "-o", "x"))

    def test_what_does_not_fit_together_is_refused(self):
        self.shards(2, "small.toml")
        self.assertEqual("float32-3: is in no part", self.refused("merge", "p2/0", "-o", "R"))
        self.assertEqual("p2/0/part.json: has float32-0, which another part has, too", self.refused("merge", "p2/0", "p2/1", "p2/0", "-o", "R"))
        others = "is of another study, other recipes or other seeds than p2/0/part.json"
        for name, words in (("seeds", ("--seed", "0,4")), ("recipes", ("--recipe", "float32,fp16_amp")), ("steps", ("--steps", "5"))):
            self.program("parts", "train", "small.toml", *words, "--shard", "1/2", "-o", name)
            self.assertEqual(f"{name}/part.json: {others}", self.refused("merge", "p2/0", name, "-o", "R"))
        for name, words, line in (("engine", ("--engine", "fma"), "'--engine' there, '--engine fma' now"),
                                  ("record", ("--record", "weights"), "'--record' there, '--record weights' now")):
            self.program("parts", "train", "small.toml", *words, "--shard", "1/2", "-o", name)
            self.assertIn(f"{name}/part.json: is of other work than p2/0/part.json: ", self.refused("merge", "p2/0", name, "-o", "R"))
            self.assertIn(line, self.refused("merge", "p2/0", name, "-o", "R"))
        for name, file, text, said in (("data", "x.csv", "1,2,3\n" * 8, "'[data] inputs, SHA-256 "), ("recipe", "mine.toml", (self.path / "parts/mine.toml").read_text() + "# other\n", "'# other' now"),
                                       ("study", "small.toml", SMALL + "# other\n", others)):
            before = (self.path / "parts" / file).read_text()
            self.write(f"parts/{file}", text)
            self.program("parts", "train", "small.toml", "--shard", "1/2", "-o", name)
            self.write(f"parts/{file}", before)
            self.assertIn(said, self.refused("merge", "p2/0", name, "-o", "R"))
        self.program("parts", "census", "normal:0,1:8", "--to", "e4m3", "--shard", "1/2", "-o", "census")
        self.assertIn("census/part.json: is no part of a training study", self.refused("merge", "p2/0", "census", "-o", "R"))
        self.assertIn("p2/0/part.json: is no part of a census or sweep", self.refused("merge", "census", "p2/0", "-o", "R"))
        self.assertFalse((self.path / "parts/R").exists())

    def test_wrong_words_are_refused(self):
        self.assertIn("--shard 0/2: -o PART is missing", self.refused("train", "small.toml", "--shard", "0/2"))
        for word in ("2/2", "a/2", "0/0"):
            for more in (("-o", "x"), ("--dry-run",)):
                self.assertIn(f"--shard '{word}': give I/N", self.refused("train", "small.toml", f"--shard={word}", *more))
        self.assertFalse((self.path / "parts/x").exists())
        self.assertIn("-o P: a report holds files", self.program("parts", "train", "small.toml", "--shard", "0/2", "-o", "P", "--csv"))
        shutil.rmtree(self.path / "parts/P")
        self.program("parts", "train", "small.toml", "--shard", "0/2", "-o", "P")
        part = self.files("parts/P")
        self.assertIn("P: holds part 0-of-2, not 1-of-2", self.refused("train", "small.toml", "--shard", "1/2", "-o", "P"))
        self.assertIn("P: holds a part of `ulpscope train", self.refused("train", "small.toml", "--steps", "3", "--shard", "0/2", "-o", "P"))
        self.assertIn("P: holds a part", self.refused("train", "small.toml", "-o", "P"))
        self.assertIn("P", self.refused("merge", "P", "-o", "P"))
        self.assertEqual(self.files("parts/P"), part)
        self.program("parts", "train", "small.toml", "--shard", "0/2", "-o", "P")  # again
        self.assertEqual(self.files("parts/P"), part)
        code, out, err = run("report", "check", "P", cwd=self.path / "parts")
        self.assertEqual((code, err), (0, ""), out)

    def test_broken_parts_are_refused_in_one_line(self):
        self.shards(2, "small.toml", "--recipe", "float32", "--steps", "2")
        place = self.path / "parts/p2/0/part.json"
        text = place.read_text()

        def refused(new, *others):
            place.write_text(new)
            return self.refused("merge", *(others or ("p2",)), "-o", "R")

        bare = unsealed(text)
        for size in range(0, len(text) - 2, max(1, len(text) // 40)):
            said = refused(text[:size])
            self.assertIn("p2/0/part.json: is damaged, or no part", said)
            self.assertEqual(said, refused(text[:size], "p2/1", "p2/0"))
            self.assertRegex(refused(sealed(bare[:min(size, len(bare) - 3)]), "p2/1", "p2/0"), "^p2/0/part.json: is no part of a training study")
        for at in range(0, len(text), max(1, len(text) // 40)):
            self.assertIn("is damaged, or no part", refused(text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1:]))
        whole = json.loads(text)
        first = whole["runs"][0]
        for change, said in (({"version": "0"}, "is of version 0"), ({"commit": "0"}, "is of version"), ({"text": 3}, "is no part of a training study"),
                             ({"steps": 3}, "has 2 steps of float32-0, not 3"), ({"recipes": ["../x"]}, "'../x' is no name of a recipe"), ({"seeds": []}, "is of no run"),
                             ({"runs": [first, first]}, "has float32-0, which another part has, too"), ({"runs": []}, "float32-0: is in no part"),
                             ({"runs": [first | {"seed": 9}]}, "has a run that nobody asked for, float32-9"), ({"runs": 1}, "is no part of a training study")):
            self.assertIn(said, refused(sealed_json(whole | change)))
        self.assertFalse((self.path / "parts/R").exists())
        place.write_text(text)
        self.program("parts", "merge", "p2", "-o", "R")

    def started(self, *words):
        process = subprocess.Popen([PROGRAM, "train", "long.toml", "--threads", "1", "--shard", "0/1", "-o", "P", *words], cwd=self.path / "parts",
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, name):
        end = time.monotonic() + LIMIT
        while not (self.path / "parts" / name).exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_one_of_two_writers_is_refused(self):
        process = self.started()
        self.wait_for("P.unfinished/float32-0.safetensors")
        process.send_signal(signal.SIGSTOP)
        self.assertIn("P.unfinished: another process is writing to it", self.refused("train", "long.toml", "--shard", "0/1", "-o", "P"))
        process.kill()

    def test_a_shard_that_was_killed_leaves_no_part_and_goes_on(self):
        words = ("train", "long.toml", "--shard", "0/1", "-o")
        self.program("parts", *words, "Q")
        process = self.started()
        self.wait_for("P.unfinished/float32-0.safetensors")  # the first of its runs is done
        process.kill()
        process.wait(timeout=LIMIT)
        self.assertFalse((self.path / "parts/P").exists())
        self.assertEqual("P: holds no part.json, nor does a folder in it", self.refused("merge", "P", "-o", "R"))
        self.assertIn("P.unfinished: holds runs that were interrupted", self.refused(*words, "P"))
        self.program("parts", *words, "P", "--resume")
        self.assertEqual(self.files("parts/P")["part.json"], self.files("parts/Q")["part.json"])
        self.assertFalse((self.path / "parts/P.unfinished").exists())
        part = self.path / "parts/P"
        (part / "manifest.json").rename(part / ".manifest.json.ulpscope-part-0123456789abcdef")  # killed between its renames
        self.program("parts", *words, "P")
        self.assertEqual(self.files("parts/P"), self.files("parts/Q") | {"manifest.json": (part / "manifest.json").read_bytes()})


if __name__ == "__main__":
    unittest.main()
