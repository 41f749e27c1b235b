# SPDX-License-Identifier: Apache-2.0
"""The commands of tests/soak/soak, and what they are given: files and folders with planted faults."""
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests/same_bytes"), str(ROOT / "tests/cli")]
from commands import Commands, prepared  # noqa: E402

LIMIT = 300  # seconds
CORPUS = ROOT / "tests/fuzz/corpus"
GOOD = [*(ROOT / "examples/tensors").glob("*.*"), *(ROOT / "studies/data").glob("*.safetensors"), *(ROOT / "studies/data").glob("*.csv"),
        *(CORPUS / "gguf").iterdir(), *(CORPUS / "npz").glob("[ds]*.npz")]
TENSORS = [path for kind in ("npy", "npz", "safetensors", "gguf", "csv") for path in (CORPUS / kind).iterdir()]
# {t}: a tensor file; the others: FILES below, and the folders of made_folders(). What stands behind < is the standard input.
SHAPES = """info {t}
census {t} --to e4m3,fp16 --csv
census {t} --to e2m1 --scale nvfp4 --blocks --json
census {t} {t} --to e5m2 -o out
census --history {t} {t} --all-tensors
census {t} --to e4m3 --scale row --shard 0/2 -o part
sweep {t} --to e4m3 --log2-scale -2:2 --all-tensors
sweep {t} --to fp16 -o out
sweep {t} --to fp16 --svg out.svg
choose {t} --to e4m3,bf16 --below 1% -o plan.toml
cast {t} --to e4m3 --scale amax -o out.safetensors
cast {t} --to e2m1 --scale nvfp4 -o out.safetensors
cast {t} --to e4m3 --scale 128x128 --layout {layout} -o out.safetensors
cast {t} --to e2m1 --scale mx:even --layout {layout} -o out.safetensors
cast {t} --plan {plan} -o out.safetensors
cast {checkpoint} --plan {plan} -o out
cast {index} --to e4m3 -o out
cast {t} --to e5m2 --codes -o out.npy
diff {t} {t}
diff {t} {t} --tolerance ulp=1 -o out
matmul {t} {t} --engine sm_90 --in e4m3
matmul {t} {t} {t} --engine sm_100 --in e4m3 --scale-a {t} --scale-b {t} -o d.npy
verify matmul {t} {t} --output {t}
verify softmax {t} --output {t}
verify rms_norm {t} --weight {t} --output {t} --save out
verify attention {t} {t} {t} --output {t}
verify expr "softmax(x @ y, axis=1)" --input x={t} --input y={t} --output {t}
verify expr {formula} --input x={t} --input y={t} --output {t}
verify cast {t} --output {t} --out e4m3 --junit junit.xml
explain matmul {t} {t} --output {t} --seconds 5
explain expr "silu(x) * y" --input x={t} --input y={t} --output {t}
ledger show {ledger}
ledger diff {ledger} {ledger}
ledger check {ledger} gemm-64 --output {t}
ledger record {ledger} softmax {t} --output {t} --case more --keep-output
devices replay {recording}
run {study} --dry-run
run {small.toml} -o out
info {onnx}
census {onnx} --to e4m3
census {onnx} --inputs {t} --to e4m3,bf16
info {index}
census {index} --to e4m3
census {checkpoint} --to e4m3 --all-tensors
census {checkpoint} --to e2m1 --scale nvfp4 --blocks --all-tensors
choose {checkpoint} --to e4m3 -o plan.toml
cast {checkpoint} --to e4m3 --scale row -o out
diff {checkpoint} {checkpoint}
merge {part} -o out
report check {report}
report diff {report} {report}
audit softmax {t} --out fp32 --rule bound
audit softmax {t} --out bf16 --rule "program:cmp -s {{ref}} {{out}}" -o out
audit matmul {t} {t} --in bf16 --engine sm_90 --rule bound
invariance softmax {t} --output one={t} --output two={t}
invariance matmul {t} {t} --in bf16 --output one={t} -o out
invariance sum {t} --program "cp {t} {{out}}" --out fp32
generate matmul ties --m 8 --n 8 --k 64 --in bf16 --engine sm_90 -o out
generate cast --to e4m3 -o out
conform --dump {dump} --from fp16 --to e4m3
conform --program "tail -c +3" --from e5m2 --to e5m2 --timeout 5
eval --op fma --format e4m3 <{eval}
eval --op convert --from fp32 --format fp16 <{eval}
scale {trace} --scaler pytorch,megatron -o out
train {train} --steps 1 --recipe bf16_amp
train {train} --steps 1 --recipe {recipe} -o out
recipes {recipe}
census x.npy a.npy --to e4m3 -o {measured.partial} --resume
audit softmax x.npy --out bf16 --rule bound -o {asked.partial} --resume
run small.toml -o {cells.partial} --resume
train digits.toml --recipe float32,bf16_amp --steps 40 -o {trained.unfinished} --resume""".splitlines()
LAYOUTS = ("compressed-tensors", "modelopt", "torchao", "deepseek", "gpt-oss", "transformer-engine")
FILES = {"layout": LAYOUTS, "recipe": list((ROOT / "recipes/presets").glob("*.toml")),
         **{kind: list((CORPUS / kind).iterdir()) for kind in
            ("study", "recording", "ledger", "onnx", "plan", "index", "dump", "eval", "trace", "train")}}
