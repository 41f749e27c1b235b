# SPDX-License-Identifier: Apache-2.0
"""A model of torch under three recipes: what happens to its loss, and which numbers are lost where."""
import torch
from torch import nn

import ulpscope as us


def train(recipe, steps=20):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x = torch.randn(64, 16)
    classes = x[:, :4].argmax(1)
    with us.torch.emulate(recipe) as run:
        for _ in range(steps):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), classes)
            loss.backward()
            optimizer.step()
    return loss.item(), run


for recipe in ("float32", "fp8_deepseek", "nvfp4"):
    loss, run = train(recipe)
    print(f"{recipe}: loss {loss:.4f} after 20 steps")
    for row in run.findings().rows[:3]:
        print("   ", *row)
