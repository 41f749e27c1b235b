// SPDX-License-Identifier: Apache-2.0
// Attention and rotary embeddings as operators of their own (from version 23 on).
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "emu/math.hpp"
#include "emu/special_functions.hpp"
#include "studies/onnx/operators.hpp"

namespace ulpscope::studies::onnx {
namespace {

using Kind = Value::Kind;

constexpr double masked = -std::numeric_limits<double>::infinity();

/// Batch, heads, rows and columns of a value; one of three dimensions has its heads side by side in each row.
Value heads_of(const Value& x, std::int64_t heads) {
  x.as_real();
  if (x.shape.size() == 4) return x;
  if (x.shape.size() != 3 || heads < 1 || x.shape[2] % static_cast<std::size_t>(heads) != 0)
    throw Error("of " + words_of(x.shape) + " with " + std::to_string(heads) + " heads");
  const auto count = static_cast<std::size_t>(heads);
  return transposed(reshaped(x, {x.shape[0], x.shape[1], count, x.shape[2] / count}), {0, 2, 1, 3});
}
/// The other way round.
Value side_by_side(const Value& x) {
  return reshaped(transposed(x, {0, 2, 1, 3}), {x.shape[0], x.shape[2], x.shape[1] * x.shape[3]});
}

/// Rows of the past, then those of now.
Value continued(const Value* past, const Value& now) {
  if (past == nullptr) return now;
  if (past->as_real().shape.size() != 4 || past->shape[0] != now.shape[0] || past->shape[1] != now.shape[1] ||
      past->shape[3] != now.shape[3])
    throw Error("a past of " + words_of(past->shape) + " before " + words_of(now.shape));
  Shape shape = now.shape;
  const std::size_t before = past->shape[2] * now.shape[3], behind = now.shape[2] * now.shape[3];
  shape[2] += past->shape[2];
  Value out = make_like(now, shape);
  auto at = out.reals.begin();
  for (std::size_t head = 0; head < shape[0] * shape[1]; ++head) {
    at = std::copy_n(past->reals.begin() + static_cast<std::ptrdiff_t>(head * before), before, at);
    at = std::copy_n(now.reals.begin() + static_cast<std::ptrdiff_t>(head * behind), behind, at);
  }
  return out;
}

/// Each head as often as `times`.
Value repeated(const Value& x, std::size_t times) {
  if (times == 1) return x;
  Shape shape = x.shape;
  shape[1] *= times;
  const std::vector<std::size_t> strides = strides_of(x.shape);
  return moved(x, shape, [&](const std::vector<std::size_t>& at) {
    return at[0] * strides[0] + at[1] / times * strides[1] + at[2] * strides[2] + at[3];
  });
}

/// What is added to a score: a mask's element, or -infinity where a query does not see a key.
class Bias {
 public:
  /// `shape`: of the scores; `past`: keys before those of the first query.
  Bias(const Call& call, const Shape& shape, std::size_t past) : queries_(shape[2]), keys_(shape[3]) {
    is_causal_ = call.whole("is_causal", 0) != 0;
    left_ = call.whole("left_window_size", -1), right_ = call.whole("right_window_size", -1);
    if (const Value* const lengths = call.maybe(6)) {
      if (lengths->as_integers().count() != shape[0])
        throw Error("nonpad_kv_seqlen of " + words_of(lengths->shape) + " for a batch of " + std::to_string(shape[0]));
      lengths_ = lengths->wholes;
    }
    for (std::size_t b = 0; b < shape[0]; ++b)
      offsets_.push_back(lengths_.empty() ? static_cast<std::int64_t>(past)
                                          : std::clamp<std::int64_t>(lengths_[b], 0, std::int64_t{1} << 40) -
                                                static_cast<std::int64_t>(queries_));
    const Value* const mask = call.maybe(3);
    if (mask == nullptr) return;
    if (mask->shape.empty() || mask->shape.size() > 4 || mask->shape.back() > keys_)
      throw Error("a mask of " + words_of(mask->shape) + " for scores of " + words_of(shape));
    Shape wide = shape;
    width_ = wide[3] = mask->shape.back();  // keys behind it are not seen
    if (broadcast(mask->shape, wide) != wide)
      throw Error("a mask of " + words_of(mask->shape) + " for scores of " + words_of(shape));
    mask_ = stretched(*mask, wide);
  }

  double at(std::size_t batch, std::size_t row, std::size_t query, std::size_t key) const {
    const std::int64_t distance =
        static_cast<std::int64_t>(query) + offsets_[batch] - static_cast<std::int64_t>(key);  // how far back the key is
    if (is_causal_ && distance < 0) return masked;
    if ((left_ >= 0 && distance > left_) || (right_ >= 0 && -distance > right_)) return masked;
    if (!lengths_.empty() && static_cast<std::int64_t>(key) >= lengths_[batch]) return masked;
    if (!mask_) return 0;
    if (key >= width_) return masked;
    const double one = mask_->at(row * width_ + key);
    return mask_->is_real() ? one : one != 0 ? 0 : masked;
  }