FORMULAS = [text for text in (path.read_bytes().decode("utf-8", "replace") for path in (CORPUS / "formula").iterdir()) if "\0" not in text]
BESIDE = (ROOT / "examples/tensors/x.npy", ROOT / "examples/tensors/a.npy", ROOT / "studies/training/digits.toml")  # what folders are made of
STUDY = '[[study]]\nkind = "census"\nname = "x"\ninputs = ["normal:0,1:8", "laplace:0,1:9"]\nto = ["e4m3", "e5m2"]\n'
ENDINGS = (".partial", ".unfinished")  # of folders in which work is kept beside what -o names


def examples(program):
    """Of each command that has none below it: the lines that its help gives."""
    sys.argv = [sys.argv[0], program, str(ROOT)]
    from commands_of import Command
    found = {}
    for command in Command().all():
        if not command.below:
            lines = [line.strip() for line in command.example.splitlines()]
            found[" ".join(command.path)] = [shlex.split(line)[1:] for line in lines if line.startswith("ulpscope ")]
    return found


def listed(program):
    """Commands that read files, of those that two builds are compared by."""
    return [words for words in Commands(program).answered()
            if words and words[0] not in ("man", "completion", "evidence", "conform")
            and any(os.path.isfile(ROOT / word.split(":")[0].split("=")[-1]) for word in words)]


def named(match, folders, chosen):
    """What stands in a shape for {kind}; {{out}} is a slot of the command's own."""
    if match.group(1):
        return "{" + match.group(1) + "}"
    kind = match.group(2)
    if kind == "t":
        return str(chosen.choice(GOOD if chosen.random() < 0.8 else TENSORS))
    if kind == "formula":
        return chosen.choice(FORMULAS)
    return str(chosen.choice(FILES[kind]) if kind in FILES else folders / kind)


def shaped(folders, chosen):
    """A command of SHAPES."""
    return [re.sub(r"\{\{(\w+)\}\}|\{([\w.]+)\}", lambda match: named(match, folders, chosen), word)
            for word in shlex.split(chosen.choice(SHAPES))]


def make_kept(program, folder, output, *words):
    """A folder in which the work for `output` is kept, of a command that was ended."""
    def before():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))  # less than its page has
    is_training = words[0] == "train"
    name = folder / (output + (".unfinished" if is_training else ".partial"))
    process = subprocess.Popen([program, *words, "-o", output, *([] if is_training else ["--resume"])], cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=None if is_training else before)
    while is_training and not list(name.glob("*.safetensors")) and process.poll() is None:
        time.sleep(0.01)
    if is_training:
        process.kill()
    process.wait(LIMIT)
    assert any(path.name != "request.txt" and path.stat().st_size for path in name.iterdir()), f"{name} holds nothing"


