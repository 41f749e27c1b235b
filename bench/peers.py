# SPDX-License-Identifier: Apache-2.0
"""G elements/s of other libraries on one thread: 2^20 normal floats encoded, and rounded and taken back to float.

ml_dtypes, numpy and PyTorch where they can be imported (they are on PyPI), the host side of CUDA's headers where bench_peers_cuda
was built; the others are named as skipped. A row is {"library", "operation", "format", "elements", "speed"}.
"""
import importlib
import json
import statistics
import subprocess
import time

ELEMENTS = 1 << 20
FORMATS = {"float16": "float16", "bfloat16": "bfloat16", "float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2"}
SECONDS, REPETITIONS = 0.2, 5


def speed(function):
    """Of calls for SECONDS, the median of REPETITIONS."""
    function()
    speeds = []
    for _ in range(REPETITIONS):
        calls, start = 0, time.perf_counter()
        while time.perf_counter() - start < SECONDS:
            function()
            calls += 1
        speeds.append(calls * ELEMENTS / (time.perf_counter() - start) / 1e9)
    return float(f"{statistics.median(speeds):.4g}")


def rows(library, dtypes, encode, round_to):
    for name, dtype in dtypes.items():
        for operation, function in (("encode", encode), ("round_to", round_to)):
            yield {"library": library, "operation": operation, "format": name, "elements": ELEMENTS,
                   "speed": speed(lambda: function(dtype))}


def array_rows(library, numpy, dtypes):
    values = numpy.random.default_rng(1).standard_normal(ELEMENTS, dtype=numpy.float32)
    return rows(library, dtypes, values.astype, lambda dtype: values.astype(dtype).astype(numpy.float32))


def of_numpy():
    numpy = importlib.import_module("numpy")
    return array_rows(f"numpy {numpy.__version__}", numpy, {"float16": numpy.float16})


def of_ml_dtypes():
    ml_dtypes, numpy = importlib.import_module("ml_dtypes"), importlib.import_module("numpy")
    dtypes = {name: getattr(ml_dtypes, theirs) for name, theirs in FORMATS.items() if hasattr(ml_dtypes, theirs)}
    return array_rows(f"ml_dtypes {ml_dtypes.__version__}", numpy, dtypes)


def of_torch():
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    values = torch.randn(ELEMENTS)
    dtypes = {name: getattr(torch, theirs) for name, theirs in FORMATS.items() if hasattr(torch, theirs)}
    return rows(f"PyTorch {torch.__version__}", dtypes, values.to, lambda dtype: values.to(dtype).to(torch.float32))


def of_cuda(build):
    program = build / "bench/bench_peers_cuda"
    if not program.exists():
        raise ImportError("bench_peers_cuda is not built: CUDA's headers were not found")
    command = [program, "--benchmark_format=json", f"--benchmark_min_time={SECONDS}"]
    output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for b in json.loads(output)["benchmarks"]:
        operation, name, library, elements = b["name"].split("/")
        yield {"library": library, "operation": operation, "format": name, "elements": int(elements),
               "speed": float(f"{b['items_per_second'] / 1e9:.4g}")}


def measure(build):
    found = []
    for library, measured in (("numpy", of_numpy), ("ml_dtypes", of_ml_dtypes), ("PyTorch", of_torch),
                              ("CUDA's headers", lambda: of_cuda(build))):
        try:
            found += measured()
        except ImportError as reason:
            found.append({"library": library, "skipped": str(reason)})
    return found
