#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables as they are read: many tensors, --where, --sort, --rows; the page and the findings of a report. usage: tables_test.py PROGRAM"""
import collections
import csv
import fcntl
import html
import io
import json
import math
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

from terminals import skip_without_terminals
from time_limit import LIMIT

PROGRAM = os.path.abspath(sys.argv.pop(1))
LAYERS = 9  # of two tensors each: with four formats more lines than a terminal gets


def run(*words, cwd=None, env=None):
    done = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
                          env={**os.environ, **(env or {})}, timeout=LIMIT)
    return done.returncode, done.stdout, done.stderr


def on_terminal(*words, cwd=None, columns=120):
    """What a terminal of so many columns gets."""
    skip_without_terminals()
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    child = subprocess.Popen([PROGRAM, *words], stdout=slave, stderr=subprocess.DEVNULL, cwd=cwd)
    os.close(slave)
    out = b""
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(master)
    child.wait(timeout=LIMIT)
    return out.decode().replace("\r\n", "\n")


def safetensors(tensors):
    """The bytes of a file of float32 tensors: name to values."""
    header, data = {}, b""
    for name, values in tensors.items():
        part = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": [len(values)], "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def model(scale=1.0):
    """Weights of which the share that float8_e4m3fn loses differs from layer to layer, in no order, and one empty tensor."""
    tensors = {"head.empty": []}
    for layer in range(LAYERS):
        small = (7 * layer + 3) % LAYERS
        tensors[f"encoder.layer.{layer}.attention.output.LayerNorm.weight"] = [scale * 1e-4] * small + [scale] * (20 - small)
        tensors[f"encoder.layer.{layer}.attention.output.LayerNorm.bias"] = [scale * (1 + k / 64) for k in range(20)]
    tensors["large"] = [1e30, 1.0]
    return tensors


class WithModel(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        (self.path / "m.safetensors").write_bytes(safetensors(model()))

    def text(self, *words, env=None):
        code, out, err = run(*words, "--text", cwd=self.path, env=env)
        self.assertEqual((code, err), (0, ""))
        return out

    def rows(self, *words):
        code, out, err = run(*words, "--csv", cwd=self.path)
        self.assertEqual((code, err), (0, ""))
        return list(csv.DictReader(io.StringIO(out)))


def lines_of(text):
    """The rows under the header of the last table, as lists of words, and the header."""
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith("tensor "))
    body = [line.split() for line in lines[first + 1:] if line and not line.startswith("...")]
    return lines[first].split(), body


