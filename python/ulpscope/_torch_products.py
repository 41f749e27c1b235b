# SPDX-License-Identifier: Apache-2.0
"""Products of torch as products of the laboratory: linear layers, matrices, convolutions, attention."""
import math

import torch
import torch.nn.functional as F

from ._torch_functions import is_numbers, known, like

_T = torch.Tensor


@known(F.linear)
def linear(run, x, weight, bias=None, part=""):
    """`part`: of a layer that has several products."""
    if not is_numbers(x, weight) or weight.dim() != 2:
        return NotImplemented
    flat = x if x.dim() > 1 else like(x.unsqueeze(0), x)
    out = run._apply("linear", [flat, weight] + ([] if bias is None else [bias]), _part=part)
    return out if x.dim() > 1 else like(out.squeeze(0), out)


@known(torch.matmul, torch.mm, torch.bmm, _T.matmul, _T.mm, _T.bmm, _T.__matmul__)
def matmul(run, a, b, out=None, name="matmul"):
    """`name`: of the operation."""
    if out is not None or not is_numbers(a, b):
        return NotImplemented
    x, y = a, b
    if a.dim() == 1:
        x = like(a.unsqueeze(0), a)
    if b.dim() == 1:
        y = like(b.unsqueeze(1), b)
    turned = name == "attention_scores"
    if x.dim() > 2 and y.dim() == 2 and not turned:  # one product of all rows, as torch has it
        leading = x.shape[:-1]
        x = like(x.reshape(-1, x.shape[-1]), x)
    else:
        leading = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x = like(x.expand(*leading, *x.shape[-2:]), x)
        y = like(y.expand(*leading, *y.shape[-2:]), y)
        leading = (*leading, x.shape[-2])
    d = run._apply(name, [x, y])
    shaped = like(d.reshape(*leading, d.shape[-1]), d)
    shaped = shaped.squeeze(-2) if a.dim() == 1 else shaped
    return like(shaped.squeeze(-1) if b.dim() == 1 else shaped, d)


@known(_T.__rmatmul__)
def _reversed_matmul(run, b, a):
    return matmul(run, a, b)


@known(torch.mv, _T.mv, torch.dot, _T.dot, torch.inner, _T.inner)
def _of_vectors(run, a, b, out=None):
    return NotImplemented if b.dim() != 1 else matmul(run, a, b, out)


def _times(run, x, factor):
    return x if factor == 1 else run._apply("affine", [x], factor=factor, summand=0)


@known(torch.addmm, _T.addmm, torch.baddbmm, _T.baddbmm, torch.addmv, _T.addmv)
def _added_product(run, c, a, b, beta=1, alpha=1, out=None):
    """beta C + alpha A.B: the product is rounded before it is multiplied by alpha and added."""
    if out is not None or not is_numbers(c, a, b):
        return NotImplemented
    product = _times(run, matmul(run, a, b), alpha)
    return product if beta == 0 else run._apply("add", [_times(run, c, beta), product])


@known(torch.addbmm, _T.addbmm)
def _added_products(run, c, a, b, beta=1, alpha=1, out=None):
    """The products of a batch are one, whose sums go on from matrix to matrix."""
    if out is not None or not is_numbers(c, a, b):
        return NotImplemented
    rows = like(a.transpose(0, 1).reshape(a.shape[1], -1), a)
    return _added_product(run, c, rows, like(b.reshape(-1, b.shape[-1]), b), beta, alpha)


