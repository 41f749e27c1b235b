// SPDX-License-Identifier: Apache-2.0
// Looks at the ends of a stretch, and at some inputs between two that are not alike, until nothing of interest lies between
// such two.
#include "verify/conform/conform_pieces.hpp"

#include <algorithm>
#include <utility>

#include "emu/encode.hpp"

namespace ulpscope::verify {
namespace {

/// Inputs that are looked at between two that are not alike.
constexpr std::uint64_t parts = 4;
/// Inputs that are searched together, so that what is found stays in a core's cache.
constexpr std::uint64_t inputs_at_once = std::uint64_t{1} << 16;

class Cutting {
 public:
  explicit Cutting(const PieceQuestion& question)
      : question_(question),
        right_(*question.computations.front()),
        width_(question.computations.size()),
        inputs_(right_.from, 0) {}

  /// Finds pieces at their ends.
  template <class Act>
  void cut(Stretch all, const Act& act) {
    points_.clear();
    const std::uint64_t begin = question_.first(all);
    if (begin == all.end) return;
    add_point(begin, all.end - 1);
    if (begin != all.end - 1) add_point(all.end - 1, all.end);
    compute(0);
    if (points_.size() == 2) join(0, 1);
    while (!gaps_.empty()) look_into_gaps();
    for (std::size_t first = 0; first != none;) {
      std::size_t last = first;
      while (points_[last].next != none && are_alike(first, points_[last].next)) last = points_[last].next;
      act({points_[first].position, points_[last].position + 1}, codes(first));
      first = points_[last].next;
    }
  }

  std::uint64_t computed() const { return computed_; }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  struct Kind {
    bool negative, nan, infinite, zero, saturated;
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  /// An input that is looked at, and the one that comes next.
  struct Point {
    std::uint64_t position, end;  ///< nothing of interest lies from `end` to the next point
    Kind kind;
    std::size_t next;
  };
  /// Between a point and the next one, which is not like it, the first of interest.
  struct Gap {
    std::size_t before;
    std::uint64_t begin;
  };

  void add_point(std::uint64_t position, std::uint64_t end) { points_.push_back({position, end, {}, none}); }
  std::span<const emu::Code> codes(std::size_t point) const { return {codes_.data() + point * width_, width_}; }
  bool are_alike(std::size_t a, std::size_t b) const {
    return points_[a].kind == points_[b].kind && std::equal(codes(a).begin(), codes(a).end(), codes(b).begin());
  }

  /// What is asked of the points from `first` on.
  void compute(std::size_t first) {
    const std::size_t count = points_.size() - first;
    inputs_.resize(count);
    for (std::size_t i = 0; i < count; ++i) inputs_.set(i, question_.code(points_[first + i].position));
    codes_.resize(points_.size() * width_);
    compute_each(question_.computations, inputs_, [&](std::size_t c, const Words& computed) {
      computed.visit([&](const auto& results) {
        for (std::size_t i = 0; i < count; ++i) codes_[(first + i) * width_ + c] = results[i];
      });
    });
    for (std::size_t i = 0; i < count; ++i) points_[first + i].kind = kind(inputs_.code(i), codes(first + i).front());
    computed_ += count;
  }

  Kind kind(emu::Code input, emu::Code expected) const {
    const emu::Format from = right_.from;
    return {.negative = (input & from.sign_mask()) != 0,
            .nan = from.is_nan(input),
            .infinite = from.is_infinite(input),
            .zero = from.is_zero(input),
            .saturated = is_saturated(right_, input, expected)};
  }

  /// The points are neighbours.
  void join(std::size_t before, std::size_t after) {
    Point& point = points_[before];
    point.next = after;
    if (are_alike(before, after)) return;
    const std::uint64_t begin = question_.first({point.position + 1, point.end});
    if (begin != point.end) gaps_.push_back({before, begin});
  }

  /// Looks at the first of interest in each part of each gap.
  void look_into_gaps() {
    now_.swap(gaps_);
    gaps_.clear();
    ends_.clear();
    std::size_t point = points_.size();
    for (const Gap& gap : now_) {
      Point& before = points_[gap.before];
      const std::uint64_t end = std::exchange(before.end, before.position + 1), step = (end - gap.begin + parts - 1) / parts;
      for (std::uint64_t at = gap.begin; at < end; at += step) {
        const Stretch part{at, std::min(at + step, end)};
        if (const std::uint64_t first = question_.first(part); first != part.end) add_point(first, part.end);
      }
      ends_.push_back(points_.size());
    }
    compute(point);
    for (std::size_t g = 0; g < now_.size(); ++g) {
      std::size_t before = now_[g].before;
      const std::size_t after = points_[before].next;
      for (; point != ends_[g]; before = point++) join(before, point);
      join(before, after);
    }
  }

  const PieceQuestion& question_;
  const Computation& right_;
  const std::size_t width_;
  Words inputs_;
  std::vector<Point> points_;
  std::vector<emu::Code> codes_;  ///< of each point in turn what all computations give
  std::vector<Gap> gaps_, now_;
  std::vector<std::size_t> ends_;  ///< of each gap that is looked into, behind the last of its points
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
  Cutting cutting(question);
  for (std::uint64_t at = all.begin; at < all.end; at += inputs_at_once)
    cutting.cut({at, std::min(at + inputs_at_once, all.end)}, act);
  return cutting.computed();
}

}  // namespace ulpscope::verify
