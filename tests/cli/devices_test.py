#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `ulpscope devices`: lists, checks, records and replays emulated devices, those of a plugin that stands in for CUDA's, and
the recordings of real ones. usage: devices_test.py PROGRAM PLUGINS RECORDINGS"""
import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from emulation import not_emulated
from time_limit import LIMIT

RECORDINGS, PLUGINS, PROGRAM = (os.path.abspath(sys.argv.pop()) for _ in range(3))
LISTED = "device,name,architecture,driver,toolkit,instruction,a,b,accumulator,products,engine"
COMPARED = ("device,instruction,a,b,accumulator,products,engine,operands,tests,mismatches,examined,nan_codes,zero_signs,verdict,"
            "remark")


def crc64_xz(data):
    """Bit by bit, from the polynomial as docs/devices.md gives it."""
    reflected = int(f"{0x42f0e1eba9ea3693:064b}"[::-1], 2)
    remainder = 2**64 - 1
    for byte in data:
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (reflected if remainder & 1 else 0)
    return remainder ^ 2**64 - 1


BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "tf32": 3, "float8_e4m3fn": 1, "float8_e5m2": 1,
         "float6_e3m2fn": 1, "float6_e2m3fn": 1, "float4_e2m1fn": 1, "float8_e8m0fnu": 1}
OPERANDS = {"convert": 1, "add": 2, "subtract": 2, "multiply": 2, "fma": 3}


def read_recording(data):
    """The sets of a recording by the letter of docs/devices.md: [(lines, {array: bytes})]."""
    text, codes = data[:-8].split(b"\ncodes\n", 1)
    lines = [line.split(" ", 1) for line in text.decode("ascii").split("\n")]
    starts = [i for i, (key, *_) in enumerate(lines) if key == "set"] + [len(lines)]
    sets = []
    for begin, end in zip(starts, starts[1:]):
        keys = dict(lines[begin:end])
        count = int(keys["count"])
        if keys["set"] == "inner_products":
            length = int(keys["length"])
            scales = [] if keys["scales"] == "none" else [(keys["scale_format"], length // int(keys["scale_products"]))]
            arrays = [(keys["a"], length), (keys["b"], length), *scales, *scales, (keys["accumulator"], 1), (keys["accumulator"], 1)]
        else:
            kind, source, target = keys["model"].split()[:3]
            arrays = [(source, 1), (source, 1), (target, 1)][:OPERANDS[kind]] + [(target, 1)]
        taken = []
        for name, each in arrays:
            size = count * each * BYTES[name]
            taken.append(codes[:size])
            codes = codes[size:]
        sets.append((keys, taken))
    assert codes == b""
    return sets


class Devices(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *words, program=PROGRAM, plugins=None, command="devices"):
        environment = {key: value for key, value in os.environ.items() if key != "ULPSCOPE_PLUGINS"}
        if plugins is not None:
            environment["ULPSCOPE_PLUGINS"] = str(plugins)
        return subprocess.run([str(program), command, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, cwd=self.folder, env=environment, timeout=LIMIT)

    def rows(self, *words, code=0, **options):
        done = self.run_program(*words, "--csv", **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def expect_error(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        for word in words:
            self.assertIn(word, done.stderr)

    def record(self, name, *words):
        done = self.run_program("record", "-o", name, *words)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return self.folder / name

    def test_the_list_says_what_is_there_and_why_the_rest_is_not(self):
        done = self.run_program("--csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[0], LISTED)
        listed = {row["device"] for row in csv.DictReader(io.StringIO(done.stdout))}
        for device in ("cpu:amx_bf16", "cpu:avx512_bf16", "cpu:avx512_fp16", "cpu:avx512f", "cpu:f16c", "cpu:sse2"):
            self.assertNotEqual(device in listed, f"{device}: " in done.stderr, done.stderr)
        self.assertFalse(any(device.startswith("emulated:") for device in listed))

    def test_an_emulated_device_is_listed_by_its_name(self):
        rows = self.rows("--device", "emulated:sm_90")
        instructions = {row["instruction"]: row for row in rows}
        self.assertEqual(len(instructions), len(rows))
        row = instructions["wgmma.f32.e4m3.e5m2"]
        self.assertEqual((row["a"], row["b"], row["accumulator"], row["products"], row["engine"]),
                         ("float8_e4m3fn", "float8_e5m2", "float32", "32", "sm_90"))
        self.assertEqual(instructions["mma.sync.m16n8k32.f16.e4m3.e4m3"]["engine"], "sm_90/mma")
        self.assertEqual(instructions["cvt.rn.bf16.f32"]["products"], "")
        self.assertEqual({row["architecture"] for row in rows}, {"sm_90"})

    def test_devices_of_a_plugin(self):
        done = self.run_program("--json", plugins=PLUGINS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cuda: GPU 1 is no fake\n", done.stderr)
        rows = [row for row in json.loads(done.stdout) if row["device"] == "cuda:0"]
        self.assertEqual([row["instruction"] for row in rows], ["right", "wrong", "broken", "unclaimed"])
        self.assertEqual([rows[0][key] for key in ("name", "architecture", "driver", "toolkit")], ["Fake GPU", "sm_90", "1.2", "3.4"])

    def test_probes_of_a_device_have_the_model_beside_them(self):
        rows = self.rows("--device", "cuda:0", command="probe", plugins=PLUGINS)
        found = {(row["instruction"], row["feature"]): row for row in rows}
        bits = {name: found[name, "fraction_bits"] for name in ("right", "wrong", "unclaimed")}
        self.assertEqual({name: (row["result"], row["model"], row["model_engine"]) for name, row in bits.items()},
                         {"right": ("25", "25", "sm_90"), "wrong": ("24", "25", "sm_90"), "unclaimed": ("25", "no model", "")})
        self.assertTrue(all(row["result"] == row["model"] for row in rows if row["instruction"] == "right"))
        self.assertEqual([row["feature"] for row in rows if row["instruction"] == "broken"], ["failure"])
        only = self.rows("--device", "cuda:0", "--instruction", "wrong", command="probe", plugins=PLUGINS)
        self.assertEqual(only, [row for row in rows if row["instruction"] == "wrong"])
        for words in (("--instruction", "nothing"), ("--in", "bf16")):
            done = self.run_program("--device", "cuda:0", *words, command="probe", plugins=PLUGINS)
            self.expect_error(done, 2, "cuda:0 has no operation of these formats and this name")

    def test_products_on_a_device_that_is_not_what_it_claims(self):
        words = ("normal:0,1:9x70", "laplace:0,1:70x11", "--seed", "0,1", "--in", "fp16", "--engine", "sm_90", "--device", "cuda:0")
        for instruction, differs in (("right", False), ("wrong", True), ("", False)):
            named = ("--instruction", instruction) if instruction else ()
            rows = self.rows(*words, *named, command="matmul", plugins=PLUGINS)
            beside = next(row for row in rows if row["against"] == "cuda:0")
            self.assertEqual(int(beside["differing_codes"]) > 0, differs, instruction)
        broken = self.run_program(*words, "--instruction", "broken", "-o", "d.npy", "--against", "none", command="matmul", plugins=PLUGINS)
        self.assertNotEqual(broken.returncode, 0)
        self.assertEqual((broken.stdout, broken.stderr.count("\n"), list(self.folder.iterdir())), ("", 1, []))

    @not_emulated(PROGRAM, "a copy finds the plugins of the original")
    def test_without_a_plugin_the_rest_is_there(self):
        program = self.folder / "bin" / "ulpscope"
        program.parent.mkdir()
        shutil.copy(PROGRAM, program)
        done = self.run_program("--csv", program=program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cuda: this build has no CUDA plugin", done.stderr)
        self.expect_error(self.run_program("check", "--device", "cuda:0", program=program), 4, "no device 'cuda:0'", "no CUDA plugin")
        self.expect_error(self.run_program("record", "-o", "x", program=program), 4, "no GPU to record", "no CUDA plugin")

        installed = self.folder / "lib" / "ulpscope"
        shutil.copytree(PLUGINS, installed)
        self.assertIn("cuda:0", self.run_program("--csv", program=program).stdout)

    def test_a_plugin_that_cannot_be_opened_is_a_remark(self):
        (self.folder / "libulpscope_cuda.so").write_text("not a library")
        done = self.run_program("--csv", plugins=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cuda: ulpscope_cuda cannot be opened: ", done.stderr)

    def test_emulated_devices_hold(self):
        for device in ("sm_70", "sm_89", "sm_100", "cdna2"):
            rows = self.rows("check", "--device", f"emulated:{device}", "--tests", 50)
            self.assertEqual({row["verdict"] for row in rows}, {"same"}, device)
            self.assertEqual({row["mismatches"] for row in rows}, {"0"})
            self.assertTrue({"adversarial", "chain"} <= {row["operands"] for row in rows})
        self.assertEqual(list(rows[0]), COMPARED.split(","))

    def test_the_check_can_fail(self):
        done = self.run_program("check", "--device", "emulated:sm_90", "--model", "sm_80", "--tests", 2000, "--csv")
        self.assertEqual(done.returncode, 1)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        different = [row for row in rows if row["verdict"] == "different"]
        self.assertTrue(different)
        self.assertEqual({row["engine"] for row in different}, {"sm_80"})
        self.assertTrue(all("sm_80" in row["remark"] for row in rows if row["a"] == "float8_e4m3fn" and row["products"]))
        self.assertIn("emulated:sm_90 wgmma.f32.f16.f16, adversarial test ", done.stderr)
        self.assertRegex(done.stderr, r"expected [0-9a-f]{8} \(.*\), got [0-9a-f]{8} \(.*\); c .*; a .*; b ")

    def test_real_devices_are_checked_without_being_named(self):
        done = self.run_program("check", "--tests", 200, "--csv", plugins=PLUGINS)
        self.assertEqual(done.returncode, 1, done.stderr)
        rows = {(row["device"], row["instruction"], row["operands"]): row for row in csv.DictReader(io.StringIO(done.stdout))}
        verdicts = {key[1]: row["verdict"] for key, row in rows.items() if key[0] == "cuda:0"}
        self.assertEqual(verdicts, {"right": "same", "wrong": "different", "broken": "failed", "unclaimed": "not checked"})
        self.assertIn("cudaErrorIllegalInstruction", rows["cuda:0", "broken", "adversarial"]["remark"])
        self.assertEqual({row["verdict"] for key, row in rows.items() if key[0].startswith("cpu:")} - {"same"}, set())

    def test_one_instruction_can_be_named(self):
        rows = self.rows("check", "--device", "cuda:0", "--instruction", "right", "--tests", 100, plugins=PLUGINS)
        self.assertEqual([(row["operands"], row["products"], row["tests"]) for row in rows],
                         [("adversarial", "16", "100"), ("chain", "48", "25")])

    def test_nothing_compared_is_no_success(self):
        for words in (["--device", "emulated:sm_90", "--instruction", "nothing"],
                      ["--device", "cuda:0", "--instruction", "unclaimed"],
                      ["--device", "emulated:sm_70", "--instruction", "mma", "--model", "amx_bf16"]):
            done = self.run_program("check", *words, "--csv", plugins=PLUGINS)
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertIn("nothing was compared", done.stderr)

    def test_a_device_that_is_not_there(self):
        for words in (["check"], ["record", "-o", "x"], []):
            self.expect_error(self.run_program(*words, "--device", "emulated:sm_91"), 4, "emulated:sm_90", "no device 'emulated:sm_91'")
        self.assertEqual(os.listdir(self.folder), [])

    def test_bad_usage(self):
        check = ("check", "--device", "emulated:sm_70")
        self.expect_error(self.run_program(*check, "--model", "sm_91"), 2, "sm_91", "sm_90")
        self.expect_error(self.run_program(*check, "--model", "block:n=0"), 2, "block")
        self.expect_error(self.run_program(*check, "--tests", "0"), 2, "--tests")
        self.expect_error(self.run_program("replay"), 2, "FILE")
        self.expect_error(self.run_program("record"), 2, "--output")
        self.expect_error(self.run_program("record", "--device", "emulated:sm_70", "-o", "none/x"), 2, "none/x", "cannot be written")
        self.expect_error(self.run_program("record", "--device", "emulated:sm_70", "--instruction", "zzz", "-o", "x"), 2, "nothing to record")

    def test_the_same_bytes_with_any_number_of_threads(self):
        words = ("check", "--device", "emulated:sm_80", "--model", "fma", "--tests", 3000, "--json")
        outputs = {(done.stdout, done.stderr) for done in (self.run_program(*words, "--threads", n) for n in (1, 2, 5))}
        self.assertEqual(len(outputs), 1)

    def test_record_and_replay(self):
        first = self.record("a.recording", "--device", "emulated:sm_90", "--tests", 12)
        again = self.record("b.recording", "--device", "emulated:sm_90", "--tests", 12)
        other = self.record("c.recording", "--device", "emulated:sm_90", "--tests", 12, "--seed", 1)
        self.assertEqual(first.read_bytes(), again.read_bytes())
        self.assertNotEqual(first.read_bytes(), other.read_bytes())
        self.assertEqual(len(os.listdir(self.folder)), 3)
        rows = self.rows("replay", first, other)
        self.assertEqual({row["verdict"] for row in rows}, {"same"})
        self.assertEqual({row["operands"] for row in rows}, {"random", "adversarial", "chain"})
        rows = self.rows("replay", first, "--engine", "sm_80", code=1)
        self.assertIn("different", {row["verdict"] for row in rows})

    def test_an_operation_that_fails_is_left_out_of_a_recording(self):
        done = self.run_program("record", "-o", "gpu.recording", "--tests", 10, plugins=PLUGINS)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cuda:0 broken: launch of broken", done.stderr)
        rows = self.rows("replay", "gpu.recording", code=1)
        self.assertEqual({row["instruction"] for row in rows}, {"right", "wrong", "unclaimed"})
        self.assertEqual({row["verdict"] for row in rows if row["instruction"] == "right"}, {"same"})

    def test_products_of_an_emulated_library_are_explained(self):
        rows = self.rows("products", "--device", "emulated:sm_90", "--in", "bf16", "--shape", "8x8x512")
        algorithms = {row["algorithm"]: row["explained"] for row in rows}
        self.assertEqual(algorithms["kind=chain"], "yes")
        self.assertEqual(algorithms["kind=noise"], "no")
        self.assertEqual({(row["a"], row["m"], row["n"], row["k"]) for row in rows}, {("bfloat16", "8", "8", "512")})

    def test_cost_of_an_emulated_library(self):
        rows = self.rows("cost", "--device", "emulated:sm_90", "--shape", "8x8x64,16x8x32")
        self.assertEqual(len({row["format"] for row in rows if row["m"] == "8"}), len({row["format"] for row in rows}))
        self.assertEqual({row["m"] for row in rows}, {"8", "16"})

    def test_bad_shapes_and_devices_without_a_library(self):
        for shape in ("8", "8x8", "8x8x", "8x8x8x8", "0x8x8", "8x-8x8", "8x8x99999", "axbxc"):
            self.expect_error(self.run_program("products", "--device", "emulated:sm_90", "--shape", shape), 2, shape, "MxNxK")
        self.expect_error(self.run_program("products", "--device", "emulated:cdna3"), 4, "no library of matrix products on emulated:cdna3")
        self.expect_error(self.run_program("products", "--device", "emulated:sm_70", "--in", "e4m3"), 2, "takes these formats")

    def test_recordings_of_real_devices_hold_on_every_machine(self):
        files = sorted(pathlib.Path(RECORDINGS).glob("*.recording"))
        rows = self.rows("replay", *files)
        self.assertEqual({row["verdict"] for row in rows}, {"same"})
        self.assertTrue({"cpu:amx_bf16", "cpu:avx512_bf16", "cpu:avx512_fp16", "cpu:avx512f", "cpu:f16c", "cpu:sse2"} <=
                        {row["device"] for row in rows})
        self.rows("replay", pathlib.Path(RECORDINGS) / "amx_bf16.recording", "--engine", "avx512_bf16", code=1)

    def test_what_processors_compute_is_known_on_every_machine(self):
        files = [file for file in sorted(pathlib.Path(RECORDINGS).glob("*.recording")) if b"\ndevice cpu:" in file.read_bytes()[:200]]
        self.assertGreater(len(files), 5)
        self.assertEqual(self.run_program("replay", *files, "--csv").stderr, "")
        data = (pathlib.Path(RECORDINGS) / "sse2.recording").read_bytes()
        for device in ("cpu:avx512f", "cpu:arm_bf16", "cpu:mmx"):
            own = data[:-8].replace(b"\ndevice cpu:sse2\n", f"\ndevice {device}\n".encode())
            (self.folder / "own").write_bytes(own + crc64_xz(own).to_bytes(8, "little"))
            self.assertIn(f"there is none of {device} here to hold it against", self.run_program("replay", "own", "--csv").stderr)

    def test_the_format_is_the_one_that_is_documented(self):
        self.assertEqual(crc64_xz(b"123456789"), 0x995dc9bbdf1939fa)
        files = [pathlib.Path(RECORDINGS) / "avx512_bf16.recording",
                 self.record("s", "--device", "emulated:sm_120", "--instruction", "mxf4nvf4", "--tests", 3),
                 self.record("e", "--device", "emulated:sm_100", "--instruction", "f16", "--tests", 2)]
        for file in files:
            data = file.read_bytes()
            self.assertEqual(int.from_bytes(data[-8:], "little"), crc64_xz(data[:-8]))
            self.assertTrue(read_recording(data))
        conversion = next(arrays for keys, arrays in read_recording(files[0].read_bytes())
                          if keys["set"] == "elements" and keys["operands"] == "random")
        a = [int.from_bytes(conversion[0][i:i + 4], "little") for i in range(0, len(conversion[0]), 4)]
        d = [int.from_bytes(conversion[1][i:i + 2], "little") for i in range(0, len(conversion[1]), 2)]
        self.assertEqual(d, [x + 0x7fff + (x >> 16 & 1) >> 16 for x in a])  # to nearest even, of normal numbers

    def test_a_recording_of_an_engine_of_its_own_says_so(self):
        data = self.record("r", "--device", "emulated:sm_90", "--instruction", "wgmma.f32.f16", "--tests", 2).read_bytes()
        self.assertEqual(self.run_program("replay", "r", "--csv").stderr, "")
        own = data[:-8].replace(b"\nengine sm_90\n", b"\nengine block:n=16,f=25,out=rz\n")
        self.assertNotEqual(own, data[:-8])
        (self.folder / "own").write_bytes(own + crc64_xz(own).to_bytes(8, "little"))
        said = "own: is compared with an engine of its own description (block:n=16,f=25,out=rz); --engine E compares with another\n"
        self.assertIn(said, self.run_program("replay", "own", "--csv").stderr)
        self.assertNotIn("of its own", self.run_program("replay", "own", "--engine", "sm_90", "--csv").stderr)

    def test_a_recording_of_what_is_no_engine_says_so(self):
        data = self.record("r", "--device", "emulated:sm_90", "--instruction", "wgmma.f32.f16", "--tests", 2).read_bytes()
        none = data[:-8].replace(b"\nengine sm_90\n", b"\nengine evil\n")
        (self.folder / "none").write_bytes(none + crc64_xz(none).to_bytes(8, "little"))
        done = self.run_program("replay", "none", "--csv")
        self.assertIn("none: names what is no engine (evil), and is not compared there; --engine E compares with one\n", done.stderr)
        self.assertNotIn("of its own", done.stderr)
        self.assertEqual({row["tests"] for row in csv.DictReader(io.StringIO(done.stdout))}, {"0"})

    def test_a_recording_of_a_model_of_its_own_says_so(self):
        for device in ("sm_70", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"):
            data = self.record("r", "--device", f"emulated:{device}", "--instruction", ".f16", "--tests", 2).read_bytes()
            self.assertIn(b"\nset elements\n", data)
            self.assertEqual(self.run_program("replay", "r", "--csv").stderr, "", device)
        data = self.record("r", "--device", "emulated:sm_90", "--instruction", "cvt.rz.f16.f32", "--tests", 2).read_bytes()
        model = read_recording(data)[0][0]["model"]
        self.assertIn("float32 float16 toward_zero", model)
        said = "own: is compared with a model of its own description "
        for old, new, more in ((b"\ninstruction cvt.rz.f16.f32\n", b"\ninstruction cvt.rn.f16.f32\n",
                                f"(cvt.rn.f16.f32: {model}), which is not this program's\n"),
                               (b"\ninstruction cvt.rz.f16.f32\n", b"\ninstruction cvt.f16.f32\n",
                                "(cvt.f16.f32); there is none of emulated:sm_90 here to hold it against\n"),
                               (b"\ndevice emulated:sm_90\n", b"\ndevice cuda:0\n",
                                "(cvt.rz.f16.f32); there is none of cuda:0 here to hold it against\n")):
            own = data[:-8].replace(old, new)
            self.assertNotEqual(own, data[:-8])
            (self.folder / "own").write_bytes(own + crc64_xz(own).to_bytes(8, "little"))
            for engine in ((), ("--engine", "sm_90")):
                self.assertEqual(self.run_program("replay", "own", "--csv", *engine).stderr.count(said + more), 1, more)

    def test_damaged_recordings_are_refused_in_one_line(self):
        good = (pathlib.Path(RECORDINGS) / "avx512_bf16.recording").read_bytes()
        codes = good.index(b"\ncodes\n") + 7
        bad = self.folder / "bad.recording"
        for place in (0, 25, codes - 3, codes, len(good) // 2, len(good) - 1):
            bad.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1:])
            self.expect_error(self.run_program("replay", bad), 2, "bad.recording: ")
        for content in (b"", good[:-1], good + b"\0", good[:codes], b"\0" * 100):
            bad.write_bytes(content)
            self.expect_error(self.run_program("replay", bad), 2, "bad.recording: ")
        bad.write_bytes(good.replace(b"count 100\n", b"count 4000000000\n", 1))
        self.expect_error(self.run_program("replay", bad), 2, "the file ends before the codes of ")
        self.expect_error(self.run_program("replay", self.folder / "none"), 2, "cannot be read")
        self.expect_error(self.run_program("replay", self.folder), 2, "is a directory, not a file")


unittest.main()
