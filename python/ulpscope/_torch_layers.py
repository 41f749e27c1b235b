# SPDX-License-Identifier: Apache-2.0
"""Layers and losses of torch as those of the laboratory: recurrent layers, tables, pooling, losses."""
import torch
import torch.nn.functional as F

from ._torch_functions import KNOWN, is_numbers, known, like, single
from ._torch_products import linear

_VF = torch._C._VariableFunctions


@known(F.max_pool2d, torch.max_pool2d)
def _max_pool(run, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    size = kernel_size if isinstance(kernel_size, int) else kernel_size[0] if len(set(kernel_size)) == 1 else None
    same = stride in (None, size, (size, size), [size, size], [])
    if size is None or not same or padding not in (0, (0, 0)) or dilation not in (1, (1, 1)) or ceil_mode or return_indices:
        return NotImplemented
    if x.shape[-1] % size or x.shape[-2] % size or x.dim() != 4:
        return NotImplemented
    return run._apply("max_pool", [x], size=size)


@known(F.adaptive_avg_pool2d)
def _mean_of_images(run, x, output_size):
    if output_size not in (1, (1, 1), [1, 1]) or not is_numbers(x):
        return NotImplemented
    return KNOWN[torch.mean](run, x, (-2, -1), True)


@known(F.embedding)
def _embedding(run, indices, table, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if max_norm is not None or scale_grad_by_freq or sparse or indices.is_floating_point():
        return NotImplemented
    gathered = run._apply("gather", [table], rows=indices.reshape(-1).tolist())
    out = like(gathered.reshape(*indices.shape, table.shape[-1]), gathered)
    if padding_idx is not None:  # a row that is not trained
        is_padding = (indices == padding_idx % table.shape[0]).unsqueeze(-1)
        out = like(torch.where(is_padding, out.detach(), out), out)
    return out


def _layers(weights, biased, layers, bidirectional):
    """(weight of inputs, weight of states, their biases or none) by layer, forward and, where there is one, backward."""
    each = 4 if biased else 2
    directions = 2 if bidirectional else 1
    return [[weights[(i * directions + d) * each : (i * directions + d + 1) * each] for d in range(directions)] for i in range(layers)]


def _recurrent(run, x, weights, states, biased, layers, dropout, training, bidirectional, batch_first, steps):
    """Layer after layer, forward and backward in time. `steps`(x, weights, states at first): states and those at last."""
    if not is_numbers(x) or x.dim() != 3 or len(weights) != layers * (4 if biased else 2) * (2 if bidirectional else 1):
        return NotImplemented  # nn.LSTM with proj_size has more weights
    x = x if batch_first else like(x.transpose(0, 1), x)
    last = [[] for _ in states]
    for i, directions in enumerate(_layers(weights, biased, layers, bidirectional)):
        made = []
        for d, own in enumerate(directions):
            at = i * len(directions) + d
            given = like(x.flip(1), x) if d else x
            out, ends = steps(run, given, own, [like(s[at], s) for s in states], f"l{i}" + ("_reverse" if d else ""))
            made.append(like(out.flip(1), out) if d else out)
            for all_ends, end in zip(last, ends):
                all_ends.append(end)
        x = made[0] if len(made) == 1 else like(torch.cat(made, 2), made[0])
        if dropout and training and i + 1 < layers:
            x = like(torch.dropout(x, dropout, True), x)
    out = x if batch_first else like(x.transpose(0, 1), x)
    return (out, *(like(torch.stack(ends), ends[0]) for ends in last))


def _is_zero(t):
    return not t.requires_grad and not bool(t.any())


def _lstm_steps(run, x, weights, states, part):
    h, c = states
    cell = [] if _is_zero(c) else [c]  # at zero it is left out, as in the laboratory's own LSTM
    out, formats = run._apply(
        "lstm", [x, h, weights[0], weights[1], *weights[2:], *cell], bias=len(weights) > 2, cell=len(cell), _part=part, _formats=True
    )
    states, cell = out[:, :-1], out[:, -1]
    states._ulpscope_format, cell._ulpscope_format = formats[0], formats[1]
    return states, (like(states[:, -1], states), cell)


@known(torch.lstm, _VF.lstm)
def _lstm(run, x, states, weights, biased, layers, dropout, training, bidirectional, batch_first=None):
    if not isinstance(states, (list, tuple)) or isinstance(weights, bool):  # packed sequences
        return NotImplemented
    return _recurrent(run, x, weights, states, biased, layers, dropout, training, bidirectional, batch_first, _lstm_steps)


def _unrolled(step):
    """Steps of a layer whose `step`(run, products of the input, products of the state, state) gives the next state."""

    def steps(run, x, weights, states, part):
        h = states[0]
        of_input, of_state, *biases = weights
        inputs = linear(run, x, of_input, biases[0] if biases else None, part=part)
        made = []
        for t in range(x.shape[1]):
            h = step(run, like(inputs[:, t], inputs), linear(run, h, of_state, biases[1] if biases else None, part=part), h)
            made.append(h)
        return like(torch.stack(made, 1), made[0]), (h,)

    return steps


def _gru_step(run, inputs, products, h):
    (r_x, z_x, n_x), (r_h, z_h, n_h) = ([like(t, whole) for t in whole.chunk(3, 1)] for whole in (inputs, products))
    r, z = (run._apply("sigmoid", [run._apply("add", pair)]) for pair in ([r_x, r_h], [z_x, z_h]))
    n = run._apply("tanh", [run._apply("add", [n_x, run._apply("multiply", [r, n_h])])])
    return run._apply("add", [n, run._apply("multiply", [z, run._apply("subtract", [h, n])])])


def _of_states(step, *functions):
    def compute(run, x, state, weights, biased, layers, dropout, training, bidirectional, batch_first=None):
        if not isinstance(state, torch.Tensor) or isinstance(weights, bool) or isinstance(weights, torch.Tensor):
            return NotImplemented
        steps = _unrolled(step)
        return _recurrent(run, x, weights, [state], biased, layers, dropout, training, bidirectional, batch_first, steps)

    for function in functions:
        KNOWN[function] = compute


_of_states(_gru_step, torch.gru, _VF.gru)
_of_states(lambda run, x, y, h: run._apply("tanh", [run._apply("add", [x, y])]), torch.rnn_tanh, _VF.rnn_tanh)
_of_states(lambda run, x, y, h: run._apply("relu", [run._apply("add", [x, y])]), torch.rnn_relu, _VF.rnn_relu)


@known(F.cross_entropy)
def _cross_entropy(run, x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    plain = weight is None and size_average is None and reduce is None and reduction == "mean" and label_smoothing == 0
    if not plain or target.is_floating_point() or x.dim() < 2:
        return NotImplemented
    if x.dim() > 2:  # (N, C, ...)
        x, target = like(x.movedim(1, -1).reshape(-1, x.shape[1]), x), target.reshape(-1)
    kept = target != ignore_index
    if not bool(kept.all()):
        x, target = like(x[kept], x), target[kept]
    if len(target) == 0:
        return NotImplemented
    return single(run._apply("cross_entropy", [x], classes=target.tolist()))


@known(F.mse_loss)
def _mse(run, x, target, size_average=None, reduce=None, reduction="mean", weight=None):
    if size_average is not None or reduce is not None or reduction != "mean" or weight is not None or x.shape != target.shape:
        return NotImplemented
    return single(run._apply("mean_squared_error", [x, target]))


@known(F.binary_cross_entropy_with_logits)
def _bce(run, x, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    if weight is not None or size_average is not None or reduce is not None or reduction != "mean" or pos_weight is not None:
        return NotImplemented
    return single(run._apply("binary_cross_entropy_with_logits", [x, target]))
