#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files as they come: changed while they are read, too large to write, pipes, dtypes that are not known, integers among weights,
other orders and encodings. usage: files_test.py PROGRAM"""
import csv
import io
import json
import os
import pathlib
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop(1))


def run(*words, cwd=None, stdin=subprocess.DEVNULL, limit=None, env=None):
    """Exit code, standard output and standard error; `limit`: bytes that a file may grow to."""
    def before():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    done = subprocess.run([PROGRAM, *words], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, timeout=LIMIT,
                          preexec_fn=before, env={**os.environ, **(env or {})})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def npy(descr, shape, data, fortran=False):
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def safetensors(tensors, metadata=None):
    """`tensors`: name -> (dtype, shape, bytes)."""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape, some) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(some)]}
        data += some
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def parse(path):
    """Header and, by name, bytes of a .safetensors file."""
    raw = pathlib.Path(path).read_bytes()
    size, = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + size])
    data = raw[8 + size:]
    return header, {name: data[slice(*entry["data_offsets"])] for name, entry in header.items() if name != "__metadata__"}


WEIGHTS = struct.pack("<4f", 1, -0.4, 1000, 3e-5)
IDS = struct.pack("<3q", 2**62 + 1, -1, 7)
MODEL = {"w": ("F32", [2, 2], WEIGHTS), "ids": ("I64", [3], IDS), "mask": ("BOOL", [5], b"\1\0\1\1\0")}


class Folder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)

    def write(self, name, data):
        (self.path / name).write_bytes(data)

    def listing(self):
        return sorted(str(p.relative_to(self.path)) for p in self.path.rglob("*"))

    def run_here(self, *words, **more):
        return run(*words, cwd=self.path, **more)

    def refused(self, *words, **more):
        """The one line with which bad input is refused."""
        code, out, err = self.run_here(*words, **more)
        self.assertEqual((code, out, err.count("\n"), err[:10]), (2, "", 1, "ulpscope: "), (words, err))
        return err[10:-1]

    def rows(self, *words):
        code, out, err = self.run_here(*words, "--csv")
        self.assertEqual(code, 0, err)
        return list(csv.DictReader(io.StringIO(out))), err


class ChangingFiles(Folder):
    def interrupted(self, *words, change):
        """Runs the program until it has mapped big.npy, changes that, and lets it end."""
        scratch = self.path / "scratch"
        scratch.mkdir()
        header = npy("<f4", (1 << 29,), b"")
        with open(self.path / "big.npy", "wb") as file:
            file.write(header)
            file.truncate(len(header) + (4 << 29))  # a hole of 2 GiB
        before = self.listing()
        process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.path,
                                   env={**os.environ, "TMPDIR": str(scratch)})
        deadline = time.monotonic() + 60
        while "big.npy" not in pathlib.Path(f"/proc/{process.pid}/maps").read_text() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        change(self.path / "big.npy")
        out, err = process.communicate(timeout=LIMIT)
        self.assertEqual(self.listing(), before)
        return process.returncode, out.decode(), err.decode()

    def assert_refused(self, *words):
        code, out, err = self.interrupted(*words, change=lambda path: os.truncate(path, 1000))
        self.assertEqual((code, out, err), (2, "", "ulpscope: big.npy: became shorter while it was read\n"), words)

    def test_of_a_file_that_becomes_shorter_while_it_is_counted(self):
        self.assert_refused("census", "big.npy", "--to", "e4m3", "--rounding", "stochastic")

    def test_of_a_file_that_becomes_shorter_during_a_report(self):
        self.assert_refused("sweep", "big.npy", "--to", "e4m3", "-o", "report")

    def test_of_a_file_that_becomes_shorter_while_it_is_cast(self):
        self.assert_refused("cast", "big.npy", "--to", "e4m3", "--rounding", "stochastic", "-o", "out.safetensors")

    def test_of_a_file_that_becomes_shorter_during_info(self):
        self.assert_refused("info", "big.npy")

    def test_of_a_file_that_is_written_to_meanwhile(self):
        code, out, err = self.interrupted("info", "big.npy", change=os.utime)
        self.assertEqual((code, out, err), (2, "", "ulpscope: big.npy: was written to while it was read\n"))

    def test_a_signal_from_elsewhere_still_ends_the_program(self):
        self.write("x.npy", npy("<f4", (1,), bytes(4)))
        unsanitized = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":handle_sigbus=0"}  # a sanitizer's own end is another
        process = subprocess.Popen([PROGRAM, "census", "x.npy", "normal:0,1:1000000000", "--rounding", "stochastic"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.path, env={**os.environ, **unsanitized},
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        time.sleep(0.5)
        process.send_signal(signal.SIGBUS)
        self.assertEqual(process.wait(timeout=60), -signal.SIGBUS)


class FilesTooLarge(Folder):
    def test_nothing_is_left_of_a_file_that_may_not_grow(self):
        for words in (["cast", "normal:0,1:100000", "--to", "e4m3", "-o", "x.npy"],
                      ["cast", "normal:0,1:100000", "--to", "e4m3", "--codes", "-o", "x.npy"],
                      ["cast", "normal:0,1:100000", "--to", "e4m3", "-o", "x.safetensors"],
                      ["matmul", "normal:0,1:64x8", "normal:0,1:8x64", "--seed", "0,1", "--engine", "fma", "-o", "x.npy"],
                      ["census", "normal:0,1:100", "-o", "report"],
                      ["sweep", "normal:0,1:100", "-o", "report"],
                      ["accumulation", "--k", "64", "--shape", "4x4", "-o", "report"],
                      ["generate", "matmul", "alignment", "--in", "bf16", "--m", "64", "--n", "64", "--k", "64", "-o", "case"],
                      ["conform", "--from", "fp16", "--to", "fp16", "--write-inputs", "x.bin"]):
            before = self.listing()
            self.assertIn("File too large", self.refused(*words, limit=2048), words)
            self.assertEqual(self.listing(), before, words)

    def test_a_report_that_does_not_fit_leaves_the_former_one(self):
        self.assertEqual(self.run_here("census", "normal:0,1:100", "-o", "report")[0], 0)
        before = {p.name: p.read_bytes() for p in (self.path / "report").iterdir()}
        self.refused("census", "normal:0,1:200", "-o", "report", limit=2048)
        self.assertEqual({p.name: p.read_bytes() for p in (self.path / "report").iterdir()}, before)

    def test_a_table_that_does_not_fit_is_an_error(self):
        with open(self.path / "table.csv", "wb") as table:
            done = subprocess.run([PROGRAM, "formats", "bf16", "--codes"], stdout=table, stderr=subprocess.PIPE,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)), timeout=LIMIT)
        self.assertEqual((done.returncode, done.stderr), (2, b"ulpscope: standard output cannot be written: File too large\n"))


class NoFiles(Folder):
    def test_what_is_no_file_is_answered_at_once(self):
        os.mkfifo(self.path / "pipe.npy")
        os.mkfifo(self.path / "pipe.safetensors")
        os.mkfifo(self.path / "pipe")
        (self.path / "folder.npy").mkdir()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.path / "socket.npy"))
            for name, what in (("pipe.npy", "pipe"), ("pipe", "pipe"), ("socket.npy", "socket"), ("folder.npy", "directory"),
                               ("/dev/full", "device")):
                for command in (["info", name], ["census", name], ["diff", name, "normal:0,1:3"],
                                ["cast", name, "--to", "e4m3", "-o", "out.npy"],
                                ["matmul", name, name, "--engine", "fma"]):
                    self.assertRegex(self.refused(*command), f"^{name}: is a {what}\\b", command)
        for name in "pipe.safetensors:w", ".":  # of a folder, its .safetensors
            self.assertIn("pipe.safetensors: is a pipe", self.refused("info", name))

    def test_standard_input_is_no_tensor_file(self):
        for name in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
            self.assertEqual(self.refused("info", name, stdin=subprocess.PIPE), f"{name}: is a pipe; write it to a file first")

    def test_texts_from_a_pipe(self):
        os.mkfifo(self.path / "pipe.csv")
        os.mkfifo(self.path / "pipe.toml")
        for command in (["scale", "pipe.csv"], ["run", "pipe.toml", "-o", "out"], ["recipes", "pipe.toml"], ["train", "pipe.toml"]):
            self.assertIn(f"{command[1]}: is a pipe, not a file", self.refused(*command))

    def test_a_dump_from_a_pipe(self):
        os.mkfifo(self.path / "dump")
        self.assertIn("is a pipe", self.refused("conform", "--from", "fp16", "--to", "fp16", "--dump", "dump"))


class Integers(Folder):
    def setUp(self):
        super().setUp()
        self.write("model.safetensors", safetensors(MODEL, {"format": "pt", "note": "é\n\0"}))
        self.write("ids.safetensors", safetensors({"a": ("I32", [2], bytes(8)), "b": ("U8", [2], b"ab")}))
        self.write("one.safetensors", safetensors({"a": ("I32", [2], struct.pack("<2i", 3, 1000))}))
        self.write("ids.npy", npy("<i8", (3,), IDS))

    def test_cast_copies_them_and_the_metadata(self):
        code, out, err = self.run_here("cast", "model.safetensors", "--to", "e4m3", "-o", "out.safetensors")
        self.assertEqual((code, out), (0, ""))
        self.assertEqual(err, "copied as they are: 2 integer tensors (model.safetensors:ids, model.safetensors:mask)\n")
        header, data = parse(self.path / "out.safetensors")
        self.assertEqual(header["__metadata__"], {"format": "pt", "note": "é\n\0"})
        self.assertEqual({name: entry["dtype"] for name, entry in header.items() if name != "__metadata__"},
                         {"w": "F8_E4M3", "ids": "I64", "mask": "BOOL"})
        self.assertEqual((data["ids"], data["mask"]), (IDS, MODEL["mask"][2]))
        self.assertEqual(data["w"], bytes([0x38, 0xad, 0x7f, 0]))
        self.assertEqual(header["ids"]["data_offsets"][0] % 8, 0)  # libraries map the file and want its elements aligned

    def test_cast_of_one_alone_casts_it(self):
        for name in ("model.safetensors:ids", "one.safetensors", "ids.npy"):
            code, _, err = self.run_here("cast", name, "--to", "e4m3", "-o", "out.safetensors")
            self.assertEqual((code, err), (0, ""))
            header, _ = parse(self.path / "out.safetensors")
            self.assertEqual([header[key]["dtype"] for key in header if key != "__metadata__"], ["F8_E4M3"])
            self.assertEqual("__metadata__" in header, name.startswith("model"))

    def test_cast_of_nothing_but_integers_is_refused(self):
        self.assertEqual(self.refused("cast", "ids.safetensors", "--to", "e4m3", "-o", "out.safetensors"),
                         "ids.safetensors: nothing but 2 integer tensors (ids.safetensors:a, ids.safetensors:b); "
                         "FILE:NAME casts one")
        self.assertFalse((self.path / "out.safetensors").exists())

    def test_census_and_sweep_leave_them_out_and_say_so_once(self):
        for command in ("census", "sweep"):
            table, err = self.rows(command, "model.safetensors", "ids.safetensors", "--to", "e4m3,e5m2")
            self.assertEqual({row["tensor"] for row in table}, {"model.safetensors:w"})
            self.assertEqual(err, "left out: 4 integer tensors (model.safetensors:ids, model.safetensors:mask, "
                                  "ids.safetensors:a, ...); --integers includes them\n")
            table, err = self.rows(command, "model.safetensors", "--to", "e4m3", "--integers")
            self.assertEqual({row["tensor"] for row in table}, {"model.safetensors:" + name for name in MODEL})
            self.assertEqual(err, "")

    def test_one_named_alone_is_never_left_out(self):
        for name in ("model.safetensors:ids", "one.safetensors", "ids.npy"):
            table, err = self.rows("census", name, "--to", "e4m3")
            self.assertEqual((len(table), err), (1, ""))

    def test_nothing_left_is_bad_input(self):
        self.assertEqual(self.refused("census", "ids.safetensors"),
                         "ids.safetensors: nothing but 2 integer tensors (ids.safetensors:a, ids.safetensors:b); "
                         "--integers includes them, and FILE:NAME names one")

    def test_a_report_leaves_them_out_as_well(self):
        code, _, err = self.run_here("census", "model.safetensors", "-o", "report")
        self.assertEqual((code, err.count("left out:")), (0, 1))
        self.assertNotIn("ids", (self.path / "report" / "census.csv").read_text())

    def test_symmetric_integers_are_written_in_twos_complement(self):
        self.write("x.npy", npy("<f4", (6,), struct.pack("<6f", -1.5, -0.25, 0, 2.5, 200, -200)))
        for name, dtype, letter, numbers in (("int8", "I8", "b", (-2, 0, 0, 2, 127, -127)), ("int4", "I8", "b", (-2, 0, 0, 2, 7, -7)),
                                             ("int12", "I16", "h", (-2, 0, 0, 2, 200, -200)),
                                             ("int20", "I32", "i", (-2, 0, 0, 2, 200, -200))):
            self.assertEqual(self.run_here("cast", "x.npy", "--to", name, "-o", "out.safetensors")[0], 0)
            header, data = parse(self.path / "out.safetensors")
            self.assertEqual((header["x"]["dtype"], data["x"]), (dtype, struct.pack(f"<6{letter}", *numbers)))
            self.assertEqual(self.run_here("cast", "x.npy", "--to", name, "--codes", "-o", "out.npy")[0], 0)
            self.assertTrue((self.path / "out.npy").read_bytes().endswith(struct.pack(f"<6{letter}", *numbers)))
            self.assertIn(f"i{len(data['x']) // 6}'", (self.path / "out.npy").read_bytes()[:64].decode("latin1"))
            table, _ = self.rows("census", "out.npy", "--to", "fp32")
            self.assertEqual(table[0]["exact"], str(sum(x != 0 for x in numbers)))
        table, _ = self.rows("census", "x.npy", "--to", "int8,int4")
        self.assertEqual([(row["format"], row["zero"], row["to_zero"], row["rounded"], row["exact"], row["subnormal"], row["overflow"])
                          for row in table], [("int8", "1", "1", "2", "0", "0", "2"), ("int4", "1", "1", "2", "0", "0", "2")])
        self.assertIn("unknown format 'int88'; integers are int3 to int25", self.refused("census", "x.npy", "--to", "int88"))
        self.assertIn("unknown format 'int8': it is one of integers, and here a floating-point format is meant, such as float32, which has its numbers",
                      self.refused("matmul", "x.npy", "x.npy", "--engine", "fma", "--in", "int8"))

    def test_info_shows_them(self):
        table, err = self.rows("info", "model.safetensors")
        self.assertEqual(({row["dtype"] for row in table}, err), ({"float32", "int64", "bool"}, ""))


class UnknownDtypes(Folder):
    def setUp(self):
        super().setUp()
        rope = struct.pack("<4f", 1, 2, 3, 4)
        self.write("model.safetensors", safetensors({"w": ("F32", [2, 2], WEIGHTS), "rope": ("C64", [2], rope)}))
        self.write("rope.safetensors", safetensors({"rope": ("C64", [2], rope)}))
        with zipfile.ZipFile(self.path / "m.npz", "w") as archive:
            archive.writestr("w.npy", npy("<f4", (2, 2), WEIGHTS))
            archive.writestr("rope.npy", npy("<c8", (2,), rope))
        self.rope = rope

    def test_info_lists_them(self):
        for name, dtype in (("model.safetensors", "C64"), ("m.npz", "<c8")):
            table, err = self.rows("info", name)
            self.assertEqual(err, "")
            row, = [row for row in table if row["tensor"] == name + ":rope"]
            self.assertEqual((row["dtype"], row["shape"], row["count"], row["max"], row["nan"]), (dtype, "2", "2", "nan", "nan"))
            row, = [row for row in table if row["tensor"] == name + ":w"]
            self.assertEqual(row["max"], "1000")

    def test_others_leave_them_out_and_say_so(self):
        for name, dtype in (("model.safetensors", "C64"), ("m.npz", "<c8")):
            table, err = self.rows("census", name, "--to", "e4m3")
            self.assertEqual([row["tensor"] for row in table], [name + ":w"])
            self.assertTrue(err.startswith(f"left out: 1 tensor ({name}:rope): dtype {dtype} is not known; "), err)
            self.assertEqual(err.count("\n"), 1)

    def test_alone_they_are_errors(self):
        for name, dtype in (("model.safetensors:rope", "C64"), ("m.npz:rope", "<c8")):
            for command in (["info", name], ["census", name], ["diff", name, name], ["cast", name, "--to", "e4m3", "-o", "x.npy"]):
                self.assertTrue(self.refused(*command).startswith(f"{name}: dtype {dtype} is not known"), command)
        for command in (["census"], ["cast", "--to", "e4m3", "-o", "x.npy"], ["cast", "--to", "e4m3", "-o", "x.safetensors"]):
            self.assertTrue(self.refused(*command, "rope.safetensors").startswith("rope.safetensors:rope: dtype C64 is not known"))
        self.assertEqual(len(self.rows("info", "rope.safetensors")[0]), 1)

    def test_codes_of_an_npz_concern_the_arrays_that_hold_them(self):
        with zipfile.ZipFile(self.path / "z.npz", "w") as archive:  # as NumPy stores bfloat16 and e4m3fn of ml_dtypes
            archive.writestr("w.npy", npy("<V2", (2,), struct.pack("<2H", 0x3f80, 0xc000)))  # 1 and -2
            archive.writestr("s.npy", npy("|V1", (1,), b"\x38"))  # 1
            archive.writestr("f.npy", npy("<f4", (2, 2), WEIGHTS))
            archive.writestr("n.npy", npy("|u1", (1,), b"\x07"))
        fields = lambda *options: {row["tensor"]: (row["dtype"], row["min"], row["max"]) for row in self.rows("info", *options)[0]}
        f, n = ("float32", str(struct.unpack("<4f", WEIGHTS)[1]), "1000"), ("uint8", "7", "7")
        self.assertEqual(fields("z.npz"), {"z.npz:w": ("<V2", "nan", "nan"), "z.npz:s": ("|V1", "nan", "nan"), "z.npz:f": f, "z.npz:n": n})
        self.assertEqual(fields("z.npz", "--dtype", "bf16"),
                         {"z.npz:w": ("bfloat16", "-2", "1"), "z.npz:s": ("|V1", "nan", "nan"), "z.npz:f": f, "z.npz:n": n})
        self.assertEqual(fields("z.npz:[sf]", "--dtype", "e4m3"), {"z.npz:s": ("float8_e4m3fn", "1", "1"), "z.npz:f": f})
        table, err = self.rows("census", "z.npz", "--to", "e4m3")
        self.assertEqual([row["tensor"] for row in table], ["z.npz:f"])
        self.assertIn("left out: 1 tensor (z.npz:w): dtype <V2 does not say which 16-bit format; add --dtype bf16", err)
        self.assertIn("; 1 tensor (z.npz:s): dtype |V1 does not say which 8-bit format; add --dtype e4m3", err)
        self.assertIn("dtype <V2 does not say which 16-bit format; add --dtype bf16", self.refused("info", "z.npz:w"))
        self.assertIn("z.npz:f: dtype <f4 already says float32; leave --dtype out", self.refused("info", "z.npz:[fn]", "--dtype", "bf16"))

    def test_cast_copies_what_it_can(self):
        code, _, err = self.run_here("cast", "model.safetensors", "--to", "e4m3", "-o", "out.safetensors")
        self.assertEqual(code, 0)
        self.assertTrue(err.startswith("copied as they are: 1 tensor (model.safetensors:rope): dtype C64 is not known"), err)
        header, data = parse(self.path / "out.safetensors")
        self.assertEqual((header["rope"]["dtype"], header["rope"]["shape"], data["rope"]), ("C64", [2], self.rope))
        code, _, err = self.run_here("cast", "m.npz", "--to", "e4m3", "-o", "out.safetensors")
        self.assertEqual((code, err[:31]), (0, "left out: 1 tensor (m.npz:rope)"))
        self.assertEqual(set(parse(self.path / "out.safetensors")[1]), {"w"})


class Csv(Folder):
    def test_a_byte_order_mark_is_no_part_of_the_first_field(self):
        for text in (b"x,y\n1,2\n", b"1,2\n3,4\n", b'"x","y"\r\n1,2\r\n'):
            self.write("plain.csv", text)
            self.write("marked.csv", b"\xef\xbb\xbf" + text)
            plain, marked = self.rows("info", "plain.csv")[0][0], self.rows("info", "marked.csv")[0][0]
            self.assertEqual({**plain, "tensor": ""}, {**marked, "tensor": ""})
        self.write("sixteen.csv", "1,2\n".encode("utf-16"))
        self.assertEqual(self.refused("info", "sixteen.csv"), "sixteen.csv: is UTF-16; save it as UTF-8")
        self.write("marked.csv", b"\xef\xbb\xbf")
        self.assertEqual(self.refused("info", "marked.csv"), "marked.csv: holds no numbers")

    def test_control_characters_are_shown_in_messages(self):
        self.write("nul.csv", b"1,2\n3,a\0b\x1b[2J\n")
        self.assertEqual(self.refused("info", "nul.csv"), r"nul.csv: row 2, column 2: 'a\x00b\x1b[2J' is not a number")
        self.write("line.csv", b'1,2\n3,"a\nb"\n')
        self.assertEqual(self.refused("info", "line.csv"), r"line.csv: row 2, column 2: 'a\x0ab' is not a number")
        self.write("names.safetensors", safetensors({"a\0\nb": ("F32", [2], bytes(4))}))
        self.assertTrue(self.refused("info", "names.safetensors").startswith(r"names.safetensors: tensor 'a\x00\x0ab': shape"))


class FortranOrder(Folder):
    def test_it_is_read_as_the_same_array(self):
        values = [1.5, -2, 3, 1000, 5, 6e-5]
        for descr, kind in (("<f4", "<6f"), (">f4", ">6f"), ("<f2", "<6e"), ("<f8", "<6d")):
            self.write("c.npy", npy(descr, (2, 3), struct.pack(kind, *values)))
            self.write("f.npy", npy(descr, (2, 3), struct.pack(kind, *(values[i] for i in (0, 3, 1, 4, 2, 5))), True))
            self.assertEqual(self.run_here("diff", "c.npy", "f.npy")[0], 0, descr)
            for scale in ("none", "row"):
                c, f = (self.rows("census", name, "--to", "e4m3", "--scale", scale)[0][0] for name in ("c.npy", "f.npy"))
                self.assertEqual({**c, "tensor": ""}, {**f, "tensor": ""})
        self.assertEqual(self.run_here("cast", "f.npy", "--to", "fp32", "-o", "back.npy")[0], 0)
        self.assertEqual((self.path / "back.npy").read_bytes()[-24:], struct.pack("<6f", *values))


class Nvfp4(Folder):
    def test_elements_under_a_scale_of_zero_are_not_overflow(self):
        values = [0.0] * 32
        values[0], values[16], values[17] = 1, 1e-6, -3e-7
        self.write("x.npy", npy("<f4", (32,), struct.pack("<32f", *values)))
        row, = self.rows("census", "x.npy", "--to", "e2m1", "--scale", "nvfp4")[0]
        self.assertEqual((row["zero"], row["to_zero"], row["overflow"]), ("29", "2", "0"))


if __name__ == "__main__":
    unittest.main()