@known(torch.einsum)
def einsum(run, equation, *operands):
    """From the left, two operands at a time, each time one product of matrices; what only one of them has is summed before."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    if not isinstance(equation, str) or not is_numbers(*operands) or "." in equation:
        return NotImplemented
    given, arrow, result = equation.replace(" ", "").partition("->")
    words = given.split(",")
    if len(words) != len(operands) or any(len(set(word)) != len(word) or len(word) != t.dim() for word, t in zip(words, operands)):
        return NotImplemented
    if not arrow:
        result = "".join(sorted(c for c in set(given) - {","} if given.count(c) == 1))
    word, x = words[0], operands[0]
    for i in range(1, len(operands)):
        needed = set(result).union(*words[i + 1 :])
        word, x = _contracted(run, word, x, words[i], operands[i], needed)
    word, x = _summed(run, word, x, set(result))
    return like(x.permute([word.index(c) for c in result]), x)


def _summed(run, word, x, needed):
    for c in [c for c in word if c not in needed]:
        at = word.index(c)
        x = run._apply("sum", [x], dimension=at)
        x = like(x.squeeze(at), x)
        word = word.replace(c, "")
    return word, x


def _contracted(run, word, x, other, y, needed):
    word, x = _summed(run, word, x, needed | set(other))
    other, y = _summed(run, other, y, needed | set(word))
    batch = [c for c in word if c in other and c in needed]
    along = [c for c in word if c in other and c not in needed]
    rows, columns = [c for c in word if c not in other], [c for c in other if c not in word]
    extents = {**dict(zip(other, y.shape)), **dict(zip(word, x.shape))}

    def as_matrices(t, letters, first, second):
        t = like(t.permute([letters.index(c) for c in batch + first + second]), t)
        counts = [1, 1, 1]
        for i, group in enumerate((batch, first, second)):
            for c in group:
                counts[i] *= extents[c]
        return like(t.reshape(counts), t)

    d = matmul(run, as_matrices(x, word, rows, along), as_matrices(y, other, along, columns))
    return "".join(batch + rows + columns), like(d.reshape([extents[c] for c in batch + rows + columns]), d)


def _pair(value):
    return (value, value) if isinstance(value, int) else tuple(value) * (2 // len(value))


@known(F.conv2d, torch.conv2d)
def _convolution(run, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Groups are products of their own; unequal paddings are zeros that are put around the images first."""
    if not is_numbers(x, weight) or x.dim() != 4 or isinstance(padding, str) and padding != "valid":
        return NotImplemented
    stride, padding = _pair(stride), _pair(0 if padding == "valid" else padding)
    if stride[0] != stride[1] or _pair(dilation) != (1, 1):
        return NotImplemented
    if padding[0] != padding[1]:
        x, padding = like(F.pad(x, (padding[1], padding[1], padding[0], padding[0])), x), (0, 0)

    def product(x, weight, bias):
        given = [x, weight] + ([] if bias is None else [bias])
        return run._apply("convolution", given, stride=stride[0], padding=padding[0])

    if groups == 1:
        return product(x, weight, bias)
    parts = zip(x.chunk(groups, 1), weight.chunk(groups), [None] * groups if bias is None else bias.chunk(groups))
    made = [product(like(a, x), like(w, weight), b if b is None else like(b, bias)) for a, w, b in parts]
    return like(torch.cat(made, 1), made[0])