def make_folders(program, folder):
    """The folders that SHAPES name."""
    def made(*words):
        subprocess.run([program, *words], cwd=folder, check=True, capture_output=True, timeout=LIMIT)
    for made_of in BESIDE:
        shutil.copy(made_of, folder)
    (folder / "small.toml").write_text(STUDY)
    (folder / "checkpoint").mkdir()
    files = {}
    for number, source in enumerate(("x.npy", "a.npy")):
        name = f"model-{number + 1:05}-of-00002.safetensors"
        made("cast", source, "--to", "bf16", "-o", f"checkpoint/{name}")
        files[source.removesuffix(".npy")] = name
    (folder / "checkpoint/model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": files}))
    made("census", "x.npy", "--to", "e4m3", "--shard", "0/1", "-o", "part")
    made("census", "x.npy", "--to", "e4m3", "-o", "report")
    make_kept(program, folder, "measured", "census", "x.npy", "a.npy", "--to", "e4m3")
    make_kept(program, folder, "asked", "audit", "softmax", "x.npy", "--out", "bf16", "--rule", "bound")
    make_kept(program, folder, "cells", "run", "small.toml")
    make_kept(program, folder, "trained", "train", "digits.toml", "--recipe", "float32,bf16_amp", "--steps", "40")


def faulty(data, words):
    """Bytes with a few faults."""
    data = bytearray(data)
    for _ in range(words.choice((0, 0, 0, 1, 2, 5))):
        at, size = words.randrange(len(data) + 1), words.choice((1, 1, 2, 8, 100))
        kind = words.choice(("change", "bit", "cut", "end", "double", "zero", "number"))
        if kind == "change":
            data[at:at + size] = words.randbytes(min(size, len(data) - at))
        elif kind == "bit" and at < len(data):
            data[at] ^= 1 << words.randrange(8)
        elif kind == "cut":
            del data[at:at + size]
        elif kind == "end":
            del data[at:]
        elif kind == "double":
            data[at:at] = data[at:at + size]
        elif kind == "zero":
            data[at:at + size] = bytes(min(size, len(data) - at))
        elif kind == "number":
            data[at:at + 8] = words.choice((b"\xff" * 8, b"99999999", b"\0" * 7 + b"\x80", b"-1      "))
    return bytes(data)


def copy_of(source, folder, chosen, name):
    """A folder, whose files have faults."""
    for path in [path for path in source.rglob("*") if path.is_file()]:
        copy = folder / name / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(faulty(path.read_bytes(), chosen))


def planted(words, folder, folders, chosen):
    """The command's words, where each that names a file names a faulty copy in the folder."""
    out = []
    for word in words:
        head, name, rest = "", word, ""
        if name.startswith("<"):
            head, name = "<", name[1:]
        if "=" in word and not os.path.exists(ROOT / word):
            head, _, name = word.partition("=")
            head += "="
        if not os.path.isfile(ROOT / name) and ":" in name:
            name, _, rest = name.partition(":")
            rest = ":" + rest
        source = pathlib.Path(name) if name.startswith("/") else ROOT / name
        if source.parent == folders and source.is_dir():
            copy = source.name if source.suffix in ENDINGS else f"{len(out)}_{source.name}"
            copy_of(source, folder, chosen, copy)
            for made_of in (*BESIDE, folders / "small.toml"):
                shutil.copy(made_of, folder)
            out.append(head + (source.stem if source.suffix in ENDINGS else copy) + rest)
            continue
        data = source.read_bytes() if name and os.path.isfile(source) else prepared().get(name)
        if data is None:
            out.append(word)
            continue
        copy = f"{len(out)}_{source.name}"
        if source.is_relative_to(CORPUS) and not source.suffix:
            copy += "." + source.parent.name
        (folder / copy).write_bytes(faulty(data, chosen))
        out.append(head + copy + rest)
    return out
