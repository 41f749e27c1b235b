#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Censuses, sweeps and study files in shards: what `merge` makes of their parts is, byte for byte, what one undivided run writes; parts that are
none, that are missing, doubled or of something else are refused. usage: shards_test.py PROGRAM"""
import csv
import hashlib
import json
import pathlib
import random
import shutil
import subprocess
import tempfile
import time
import unittest

from files_test import PROGRAM, run, safetensors
from seals import sealed, sealed_json, unsealed
from shards_model import Model, floats


class Shards(Model):
    def test_the_bytes_are_those_of_an_undivided_run(self):
        for number, (command, *words) in enumerate((
                ("census", "--to", "e4m3,fp16,float64"), ("sweep", "--to", "e4m3,e5m2", "--log2-scale", "-4:9"),
                ("census", "--to", "e4m3", "--rounding", "stochastic", "--seed", "5"), ("census", "--to", "e4m3", "--scale", "0.3"),
                ("census", "--to", "e5m2,int8", "--scale", "amax"), ("census", "--to", "e4m3", "--scale", "row"),
                ("census", "--to", "e4m3", "--scale", "128x128"), ("census", "--to", "e2m1,e4m3", "--scale", "mx:floor"),
                ("census", "--to", "e2m1", "--scale", "nvfp4"), ("census", "--to", "e2m1", "--scale", "nvfp4:16x16"),
                ("census", "--to", "bf16", "--integers", "--group", r"l\.(\d)", "--all-tensors"), ("sweep", "--to", "fp16", "--all-tensors"))):
            with self.subTest(command=command, words=words):
                self.setUp()
                wanted = self.whole(command, *words)
                for count in (1, 2, 3, 7) if number < 3 else (5,):
                    self.shard(command, count, *words)
                    self.assertEqual(self.merged(f"p{count}"), wanted, count)

    def test_parts_whose_sums_exceed_doubles(self):
        large = 2.0**1023  # of which 6, e2m1's largest number, is nothing
        values = [large, -large, large, large] * 40_000
        for name in ("whole", "parts"):
            model = self.folder / name / "model"
            model.unlink()
            model.mkdir()
            (model / "a.safetensors").write_bytes(safetensors({"x": ("F64", [len(values)], floats("d", values))}))
        wanted = self.whole("census", "--to", "e2m1", "--policy", "saturating")
        row, = csv.DictReader(wanted["census.csv"].decode().splitlines())
        self.assertEqual((float(row["mean_abs_error"]), float(row["mean_signed_error"])), (large, -large / 2))
        self.shard("census", 2, "--to", "e2m1", "--policy", "saturating")
        self.assertEqual(self.merged("p2"), wanted)
        wanted = self.whole("census", "--to", "float64", "--scale", "nvfp4")  # such a tensor has no scale
        shutil.rmtree(self.folder / "parts/p2")
        self.shard("census", 2, "--to", "float64", "--scale", "nvfp4")
        self.assertEqual(self.merged("p2"), wanted)

    def test_parts_may_be_named_in_any_order_and_mixed(self):
        wanted = self.whole("census", "--to", "e4m3", "--scale", "0.3")
        self.shard("census", 3, "--to", "e4m3", "--scale", "0.3")
        self.assertEqual(self.merged("p3/2", "p3/0", "p3/1"), wanted)

    def test_every_shard_has_its_share(self):
        self.shard("census", 6, "--to", "e4m3")
        bits = {"float32": 32, "float64": 64, "bfloat16": 16}
        shares = []
        for index in range(6):
            part = json.loads((self.folder / f"parts/p6/{index}/part.json").read_text())
            shares.append(sum(count * bits[part["tensors"][tensor]["dtype"]] for tensor, _, count in part["ranges"]))
        total, chunk = sum(shares), 65536 * 64
        self.assertEqual(total, 32 * (400 * 700 + 7) + 64 * 70_005 + 16 * 12)
        for share in shares:
            self.assertLessEqual(abs(share - total / 6), chunk)

    def test_launchers_say_which_shard_this_is(self):
        wanted = self.whole("census", "--to", "e4m3")
        array = {"SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_MAX": "15", "SLURM_ARRAY_TASK_STEP": "5", "SLURM_ARRAY_TASK_COUNT": "2"}
        for name, places in (("slurm", [{"SLURM_PROCID": str(i), "SLURM_NTASKS": "3"} for i in range(3)]),
                             ("openmpi", [{"OMPI_COMM_WORLD_RANK": str(i), "OMPI_COMM_WORLD_SIZE": "2"} for i in range(2)]),
                             ("pmi", [{"PMI_RANK": str(i), "PMI_SIZE": "4"} for i in range(4)]),
                             ("array", [array | {"SLURM_ARRAY_TASK_ID": str(i)} for i in (10, 15)]),
                             ("both", [array | {"SLURM_ARRAY_TASK_ID": str(i), "SLURM_PROCID": str(j), "SLURM_NTASKS": "2"} for i in (10, 15) for j in (0, 1)])):
            for environment in places:
                self.program("parts", "census", "model", "--to", "e4m3", "--shard", "auto", "-o", name, environment=environment)
            self.assertEqual(sorted(path.name for path in (self.folder / "parts" / name).iterdir()), [f"{i}-of-{len(places)}" for i in range(len(places))])
            self.assertEqual(self.merged(name), wanted, name)
        for environment in ({}, {"SLURM_PROCID": "1"}, {"PMI_RANK": "4", "PMI_SIZE": "4"}, {"SLURM_PROCID": "x", "SLURM_NTASKS": "2"}):
            self.assertIn("--shard auto: no place among others", self.refused("census", "model", "--shard", "auto", "-o", "x", environment=environment))

    def test_tasks_of_an_array_that_say_no_place_are_refused(self):
        def array(task, least, most, step, count):
            return {"SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_MIN": least, "SLURM_ARRAY_TASK_MAX": most, "SLURM_ARRAY_TASK_STEP": step, "SLURM_ARRAY_TASK_COUNT": count}

        words = ("census", "model", "--to", "e4m3", "--shard", "auto", "-o", "tasks")
        for numbers in (("3", "1", "7", "1", "3"), ("1", "1", "7", "1", "3"), ("2", "1", "7", "2", "4"), ("9", "1", "7", "2", "4"), ("0", "1", "7", "2", "4"), ("1", "3", "1", "1", "1")):
            line = self.refused(*words, environment=array(*numbers))
            self.assertIn(f"--shard auto: task {numbers[0]} is of an array of {numbers[4]} tasks from {numbers[1]} to {numbers[2]} in steps of {numbers[3]}", line)
            self.assertIn("give each task its own: --shard I/N -o PART/I-of-N", line)
            self.refused(*words, environment=array(*numbers) | {"SLURM_PROCID": "0", "SLURM_NTASKS": "2"})
        self.assertFalse((self.folder / "parts/tasks").exists())
        for last in ("5", "8"):  # the greatest of 1-8:4, and the end of that range
            self.program("parts", *words[:-1], f"to-{last}", environment=array("5", "1", last, "4", "2"))
            self.assertTrue((self.folder / f"parts/to-{last}/1-of-2/part.json").exists())

    def test_a_task_that_is_run_again_alone_is_no_whole(self):
        alone = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "1", "SLURM_ARRAY_TASK_STEP": "1", "SLURM_ARRAY_TASK_COUNT": "1"}
        words = ("census", "model", "--to", "e4m3", "--shard")
        for index in (0, 2):
            self.program("parts", *words, "auto", "-o", "again", environment={"PMI_RANK": str(index), "PMI_SIZE": "3"})
        self.assertEqual(self.refused(*words, "auto", "-o", "again", environment=alone),
                         "again: holds 0-of-3, and this would be 0-of-1; to run one part of those again, give --shard I/N -o again/I-of-N, else another folder")
        self.assertEqual(sorted(path.name for path in (self.folder / "parts/again").iterdir()), ["0-of-3", "2-of-3"])
        self.program("parts", *words, "1/3", "-o", "again/1-of-3")
        self.assertEqual(self.merged("again"), self.whole("census", "--to", "e4m3"))
        for _ in range(2):  # an array of one task, and it again
            self.program("parts", *words, "auto", "-o", "whole", environment=alone)
        self.assertEqual([path.name for path in (self.folder / "parts/whole").iterdir()], ["0-of-1"])

    def test_what_does_not_fit_together_is_refused(self):
        self.shard("census", 3, "--to", "e4m3")
        self.shard("census", 2, "--to", "e4m3")
        self.program("parts", "census", "model", "--to", "e5m2", "--shard", "1/3", "-o", "other")
        self.program("parts", "sweep", "model", "--to", "e4m3", "--shard", "1/3", "-o", "sweep")
        for parts, wanted in ((("p3/0", "p3/2"), "are in no part"), (("p3/0",), "are in no part"), (("p3/1", "p3/2"), "are in no part"),
                              (("p3/0", "p3/0", "p3/1", "p3/2"), "that another part has, too"), (("p3", "p2"), "that another part has, too"),
                              (("p3/0", "other", "p3/2"), "other/part.json: asks something else than p3/0/part.json"),
                              (("p3/0", "sweep", "p3/2"), "sweep/part.json: asks something else than p3/0/part.json"),
                              (("model",), "model: holds no part.json"), (("nowhere",), "nowhere: holds no part.json")):
            self.assertIn(wanted, self.refused("merge", *parts, "-o", "R"))
        self.assertFalse((self.folder / "parts/R").exists())
        (self.folder / "parts/foreign").mkdir()
        (self.folder / "parts/foreign/mine").write_text("mine")
        self.assertIn("foreign", self.refused("merge", "p3", "-o", "foreign"))
        self.assertIn("foreign", self.refused("census", "model", "--to", "e4m3", "--shard", "0/2", "-o", "foreign"))
        for word in ("1", "2/2", "-1/2", "0/0", "a/2", "0/2/3", "0/10000000", "automatic"):
            self.assertIn("give I/N", self.refused("census", "model", f"--shard={word}", "-o", "x"))
        self.assertIn("-o PART is missing", self.refused("census", "model", "--shard", "0/2"))
        self.assertIn("--history, --shard 0/2: the magnitudes of whole", self.refused("census", "model", "model", "--to", "e4m3", "--history", "--shard", "0/2", "-o", "x"))

    def test_an_input_that_changed_meanwhile_is_noticed(self):
        ones, twos = [1.0] * 200_000, [2.0]
        inputs = {"one": ones, "first": twos + ones[1:], "middle": ones[:100_000] + twos + ones[100_001:], "last": ones[:-1] + twos,
                  "elsewhere": ones[:120_000] + twos * 10_000 + ones[130_000:]}
        for name, values in inputs.items():
            folder = self.folder / "parts" / name
            folder.mkdir()
            (folder / "x.safetensors").write_bytes(safetensors({"x": ("F32", [200_000], floats("f", values))}))

        def now(name):
            (self.folder / "parts/now").unlink(missing_ok=True)
            (self.folder / "parts/now").symlink_to(self.folder / "parts" / name)

        words = ("census", "now", "--to", "e4m3", "--scale", "amax")
        now("one")
        self.program("parts", *words, "--pass", "amax", "--shard", "0/1", "-o", "A")
        for name in inputs:
            for index, read in enumerate(("one", name)):
                now(read)
                self.program("parts", *words, "--shard", f"{index}/2", "-o", f"{name}-parts/{index}")
            if name == "one":
                self.merged("one-parts")
            elif name == "elsewhere":  # where no sample is taken, what follows from all numbers differs
                self.assertIn("has other scales for now/x.safetensors:x", self.refused("merge", "elsewhere-parts", "-o", "R"))
            else:
                self.assertEqual(f"{name}-parts/1/part.json: has read other numbers of now/x.safetensors:x than {name}-parts/0/part.json",
                                 self.refused("merge", f"{name}-parts", "-o", "R"))
                self.assertEqual("A/part.json: has read other numbers of now/x.safetensors:x than these inputs hold",
                                 self.refused(*words, "--amax", "A", "--shard", "0/1", "-o", "B"))

    def passes(self, *words):
        """The parts of both passes: magnitudes in A, the rest in B."""
        for index in range(3):
            self.program("parts", "census", "model", *words, "--pass", "amax", "--shard", f"{index}/3", "-o", f"A/{index}")
        for index in range(5):
            self.program("parts", "census", "model", *words, "--amax", "A", "--shard", f"{index}/5", "-o", f"B/{index}")

    def test_magnitudes_found_by_a_first_pass_change_no_byte(self):
        for words in (("--to", "e5m2,int8", "--scale", "amax"), ("--to", "e4m3", "--scale", "pow2"), ("--to", "e2m1", "--scale", "nvfp4"),
                      ("--to", "e2m1", "--scale", "nvfp4:16x16", "--integers")):
            with self.subTest(words=words):
                self.setUp()
                wanted = self.whole("census", *words)
                self.passes(*words)
                self.assertEqual(self.merged("B"), wanted)
                self.shard("census", 5, *words)
                for index in range(5):
                    self.assertEqual(*((self.folder / f"parts/{name}/{index}/part.json").read_bytes() for name in ("B", "p5")))

    def test_magnitudes_of_other_numbers_are_noticed(self):
        words = ("--integers", "--to", "e4m3", "--scale", "amax")
        self.passes(*words)
        place = self.folder / "parts/A/0/part.json"
        text = place.read_text()
        second = ("census", "model", *words, "--amax", "A", "--shard")
        for factor, said in ((0.5, "--amax: "), (2, None)):
            part = json.loads(text)
            of = part["parts"][0]
            of["amax"] = (float.fromhex("0x" + of["amax"]) * factor).hex().removeprefix("0x")
            place.write_text(sealed_json(part))
            if said:
                for index in range(5):  # in one of them is the greatest
                    done = subprocess.run([PROGRAM, *second, f"{index}/5", "-o", f"B/{index}"], cwd=self.folder / "parts", capture_output=True, text=True, timeout=300)
                    if done.returncode == 2:
                        break
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
                self.assertIn("the first pass read other numbers", done.stderr)
            else:
                shutil.rmtree(self.folder / "parts/B")
                for index in range(5):
                    self.program("parts", *second, f"{index}/5", "-o", f"B/{index}")
                self.assertIn("does not follow from its numbers", self.refused("merge", "B", "-o", "R"))
        for index in range(5):
            place_of_scales = self.folder / f"parts/B/{index}/part.json"
            part = json.loads(place_of_scales.read_text())
            for of in part["parts"]:
                of["scales"] = []
            place_of_scales.write_text(sealed_json(part))
        self.assertIn("does not follow from its numbers", self.refused("merge", "B", "-o", "R"))
        for wrong in ("-1p+0", "nan", "x", 1.5, None):
            part = json.loads(text)
            part["parts"][0]["amax"] = wrong
            place.write_text(sealed_json(part))
            self.assertIn("A/0/part.json: ", self.refused(*second, "0/5", "-o", "C"))
        del part["parts"][0]["amax"]
        place.write_text(sealed_json(part))
        self.assertIn("A/0/part.json: has no magnitude of model/a.safetensors:l.0.w", self.refused(*second, "0/5", "-o", "C"))

    def test_passes_that_do_not_fit_together_are_refused(self):
        words = ("census", "model", "--integers", "--to", "e4m3", "--scale", "amax")
        self.passes(*words[2:])
        first, second = ("--pass", "amax"), ("--amax", "A")
        for options, said in (((*first,), "--pass amax: is for parts"), ((*second,), "--amax A: is for parts"),
                              (("--pass", "max", "--shard", "0/2", "-o", "C"), "--pass 'max': give amax"),
                              ((*first, *second, "--shard", "0/2", "-o", "C"), "give one of them"),
                              ((*second, "--scale", "row", "--shard", "0/2", "-o", "C"), "--scale is given more than once"),
                              (("--amax", "B", "--shard", "0/2", "-o", "C"), "B/0/part.json: holds no magnitudes; make it by --pass amax"),
                              (("--amax", "A/0", "--amax", "A/2", "--shard", "0/2", "-o", "C"), "are in no part"),
                              (("--amax", "A", "--amax", "A/2", "--shard", "0/2", "-o", "C"), "that another part has, too"),
                              (("--amax", "model", "--shard", "0/2", "-o", "C"), "model: holds no part.json"),
                              ((*first, "--shard", "0/5", "-o", "B/0"), "B/0: holds a part of `ulpscope census "),
                              ((*second, "--shard", "0/3", "-o", "A/0"), "A/0: holds a part of `ulpscope census ")):
            self.assertIn(said, self.refused(*words, *options))
        self.assertIn("--scale row has no scale that follows from the largest magnitude of a whole tensor", self.refused(*words[:-1], "row", *second, "--shard", "0/2", "-o", "C"))
        self.assertIn("is of other tensors than these inputs",
                      self.refused("census", "model/a.safetensors", *words[2:], *second, "--shard", "0/2", "-o", "C"))
        self.assertIn("A/0/part.json: holds magnitudes alone", self.refused("merge", "A", "-o", "R"))
        self.assertFalse((self.folder / "parts/C").exists())

    def test_broken_parts_are_refused_in_one_line(self):
        self.shard("census", 1, "--to", "e4m3", "--scale", "0.3")
        place = self.folder / "parts/p1/0/part.json"
        text = place.read_text()

        def refused(new):
            place.write_text(new)
            return self.refused("merge", "p1", "-o", "R")

        bare = unsealed(text)
        for size in range(0, len(text) - 2, max(1, len(text) // 60)):
            self.assertIn("is damaged, or no part", refused(text[:size]))
            self.assertIn("is no part of a census or sweep", refused(sealed(bare[:min(size, len(bare) - 3)])))
            self.assertIn("is damaged, or no part", refused(text[:size] + chr(ord(text[size]) ^ 1) + text[size + 1:]))
        self.assertIn("is damaged, or no part", refused("[" * 100_000))
        self.assertIn("is no part of a census or sweep", refused(sealed('{"a": ' + "[" * 100_000)))
        former = json.dumps(json.loads(text), indent=1)
        former = f'{{"sha256": "{hashlib.sha256(former.encode()).hexdigest()}",' + former[1:]  # of versions that sealed the beginning
        self.assertIn("p1/0/part.json: was written by another version, which laid parts out otherwise; make it again by this one", refused(former))
        whole = json.loads(text)
        for key in ("commit", "version"):
            self.assertIn(f'p1/0/part.json: {self.of_another(whole, {key: "0"})}', refused(sealed_json(whole | {key: "0"})))
        former = {key: value for key, value in whole.items() if key != "commit"}
        self.assertIn("p1/0/part.json: does not tell which commit of the program wrote it; make it again by this one", refused(sealed_json(former)))
        for sample, said in ((None, "is no part of a census or sweep"), ("", "'' is no digest of a sample"), ("0" * 15 + "G", "is no digest of a sample")):
            self.assertIn(said, refused(sealed_json(whole | {"tensors": [whole["tensors"][0] | {"sample": sample}]})))
        without = [{key: value for key, value in tensor.items() if key != "sample"} for tensor in whole["tensors"]]
        self.assertIn("does not tell which numbers its input held", refused(sealed_json(whole | {"tensors": without})))
        self.assertIn("is laid out as by another version", refused(sealed_json(whole | {"layout": 1})))
        self.assertIn("random words by another rule", refused(sealed_json(whole | {"stochastic_rounding": 1})))
        self.assertIn("is of no census or sweep", refused(sealed_json(whole | {"command": "cast"})))
        self.assertIn("p1/0/part.json: The following argument was not expected: --tow", refused(sealed_json(whole | {"request": ["model", "--tow", "e4m3"]})))
        for sums in ([], 2 * whole["parts"][0]["census"]):
            other = json.loads(text)
            other["parts"][0]["census"] = sums
            self.assertIn("has not the sums of " + other["tensors"][0]["label"], refused(sealed_json(other)))
        for name, magnitude in (("smallest", "-inf"), ("smallest", "nan"), ("smallest", "inf"), ("smallest", "1p+20"), ("largest", "inf"), ("largest", "0p+0")):
            other = json.loads(text)
            sums = other["parts"][0]["census"][0]
            next(iter(sums["chunks"].values()))[name][0] = magnitude
            self.assertIn("has a smallest and a largest element that cannot be", refused(sealed_json(other)))
        for number in (0.5, True, 2**70, -1, "1"):  # which a library of JSON would make a count of, or could not
            other = json.loads(text)
            other["ranges"][0][1] = number
            self.assertIn("holds what is no whole number, or too large a one", refused(sealed_json(other)))
        for ranges, said in (([[0, 1, 5]], "has elements that are not there"), ([[0, 0, 2**40]], "has elements that are not there"),
                             ([[0, 0, 0]], "has elements that are not there"), ([[1, 0, 7], [0, 0, 65536]], "has its tensors in another order"),
                             ([[99, 0, 7]], "is no part of a census or sweep"), ([], "is no part of a census or sweep")):
            self.assertIn(said, refused(sealed_json(whole | {"ranges": ranges})))
        self.assertIn("is no part of a census or sweep, or not all of it", refused(sealed_json(whole | {"parts": whole["parts"] + whole["parts"][:1]})))
        self.assertIn("is no part of a census or sweep", refused(sealed_json(whole | {"parts": whole["parts"][:-1]})))
        drawn = random.Random(5)

        def paths(value, so_far=()):
            yield so_far
            for key, inner in (value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()):
                yield from paths(inner, so_far + (key,))

        all_paths = [path for path in paths(whole) if path and path[0] not in ("arguments", "sha256")]
        for path in drawn.sample(all_paths, 150):
            broken = json.loads(text)
            at = broken
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = drawn.choice([None, {}, [], "x", -1, 2**70, [[1]], "1p+9999999 1"])
            place.write_text(sealed_json(broken))
            code, _, err = run("merge", "p1", "-o", "R", cwd=self.folder / "parts")
            self.assertIn(code, (0, 2), (path, err))  # 0: a number that may as well be another one
            if code == 2:
                self.assertEqual(err.count("\n"), 1, err)

    @staticmethod
    def of_another(part, other):
        """What is said of a part of this program where `other` of its version and commit are told."""
        its = part | other
        return f'is of version {its["version"]} ({its["commit"]}), this is {part["version"]} ({part["commit"]})'

    def test_parts_of_another_commit_are_refused_wherever_they_stand(self):
        for command, *words in (("census",), ("census", "--pass", "amax", "--scale", "amax"), ("sweep", "--log2-scale", "0:1"),
                                ("census", "--blocks", "--scale", "mx:floor")):
            shutil.rmtree(self.folder / "parts/p2", ignore_errors=True)
            self.shard(command, 2, "--integers", "--to", "e4m3", *words)
            commit = json.loads((self.folder / "parts/p2/0/manifest.json").read_text())["commit"]
            merge = ("merge", "p2", "-o", "R")
            if "amax" in words:
                merge = ("census", "model", "--integers", "--to", "e4m3", "--scale", "amax", "--amax", "p2", "--shard", "0/1", "-o", "R/0")
            for index in range(2):
                place = self.folder / f"parts/p2/{index}/part.json"
                text = place.read_text()
                whole = json.loads(text)
                self.assertEqual(whole["commit"], commit)
                for other in ({"commit": "f" * 40}, {"version": "9.9.9"}):
                    place.write_text(sealed_json(whole | other))
                    self.assertEqual(f"p2/{index}/part.json: {self.of_another(whole, other)}", self.refused(*merge))
                place.write_text(text)
            self.program("parts", *merge)
            shutil.rmtree(self.folder / "parts/R")

    def test_what_cannot_be_so_of_the_elements_is_refused(self):
        self.shard("census", 2, "--to", "e4m3")
        self.shard("census", 3, "--to", "e4m3", "--rounding", "stochastic")
        self.shard("sweep", 4, "--to", "e4m3", "--log2-scale", "3:4")
        self.program("parts", "census", "model", "--integers", "--to", "e4m3", "--scale", "amax", "--pass", "amax", "--shard", "0/1", "-o", "A/0")

        def chunk(part):
            return part["census"][0]["chunks"]["0"]

        def first(name, folder, change, said):
            place = self.folder / "parts" / folder / "0/part.json"
            text = place.read_text()
            whole = json.loads(text)
            change(whole["parts"][0])
            place.write_text(sealed_json(whole))
            self.assertEqual(f"{folder}/0/part.json: {name} {said}", self.refused("merge", folder, "-o", "R"))
            place.write_text(text)

        label = "model/a.safetensors:l.0.w"
        elements, = {count for tensor, _, count in json.loads((self.folder / "parts/p2/0/part.json").read_text())["ranges"] if tensor == 0}
        self.assertTrue(65536 < elements <= 280_000)
        other_counts, no_extremes = "has counts that do not add up to its elements", "has a smallest and a largest element that cannot be"
        no_errors, other_chunks = "has largest errors that do not follow from its sums", "has chunks that are not those of its elements"
        none = [0] * 8
        for sums, folder in ((lambda of: of["census"][0], "p2"), (chunk, "p3"), (lambda of: of["sweep"][0], "p4")):
            with self.subTest(folder=folder):
                for counts in (none, [2**64 - 1] * 8, [*none[:4], elements + 1, *none[5:]], [*none[:4], 9999, 4, 2, 0]):
                    first(label, folder, lambda of: sums(of).update(counts=counts), other_counts)
                if folder == "p4":  # each has only what is not as in the sums before it
                    continue
                for lost in ([elements + 1, 0], [0, 2**64 - 1]):
                    first(label, folder, lambda of: sums(of).update(lost=lost), other_counts)
                first(label, folder, lambda of: sums(of).update(nonzero=sums(of)["nonzero"] - 1), "has counts that are not those of its exponents")
                for name in ("largest", "smallest"):
                    for index in (elements, 2**63):
                        first(label, folder, lambda of: sums(of)[name].__setitem__(1, index), no_extremes)
                first(label, folder, lambda of: sums(of).update(largest=["1p+1000", 0]), "has a smallest and a largest element that are not among its exponents")
                for which in range(3):
                    for most in ("1p+1023", "-1p+0", "nan"):
                        first(label, folder, lambda of: sums(of)["max"].__setitem__(which, most), no_errors)
        for change in (lambda of: of["exponents"].update(zeros=1), lambda of: of["exponents"].update(nan=2**64 - 1), lambda of: of["exponents"].update(counts=[]),
                       lambda of: of["exponents"]["counts"][0].__setitem__(1, 2**64 - 1), lambda of: of.update(amax="1p+0")):
            first(label, "p2", change, "has exponents that do not add up to its elements")
        chunks = lambda of: of["census"][0]["chunks"]
        for change in (lambda of: chunks(of).update({"0": chunks(of).pop("0") | {"level": 3}}), lambda of: (of["sweep"].clear(), chunks(of).update({"8": chunks(of).pop("0")})),
                       lambda of: chunks(of).update({"1": chunks(of)["0"]}), lambda of: chunks(of).update({"9": chunks(of)["0"]})):
            first(label, "p3", change, other_chunks)
        first(label, "p3", lambda of: (of["sweep"].clear(), chunks(of).clear()), other_counts)

        place = self.folder / "parts/A/0/part.json"
        magnitudes = json.loads(place.read_text())
        magnitudes["parts"][0]["exponents"]["zeros"] = 280_000
        place.write_text(sealed_json(magnitudes))
        self.assertEqual(f"A/0/part.json: {label} has exponents that do not add up to its elements",
                         self.refused("census", "model", "--integers", "--to", "e4m3", "--scale", "amax", "--amax", "A", "--shard", "0/5", "-o", "C"))
        place = self.folder / "parts/p2/0/part.json"
        large = json.loads(place.read_text())
        large["tensors"][0]["shape"] = [2**62, 2]
        place.write_text(sealed_json(large))
        self.assertEqual("p2/0/part.json: a shape is too large", self.refused("merge", "p2", "-o", "R"))
        self.assertFalse((self.folder / "parts/R").exists())

    def test_sums_beyond_those_asked_for_are_refused_before_they_are_made(self):
        """Each says what is not as in the one before: {} is all of that again."""
        self.shard("census", 1, "--to", "e4m3")
        self.shard("sweep", 2, "--to", "e4m3", "--log2-scale", "3:4")
        self.shard("census", 3, "--to", "e4m3", "--rounding", "stochastic")
        zeros = {"counts": [0] * 8, "nonzero": 0, "largest": ["0", 0], "smallest": ["0", 0], "level": 0}

        def refused(folder, change):
            place = self.folder / "parts" / folder / "0/part.json"
            text = place.read_text()
            whole = json.loads(text)
            change(whole["parts"][0])
            place.write_text(sealed_json(whole))
            started = time.monotonic()
            said = self.refused("merge", folder, "-o", "R")
            place.write_text(text)
            self.assertLess(time.monotonic() - started, 60)
            return said

        label = "model/a.safetensors:l.0.w"
        more = 500_000
        for folder, sums in (("p1", "census"), ("p2", "sweep"), ("p2", "census")):
            self.assertEqual(f"{folder}/0/part.json: has not the sums of {label} that it was asked for",
                             refused(folder, lambda of: of[sums].extend(more * [{}])))
        # Numbers of 2149 bits and more are beyond any product of doubles, and 128 bits of them are one term: (2148 + 128) / 4 digits.
        self.assertIn("is no exact sum", refused("p1", lambda of: of["census"][0]["exact"].update(error="f" * 570 + " 0")))
        for chunks in ({str(i): {} for i in range(200_000)}, {"0": {str(i): 0 for i in range(200_000)}}, {str(i): zeros for i in range(193)}):
            self.assertEqual("p3/0/part.json: has more chunks than any tensor", refused("p3", lambda of: of["census"][0].update(chunks=chunks)))

    def test_sums_that_were_formed_otherwise_are_refused(self):
        self.shard("census", 2, "--to", "e4m3")
        parts = {}
        for name, words in (("exact", ()), ("in-order", ("--rounding", "stochastic"))):
            self.program("parts", "census", "model", "--to", "e4m3", *words, "--shard", "1/2", "-o", name)
            parts[name] = json.loads((self.folder / "parts" / name / "part.json").read_text())
        of = {tensor: place for place, (tensor, _, _) in enumerate(parts["exact"]["ranges"])}[0]
        parts["exact"]["parts"][of] = parts["in-order"]["parts"][of]
        (self.folder / "parts/p2/1/part.json").write_text(sealed_json(parts["exact"]))
        self.assertEqual("p2/1/part.json: has sums of model/a.safetensors:l.0.w for other formats, or that were formed otherwise",
                         self.refused("merge", "p2", "-o", "R"))


class StudyShards(unittest.TestCase):
    STUDY = """
