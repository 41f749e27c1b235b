#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Study files: grids, refusals, the same bytes after any end, and reports made again. usage: run_test.py PROGRAM"""
import csv
import hashlib
import json
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cli")]
from seals import sealed_json  # noqa: E402

GRID = """# Numbers of two spreads in two formats, under three scales.

[[study]]
kind = "census"
name = "grid"
inputs = [["normal:0,1:4096"], ["normal:0,1000:4096"]]
to = ["e4m3", "e5m2"]
scale = ["none", "amax", "mx:floor"]

[[study]]
kind = "matmul"
a = "normal:0,1:8x64"
b = "normal:0,1:64x8"
seed = [[0, 1], [2, 3]]
engine = ["sm_90", "fma"]
in = ["e4m3"]
promote = [0, 128]
"""


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)
        (self.path / "grid.toml").write_text(GRID)

    def run_program(self, *words, code=0, env=None, cwd=None):
        done = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd or self.path,
                              timeout=300 * (20 if os.environ.get("ULPSCOPE_EMULATED") else 1), env={**os.environ, **(env or {})})
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def refusal(self, text, *words):
        (self.path / "bad.toml").write_text(text)
        done = self.run_program("run", "bad.toml", "-o", "bad", *words, code=2)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse((self.path / "bad").exists())
        self.assertFalse((self.path / "bad.partial").exists())
        return done.stderr.removeprefix("ulpscope: ").rstrip("\n")

    def rows(self, name):
        with open(self.path / name, newline="") as file:
            return list(csv.DictReader(file))

    def digests(self, folder):
        """Of every file but manifest.json, which tells the machine."""
        return {str(p.relative_to(self.path / folder)): hashlib.sha256(p.read_bytes()).hexdigest()
                for p in sorted((self.path / folder).rglob("*")) if p.is_file() and p.name != "manifest.json"}


