# SPDX-License-Identifier: Apache-2.0
"""Which layers of my model survive fp8? A small transformer, one layer of which has outliers, trained for some steps in fp8: for each
layer the operand that loses most.

    python3 layers_that_survive_fp8.py
"""
import torch
from torch import nn

import ulpscope as us


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(64, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 64)

    def forward(self, tokens):
        return self.head(self.encoder(self.embedding(tokens)))


torch.manual_seed(0)
model = Model()
with torch.no_grad():  # two channels that are far larger than the others, as large models have them; in float32 the function is the same
    block = model.encoder.layers[1]
    block.norm2.weight[:2] *= 2**16
    block.linear1.weight[:, :2] /= 2**16
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

with us.torch.emulate("fp8_current") as run:
    for step in range(3):
        tokens = torch.randint(0, 64, (8, 16))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.roll(-1, 1).flatten()).backward()
        optimizer.step()

worst = {}
table = run.census()
for row in table.rows:
    cells = dict(zip(table.columns, row))
    if cells["operation"] == "linear" and cells["format"].startswith("float8"):
        lost, coarse = cells["to_zero"] / cells["count"], cells["subnormal"] / cells["count"]
        worst.setdefault(cells["layer"], []).append((lost + coarse, lost, coarse, cells["place"], cells["step"]))
print(f"{'layer':36} {'became zero':>11} {'subnormal':>9}  of its")
for layer, places in sorted(worst.items(), key=lambda item: -max(item[1])[0]):
    _, lost, coarse, place, step = max(places)
    print(f"{layer:36} {100 * lost:9.1f} % {100 * coarse:7.1f} %  {place} in step {step}")
print("numbers that are zero or subnormal have lost most of their bits: keep the layers at the top in bfloat16, or scale them by blocks")
