# SPDX-License-Identifier: Apache-2.0
"""Which layers of my model survive fp8? A small transformer with one layer of outliers, trained in fp8 for some steps: for each layer
the worst of its operands, by the ratio of signal to rounding noise.

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
with torch.no_grad():  # as large models have it: a few channels that are far larger than all others
    model.encoder.layers[1].norm2.weight[:2] = 3000.0
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

with us.torch.emulate("fp8_current") as run:
    for step in range(3):
        tokens = torch.randint(0, 64, (8, 16))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.roll(-1, 1).flatten()).backward()
        optimizer.step()

worst = {}
for row in run.census().rows:
    cells = dict(zip(run.census().columns, row))
    if cells["operation"] == "linear" and cells["format"].startswith("float8"):
        lost = cells["to_zero"] / cells["count"]
        worst.setdefault(cells["layer"], []).append((cells["sqnr_db"], cells["place"], lost))
print(f"{'layer':34} {'SQNR, dB':>8}  {'of its':12} {'became zero':>11}")
for layer, places in sorted(worst.items(), key=lambda item: min(item[1])):
    sqnr, place, lost = min(places)
    print(f"{layer:34} {sqnr:8.1f}  {place:12} {100 * lost:10.1f} %")
print("below 20 dB, a tenth of the signal, a layer is better kept in bfloat16")
