// SPDX-License-Identifier: Apache-2.0
// Looks for each wrong matrix of D at what other operands would have given in some of its elements.
#include "verify/explain/other_matrices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tensors/parallel.hpp"

namespace ulpscope::verify {
namespace {

/// Elements of a matrix of D that are compared, and the fewest that say anything among so many pairs.
constexpr std::size_t most_compared = 16, least_compared = 8;
/// Pairs of a matrix of D and one of an operand, beyond which not all are tried.
constexpr std::size_t most_pairs = std::size_t{1} << 16;

/// What is read from another matrix.
struct Reading {
  bool a, b;              ///< of which operands
  bool elements, scales;  ///< of these
  const char* word;
  const char* words;
};
constexpr std::array readings{Reading{false, true, true, false, "B=matrix", "B"},
                              Reading{true, false, true, false, "A=matrix", "A"},
                              Reading{false, true, true, true, "B=matrix-scaled", "B, and its scales,"},
                              Reading{true, false, true, true, "A=matrix-scaled", "A, and its scales,"},
                              Reading{false, true, false, true, "scales/b=matrix", "the scales of B"},
                              Reading{true, false, false, true, "scales/a=matrix", "the scales of A"},
                              Reading{true, true, true, true, "inputs=matrix", "A and B"}};

/// A wrong element of a matrix of D.
struct Element {
  std::size_t row, column;
  double d, claimed;
};

class OtherMatricesOf {
 public:
  OtherMatricesOf(const Claim& claim, const MatmulData& data, const ReplayedOutputs& outputs, const Reading& reading)
      : shape_(data.shape), alpha_(claim.kernel.epilogue.alpha), data_(data), outputs_(outputs), reading_(reading) {
    const std::size_t batch = shape_.batch();
    for (std::size_t i = 0; i < batch; ++i)
      if (const std::size_t stored = stored_of(i); stored == first_with_.size()) first_with_.push_back(i);
    for (std::size_t i = 0; i < outputs.count(); i += shape_.m * shape_.n) wrong_matrices_ += is_wrong(i) ? 1 : 0;
  }

  /// For each matrix of the batch whose is nearest; none where each has its own.
  std::optional<std::vector<std::size_t>> nearest(int threads) const {
    std::vector<std::size_t> of(shape_.batch());
    tensors::for_each_index(of.size(), threads, [&](std::size_t i) { of[i] = nearest_to(i); });
    for (std::size_t i = 0; i < of.size(); ++i)
      if (of[i] != i) return of;
    return std::nullopt;
  }

  Cause cause(const std::vector<std::size_t>& of) const {
    const std::size_t matrices = first_with_.size(), each = of.size() / matrices;
    const auto all = [&](auto expected) {
      for (std::size_t i = 0; i < of.size(); ++i)
        if (const std::optional<std::size_t> matrix = expected(i); matrix && *matrix != stored_of(of[i])) return false;
      return true;
    };
    const auto known = [&](const std::string& word, const std::string& words) {
      return made(of, static_cast<std::uint64_t>(std::bit_width(matrices)), word, words);
    };
    const std::size_t first = stored_of(of[0]);
    if (all([&](std::size_t) { return first; }))
      return known(fmt::format("{}", first), fmt::format("from matrix {} for all of the batch", first));
    if (all([&](std::size_t i) { return i == 0 ? std::nullopt : std::optional(stored_of(i - 1)); }))
      return known("previous", "from the matrix before");
    if (all([&](std::size_t i) { return i + 1 == of.size() ? std::nullopt : std::optional(stored_of(i + 1)); }))
      return known("next", "from the matrix after");
    if (all([&](std::size_t i) { return i % matrices; }))
      return known("modulo", fmt::format("from matrix i mod {} for matrix i of the batch", matrices));
    if (of.size() % matrices == 0 && all([&](std::size_t i) { return i / each; }))
      return known("divided", fmt::format("from matrix i / {} for matrix i of the batch", each));
    return listed(of);
  }

 private:
  std::size_t stored_of(std::size_t matrix) const {
    return reading_.a == reading_.b ? matrix : (reading_.a ? shape_.a_of : shape_.b_of)[matrix];
  }
  bool is_wrong(std::size_t first) const {
    for (std::size_t i = first; i < first + shape_.m * shape_.n; ++i)
      if (outputs_.is_wrong(i)) return true;
    return false;
  }

  std::vector<Element> elements_of(std::size_t matrix) const {
    std::vector<Element> elements;
    const std::size_t size = shape_.m * shape_.n, step = std::max<std::size_t>(1, size / (4 * most_compared));
    // Steps, then what is between them: rows and columns of all places.
    for (std::size_t from = 0; from < step && elements.size() < most_compared; ++from)
      for (std::size_t i = from; i < size && elements.size() < most_compared; i += step) {
        const std::size_t at = matrix * size + i;
        const double d = outputs_.d()[at], claimed = outputs_.claimed()[at];
        if (outputs_.is_wrong(at) && std::isfinite(d) && std::isfinite(claimed))
          elements.push_back({i / shape_.n, i % shape_.n, d, claimed});
      }
    return elements;
  }