class Grids(Folder):
    def test_a_cell_is_what_its_command_gives(self):
        self.run_program("run", "grid.toml", "-o", "out")

        rows = self.rows("out/grid.csv")
        self.assertEqual(len(rows), 2 * 3 * 2)
        alone = self.run_program("census", "normal:0,1000:4096", "--to", "e4m3,e5m2", "--scale", "amax", "--csv").stdout
        wanted = list(csv.DictReader(alone.splitlines()))
        found = [{k: r[k] for k in wanted[0]} for r in rows if r["tensor"] == "normal:0,1000:4096" and r["scale"] == "amax"]
        self.assertEqual(found, wanted)
        self.assertEqual(rows[0]["inputs"], "normal:0,1:4096")  # an axis that the table has no column of
        mx = [r["policy"] for r in rows if r["scale"] == "mx:floor"]
        self.assertEqual(set(mx), {"saturating"})

    def test_axes_vary_as_in_the_file_the_last_fastest(self):
        self.run_program("run", "grid.toml", "-o", "out", "--only", "matmul")

        rows = self.rows("out/matmul.csv")
        self.assertEqual([(r["seed"], r["promote"], r["engine"]) for r in rows[:4]],
                         [("0,1", "0", "sm_90"), ("0,1", "0", "fma"), ("0,1", "128", "sm_90"), ("0,1", "128", "fma")])
        self.assertEqual(len(rows), 8)
        self.assertFalse((self.path / "out/grid.csv").exists())

    def test_a_forecast_runs_nothing(self):
        done = self.run_program("run", "grid.toml", "--dry-run", "--csv")

        rows = list(csv.DictReader(done.stdout.splitlines()))
        self.assertEqual([(r["study"], r["cells"], r["rows"]) for r in rows], [("grid", "6", "12"), ("matmul", "4", "8")])
        self.assertEqual(sorted(p.name for p in self.path.iterdir()), ["grid.toml"])

    def test_a_check_in_a_study_decides_the_exit_code(self):
        self.run_program("matmul", "normal:0,1:8x64", "normal:0,1:64x8", "--engine", "fma", "-o", "d.npy")
        study = '[[study]]\nkind = "verify matmul"\na = "normal:0,1:8x64"\nb = "normal:0,1:64x8"\noutput = "d.npy"\nalpha = [1, 2]\n'
        (self.path / "s.toml").write_text(study)

        self.run_program("run", "s.toml", "-o", "out", code=1)

        self.assertEqual([(f["value"], f["severity"]) for f in self.rows("out/findings.csv")],
                         [("pass", "good"), ("fail", "bad")])

    def test_built_in_studies_are_listed_and_planned(self):
        listed = list(csv.DictReader(self.run_program("run", "--list", "--csv").stdout.splitlines()))
        self.assertGreaterEqual(len(listed), 3)
        for row in listed:
            self.assertTrue(row["question"].endswith("?"), row)
            self.run_program("run", row["study"], "--dry-run")  # what they read comes with the program

    def test_a_study_that_comes_with_the_program_is_that_of_the_tree(self):
        words = ("train", "studies/training/digits.toml", "--seed", "0", "--steps", "2", "--recipe", "float32")
        self.assertEqual(self.run_program(*words).stdout, self.run_program(*words, cwd=ROOT).stdout)
        for file in sorted((ROOT / "studies/data").glob("*.[sc]*")) + sorted((ROOT / "examples/tensors").glob("*.npy")):
            words_of_data = ("info", str(file.relative_to(ROOT)), "--csv")
            self.assertEqual(self.run_program(*words_of_data).stdout, self.run_program(*words_of_data, cwd=ROOT).stdout)
        folder = self.path / "studies/training"
        folder.mkdir(parents=True)
        (folder / "digits.toml").write_text("nonsense = 1\n")  # a file that lies there is meant
        self.assertIn("studies/training/digits.toml:1: ", self.run_program(*words, code=2).stderr)


    def test_kinds_of_one_file(self):
        values = struct.pack("<4f", 1, 2, 3, 4)
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4), }"
        header += " " * (-(len(header) + 11) % 64) + "\n"
        (self.path / "d.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values)
        (self.path / "kinds.toml").write_text(
            '[[study]]\nkind = "census"\ninputs = ["normal:0,1:8"]\nflush_subnormals = [false, true]\n'
            '[[study]]\nkind = "accumulation"\nk = [4]\n[[study]]\nkind = "verify softmax"\nx = "d.npy"\noutput = "d.npy"\n')
        self.run_program("run", "kinds.toml", "-o", "out", code=1)
        self.assertEqual([row["flush_subnormals"] for row in self.rows("out/census.csv")][:1], ["false"])
        self.assertEqual({row["flush_subnormals"] for row in self.rows("out/census.csv")}, {"false", "true"})
        self.assertEqual({row["k"] for row in self.rows("out/accumulation.csv")}, {"4"})
        self.assertIn("accumulation", (self.path / "out/index.html").read_text())


class Refusals(Folder):
    def test_each_names_file_line_and_what_is_known(self):
        census = '[[study]]\nkind = "census"\ninputs = ["normal:0,1:8"]\n'
        odd = json.dumps(["odd"] * 317)
        for text, wanted in {
                "": "bad.toml:1: holds no [[study]] table",
                "x = 1\n": "bad.toml:1: unknown key 'x'; a study file holds [[study]] tables",
                "[[study]]\nname = \"a\"\n": "bad.toml:1: kind is missing: a command's name, e.g. kind = \"census\"",
                "[[study]]\nkind = \"cencus\"\n": "bad.toml:2: unknown kind 'cencus'; nearest: census,",
                census + "fromats = 1\n": "bad.toml:4: unknown key 'fromats'; nearest: ",
                census + "threads = 1\n": "bad.toml:4: unknown key 'threads'; nearest: ",
                census + "seed = -1\n": "bad.toml:4: seed: '-1': give a whole number from 0 to ",
                census + "seed = []\n": "bad.toml:4: seed: a list without values; leave the key out for what is standard",
                census + "to = []\n": "bad.toml:4: to: a list without values; leave the key out for what is standard",
                census + "to = [[\"e4m3\"], []]\n": "bad.toml:4: to: a list without values; ",
                '[[study]]\nkind = "census"\ninputs = []\n': "bad.toml:3: inputs: a list without values",
                '[[study]]\nkind = "accumulation"\nengine = []\n': "bad.toml:3: engine: a list without values; ",
                census + "name = \"../x\"\n": "bad.toml:1: name '../x': give letters, digits, _ and -; files are named by it",
                **{census + f'name = "{name}"\n': f"bad.toml:1: name '{name}': give letters, digits, _ and -; files are named by it" for name in ("", "a" * 101)},
                **{census + f'name = "{name}"\n': f"bad.toml:1: name '{name}': a file of every report has this name"
                   for name in ("findings", "index", "manifest", "study")},
                "[[study]]\nkind = 3\n": "bad.toml:2: kind: give text in quotes",
                "study = 1\n": "bad.toml:1: holds no [[study]] table",
                "study = []\n": "bad.toml:1: holds no [[study]] table",
                "study = [1]\n": "bad.toml:1: study: give [[study]] tables",
                census + census: "bad.toml:4: two studies are named 'census': give each a name of its own",
                census + f"seed = {list(range(317))}\nrounding = {odd}\n": "bad.toml:1: more than 100000 cells in the file",
                "".join(census + f'name = "s{i}"\nseed = {list(range(30_000))}\n' for i in range(4)):
                    "bad.toml:16: more than 100000 cells in the file",
                census + 'name = "t_tensors"\n[[study]]\nkind = "train"\nname = "t"\nfile = "studies/training/digits.toml"\n':
                    "bad.toml:5: study 't': its table t_tensors.csv is one of study 't_tensors', too; give it another name",
                census.replace('"census"', '"sweep"') + census + 'name = "sweep_loss_scales"\n':
                    "bad.toml:4: study 'sweep_loss_scales': its table sweep_loss_scales.csv is one of study 'sweep', too; give it another name",
                census + "to = \"e4m3\"\nto = \"e5m2\"\n": "bad.toml:5: ",
                '[[study]]\nkind = "census"\n': "bad.toml:1: inputs is missing: tensor files",
                census + "rounding = \"neerest\"\n": "study 'census': unknown rounding mode 'neerest'; nearest: ",
                census.replace("normal:0,1:8", "nothere.npy") + "seed = [1, 2]\n": "study 'census', seed = 1: nothere.npy: "}.items():
            with self.subTest(text):
                said = self.refusal(text)
                self.assertTrue(said.startswith(wanted), said)

    def test_tables_of_studies_that_are_left_out_take_no_names(self):
        (self.path / "two.toml").write_text('[[study]]\nkind = "sweep"\ninputs = ["normal:0,1:8"]\nlog2_scale = "0:1"\n[[study]]\n'
                                            'kind = "census"\nname = "sweep_loss_scales"\ninputs = ["normal:0,1:8"]\n')
        for name in "sweep", "sweep_loss_scales":
            self.run_program("run", "two.toml", "--only", name, "-o", name)
            self.assertTrue((self.path / name / "sweep_loss_scales.csv").exists())
        self.assertIn("two.toml:5: study 'sweep_loss_scales': ", self.run_program("run", "two.toml", "--dry-run", code=2).stderr)

    def test_words_that_mean_nothing(self):
        self.assertIn("there is no such file, and no built-in study of this name; nearest: ",
                      self.run_program("run", "blok_scales", "-o", "x", code=2).stderr)
        self.assertIn("--only no: the file's studies are grid, matmul",
                      self.run_program("run", "grid.toml", "-o", "x", "--only", "no", code=2).stderr)
        self.assertIn("-o DIR is missing", self.run_program("run", "grid.toml", code=2).stderr)


class Ends(Folder):
    """A run that is killed at any moment, and goes on."""

    def start(self, *more):
        return subprocess.Popen([PROGRAM, "run", "long.toml", "-o", "out", *more], cwd=self.path, stderr=subprocess.DEVNULL)

    def test_after_twenty_kills_the_bytes_are_those_of_an_undisturbed_run(self):
        (self.path / "long.toml").write_text(
            '[[study]]\nkind = "census"\nname = "long"\ninputs = ["lognormal:0,3:300000"]\nto = ["e4m3"]\n'
            f"seed = {list(range(40))}\nscale = [\"none\", \"128x128\"]\n")
        began = time.monotonic()
        self.run_program("run", "long.toml", "-o", "out")
        seconds = time.monotonic() - began
        (self.path / "out").rename(self.path / "whole")
        draw = random.Random(1)
        kills = runs = 0
        while kills < 20 or not list(self.path.glob("out.partial/*.json")):
            runs += 1
            self.assertLess(runs, 1000, "the run comes to its end before it can be killed")
            child = self.start("--resume")
            try:
                child.wait(timeout=draw.uniform(0, seconds / 8))
                shutil.rmtree(self.path / "out")  # it came to its end: from the start again
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                child.wait(timeout=60)
                kills += 1
        kept = len(list((self.path / "out.partial").glob("*.json")))
        forecast = self.run_program("run", "long.toml", "-o", "out", "--resume", "--dry-run", "--csv").stdout
        self.assertEqual([r["kept"] for r in csv.DictReader(forecast.splitlines())], [str(kept)])

        self.run_program("run", "long.toml", "-o", "out", "--resume")

        self.assertGreater(kept, 0)
        self.assertEqual(self.digests("out"), self.digests("whole"))
        self.assertFalse((self.path / "out.partial").exists())

    def test_what_was_kept_is_used_and_only_if_it_is_whole(self):
        self.run_program("matmul", "normal:0,1:8x64", "normal:0,1:64x8", "--engine", "fma", "-o", "d.npy")
        ends = GRID + '[[study]]\nkind = "verify matmul"\na = "normal:0,1:8x32"\nb = "normal:0,1:32x4"\noutput = "d.npy"\n'
        (self.path / "ends.toml").write_text(ends)  # its last cell is refused: D is of another shape
        said = self.run_program("run", "ends.toml", "-o", "out", code=2).stderr
        self.assertTrue(said.startswith("ulpscope: study 'verify_matmul': "), said)
        kept = sorted((self.path / "out.partial").iterdir())
        self.assertEqual(len(kept), 10)
        refused = self.run_program("run", "ends.toml", "-o", "out", code=2).stderr
        self.assertIn("out.partial: holds cells of a run that was ended; --resume goes on with it, or remove it", refused)
        marked = json.loads(kept[0].read_text())
        marked["remarks"] = ["this cell was kept"]
        kept[0].write_text(sealed_json(marked))
        kept[1].write_bytes(kept[1].read_bytes()[:-20])
        for cell in kept[2:]:  # another digit of a number, which is still a result
            text = cell.read_text()
            at = text.rindex('"i":') + 4
            cell.write_text(text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1:])
        (self.path / "ends.toml").write_text(GRID)

        done = self.run_program("run", "ends.toml", "-o", "out", "--resume")

        self.assertIn("this cell was kept", done.stderr)
        (self.path / "out").rename(self.path / "resumed")
        self.run_program("run", "grid.toml", "-o", "out")
        for name in ("grid.csv", "matmul.csv"):
            self.assertEqual(self.digests("resumed")[name], self.digests("out")[name])

    def test_neither_threads_nor_instructions_change_a_byte(self):
        for name, words, env in (("one", ["--threads", "1"], {}), ("four", ["--threads", "4"], {}),
                                 ("scalar", [], {"ULPSCOPE_SIMD": "scalar"})):
            if name == "scalar" and self.path and subprocess.run([PROGRAM, "--version"], env={**os.environ, **env}, timeout=60,
                                                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
                continue
            self.run_program("run", "grid.toml", "-o", name, *words, env=env)
            pages = self.digests(name)
            pages.pop("index.html")  # names the command
            self.assertEqual(pages, {k: v for k, v in self.digests("one").items() if k != "index.html"})


class Reports(Folder):
    def test_what_a_training_report_recorded_is_not_written_again(self):
        (self.path / "t.toml").write_text('[model]\nkind = "layers"\nlayers = [{linear = [2, 1]}]\n[data]\ninputs = "normal:0,1:4x2"\n'
                                          '[loss]\nkind = "sum"\n[run]\nsteps = 2\n')
        self.run_program("train", "t.toml", "-o", "out", "--record", "weights")
        weights = self.path / "out/weights/float32-0-2.safetensors"
        self.assertGreater(weights.stat().st_size, 0)
        weights.write_text("planted")

        self.run_program("report", "check", "out", code=1)

        self.assertEqual(weights.read_text(), "planted")

    def test_a_training_report_is_written_over_and_a_planted_file_is_not(self):
        (self.path / "t.toml").write_text('[model]\nkind = "layers"\nlayers = [{linear = [2, 1]}]\n[data]\ninputs = "normal:0,1:4x2"\n'
                                          '[loss]\nkind = "sum"\n[run]\nsteps = 2\n')
        words = ("train", "t.toml", "-o", "out", "--record")
        self.run_program(*words, "weights:1")
        listed = json.loads((self.path / "out/manifest.json").read_text())["files"]
        self.assertIn("weights/float32-0-1.safetensors", listed)
        self.run_program(*words, "weights")
        self.assertEqual([p.name for p in (self.path / "out/weights").iterdir()], ["float32-0-2.safetensors"])
        self.run_program(*words[:-1])
        self.assertFalse((self.path / "out/weights").exists())
        self.run_program(*words, "weights")
        (self.path / "out/weights/mine").write_text("")
        self.run_program(*words, "weights", code=2)
        self.assertTrue((self.path / "out/weights/mine").exists())

    def test_a_training_run_that_is_killed_goes_on_to_the_same_report(self):
        shutil.copytree(ROOT / "studies", self.path / "studies")
        words = ("train", "studies/training/digits.toml", "--seed", "0,1", "--recipe", "float32,bf16_stochastic,fp8_delayed", "-o", "out",
                 "--record", "weights")
        self.run_program(*words)
        whole = self.digests("out")
        shutil.rmtree(self.path / "out")
        # It is saved whenever a run is done, and every five seconds.
        child = subprocess.Popen([PROGRAM, *words], cwd=self.path, stderr=subprocess.DEVNULL)
        unfinished = self.path / "out.unfinished"
        for _ in range(6000):
            if unfinished.exists() and list(unfinished.glob("*.safetensors")):
                break
            time.sleep(0.01)
        child.kill()
        child.wait(timeout=60)
        self.assertTrue(unfinished.exists(), "it was not killed on its way")
        (unfinished / "mine").write_text("")
        self.run_program(*words, code=2)
        self.run_program(*words, "--resume")
        self.assertEqual(self.digests("out"), whole)
        self.assertEqual([p.name for p in unfinished.iterdir()], ["mine"])  # what is not its own stays

    def test_a_report_made_again_is_the_same(self):
        self.run_program("run", "grid.toml", "-o", "out")
        (self.path / "grid.toml").write_text("changed since")

        done = self.run_program("report", "check", "out", "--csv")

        self.assertEqual({r["status"] for r in csv.DictReader(done.stdout.splitlines())}, {"same"})
        self.assertEqual(done.stderr, "")

    def test_a_report_may_have_the_name_of_its_study(self):
        words = ("run", "claims", "--only", "claims", "-o", "claims")
        self.run_program(*words)
        self.run_program("report", "check", "claims")
        self.run_program(*words)  # and replaces the former one
        (self.path / "claims").rename(self.path / "former")
        (self.path / "claims").write_bytes((self.path / "former/study.toml").read_bytes())
        self.assertIn("claims: is the input itself", self.run_program(*words, code=2).stderr)  # a file is the study

    def test_a_changed_byte_is_found_and_named(self):
        self.run_program("census", "normal:0,1:100", "-o", "out")
        file = self.path / "out/census.csv"
        file.write_bytes(file.read_bytes() + b"\n")

        done = self.run_program("report", "check", "out", "--csv", code=1)

        self.assertEqual(done.stdout, "file,status\ncensus.csv,edited\nexponents.csv,same\nfindings.csv,same\nheat_map.svg,same\n"
                         "tensor-1_exponents.svg,same\ntensor-1_scales.svg,same\nindex.html,same\n")

    def test_what_the_manifest_does_not_list_is_named(self):
        self.run_program("train", "studies/training/digits.toml", "--seed", "0", "--steps", "2", "--recipe", "float32",
                         "--record", "weights", "-o", "out")
        same = self.run_program("report", "check", "out", "--csv").stdout
        self.assertIn("/", same)  # it has files in folders
        folder = next(path for path in (self.path / "out").iterdir() if path.is_dir())
        (self.path / "out/extra.csv").write_text("a\n1\n")
        (folder / "more").write_text("")
        (self.path / "out/other").mkdir()
        (self.path / "out/other/file").write_text("")
        manifest = self.path / "out/manifest.json"
        manifest.write_text(manifest.read_text().replace('"seed": 0', '"seed": 1'))

        done = self.run_program("report", "check", "out", "--csv", code=1)

        more = sorted(["extra.csv", f"{folder.name}/more", "other"])
        self.assertEqual(done.stdout, same + "".join(f"{name},unlisted\n" for name in more) + "manifest.json,changed\n")

    def test_a_number_that_is_another_now_is_found(self):
        self.run_program("census", "normal:0,1:100", "-o", "out")
        file, manifest = self.path / "out/census.csv", self.path / "out/manifest.json"
        file.write_text(file.read_text().replace(",100,", ",101,"))
        told = json.loads(manifest.read_text())
        told["files"]["census.csv"] = hashlib.sha256(file.read_bytes()).hexdigest()
        manifest.write_text(json.dumps(told))

        done = self.run_program("report", "check", "out", "--csv", code=1)

        self.assertIn("census.csv,changed\n", done.stdout)

    def test_what_changed_is_told_by_row_and_column(self):
        self.run_program("census", "normal:0,1:100", "--to", "e4m3,e5m2", "-o", "a")
        self.run_program("census", "normal:0,1:100", "--to", "e4m3,bf16", "-o", "b")
        file = self.path / "b/census.csv"
        rows = list(csv.reader(file.read_text().splitlines()))
        column = rows[0].index("rms_error")
        was = float(rows[1][column])
        rows[1][column] = repr(was * 1.5)
        with open(file, "w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows(rows)

        done = self.run_program("report", "diff", "a", "b", "--csv", code=1)

        found = [r for r in csv.DictReader(done.stdout.splitlines()) if r["file"] != "findings.csv"]
        self.assertEqual([(r["file"], r["row"], r["column"], r["a"], r["b"]) for r in found if r["column"] == ""],
                         [("census.csv", "normal:0,1:100 | float8_e5m2", "", "present", ""),
                          ("census.csv", "normal:0,1:100 | bfloat16", "", "", "present")])
        changed = [r for r in found if r["column"] != ""]
        self.assertEqual([(r["row"], r["column"]) for r in changed], [("normal:0,1:100 | float8_e4m3fn", "rms_error")])
        self.assertAlmostEqual(float(changed[0]["relative"]), 0.5)
        within = self.run_program("report", "diff", "a", "b", "--csv", "--relative", "0.51", code=1).stdout
        self.assertNotIn("rms_error", within)
        self.run_program("report", "diff", "a", "a")

    def test_no_report_is_refused(self):
        (self.path / "empty").mkdir()
        self.assertIn("empty: holds no manifest.json", self.run_program("report", "check", "empty", code=2).stderr)
        (self.path / "empty/manifest.json").write_text('{"program": "ulpscope", "arguments": ["x"], "files": {"../x": "0"}}')
        self.assertIn("names the file '../x'", self.run_program("report", "check", "empty", code=2).stderr)
        (self.path / "empty/manifest.json").write_text("[" * 100)
        self.assertIn("is no manifest", self.run_program("report", "diff", "empty", "empty", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