[[study]]
kind = "census"
name = "blocks"
inputs = ["normal:0,1:40x64", "laplace:0,1:300"]
to = ["e4m3", "e2m1"]
scale = ["none", "amax", "mx:even", "nvfp4"]

[[study]]
kind = "breaks"
log2_scale = "-8:8:8"
terms = 300
lengths = [[500], [200]]

[[study]]
kind = "train"
file = "digits.toml"
recipe = [["float32"], ["bf16_amp"]]
"""
    TRAINING = """
[model]
kind = "mlp"
widths = [64, 8, 10]
[data]
table = "digits"
batch = 64
[loss]
kind = "cross_entropy"
[optimizer]
kind = "sgd"
lr = 1e-2
[run]
steps = 3
seeds = [1]
recipes = ["float32"]
"""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        for name in ("whole", "parts"):
            (self.path / name).mkdir()
            (self.path / name / "study.toml").write_text(self.STUDY)
            (self.path / name / "digits.toml").write_text(self.TRAINING)

    def run_in(self, where, *words):
        return run(*words, cwd=self.path / where)

    def done(self, where, *words):
        code, _, err = self.run_in(where, *words)
        self.assertEqual(code, 0, (words, err))

    def refused(self, *words):
        code, out, err = self.run_in("parts", *words)
        self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        return err

    def files(self, where):
        return {path.name: path.read_bytes() for path in (self.path / where).iterdir()}

    def test_the_bytes_are_those_of_an_undivided_run(self):
        self.done("whole", "run", "study.toml", "-o", "R")
        for count in (1, 3, 20):  # more than there are cells
            for index in range(count):
                self.done("parts", "run", "study.toml", "--threads", "1", "--shard", f"{index}/{count}", "-o", f"p{count}/{index}")
            shutil.rmtree(self.path / "parts/R", ignore_errors=True)
            self.done("parts", "merge", f"p{count}", "-o", "R")
            self.assertEqual(self.files("parts/R"), self.files("whole/R"))
        self.assertEqual([path.name for path in (self.path / "parts").iterdir() if path.name.endswith(".partial")], [])

    def test_what_does_not_fit_together_is_refused(self):
        for index in range(2):
            self.done("parts", "run", "study.toml", "--only", "blocks", "--shard", f"{index}/2", "-o", f"p/{index}")
        self.assertIn("study 'blocks', scale = amax: is in no part", self.refused("merge", "p/0", "-o", "R"))
        self.assertIn("p/0/part.json: has cells that another part has, too", self.refused("merge", "p/0", "p/1", "p/0", "-o", "R"))
        self.done("parts", "run", "study.toml", "--shard", "1/2", "-o", "all")
        self.assertIn("all/part.json: is of another run than p/0/part.json", self.refused("merge", "p/0", "all", "-o", "R"))
        self.assertIn("--shard 0/2: -o PART is missing", self.refused("run", "study.toml", "--shard", "0/2"))
        self.assertIn("2/2", self.refused("run", "study.toml", "--shard", "2/2", "-o", "x"))
        place = self.path / "parts/p/0/part.json"
        whole = json.loads(place.read_text())
        for broken, says in ((whole | {"version": "0"}, "is of version 0"), (whole | {"commit": "0"}, "is of version"), (whole | {"cells": 1}, "is no part"),
                             (whole | {"cells": {"a": 1}}, "has a cell that is no result: a"), (whole | {"text": 3}, "is no part"),
                             *((whole | {"cells": {"a": next(iter(whole["cells"].values())) | {"outcome": number}}}, "has a cell that is no result: a")
                               for number in (3, -1, 0.5, True)),
                             (whole | {"ulpscope": "part of something"}, "is no part")):
            place.write_text(sealed_json(broken, indent=1))
            self.assertIn(says, self.refused("merge", "p/0", "p/1", "-o", "R"))
            self.assertIn(says, self.refused("merge", "p/1", "p/0", "-o", "R"))
        self.assertFalse((self.path / "parts/R").exists())

    def test_a_shard_that_was_ended_goes_on(self):
        self.done("parts", "run", "study.toml", "--shard", "0/2", "-o", "p")
        files = self.files("parts/p")
        self.done("parts", "run", "study.toml", "--shard", "0/2", "-o", "p", "--resume")
        self.assertEqual(self.files("parts/p"), files)

    def test_a_shard_that_was_killed_between_its_renames_is_run_again(self):
        part = self.path / "parts/p"
        for command in (("run", "study.toml"), ("census", "normal:0,1:90")):
            self.done("parts", *command, "--shard", "0/2", "-o", "p")
            files = self.files("parts/p")
            (part / "manifest.json").rename(part / ".manifest.json.ulpscope-part-0123456789abcdef")
            self.done("parts", *command, "--shard", "0/2", "-o", "p")
            self.assertEqual(self.files("parts/p"), files)
            (part / "manifest.json").unlink()  # then it is anyone's file
            self.assertIn("p holds part.json, which is not part of a report", self.refused(*command, "--shard", "0/2", "-o", "p"))
            (part / "part.json").unlink()


if __name__ == "__main__":
    unittest.main()