  double product(std::size_t matrix, std::size_t other, const Element& element, std::size_t k) const {
    const std::size_t a = reading_.a && reading_.elements ? other : matrix,
                      b = reading_.b && reading_.elements ? other : matrix,
                      scale_a = reading_.a && reading_.scales ? other : matrix,
                      scale_b = reading_.b && reading_.scales ? other : matrix;
    double product = data_.a_at(shape_.a_of[a], element.row, k) * data_.b_at(shape_.b_of[b], k, element.column);
    if (!data_.scale_a.empty())
      product *= static_cast<double>(data_.scale_a.at(shape_.a_of[scale_a], element.row, k) * data_.scale_a.whole());
    if (!data_.scale_b.empty())
      product *= static_cast<double>(data_.scale_b.at(shape_.b_of[scale_b], element.column, k) * data_.scale_b.whole());
    return product;
  }

  /// How far D is from what it would be, squared and summed, or something beyond `most`.
  double distance(std::size_t matrix, std::size_t other, const std::vector<Element>& elements, double most) const {
    double distance = 0;
    for (const Element& element : elements) {
      double more = 0;
      for (std::size_t k = 0; k < shape_.k; ++k)
        more += product(matrix, other, element, k) - product(matrix, matrix, element, k);
      const double off = element.claimed + alpha_ * more - element.d;
      distance += off * off;
      if (!(distance <= most)) return std::numeric_limits<double>::infinity();
    }
    return distance;
  }

  std::size_t nearest_to(std::size_t matrix) const {
    const std::vector<Element> elements = elements_of(matrix);
    if (elements.size() < least_compared) return matrix;
    double own = 0, size = 0;
    for (const Element& element : elements) {
      const double off = element.claimed - element.d;
      own += off * off, size += element.claimed * element.claimed + element.d * element.d;
    }
    constexpr double rounded = 0x1p-20, clearly = 0x1p-6;  // of squares
    if (!(own > rounded * size)) return matrix;
    std::size_t nearest = matrix;
    double least = clearly * own;
    for (const std::size_t other : candidates(matrix))
      if (const double off = distance(matrix, other, elements, least); off < least) least = off, nearest = other;
    return nearest;
  }

  std::vector<std::size_t> candidates(std::size_t matrix) const {
    const std::size_t matrices = first_with_.size(), own = stored_of(matrix), batch = shape_.batch();
    if (wrong_matrices_ * matrices <= most_pairs) return first_with_;
    std::vector<std::size_t> candidates{0, own + 1, own - 1, matrix % matrices, matrix / (batch / matrices)};
    if (matrix > 0) candidates.push_back(stored_of(matrix - 1));
    if (matrix + 1 < batch) candidates.push_back(stored_of(matrix + 1));
    std::erase_if(candidates, [&](std::size_t stored) { return stored >= matrices; });
    for (std::size_t& stored : candidates) stored = first_with_[stored];
    return candidates;
  }

  Cause made(const std::vector<std::size_t>& of, std::uint64_t choices, const std::string& word,
             const std::string& words) const {
    return {fmt::format("{}:{}", reading_.word, word),
            fmt::format("{} read {}", reading_.words, words),
            {},
            [reading = reading_, other = std::make_shared<const OtherMatrices>(OtherMatrices{of, choices})](Kernel& kernel) {
              for (OperandPath* const path : {&kernel.a, &kernel.b}) {
                if (!(path == &kernel.a ? reading.a : reading.b)) continue;
                if (reading.elements) path->elements = other;
                if (reading.scales) path->scales = other;
              }
            }};
  }

  Cause listed(const std::vector<std::size_t>& of) const {
    constexpr std::size_t most_named = 4;
    std::string words;
    std::size_t others = 0;
    for (std::size_t i = 0; i < of.size(); ++i)
      if (of[i] != i && ++others <= most_named)
        words += fmt::format("{}matrix {}: {}", others == 1 ? "" : "; ", i, stored_of(of[i]));
    if (others > most_named) words += fmt::format("; and {} more", others - most_named);
    const auto bits = static_cast<std::uint64_t>(std::bit_width(first_with_.size()));
    return made(of, others * bits, "other", fmt::format("from other matrices ({})", words));
  }

  const products::MatmulShape& shape_;
  double alpha_;
  const MatmulData& data_;
  const ReplayedOutputs& outputs_;
  Reading reading_;
  std::vector<std::size_t> first_with_;  ///< of each matrix of the operand, the first of the batch that has it
  std::size_t wrong_matrices_ = 0;
};

}  // namespace

std::vector<Cause> other_matrix_causes(const Claim& claim, const MatmulData& data, const ReplayedOutputs& outputs) {
  std::vector<Cause> causes;
  if (data.shape.batch() < 2) return causes;
  for (const Reading& reading : readings) {
    const bool has_scales = (reading.a && !data.scale_a.empty()) || (reading.b && !data.scale_b.empty());
    if (reading.a != reading.b && reading.scales && !has_scales) continue;
    const OtherMatricesOf others(claim, data, outputs, reading);
    if (const auto of = others.nearest(claim.config.threads)) causes.push_back(others.cause(*of));
  }
  return causes;
}

}  // namespace ulpscope::verify