class ManyTensors(WithModel):
    def test_each_tensor_and_format_is_one_line_and_the_file_is_named_once(self):
        for command, columns in (("census", 80), ("census", 200), ("sweep", 80), ("sweep", 200)):
            text = self.text(command, "m.safetensors", "--rows", "all", env={"COLUMNS": str(columns)})
            header, body = lines_of(text)
            with self.subTest(command=command, columns=columns):
                self.assertEqual(len(body), 4 * (2 * LAYERS + 2))
                self.assertEqual(text.count("m.safetensors"), 1)
                self.assertLessEqual(max(map(len, text.split("\n"))), columns)
                self.assertEqual(header[:3], ["tensor", "format", "verdict"])

    def test_columns_go_before_names_do(self):
        wide, narrow = (self.text("census", "m.safetensors", env={"COLUMNS": c}) for c in ("200", "80"))
        self.assertIn("encoder.layer.1.attention.output.LayerNorm.weight ", wide)
        self.assertIn("max_rel_error", wide)
        self.assertNotIn("max_rel_error", narrow)
        self.assertRegex(narrow, r"\ne\.l\.1\.a\S*\.LayerNorm\.weight +float8_e4m3fn +bad ")
        self.assertRegex(narrow, r"\n\.\.\. \d+ more columns and whole names by --csv or on a wider terminal\n$")

    def test_the_worst_come_first_and_nothing_last(self):
        header, body = lines_of(self.text("census", "m.safetensors", "--rows", "all", env={"COLUMNS": "200"}))
        at = header.index("overflow%")
        shown = [tuple(float(x) for x in line[at:at + 3]) for line in body]
        self.assertTrue(all(math.isnan(x) for x in shown[-4][:2]), shown[-4:])  # of no elements nothing is known
        known = shown[:-4]
        self.assertEqual(known, sorted(known, reverse=True))
        verdicts = [line[2] for line in body]
        self.assertEqual(verdicts, sorted(verdicts, key=["bad", "warning", "good"].index))
        self.assertGreater(len(set(known)), LAYERS // 2)

    def test_the_shares_are_those_of_the_csv(self):
        header, body = lines_of(self.text("census", "m.safetensors", "--rows", "all", env={"COLUMNS": "200"}))
        percents = {(line[0], line[1]): line[header.index("to_zero%")] for line in body}
        for r in self.rows("census", "m.safetensors"):
            if int(r["count"]) == 0:
                continue
            want = 100 * int(r["to_zero"]) / (int(r["count"]) - sum(int(r[other]) for other in ("zero", "nan", "infinite")))
            got = float(percents[r["tensor"].removeprefix("m.safetensors:"), r["format"]])
            self.assertLess(abs(got - want), 0.06, r["tensor"])

    def test_a_gradient_of_few_rows_is_told_like_a_full_one(self):
        few = [1e-9, -2e-9, 3e-9, 1.0]  # three of the four are below half of float16's least number, 2^-24
        layers = {f"layer.{i}": [0.0] * 1000 for i in range(5)}
        (self.path / "e.safetensors").write_bytes(safetensors({"embed": [0.0] * 1000 + few, **layers}))
        text = self.text("census", "e.safetensors", "--to", "fp16")
        self.assertIn("\nto_zero% is the share of the numbers other than 0\n", text)
        self.assertRegex(text, r"\nembed +(float16 +)?bad +75 ")
        self.assertEqual([r["tensor"] for r in self.rows("census", "e.safetensors", "--to", "fp16", "--where", "to_zero% > 70")],
                         ["e.safetensors:embed"])

    def test_forty_lines_are_printed_and_a_line_says_how_to_get_all(self):
        text = self.text("census", "m.safetensors")
        self.assertEqual(len(lines_of(text)[1]), 40)
        self.assertIn(f"\n... {4 * (2 * LAYERS + 2) - 40} more rows; --rows all prints them\n", text)
        self.assertEqual(len(lines_of(self.text("census", "m.safetensors", "--rows", "7"))[1]), 7)
        self.assertNotIn("more row", self.text("census", "m.safetensors", "--rows", "all"))
        self.assertIn("... 1 more row; --rows all prints it", self.text("census", "m.safetensors", "--rows", "79"))

    def test_verdicts_are_counted_at_the_top(self):
        first, second = self.text("census", "m.safetensors", "--to", "e4m3").split("\n")[:2]
        spoiled = sum((7 * layer + 3) % LAYERS != 0 for layer in range(LAYERS))
        self.assertEqual(first, f"20 tensors: {spoiled + 1} bad, {19 - spoiled} good")
        self.assertEqual(second, "worst first, by overflow%, to_zero%, subnormal%, sqnr_db")

    def test_a_sweep_has_a_line_at_the_scale_to_use(self):
        header, body = lines_of(self.text("sweep", "m.safetensors", "--rows", "all", env={"COLUMNS": "200"}))
        self.assertEqual(header[:7], "tensor format verdict log2_scale overflow% to_zero% subnormal%".split())
        rows = {(r["tensor"], r["format"], r["log2_scale"]): r for r in self.rows("sweep", "m.safetensors")}
        for line in body:
            row = rows["m.safetensors:" + line[0], line[1], line[3]]
            if int(row["count"]) != 0:
                self.assertLess(abs(100 * int(row["overflow"]) / int(row["count"]) - float(line[4])), 0.06)
                self.assertEqual(line[7] == "none", int(row["overflow"]) != 0)

    def test_a_few_tensors_keep_the_whole_table_and_the_sentences(self):
        few = self.text("sweep", "m.safetensors:encoder.layer.[12].*")
        self.assertEqual(few.count(" use 2^"), 4 * 4)
        self.assertIn("log2_scale", few)
        self.assertEqual(len(re.findall(r"^m\.safetensors:encoder", self.text("census", "m.safetensors:*.[12].*"), re.M)) % 16, 0)

    def test_of_several_files_each_is_named_once(self):
        (self.path / "n.safetensors").write_bytes(safetensors(model(2.0)))
        text = self.text("census", "m.safetensors", "n.safetensors", "normal:0,1:100", "--rows", "all")
        self.assertEqual((text.count("m.safetensors"), text.count("n.safetensors")), (1, 1))
        self.assertIn("\n1: m.safetensors\n2: n.safetensors\n", text)
        self.assertRegex(text, r"\n1:encoder\.layer\.1\.\S+ ")
        self.assertRegex(text, r"\n2:encoder\.layer\.1\.\S+ ")
        self.assertRegex(text, r"\nnormal:0,1:100 ")

    def test_csv_and_json_stay_one_whole_row_a_tensor_and_format(self):
        self.assertEqual(len(self.rows("census", "m.safetensors")), 4 * (2 * LAYERS + 2))
        self.assertEqual(len(self.rows("sweep", "m.safetensors", "--log2-scale", "0:2")), 3 * 4 * (2 * LAYERS + 2))
        first = self.rows("census", "m.safetensors")[0]
        self.assertEqual((first["tensor"], first["format"]), ("m.safetensors:head.empty", "float16"))

    def test_a_terminal_gets_the_same_at_its_own_width(self):
        for columns in (80, 200):
            want = self.text("census", "m.safetensors", env={"COLUMNS": str(columns)})
            self.assertEqual(on_terminal("census", "m.safetensors", cwd=self.path, columns=columns), want)


class Globs(WithModel):
    def test_a_glob_selects_and_labels_are_whole_names(self):
        got = [r["tensor"] for r in self.rows("info", "m.safetensors:encoder.*.weight")]
        self.assertEqual(got, [f"m.safetensors:encoder.layer.{i}.attention.output.LayerNorm.weight" for i in range(LAYERS)])

    def test_a_glob_that_matches_nothing_names_the_nearest(self):
        code, out, err = run("census", "m.safetensors:encodr.layer.1.*.bias", cwd=self.path)
        self.assertEqual((code, out, err.count("\n")), (2, "", 1))
        self.assertTrue(err.startswith("ulpscope: m.safetensors: no tensor matches 'encodr.layer.1.*.bias'; nearest of 20: "), err)
        self.assertEqual(run("census", "m.safetensors:LARGE*", cwd=self.path)[0], 2)

    def test_one_tensor_is_wanted_where_one_is_read(self):
        code, _, err = run("matmul", "m.safetensors:*", "m.safetensors:large", cwd=self.path)
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertEqual(run("diff", "m.safetensors:lar*", "m.safetensors:large", cwd=self.path)[0], 0)


class Selection(WithModel):
    CENSUS = ("census", "m.safetensors")

    def test_where_keeps_the_same_rows_in_csv_json_and_text(self):
        words = (*self.CENSUS, "--where", "to_zero% > 20", "--where", "format == e4m3", "--sort", "to_zero")
        want = sorted((r for r in self.rows(*self.CENSUS) if r["format"] == "float8_e4m3fn" and int(r["count"]) != 0 and
                       int(r["to_zero"]) / int(r["count"]) > 0.2), key=lambda r: int(r["to_zero"]))
        self.assertGreater(len(want), 2)
        self.assertEqual(self.rows(*words), want)
        self.assertEqual([r["tensor"] for r in json.loads(run(*words, "--json", cwd=self.path)[1])], [r["tensor"] for r in want])
        text = self.text(*words)
        self.assertEqual(["m.safetensors:" + line[0] for line in lines_of(text)[1]], [r["tensor"] for r in want])
        self.assertTrue(text.startswith(f"{len(want)} of 20 tensors: {len(want)} bad\n"), text)

    def test_nan_is_in_no_range_and_last_in_every_order(self):
        for op in ("<", "<=", ">", ">=", "=="):
            kept = run(*self.CENSUS, "--where", f"sqnr_db {op} 30", "--csv", cwd=self.path)[1]
            self.assertNotIn("m.safetensors:head.empty", kept)
        self.assertEqual(len(self.rows(*self.CENSUS, "--where", "sqnr_db == nan")), 4)
        for direction in ("", ":asc", ":desc"):
            got = [r["sqnr_db"] for r in self.rows(*self.CENSUS, "--sort", "sqnr_db" + direction)]
            self.assertEqual(got[-4:], ["nan"] * 4)
            numbers = [float(x) for x in got[:-4]]
            self.assertEqual(numbers, sorted(numbers, reverse=direction == ":desc"))

    def test_every_command_that_prints_a_table_takes_them(self):
        self.assertEqual([r["name"] for r in self.rows("formats", "--where", "bits < 7", "--sort", "max-finite:desc")],
                         ["float6_e3m2fn", "float6_e2m3fn", "float4_e2m1fn"])
        self.assertEqual([r["code"] for r in self.rows("formats", "e2m1", "--codes", "--where", "value < -3")], ["e", "f"])
        self.assertEqual([r["input"] for r in self.rows("round", "3", "1", "2", "--to", "e4m3", "--sort", "input:desc")],
                         ["3", "2", "1"])
        self.assertEqual({r["engine"] for r in self.rows("engines", "--where", "evidence == recordings", "--where", "engine == sm_70")},
                         {"sm_70"})
        self.assertEqual([r["tensor"] for r in self.rows("info", "m.safetensors", "--where", "count == 2")], ["m.safetensors:large"])
        matmul = ("matmul", "uniform:0,1:8x64", "uniform:0,1:64x8", "--seed", "0,1", "--in", "bf16", "--engine", "sm_90",
                  "--engine", "sm_80")
        kept = ("--where", "engine == sm_80", "--where", "k == 64")  # text shows engine, and not k
        self.assertEqual({r["engine"] for r in self.rows(*matmul, *kept)}, {"sm_80"})
        self.assertNotIn("sm_90", self.text(*matmul, *kept))
        self.assertIn("sm_90", self.text(*matmul))
        self.assertEqual(self.text("generate", "list", "--where", "kind == ties").split("\n")[0], "ties")
        self.assertEqual(len(self.rows("conform", "--list-presets", "--rows", "all", "--where", "preset == cuda")) > 0, True)

    def test_tables_that_are_shown_together_are_asked_for_what_they_have(self):
        (self.path / "a.csv").write_text("1\n2\n3\n4\n")
        (self.path / "b.csv").write_text("1\n2.5\n3\n4.25\n")
        words = ("diff", "a.csv", "b.csv", "--where", "index == 3;0")
        code, out, _ = run(*words, "--json", cwd=self.path)
        got = json.loads(out)
        self.assertEqual((code, len(got["diff"]), [r["index"] for r in got["worst"]]), (1, 1, ["3;0"]))
        self.assertEqual(re.findall(r"^\d;0", run(*words, "--text", cwd=self.path)[1], re.M), ["3;0"])
        code, _, err = run("diff", "a.csv", "b.csv", "--where", "indx == 3;0", cwd=self.path)
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertTrue(err.startswith("ulpscope: unknown column 'indx'; nearest: index, "), err)

    def test_verify_shows_the_elements_asked_for(self):
        words = ("matmul", "normal:0,1:8x64", "normal:0,1:64x8", "--seed", "0,1", "--in", "bf16")
        self.assertEqual(run(*words, "--engine", "sm_90", "-o", "d.npy", cwd=self.path)[0], 0)
        words = ("verify", *words, "--output", "d.npy")
        worst = json.loads(run(*words, "--json", cwd=self.path)[1])["worst"]
        self.assertGreater(len(worst), 1)
        one = json.loads(run(*words, "--json", "--where", f"index == {worst[1]['index']}", cwd=self.path)[1])
        self.assertEqual((one["worst"], len(one["verify"])), ([worst[1]], 1))
        text = run(*words, "--text", "--where", f"index == {worst[1]['index']}", cwd=self.path)[1]
        self.assertEqual(re.findall(r"^(\d+;\d+) ", text, re.M), [worst[1]["index"]])
        # The histogram has the column error_ulp as words, which are left alone.
        far = json.loads(run(*words, "--json", "--where", "error_ulp > 1", "--sort", "error_ulp:desc", cwd=self.path)[1])
        ulps = [r["error_ulp"] for r in worst]
        self.assertEqual([r["error_ulp"] for r in far["worst"]], sorted((u for u in ulps if u > 1), reverse=True))
        self.assertEqual(far["histogram"], json.loads(run(*words, "--json", cwd=self.path)[1])["histogram"])

    def test_no_row_left_is_said_and_is_no_error(self):
        code, out, err = run(*self.CENSUS, "--where", "count > 1000", "--csv", cwd=self.path)
        self.assertEqual((code, out.count("\n"), err), (0, 1, "--where leaves none of 80 rows\n"))
        self.assertEqual(run(*self.CENSUS, "--where", "count > 1000", "--json", cwd=self.path)[:2], (0, "[]\n"))
        self.assertIn("0 of 20 tensors", run(*self.CENSUS, "--where", "count > 1000", "--text", cwd=self.path)[1])

    def test_rows_limit_every_rendering_when_asked(self):
        code, out, err = run(*self.CENSUS, "--rows", "3", "--csv", cwd=self.path)
        self.assertEqual((code, out.count("\n"), err), (0, 4, "... 77 more rows; --rows all prints them\n"))
        self.assertEqual(len(json.loads(run(*self.CENSUS, "--rows", "3", "--json", cwd=self.path)[1])), 3)
        self.assertEqual(run(*self.CENSUS, "--rows", "all", "--csv", cwd=self.path), run(*self.CENSUS, "--csv", cwd=self.path))

    def test_words_that_mean_nothing_are_refused_before_the_work(self):
        refused = {
            ("--where", "sqnr > 3"): "unknown column 'sqnr'; nearest: ",
            ("--sort", "tensr"): "unknown column 'tensr'; nearest: tensor",
            ("--where", "sqnr_db = 3"): "--where 'sqnr_db = 3': equal is ==",
            ("--where", "tensor > 3"): "--where: column 'tensor' holds words, which compare by == and != only",
            ("--where", "sqnr_db% > 3"): "unknown column 'sqnr_db%'",
            ("--sort", "x:up"): "--sort 'x:up': give COLUMN",
            ("--rows", "0"): "--rows '0': give a number of rows, 1 or more, or all",
            ("--rows", "ten"): "--rows 'ten'", ("--rows", "99999999999999999999"): "--rows '999",
            ("-o", "report", "--sort", "sqnr_db"): "-o report: a report holds every row",
            ("-o", "report", "--rows", "3"): "-o report: a report holds every row",
        }
        for words, start in refused.items():
            for command in ("census", "sweep"):
                code, out, err = run(command, "m.safetensors:large", *words, cwd=self.path)
                with self.subTest(words):
                    self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
                    self.assertTrue(err.startswith("ulpscope: " + start), err)
        self.assertFalse((self.path / "report").exists())

    def test_an_option_between_inputs_swallows_none(self):
        got = self.rows("census", "--where", "format == bf16", "--sort", "tensor", "--rows", "all", "normal:0,1:5", "normal:0,1:4")
        self.assertEqual([r["tensor"] for r in got], ["normal:0,1:4", "normal:0,1:5"])


class Page(WithModel):
    def page(self, *words):
        self.assertEqual(run(*words, "-o", "report", cwd=self.path), (0, "", "report/index.html written\n"))
        return (self.path / "report/index.html").read_text()

    def test_the_heat_map_has_a_cell_for_each_tensor_and_format(self):
        page = self.page("sweep", "m.safetensors")
        names = [r["tensor"] for r in self.rows("census", "m.safetensors", "--to", "e4m3", "--rows", "all")]
        cells = re.findall(r'<tr><th scope="row" title="([^"]*)">.*?</th>((?:<td class="s.*?</td>)+)</tr>', page)
        self.assertEqual(sorted(html.unescape(name) for name, _ in cells), sorted(names))
        self.assertEqual({row.count("<td") for _, row in cells}, {4})

    def test_what_a_scale_mends_is_apart_from_what_stays_lossy(self):
        page = self.page("sweep", "m.safetensors")
        of_scale = collections.defaultdict(dict)
        for r in self.rows("sweep", "m.safetensors", "--rows", "all"):
            n = {c: int(r[c]) for c in ("overflow", "to_zero", "subnormal", "count")}
            good = n["overflow"] == 0 and n["to_zero"] == 0 and not 100 * n["subnormal"] > 5 * n["count"]
            of_scale[r["tensor"], r["format"]][int(r["log2_scale"])] = n, good
        want = {"mended": set(), "lossy": set()}
        for pair, scales in of_scale.items():
            least = min(scales.values(), key=lambda s: (s[0]["overflow"], s[0]["to_zero"], s[0]["subnormal"]))
            if not scales[0][1]:
                if least[1]:
                    want["mended"].add(pair)
                elif least[0]["overflow"] + least[0]["to_zero"]:
                    want["lossy"].add(pair)
        self.assertTrue(want["mended"] and want["lossy"])
        for fate, pairs in want.items():
            section = re.search(f'<div id="{fate}">(.*?)</div>\n</details>', page, re.S)[1]
            got = re.findall(r'<tr><td class="text">(.*?)</td><td class="text">(.*?)</td>', section)
            self.assertEqual({(html.unescape(t), f) for t, f in got}, pairs, fate)

    def test_findings_are_the_values_that_decided(self):
        for words in (("census",), ("census", "--to", "e4m3"), ("sweep",)):
            self.page(words[0], "m.safetensors", *words[1:])
            findings = list(csv.DictReader((self.path / "report/findings.csv").read_text().splitlines()))
            census = list(csv.DictReader((self.path / "report/census.csv").read_text().splitlines()))
            found = {f["where"]: f for f in findings if f["what"].endswith("%")}
            self.assertEqual(set(found), {f"{r['tensor']}, {r['format']}" for r in census})
            for r in census:
                finding = found[f"{r['tensor']}, {r['format']}"]
                if r["count"] == "0":
                    continue
                others = ("zero", "nan", "infinite") if finding["what"] == "to_zero%" else ()
                share = 100 * int(r[finding["what"][:-1]]) / (int(r["count"]) - sum(int(r[other]) for other in others))
                self.assertEqual(float(finding["value"]), share)
                self.assertEqual(finding["severity"] == "good", not share > float(finding["threshold"]), finding)
                self.assertRegex(finding["source"], "^(chosen: |IEEE )")


unittest.main()