@known(F.conv1d, torch.conv1d)
def _convolution_of_lines(run, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    if isinstance(padding, str) or x.dim() != 3:
        return NotImplemented
    padding = _pair(padding)[0]
    image = like(F.pad(x, (padding, padding)).unsqueeze(2), x)
    out = _convolution(run, image, like(weight.unsqueeze(2), weight), bias, _pair(stride)[0], 0, dilation, groups)
    return out if out is NotImplemented else like(out.squeeze(2), out)


@known(F.scaled_dot_product_attention)
def attention(run, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, shares_to=None):
    """`shares_to`: a list that gets the shares of the values. Where all of a row is masked these are 0, as torch has them; with
    `shares_to` NaN, as F.multi_head_attention_forward has them where it gives them."""
    if not is_numbers(q, k, v):
        return NotImplemented
    if is_causal and q.shape[-2] != k.shape[-2]:
        return NotImplemented
    if enable_gqa and q.shape[-3] != k.shape[-3]:
        times = q.shape[-3] // k.shape[-3]
        k, v = (like(t.repeat_interleave(times, -3), t) for t in (k, v))
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = run._apply("affine", [matmul(run, q, k, name="attention_scores")], factor=scale, summand=0)
    if is_causal:
        scores = run._apply("mask_future", [scores], value=float("-inf"))
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = like(scores.masked_fill(~attn_mask, float("-inf")), scores)
        else:
            scores = run._apply("add", [scores, attn_mask])
    empty = None
    if attn_mask is not None and shares_to is None:
        empty = torch.isneginf(scores.detach()).all(-1, keepdim=True)
        if not bool(empty.any()):
            empty = None
        else:
            scores = like(scores.masked_fill(empty, 0), scores)
    shares = run._apply("softmax", [scores])
    if empty is not None:
        shares = like(shares.masked_fill(empty, 0), shares)
    if dropout_p:
        shares = like(torch.dropout(shares, dropout_p, True), shares)
    if shares_to is not None:
        shares_to.append(shares)
    return matmul(run, shares, v, name="attention_mean")


@known(F.multi_head_attention_forward)
def _multi_head_attention(
    run, query, key, value, width, heads, in_weight, in_bias, bias_k, bias_v, add_zero_attn, dropout_p, out_weight, out_bias,
    training=True, key_padding_mask=None, need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None,
    k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True, is_causal=False,
):  # fmt: skip
    """Of one tensor its queries, keys and values are one product, as in torch; that and the last one are `in_proj` and
    `out_proj` of the layer."""
    unusual = (bias_k, bias_v, static_k, static_v)
    if any(one is not None for one in unusual) or add_zero_attn or query.dim() != 3:
        return NotImplemented
    length, batch, _ = query.shape
    if query is key and key is value and not use_separate_proj_weight:
        together = linear(run, query, in_weight, in_bias, part="in_proj")
        projected = [like(t, together) for t in together.chunk(3, -1)]
    else:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_weight.chunk(3)
        biases = (None,) * 3 if in_bias is None else in_bias.chunk(3)
        parts = ("in_proj.q", "in_proj.k", "in_proj.v")
        projected = [
            linear(run, x, like(w, in_weight if in_weight is not None else w), b if b is None else like(b, in_bias), part=part)
            for x, w, b, part in zip((query, key, value), weights, biases, parts)
        ]
    q, k, v = (like(y.reshape(y.shape[0], batch, heads, width // heads).permute(1, 2, 0, 3), y) for y in projected)
    mask = _mask_of_heads(attn_mask, key_padding_mask, batch, heads)
    kept = [] if need_weights else None
    causal = is_causal and attn_mask is None
    out = attention(run, q, k, v, mask, dropout_p if training else 0.0, causal, shares_to=kept)
    if out is NotImplemented:
        return out
    joined = like(out.permute(2, 0, 1, 3).reshape(length, batch, width), out)
    result = linear(run, joined, out_weight, out_bias, part="out_proj")
    if not need_weights:
        return result, None
    return result, kept[0].mean(1) if average_attn_weights else kept[0]


def _mask_of_heads(attn_mask, key_padding_mask, batch, heads):
    """What F.scaled_dot_product_attention takes: of bool True is what stays, here it is what is left out."""
    if attn_mask is not None and attn_mask.dim() == 3:
        attn_mask = attn_mask.reshape(batch, heads, *attn_mask.shape[-2:])
    if key_padding_mask is not None:
        key_padding_mask = key_padding_mask[:, None, None, :]
    masks = [mask for mask in (attn_mask, key_padding_mask) if mask is not None]
    if not masks:
        return None
    if all(mask.dtype == torch.bool for mask in masks):
        left_out = masks[0] if len(masks) == 1 else masks[0] | masks[1]
        return ~left_out
    return sum(torch.zeros(mask.shape).masked_fill_(mask, float("-inf")) if mask.dtype == torch.bool else mask for mask in masks)
