#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a training step of a transformer costs under a recipe beside torch's own, and what looking on costs.

usage: torch_step.py [--recipe NAME]... [--threads N] [--seconds S] [--watch], with the package on PYTHONPATH

An encoder of 4 layers, width 256, 4 heads and 8 x 128 tokens, its embedding, head, cross-entropy and AdamW. Steps of both kinds take
turns; figures are medians of the processor time of the whole process, which other programs disturb less than the clock."""
import argparse
import statistics
import time

import torch
import ulpscope as us
from torch import nn


def a_step(width=256, context=128):
    """The model, and a function that takes one step."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.Embedding(512, width), nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), nn.Linear(width, 512))
    tokens, classes = torch.randint(0, 512, (8, context)), torch.randint(0, 512, (8 * context,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens).flatten(0, 1), classes).backward()
        optimizer.step()

    return model, step


def seconds_of(step):
    """Of processor time; a step may give its own."""
    begun = time.process_time()
    own = step()
    return time.process_time() - begun if own is None else own


def in_turns(first, second, seconds):
    """Medians of both, and how many of each there were."""
    times, end = ([], []), time.monotonic() + seconds
    first(), second()
    while time.monotonic() < end or len(times[0]) < 3:
        times[0].append(seconds_of(first))
        times[1].append(seconds_of(second))
    return [statistics.median(one) for one in times], len(times[0])


def emulated(recipe, seconds):
    """A step of torch, and one under the recipe."""
    (_, plain), (_, own) = a_step(), a_step()
    block = us.torch.emulate(recipe)

    def under():
        with block:
            own()

    return in_turns(plain, under, seconds)


def watched(look, seconds, width=256, context=128):
    """A step of torch, and one with the hooks of a watch; `look`: that looks."""
    model, step = a_step(width, context)

    def seen():
        watch = us.torch.watch(model, every=100)
        watch.step = 0 if look else 1
        begun = time.process_time()
        step()
        seconds = time.process_time() - begun
        watch.end()
        return seconds

    return in_turns(step, seen, seconds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--recipe", action="append", default=[])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--watch", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    for recipe in asked.recipe or ([] if asked.watch else ["fp8_deepseek"]):
        (plain, own), count = emulated(recipe, asked.seconds)
        print(f"{recipe}: torch {plain:.3f} s, emulated {own:.3f} s, {own / plain:.1f} times ({count} steps of each)", flush=True)
    if asked.watch:
        # The hooks cost the same at any width: of a narrow model they are more than the noise.
        (narrow, hooked), count = watched(False, asked.seconds, width=16, context=8)
        (plain, looking), looks = watched(True, asked.seconds)
        hooks, look = (hooked - narrow) / plain, looking / plain - 1
        print(f"watch: hooks {1e3 * (hooked - narrow):.2f} ms, {100 * hooks:.2f} % of a step of {plain:.3f} s ({count} pairs); "
              f"a look {100 * look:.0f} % ({looks}); every=100: {100 * hooks + look:.2f} %")


if __name__ == "__main__":
    main()
