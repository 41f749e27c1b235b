# SPDX-License-Identifier: Apache-2.0
"""Commands that between them reach every table, format, rounding, engine, scale rule, study and check of the program.

What the program can list is asked of it: a format or an engine that is added is compared from then on. A command is a list of words;
it runs in a folder that has what `prepared` makes, and the files that it writes there are compared as well.
"""
import csv
import io
import itertools
import struct
import subprocess

VALUES = ["464", "465", "-0.0009765625", "0x1.8p3", "0x1.ffffffp127", "1e-40", "1e-310", "-0", "inf", "nan", "3.14159", "65520", "1e39"]
DYADIC = ["464", "465", "-0.0009765625", "0x1.8p3", "0x1.fffffep127", "0x1.8p-149", "-0", "65520"]  # each is a double
# Sizes that are no multiple of a vector, and cross the chunks in which tensors are read.
TENSORS = ["normal:0,1:65537", "lognormal:0,12:4099", "studentt:3:257x67", "laplace:0,1e-6:1031", "uniform:-600,600:3x37x41"]
SPECIALS = "lognormal:0,100:5004"  # infinite elements, and as many as fill bytes in every format
SHAPES = ("normal:0,1:17x160", "normal:0,1:160x19")


def table(program, *words):
    """Rows of a command's CSV."""
    done = subprocess.run([program, *words, "--csv"], capture_output=True, text=True, timeout=120, check=True)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def npy(rows, columns, values):
    """A matrix of float32 (NumPy's format 1.0)."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{rows * columns}f", *values)


def prepared():
    """Files by name: scales that e8m0 and e4m3 both have, results of a converter that is wrong almost everywhere, a study."""
    files = {"codes.bin": bytes(i & 255 for i in range(65536))}
    for rows, columns in ((17, 5), (17, 10), (5, 19), (10, 19)):
        files[f"scales_{rows}x{columns}.npy"] = npy(rows, columns, [2.0 ** (i * 5 % 13 - 6) for i in range(rows * columns)])
    files["coarse.toml"] = b'[[study]]\nkind = "breaks"\nlog2_scale = "-40:40:8"\nterms = 600\nlengths = [500]\n'
    files["ranked.toml"] = (b'[[study]]\nkind = "quantization"\ninputs = ["studentt:3:40x200", "normal:0,1:300"]\n'
                            b'[[study]]\nkind = "product_sizes"\nn = [50, 300]\nshape = "5x7"\n'
                            b'[[study]]\nkind = "attention"\nqueries = 3\nkeys = 70\nhead = 20\nblock = 16\n')
    return files


class Commands:
    def __init__(self, program):
        self.program = program
        self.formats = table(program, "formats")
        self.engines = [row for row in table(program, "engines") if row["evidence"] != "unknown"]
        self.kinds = [row["kind"] for row in table(program, "generate", "list")]
        self.recipes = [row["recipe"] for row in table(program, "recipes")]
        self.presets = sorted({row["preset"] for row in table(program, "conform", "--list-presets")})

    def names(self):
        return [row["name"] for row in self.formats]

    def narrow(self):
        """Formats whose every code a test can go through."""
        return [row["name"] for row in self.formats if int(row["bits"]) <= 16]

    def answered(self):
        """Commands that none may refuse."""
        return list(itertools.chain(self.tables(), self.numbers(), self.tensors(), self.products(), self.generated(), self.probes(),
                                    self.checks(), self.studies(), self.converters(), self.devices()))

    def tables(self):
        for words in (["formats"], ["engines"], ["generate", "list"], ["conform", "--list-presets"]):
            for layout in ("--csv", "--json", "--text"):
                yield words + [layout]
        for shell in ("bash", "zsh", "fish"):
            yield ["completion", shell]
        yield ["man", "-o", "man1"]
        yield ["--help"]
        yield ["--version"]

    def numbers(self):
        for rounding in ROUNDINGS:
            for policy in POLICIES:
                values = DYADIC if rounding == "stochastic" else VALUES
                yield ["round", *values, "--to", ",".join(self.names()), "--rounding", rounding, "--policy", policy]
        yield ["round", *DYADIC, "--to", "e4m3,e5m2,fp16", "--rounding", "stochastic", "--random-bits", "7", "--seed", "3"]
        yield ["round", *VALUES, "--to", ",".join(CUSTOM), "--flush-subnormals", "--subnormals-are-zero", "--json"]

    def tensors(self):
        for row in self.formats:
            name = row["name"]
            values = "values.safetensors" if row["safetensors"] else "values.npy"
            for rounding in ROUNDINGS:
                yield ["census", *TENSORS, SPECIALS, "--to", name, "--rounding", rounding]
            for policy in POLICIES:
                yield ["cast", TENSORS[2], "--to", name, "--policy", policy, "--codes", "-o", "codes.npy"]
                yield ["cast", SPECIALS, "--to", name, "--policy", policy, "--rounding", "stochastic", "--random-bits", "11",
                       "--flush-subnormals", "-o", values]
            yield ["sweep", TENSORS[1], "--to", name, "--log2-scale", "-30:30:5"]
        for rounding in ROUNDINGS:
            yield ["sweep", *TENSORS, "--to", "e2m1,e2m3,e3m2,e4m3,e5m2,fp16,bf16", "--log2-scale", "-12:12:3", "--rounding", rounding]
        for scale in SCALES:
            for name in ("e2m1", "e4m3", "fp16"):
                yield ["census", TENSORS[2], TENSORS[4], "--to", name, "--scale", scale]
        yield ["census", *TENSORS, "--to", ",".join(CUSTOM), "--policy", "saturating", "--subnormals-are-zero"]
        for layout in ("--csv", "--json", "--text"):
            yield ["info", *TENSORS, SPECIALS, layout]
            yield ["diff", "normal:0,1:999", "uniform:-1,1:999", layout]
        yield ["census", "studies/data/breast-cancer.csv", "--text"]
        yield ["census", "examples/models/block.onnx", "--inputs", "hidden=normal:0,1:2x8x16", "--to", "fp16,e4m3", "--scale", "1x128"]
        yield ["census", TENSORS[1], "-o", "report"]
        yield ["sweep", "studies/data/digits-training.safetensors:end.layer1.weight_grad", "-o", "report"]

    def products(self):
        """Every mode of every engine on its own formats, with what its scales need."""
        for row in self.engines:
            operands = ["float16", "bfloat16", "float32"] if row["operands"] == "any" else row["operands"].split("|")
            scales = self.scales(row)
            for operand in operands:
                yield self.product(row, operand, *scales)
            # Small operands, overflow, and a start of the sum.
            yield self.product(row, operands[0], "normal:0,1:17x19", *scales, a="normal:0,1e-4:17x160", b="lognormal:0,3:160x19")
        for lscale in (1, 9, 15):
            yield ["matmul", *SHAPES, "--engine", f"arm_fp8:lscale={lscale}", "--in", "e4m3,e5m2", "--codes", "-o", "d.npy"]
        for options in OPTIONS:
            yield ["matmul", *SHAPES, "--engine", "sm_90", "--in", "e4m3", *options, "--codes", "-o", "d.npy"]
        for block in BLOCKS:
            yield ["matmul", *SHAPES, "--engine", block, "--in", "bf16", "--against", "none", "--codes", "-o", "d.npy"]
    @staticmethod
    def scales(row):
        """`float8_e8m0fnu:32 of products`: a scale for every 32; other words are of engines without tensors of scales."""
        name, _, block = row["scales"].split(" ")[0].partition(":")
        if not block:
            return []
        blocks = 160 // int(block)
        return ["--scale-a", f"scales_17x{blocks}.npy", "--scale-b", f"scales_{blocks}x19.npy", "--scale-dtype", name]

    @staticmethod
    def product(row, operand, *words, a=SHAPES[0], b=SHAPES[1]):
        engine = WORDS.get(row["engine"], row["engine"])
        return ["matmul", a, b, *words, "--engine", engine, "--in", operand, "--acc", row["accumulator"], "--seed", "5,6,7",
                "--against", "none", "--codes", "-o", "d.npy"]

    def generated(self):
        for kind in self.kinds:
            yield ["generate", "matmul", kind, "--m", "9", "--n", "11", "--k", "64", "--in", "bf16", "--engine", "sm_80", "--engine", "fma",
                   "-o", "case"]
        yield ["generate", "matmul", "ties", "--m", "8", "--n", "8", "--k", "128", "--in", "e4m3", "--safetensors", "-o", "case"]
        for name in self.narrow():
            yield ["generate", "cast", "--to", name, "-o", "case"]

    def probes(self):
        for row in self.engines:
            if not row["subnormals"]:  # a product made of others, which is no unit
                continue
            operand = "float16" if row["operands"] == "any" else row["operands"].split("|")[0]
            yield ["probe", "--engine", row["engine"], "--in", operand, "--acc", row["accumulator"]]
        yield ["probe", "--engine", BLOCKS[-1], "--in", "bf16"]

    def checks(self):
        a, b, x = (f"examples/tensors/{name}.npy" for name in "abx")
        product = ["matmul", a, b, "--output", "examples/tensors/matmul.npy", "--in", "bf16"]
        for options in ([], ["--engine", "fma"], ["--engine", "fma", "--against", "engine"], ["--engine", "sm_90"], ["--false-alarm", "1e-6"],
                        ["--acc-rounding", "toward_zero"], ["--split-k", "4"], *(["--rule", rule] for rule in RULES)):
            yield ["verify", *product, *options, "--json"]
        rows = ["softmax", "layer_norm", "rms_norm", "sum", "exp"]
        for name in rows:
            words = ["elementwise", "exp"] if name == "exp" else [name]
            for options in ([], ["--acc", "fp16"], ["--in", "bf16"]):
                yield ["verify", *words, x, "--output", f"examples/tensors/{name}.npy", *options, "--json"]
        for function in FUNCTIONS:
            yield ["verify", "elementwise", function, x, "--output", "examples/tensors/exp.npy"]
        yield ["verify", "dot", *(f"examples/tensors/{n}.npy" for n in "qk"), "--output", "examples/tensors/dot.npy"]
        yield ["verify", "attention", *(f"examples/tensors/{n}.npy" for n in "qkv"), "--output", "examples/tensors/attention.npy"]
        attention = ["verify", "attention", *(f"examples/tensors/{n}.npy" for n in "qkv"), "--output", "examples/tensors/attention.npy", "--json"]
        for options in (["--causal", "bottom_right", "--softcap", "2"], ["--window", "2,1", "--q-descale", "0.5", "--v-descale", "3"]):
            yield [*attention, *options]
        yield ["verify", "grouped_matmul", "examples/tensors/tokens.npy", "examples/tensors/experts.npy", "--offsets", "examples/tensors/offsets.npy",
               "--output", "examples/tensors/grouped_matmul.npy", "--json"]
        yield ["verify", "conv", "examples/tensors/image.npy", "examples/tensors/filters.npy", "--output", "examples/tensors/conv.npy"]
        yield ["verify", "cast", "examples/tensors/softmax.npy", "--output", "examples/tensors/cast.npy", "--out", "bf16",
               "--out-rounding", "toward_zero"]
        of_x = ["--input", f"gate={x}", "--input", f"up={x}", "--output", "examples/tensors/swiglu.npy", "--json"]
        for formula in ("swiglu", "bf16(silu(gate)) * up", "gate / (1 + exp(-gate)) * up", "fp16: silu(gate) * up", "silu(gate) * cos(up)"):
            yield ["verify", "expr", formula, *of_x]
        yield ["verify", "expr", "softmax_backward", "--input", f"y={x}", "--input", f"dy={x}", "--output", x, "--json"]
        yield ["verify", "expr", "einsum(\"ij,jk->ik\", a, b)", "--input", f"a={a}", "--input", f"b={b}",
               "--output", "examples/tensors/matmul.npy", "--json"]
        yield ["verify", *product, "--output-dtype", "float32", "--junit", "junit.xml"]
        yield ["explain", *product, "--engine", "fma", "--seconds", "0"]
        yield ["explain", "matmul", a, b, "--output", "examples/tensors/matmul.npy", "--engine", "sm_80", "--in", "fp16", "--seconds", "0"]
        yield ["audit", "matmul", "uniform:0,1:8x64", "uniform:0,1:64x8", "--in", "bf16", "--engine", "sm_90", "--rule", "bound",
               "--rule", "assert_close"]
        for words in (["show", "examples/tensors/kernels.ledger"],
                      ["check", "examples/tensors/kernels.ledger", "gemm-64", "--output", "examples/tensors/matmul.npy"]):
            yield ["ledger", *words]

    def studies(self):
        for accumulator, formats, engines in (("float32", "e4m3,fp16,bf16", ["sm_90", "sm_100"]), ("float16", "fp16", ["sm_70", "sm_80"])):
            yield ["accumulation", "--engine", *engines, "fma", "--in", formats, "--acc", accumulator, "--promote", "0,128",
                   "--k", "64:512", "--shape", "7x9", "-o", "report"]
        yield ["evidence", "--products", "20", "--plants", "1", "--k", "1:16", "-o", "evidence"]
        yield ["evidence", "--public", "--lines", "4", "-o", "public"]
        trace = "studies/data/digits-amax.csv"
        yield ["scale", trace, "--scaler", "pytorch:growth_interval=50,megatron,mxnet,paddle,popart", "-o", "scales"]
        yield ["scale", trace, "--to", "e4m3", "--scaler", "te_delayed,te_current,ms_amp,static:2^4"]
        yield ["scalers"]
        yield ["train", "studies/training/digits.toml", "--seed", "0", "--steps", "3", "-o", "training", "--record", "weights", "--recipe",
               ",".join(self.recipes)]
        yield ["train", "studies/training/gpt.toml", "--steps", "2", "--recipe", "bf16_amp", "-o", "gpt"]
        yield ["train", "studies/training/lstm.toml", "--steps", "2", "--recipe", "fp16_amp,fp8_dynamic,adam_8bit", "-o", "lstm"]
        yield ["train", "studies/training/gan.toml", "--steps", "3", "--recipe", "fp16_amp,nvfp4", "-o", "gan", "--record", "gradients"]
        for study in ("coarse.toml", "ranked.toml", "claims"):
            yield ["run", study, "-o", "report"]

    def converters(self):
        for name in self.narrow():
            yield ["conform", "--program", "cat", "--from", name, "--to", name]
            yield ["conform", "--program", "cat", "--from", name, "--to", name, "--op", "exp"]
        for preset in self.presets:
            yield ["conform", "--dump", "codes.bin", "--from", "float32", "--to", "float8_e5m2", "--preset", preset, "--range",
                   "0x3f000000:0x3f010000"]

    @staticmethod
    def devices():
        for recording in ("amx_bf16", "avx512_bf16", "avx512_fp16", "avx512f", "f16c", "sse2"):
            yield ["devices", "replay", f"tests/recordings/{recording}.recording"]
        for words in ([], ["check", "--tests", "2000"], ["record", "-o", "d.recording", "--tests", "300"]):
            yield ["devices", *words, "--device", "emulated:sm_90"]

    @staticmethod
    def mistakes():
        """One line and an exit code each."""
        yield from (["census"], ["census", "nothing.npy"], ["round", "1", "--to", "e4m"], ["matmul", *SHAPES, "--engine", "sm_9"],
                    ["verify", "matmul", *SHAPES, "--output", "nothing.npy"], ["sweep", SPECIALS, "--log2-scale", "9:3"])


ROUNDINGS = ["nearest_even", "nearest_away", "toward_zero", "upward", "downward", "to_odd", "stochastic"]
POLICIES = ["nonsaturating", "saturating"]
CUSTOM = ["e3m4", "e5m3", "e4m3b11fnuz", "e6m9", "e8m1", "e2m5finite", "e5m10b20"]
SCALES = ["none", "3.7", "amax", "pow2", "row", "1x128", "128x128", "mx:floor", "mx:ceil", "mx:rceil", "mx:even", "nvfp4", "nvfp4:16x16"]
WORDS = {"ozaki1": "ozaki1:slices=4", "ozaki2": "ozaki2:moduli=8"}  # engines that ask for a number
OPTIONS = [[], ["--promote", "32"], ["--split-k", "3"], ["--alpha", "1.7"], ["--out", "bf16"], ["--rounding", "toward_zero"],
           ["--scale-a", "0.37"], ["--scale-a", "normal:1,0.1:17x1", "--scale-b", "normal:1,0.1:1x19"], ["--policy", "saturating"]]
BLOCKS = ["block:n=16,f=25,out=rz", "block:n=4,f=13", "block:n=12,f=17,out=rz,least=-40"]
RULES = ["bound", "assert_close", "allclose:rtol=1e-05,atol=1e-08", "calc_diff:0.001", "cosine:0.999", "sqnr:25", "frobenius:0.01",
         "ulp:1", "matched_ratio:rtol=0.85,atol=0.1,ratio=0.925", "bitwise", "nmse:0.0005", "mean_rel:0.01", "pcc:0.99", "rms_rel:0.004",
         "allclose:rtol=0.01,atol=0.01*sqrt(K),relative_to=larger,terms=greater,nan=equal,ratio=0.99"]
FUNCTIONS = ("acos acosh asin asinh atan atanh cbrt cos cosh cospi erf erfc exp exp10 exp2 expm1 gelu gelu_tanh log log10 log1p log2 rcp relu rsqrt "
             "sigmoid silu sin sinh sinpi softplus sqrt tan tanh tanpi").split()
