// SPDX-License-Identifier: Apache-2.0
// Looks at the ends of stretches and cuts those that are not alike. Into sixteen: a call of the bulk functions costs as much as
// some tens of results.
#include "verify/conform/conform_pieces.hpp"

#include <algorithm>

#include "emu/encode.hpp"

namespace ulpscope::verify {
namespace {

/// Parts of a stretch that is cut, and their least size. So few inputs are looked at one by one.
constexpr std::uint64_t parts = 16;
/// Stretches that are looked at together, so that their results stay in a core's cache.
constexpr std::size_t stretches_at_once = 1024;

class Cutting {
 public:
  Cutting(const PieceQuestion& question, Stretch all)
      : question_(question), right_(*question.computations.front()), inputs_(right_.from, 0) {
    if (!question_.trim(all)) return;
    if (question_.ordered) {
      open_.push_back(all);
    } else {
      add_each(all);
    }
  }

  /// Looks at some of the stretches. Whether there were any.
  template <class Act>
  bool look(const Act& act) {
    now_.assign(open_.end() - static_cast<std::ptrdiff_t>(std::min(open_.size(), stretches_at_once)), open_.end());
    open_.resize(open_.size() - now_.size());
    compute_ends();
    const std::size_t width = question_.computations.size();
    std::size_t point = 0;
    for (const Stretch& stretch : now_) {
      const std::span<const emu::Code> first(codes_.data() + point * width, width);
      const std::size_t last = point + (stretch.size() == 1 ? 0 : 1);
      if (last == point ||
          (std::equal(first.begin(), first.end(), codes_.data() + last * width) && kind(point) == kind(last))) {
        act(stretch, first);
      } else {
        cut(stretch);
      }
      point = last + 1;
    }
    computed_ += point;
    return !now_.empty();
  }

  std::uint64_t computed() const { return computed_; }

 private:
  void compute_ends() {
    inputs_.resize(2 * now_.size());
    std::size_t point = 0;
    for (const Stretch& stretch : now_) {
      inputs_.set(point++, question_.code(stretch.begin));
      if (stretch.size() != 1) inputs_.set(point++, question_.code(stretch.end - 1));
    }
    inputs_.resize(point);
    const std::size_t width = question_.computations.size();
    codes_.resize(point * width);
    compute_each(question_.computations, inputs_, [&](std::size_t c, const Words& computed) {
      computed.visit([&](const auto& results) {
        for (std::size_t i = 0; i < point; ++i) codes_[i * width + c] = results[i];
      });
    });
  }

  struct Kind {
    bool negative, nan, infinite, zero, saturated;
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  Kind kind(std::size_t point) const {
    const emu::Format from = right_.from;
    const emu::Code input = inputs_.code(point), expected = codes_[point * question_.computations.size()];
    return {.negative = (input & from.sign_mask()) != 0,
            .nan = from.is_nan(input),
            .infinite = from.is_infinite(input),
            .zero = from.is_zero(input),
            .saturated = is_saturated(right_, input, expected)};
  }

  void add(Stretch stretch) {
    if (stretch.size() != 0 && question_.trim(stretch)) open_.push_back(stretch);
  }
  void add_each(Stretch stretch) {
    for (std::uint64_t at = stretch.begin; at < stretch.end; ++at) add({at, at + 1});
  }
  void cut(Stretch stretch) {
    if (stretch.size() <= parts) return add_each(stretch);
    const std::uint64_t step = std::max(parts, (stretch.size() + parts - 1) / parts);
    for (std::uint64_t at = stretch.begin; at < stretch.end; at += step) add({at, std::min(at + step, stretch.end)});
  }

  const PieceQuestion& question_;
  const Computation& right_;
  Words inputs_;
  std::vector<Stretch> open_, now_;
  std::vector<emu::Code> codes_;  ///< of each input in turn what all computations give
  std::uint64_t computed_ = 0;
};

}  // namespace

bool is_saturated(const Computation& right, emu::Code input, emu::Code expected) {
  const emu::Format to = right.to;
  if (right.operation || (expected & to.magnitude_mask()) != to.max_finite_code()) return false;
  const emu::Code asked = to.is_signed() ? input : input & right.from.magnitude_mask();
  return right.from.is_infinite(input) ||
         emu::convert(right.from, asked, to, right.rules.options).outcome == emu::Outcome::overflow;
}

std::uint64_t for_each_piece(const PieceQuestion& question, Stretch all,
                             const std::function<void(Stretch, std::span<const emu::Code> codes)>& act) {
  Cutting cutting(question, all);
  while (cutting.look(act)) {
  }
  return cutting.computed();
}

}  // namespace ulpscope::verify
