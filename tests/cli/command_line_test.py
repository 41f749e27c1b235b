#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line itself: orders of words, numbers out of range, misspelt words, help, examples, exit codes.

usage: command_line_test.py PROGRAM ROOT [--sanitized]"""
import itertools
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import unittest

from commands_of import PROGRAM, ROOT, Command, run, scratch
from emulation import is_emulated
from time_limit import LIMIT

SANITIZED = "--sanitized" in sys.argv
if SANITIZED:
    sys.argv.remove("--sanitized")
PROGRAM_HELP = Command()
COMMANDS = list(PROGRAM_HELP.all())
TENSORS = "examples/tensors/"


def interleavings(inputs, options):
    """Every order of inputs and options in which each keeps its own order."""
    count = len(inputs) + len(options)
    for places in itertools.combinations(range(count), len(inputs)):
        rest = iter(options)
        kept = iter(inputs)
        yield [word for i in range(count) for word in ([next(kept)] if i in places else next(rest))]


class Orders(unittest.TestCase):
    CASES = [
        (["round"], ["1.5", "-464"], [["--to", "e4m3,fp16"], ["--to", "e5m2"], ["--csv"]]),
        (["formats"], ["e4m3", "fp16"], [["--csv"]]),
        (["engines"], ["sm_90", "fma"], [["--csv"]]),
        (["info"], [TENSORS + "a.npy", TENSORS + "b.npy"], [["--seed", "1"], ["--csv"]]),
        (["census"], [TENSORS + "a.npy", "normal:0,1:9"], [["--to", "e4m3"], ["--to=e5m2"], ["--rounding", "rne"], ["--csv"]]),
        (["sweep"], [TENSORS + "a.npy"], [["--to", "e4m3,e5m2"], ["--log2-scale", "0:2"], ["--csv"]]),
        (["diff"], [TENSORS + "softmax.npy", TENSORS + "cast.npy"], [["--dtype", "bf16"], ["--tolerance", "ulp=1"], ["--csv"]]),
        (["matmul"], [TENSORS + "a.npy", TENSORS + "b.npy"],
         [["--in", "bf16,bf16"], ["--engine", "fma"], ["--engine", "sm_90"], ["--seed", "0,1"], ["--dtype", "fp32"], ["--csv"]]),
        (["generate", "matmul"], ["ties"], [["--in", "bf16,bf16"], ["--engine", "sm_90"], ["--engine", "fma"], ["-o", "case"]]),
        (["verify", "matmul"], [TENSORS + "a.npy", TENSORS + "b.npy"],
         [["--in", "bf16"], ["--output", TENSORS + "matmul.npy"], ["--rule", "calc_diff:1e-3"], ["--csv"]]),
        (["verify", "conv"], [TENSORS + "image.npy", TENSORS + "filters.npy"],
         [["--stride", "1,1"], ["--padding", "0"], ["--dilation", "1,1"], ["--output", TENSORS + "conv.npy"], ["--csv"]]),
        (["ledger", "check"], [TENSORS + "kernels.ledger", "gemm-64"], [["--output", TENSORS + "matmul.npy"], ["--csv"]]),
        (["devices", "replay"], ["tests/recordings/f16c.recording", "tests/recordings/sse2.recording"], [["--csv"]]),
    ]

    def test_every_order_of_inputs_and_options_is_the_same_command(self):
        with scratch() as folder:
            for command, inputs, options in self.CASES:
                wanted = None
                for words in interleavings(inputs, options):
                    code, out, err = run(*command, *words, cwd=folder)
                    with self.subTest(command + words):
                        self.assertEqual(code, 0, err)
                        wanted = wanted or out
                        self.assertEqual(out, wanted)

    def test_a_list_with_commas_is_the_option_given_again(self):
        self.assertEqual(run("round", "1.1", "--to", "e4m3,e5m2", "--csv"), run("round", "--to", "e4m3", "1.1", "--to", "e5m2", "--csv"))

    def test_commands_without_inputs_take_lists_with_spaces(self):
        words = ("accumulation", "--k", "64", "--shape", "4x4", "--csv", "--engine", "sm_90", "fma", "--in", "fp16", "bf16",
                 "--promote", "0", "64", "--distribution", "normal:0,1", "uniform:0,1")
        code, out, err = run(*words)
        self.assertEqual((code, len(out.splitlines())), (0, 1 + 2 * 2 * 2 * 2), err)

    def test_no_option_of_a_command_with_inputs_takes_the_word_after_its_value(self):
        # Whatever the option is given: what follows is the input. The words of options come from help.
        values = {"N": "1", "F": "fp16", "E": "fma", "R": "rne", "VALUE": "0.5"}
        for command in COMMANDS:
            if "inputs" not in command.sections or command.below:
                continue
            for name, value in command.options.items():
                word = values.get(re.split(r"[,\[]", value)[0])
                if word is None:
                    continue
                with self.subTest(command.path, option=name):
                    code, _, err = run(*command.path, name, word, "no-such-input", "--no-such-option")
                    self.assertEqual(code, 2)
                    self.assertIn("unknown option '--no-such-option'", err)
                    beside = ("--rounding", "stochastic") if name == "--random-bits" else ()  # which it is of
                    missing = run(*command.path, *beside, name, word, *["no-such-input"] * len(command.sections["inputs"]))[2]
                    self.assertNotRegex(missing, rf"^ulpscope: {name}\b")
                    self.assertNotRegex(missing, r"^ulpscope: [A-Z]+ is required")


class Numbers(unittest.TestCase):
    WHOLE = ("-1", "18446744073709551616", "99999999999999999999999", "1.5", "1e3", "nan", "x", "", " 1", "0x", "1_000")
    REAL = ("nan", "-nan", "inf", "-inf", "infinity", "1e999", "-1e999", "x", "", "--1")

    def numbers_of(self, command):
        return [(name, value) for name, value in command.options.items() if re.split(r"[,\[]", value)[0] in ("N", "VALUE")]

    def beyond_bounds(self, *words, cwd):
        """The whole numbers next to the bounds that the refusal of a word names."""
        bounds = re.search(r"give a whole number from (\d+) to (\d+)", run(*words, "x", cwd=cwd)[2])
        if not bounds:
            return []
        least, most = map(int, bounds.groups())
        return [str(most + 1)] + ([str(least - 1)] if least > 0 else [])

    def test_numbers_out_of_range_are_refused_by_every_option_of_every_command(self):
        seen = set()
        with scratch() as folder:
            for command in COMMANDS:
                numbers = self.numbers_of(command)
                words = shlex.split(command.example.splitlines()[-1].partition("<<<")[0])[1:]
                for name, value in numbers:
                    if name in words:
                        del words[words.index(name):words.index(name) + 2]
                for name, value in numbers:
                    bad_words = self.WHOLE if value.startswith("N") else self.REAL
                    bad_words = bad_words[:2] if name in seen else bad_words
                    for bad in (*bad_words, *self.beyond_bounds(*words, name, cwd=folder)):
                        with self.subTest(command.path, option=name, word=bad):
                            code, out, err = run(*words, name, bad, cwd=folder)
                            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
                            self.assertTrue(err.startswith(f"ulpscope: {name}: '"), err)
                            self.assertIn(f"{bad}': give a ", err)
                    seen.add(name)
        for name in ("--seed", "--threads", "--random-bits", "--k", "--tests", "--promote", "--split-k", "--alpha", "--beta",
                     "--trials", "--timeout", "--ulp", "--examples", "--eps", "--false-alarm", "--stride", "--products"):
            self.assertIn(name, seen)

    def test_a_list_of_numbers_is_refused_for_any_of_them(self):
        for words in (["matmul", "normal:0,1:4x4", "normal:0,1:4x4", "--engine", "fma", "--seed", "0,18446744073709551616"],
                      ["matmul", "normal:0,1:4x4", "normal:0,1:4x4", "--engine", "fma", "--seed", "0,-1"],
                      ["accumulation", "--engine", "fma", "--promote", "0,-64"]):
            code, out, err = run(*words)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)

    def test_words_with_numbers_of_their_own_are_refused_alike(self):
        large = "18446744073709551616"
        for words in (["census", f"normal:0,1:{large}"], ["census", "normal:nan,1:4"], ["census", "normal:0,inf:4"],
                      ["census", "normal:0,1:-4"], ["accumulation", "--k", large], ["accumulation", "--k", f"64:{large}"],
                      ["accumulation", "--shape", f"{large}x4"], ["sweep", "normal:0,1:4", "--log2-scale", f"0:{large}"],
                      ["census", "normal:0,1:4", "--scale", "nan"], ["census", "normal:0,1:4", "--scale", "1e999"],
                      ["diff", "normal:0,1:4", "normal:0,1:4", "--tolerance", "ulp=nan"],
                      ["conform", "--program", "cat", "--from", "fp16", "--to", "fp16", "--range", f"0:{large}"],
                      ["devices", "cost", "--device", "emulated:sm_90", "--shape", f"{large}x4x4"],
                      ["matmul", "normal:0,1:4x4", "normal:0,1:4x4", "--engine", f"block:n={large},f=25,out=rz"],
                      ["round", "code:ffffffffffffffffffff", "--to", "e4m3"]):
            with self.subTest(words):
                code, out, err = run(*words)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)

    def test_numbers_are_decimal_or_hexadecimal(self):
        seeded = {seed: run("census", "normal:0,1:99", "--csv", "--seed", seed)[1] for seed in ("8", "10", "010", "0x10", "16")}
        self.assertEqual(seeded["010"], seeded["10"])  # no octal
        self.assertEqual(seeded["0x10"], seeded["16"])
        self.assertEqual(len(set(seeded.values())), 3)
        self.assertEqual(run("census", "normal:0,1:9", "--seed", "18446744073709551615")[0], 0)


class Products(unittest.TestCase):
    WORDS = ("normal:0,1:4x8", "normal:0,1:8x4", "--seed", "0,1", "--engine", "fma")

    def test_k_is_split_into_at_most_k_chains(self):
        self.assertEqual(run("matmul", *self.WORDS, "--split-k", "8")[0], 0)
        for command in (("matmul",), ("audit", "matmul", "--rule", "bound")):
            code, out, err = run(*command, *self.WORDS, "--split-k", "9")
            self.assertEqual((code, out, err), (2, "", "ulpscope: --split-k 9: K is 8, so give 1 to 8\n"))
        self.assertEqual(run("matmul", *self.WORDS, "--split-k", "0")[0], 2)

    def test_scales_that_are_typed_are_finite(self):
        for option in ("--scale-a", "--scale-b"):
            for word in ("nan", "inf", "-inf", "1e39", "1e-99", "infinity"):
                code, out, err = run("matmul", *self.WORDS, option, word)
                self.assertEqual((code, out, err), (2, "", f"ulpscope: scale {word}: give a finite number of float32\n"))
        self.assertEqual(run("matmul", *self.WORDS, "--scale-a", "-0.5")[0], 0)


class Words(unittest.TestCase):
    def test_what_is_not_known_is_named_with_the_nearest(self):
        matmul = ["matmul", "normal:0,1:4x4", "normal:0,1:4x4", "--engine"]
        for line, wanted in (
                (["sweeep", "x.npy"], "unknown command 'sweeep' of `ulpscope`; nearest: sweep"),
                (["--csv", "census"], "unknown option '--csv' of `ulpscope`"),
                (["verify", "nope"], "unknown command 'nope' of `ulpscope verify`; nearest: "),
                (["verify", "soft-max"], "unknown command 'soft-max' of `ulpscope verify`; nearest: softmax"),
                (["verify", "layer-norm", "x"], "unknown command 'layer-norm' of `ulpscope verify`; nearest: layer_norm"),
                (["ledger", "record", "x.ledger", "matmull"], "unknown command 'matmull' of `ulpscope ledger record`; nearest: matmul"),
                (["devices", "chek"], "unknown command 'chek' of `ulpscope devices`; nearest: check"),
                (["census", "normal:0,1:4", "--to", "e4m3", "--seed", "1", "--seed", "2"], "ulpscope: --seed is given more than once; see "),
                (["round", "1", "--json=-3"], "ulpscope: --json takes no value; see "),
                (["--max-memory", "1G", "round", "1", "--max-memory=2G"], "ulpscope: --max-memory is given more than once"),
                (["run", "block_scales", "--dry-run", "--shard", "9/2"], "--shard '9/2': give I/N"),
                (["info", "--nope"], "unknown option '--nope' of `ulpscope info`; nearest: "),
                (["info", "--sed=1", "x.npy"], "unknown option '--sed' of `ulpscope info`; nearest: --seed"),
                (["census", "x.npy", "--rounding", "rz", "--two", "e4m3"], "unknown option '--two' of `ulpscope census`; nearest: --to"),
                (["census", "x.npy", "-x"], "unknown option '-x' of `ulpscope census`"),
                (["verify", "expr", "-x*2", "--input", "x=x.npy"], "unknown option '-x*2' of `ulpscope verify expr`; a formula that begins with - stands in brackets: (-x*2)"),
                (["explain", "expr", "-x"], "a formula that begins with - stands in brackets: (-x)"),
                (["verify", "expr", "x", "-x"], "unknown option '-x' of `ulpscope verify expr`; nearest: "),
                (["man", "verify", "soft"], "unknown command 'soft'; nearest: softmax"),
                (["help", "sweeep"], "unknown command 'sweeep'; nearest: sweep"),
                (["round", "1", "--rounding", "up"], "nearest: upward"), (["round", "1", "--rounding", "down"], "nearest: downward"),
                (["round", "1", "--rounding", "ru"], "nearest: upward"), (["round", "1", "--rounding", "floor"], "nearest: downward"),
                (["round", "1", "--rounding", "zero"], "nearest: toward_zero"), (["round", "1", "--rounding", "rtz"], "nearest: toward_zero"),
                (["round", "1", "--rounding", "even"], "nearest: nearest_even"), (["round", "1", "--rounding", "sr"], "nearest: stochastic"),
                (["round", "1", "--policy", "sat"], "nearest: saturating"),
                (["verify", "cast", "x", "--output", TENSORS + "cast.npy", "--out-rounding", "up"], "nearest: upward"),
                (matmul + ["h100"], "nearest: sm_90"), (matmul + ["a100"], "nearest: sm_80"), (matmul + ["b200"], "nearest: sm_100"),
                (matmul + ["SM90"], "nearest: sm_90"), (["engines", "SM90"], "nearest: sm_90"), (["engines", "h100"], "nearest: sm_90"),
                (["engines", "RTX-4090"], "nearest: sm_89"), (["engines", "mi300x"], "nearest: cdna3"), (["engines", "V100"], "nearest: sm_70"),
                (["probe", "--engine", "B200"], "nearest: sm_100"), (["accumulation", "--engine", "t4"], "nearest: sm_75"),
                (["devices", "check", "--device", "emulated:sm_90", "--model", "l40s"], "nearest: sm_89")):
            with self.subTest(line), scratch() as folder:
                code, out, err = run(*line, cwd=folder)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
                self.assertIn(wanted, err)
                nearest = wanted.partition("; nearest: ")[2] or wanted.partition("nearest: ")[2]
                if nearest:
                    self.assertRegex(err, rf"nearest: {nearest}([,;\n])")

    def test_no_flag_of_any_command_takes_a_value(self):
        count = 0
        for command in COMMANDS:
            for name in [name for name, value in command.options.items() if not value and name.startswith("--")]:
                for value in ("true", "false", "") if name == "--resume" else ("true",):  # which reports leave out as a word
                    path = " ".join(["ulpscope", *command.path])
                    self.assertEqual(run(*command.path, f"{name}={value}"),
                                     (2, "", f"ulpscope: {name} takes no value; see `{path} --help`\n"), (path, value))
                count += name == "--resume"
        self.assertEqual(count, 19)  # each operation of audit has one

    def test_a_command_that_is_missing_is_asked_for(self):
        for line in (["verify"], ["generate"], ["ledger"], ["audit"]):
            code, out, err = run(*line)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            self.assertRegex(err, rf"^ulpscope: `ulpscope {line[0]}` needs a command: [a-z_]+.*; see `ulpscope {line[0]} --help`$")

    def test_rne_is_nearest_even(self):
        self.assertEqual(run("round", "1.05", "--rounding", "rne"), run("round", "1.05", "--rounding", "nearest_even"))

    def test_an_empty_simd_path_is_none(self):
        self.assertEqual(run("census", "normal:0,1:10", env={"ULPSCOPE_SIMD": ""}), run("census", "normal:0,1:10"))


class Help(unittest.TestCase):
    def test_commands_stand_in_groups(self):
        groups = [heading for heading in PROGRAM_HELP.sections if heading not in ("options", "exit codes")]
        self.assertEqual(groups, ["numbers", "tensors", "products", "training", "studies", "checks", "hardware", "this program"])
        code, out, err = run()
        self.assertEqual((code, err), (0, ""))
        for command in PROGRAM_HELP.below:
            self.assertRegex(out, rf"\b{command.path[0]}\b")
        for group in groups:
            self.assertIn(f"\n  {group} ", out)

    def test_every_command_has_one_example_that_works_everywhere(self):
        for command in COMMANDS:
            with self.subTest(command.path):
                if command.path == ("evidence",) and is_emulated(PROGRAM):
                    self.skipTest("judging this many products takes minutes in an emulator")
                words = iter(command.example.split())
                self.assertTrue(all(word in words for word in ("ulpscope", *command.path)), command.help)
                if command.path:
                    self.assertEqual(command.help.count("Example"), 1)
                # what an example reads comes with the program, but for recordings
                with scratch() if " tests/recordings/" in command.example else tempfile.TemporaryDirectory() as folder:
                    for line in command.example.splitlines():
                        done = subprocess.run(["bash", "-c", line.strip().replace("ulpscope", f"'{PROGRAM}'", 1)], cwd=folder,
                                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                              timeout=600)
                        self.assertEqual(done.returncode, 0, f"{line}\n{done.stderr}")

    def test_help_is_a_command_too(self):
        self.assertEqual(run("help"), run("--help"))
        self.assertEqual(run("help", "verify", "matmul"), run("verify", "matmul", "--help"))
        self.assertEqual(run("census", "-h"), run("census", "--help"))

    def test_help_keeps_to_the_width(self):
        for command in COMMANDS:
            out = run(*command.path, "--help", env={"COLUMNS": "80"})[1]
            text = out[:out.find("\n\n", out.find("options:"))]  # remarks and examples have lines of their own
            self.assertLessEqual(max(len(line) for line in text.splitlines() if "|" not in line), 80, text)


class ExitCodes(unittest.TestCase):
    def test_the_table_says_what_each_command_line_gives(self):
        table = {line.split()[0] for line in PROGRAM_HELP.sections["exit codes"]}
        with scratch() as folder:
            for code, words in ((0, ["round", "1"]), (1, ["diff", TENSORS + "q.npy", TENSORS + "k.npy"]), (2, ["info", "no-such-file"]),
                                (3, ["conform", "--program", "cat", "--from", "fp16", "--to", "fp16", "--range", "0:0"]),
                                (4, ["probe", "--device", "cuda:99"])):
                got, _, err = run(*words, cwd=folder)
                self.assertEqual(got, code, err)
                self.assertIn(str(code), table)
        self.assertEqual(table, {"0", "1", "2", "3", "4", "5"})

    def test_the_documentation_has_the_same_table(self):
        with open(os.path.join(ROOT, "docs", "command-line.md"), encoding="utf-8") as file:
            documented = re.findall(r"^\| (\d) \| (.*) \|$", file.read(), re.M)
        self.assertEqual(documented, [tuple(re.split(r"  +", line)) for line in PROGRAM_HELP.sections["exit codes"]])

    @unittest.skipIf(SANITIZED, "sanitizers answer for memory themselves")
    def test_out_of_memory_is_5(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))

        with scratch() as folder:  # an output of 2 GiB
            done = subprocess.run([PROGRAM, "generate", "matmul", "ties", "--m", "16384", "--n", "16384", "--k", "8", "-o", "case"],
                                  cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limited, timeout=LIMIT)
            self.assertFalse(os.path.exists(os.path.join(folder, "case")))
            header = b"{'descr': '<f4', 'fortran_order': True, 'shape': (16384, 16384), }\n"  # mapped whole
            with open(os.path.join(folder, "big.npy"), "wb") as file:
                file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
                file.truncate(10 + len(header) + 2**30)
            mapped = subprocess.run([PROGRAM, "info", "big.npy"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                    preexec_fn=limited, timeout=LIMIT)
        for one in done, mapped:
            self.assertEqual((one.returncode, one.stdout, one.stderr), (5, "", "ulpscope: out of memory\n"))


unittest.main()