 private:
  std::size_t queries_, keys_, width_ = 0;
  bool is_causal_ = false;
  std::int64_t left_ = -1, right_ = -1;
  std::vector<std::int64_t> lengths_, offsets_;
  std::optional<Value> mask_;
};

std::vector<Value> attention(const Call& call) {
  if ((call.maybe(4) == nullptr) != (call.maybe(5) == nullptr)) throw Error("a past key or a past value alone");
  const bool is_flat = call.in(0).shape.size() == 3;
  const std::int64_t of_queries = call.whole("q_num_heads", 0), of_keys = call.whole("kv_num_heads", 0);
  const Value q = heads_of(call.in(0), of_queries);
  const Value k = continued(call.maybe(4), heads_of(call.in(1), of_keys)),
              v = continued(call.maybe(5), heads_of(call.in(2), of_keys));
  const std::size_t groups = k.shape[1] == 0 ? 0 : q.shape[1] / k.shape[1];
  if (q.shape[0] != k.shape[0] || k.shape[0] != v.shape[0] || q.shape[3] != k.shape[3] || k.shape[1] != v.shape[1] ||
      k.shape[2] != v.shape[2] || groups * k.shape[1] != q.shape[1])
    throw Error("of " + words_of(q.shape) + ", " + words_of(k.shape) + " and " + words_of(v.shape));
  const double scale = call.real("scale", 1 / std::sqrt(static_cast<double>(q.shape[3]))), cap = call.real("softcap", 0);
  const std::int64_t mode = call.whole("qk_matmul_output_mode", 0);
  Value scores = matmul(q, transposed(repeated(k, groups), {0, 1, 3, 2}), call.threads);
  const Bias bias(call, scores.shape, call.maybe(4) == nullptr ? 0 : call.in(4).shape[2]);
  Value shown = make_like(scores, scores.shape);  // what qk_matmul_output_mode wants of the way to the probabilities
  const std::size_t keys = scores.shape[3], queries = scores.shape[2];
  std::vector<double> line(keys);
  for (std::size_t row = 0; keys != 0 && row < scores.count() / keys; ++row) {
    const std::size_t first = row * keys, batch = row / queries / scores.shape[1];
    double greatest = masked, sum = 0;
    bool sees = false;
    for (std::size_t i = 0; i < keys; ++i) {
      const double raw = scores.at(first + i) * scale, capped = cap > 0 ? cap * emu::tanh(raw / cap) : raw,
                   added = bias.at(batch, row, row % queries, i);
      line[i] = added == masked ? masked : capped + added;
      sees = sees || added != masked;
      greatest =
          std::isnan(line[i]) || std::isnan(greatest) ? std::numeric_limits<double>::quiet_NaN() : std::max(greatest, line[i]);
      shown.reals[first + i] = static_cast<float>(mode == 0 ? raw : mode == 1 ? capped : line[i]);
    }
    sees = sees && greatest != masked;
    for (double& one : line) sum += one = sees ? emu::exp(one - greatest) : 0;
    for (std::size_t i = 0; i < keys; ++i) scores.reals[first + i] = static_cast<float>(sees ? line[i] / sum : 0);
  }
  const Value y = matmul(scores, repeated(v, groups), call.threads);
  return {is_flat ? side_by_side(y) : y, k, v, mode == 3 ? scores : shown};
}

std::vector<Value> rotary_embedding(const Call& call) {
  const Value &given = call.in(0), &cosines = call.in(1).as_real(), &sines = call.in(2).as_real();
  const Value x = heads_of(given, call.whole("num_heads", 0));
  const std::int64_t part = call.whole("rotary_embedding_dim", 0);
  const std::size_t width = x.shape[3], rotated = part == 0 ? width : static_cast<std::size_t>(std::max<std::int64_t>(part, 1)),
                    half = rotated / 2, rows = x.shape[2];
  if (rotated > width || rotated % 2 != 0)
    throw Error("rotary_embedding_dim " + std::to_string(rotated) + " of " + std::to_string(width));
  const Value* const positions = call.maybe(3);
  const Shape by_position{cosines.shape.empty() ? 0 : cosines.shape[0], half}, by_row{x.shape[0], rows, half};
  if (cosines.shape != sines.shape || cosines.shape != (positions == nullptr ? by_row : by_position) ||
      (positions != nullptr && positions->as_integers().shape != Shape{x.shape[0], rows}))
    throw Error("cosines of " + words_of(cosines.shape) + " for " + words_of(x.shape));
  const bool alternates = call.whole("interleaved", 0) != 0;
  Value out = x;
  for (std::size_t line = 0; width != 0 && line < x.count() / width; ++line) {
    std::size_t place = line / rows / x.shape[1] * rows + line % rows;  // of the batch and the row
    if (positions != nullptr) {
      const std::int64_t position = positions->wholes[place], count = static_cast<std::int64_t>(by_position[0]);
      if (position < -count || position >= count)
        throw Error("position " + std::to_string(position) + " of " + std::to_string(count));
      place = static_cast<std::size_t>(position < 0 ? position + count : position);
    }
    for (std::size_t i = 0; i < half; ++i) {
      const std::size_t first = line * width + (alternates ? 2 * i : i), second = first + (alternates ? 1 : half);
      const double c = cosines.at(place * half + i), s = sines.at(place * half + i), a = x.at(first), b = x.at(second);
      out.reals[first] = static_cast<float>(c * a - s * b), out.reals[second] = static_cast<float>(s * a + c * b);
    }
  }
  return {given.shape.size() == 3 ? side_by_side(out) : out};
}

constexpr Operator attention_table[] = {{"Attention", attention}, {"RotaryEmbedding", rotary_embedding}};

}  // namespace

std::span<const Operator> attention_operators() { return attention_table; }

}  // namespace ulpscope::studies::onnx
