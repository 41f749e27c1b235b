// SPDX-License-Identifier: Apache-2.0
// Sums of the first products of some outputs: those of a range are a difference of two of them.
#include "verify/explain/missing_products.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "verify/explain/replay_operands.hpp"

namespace ulpscope::verify {
namespace {

/// Outputs that are compared, the fewest that say anything, places where ranges begin and end, and ranges that are returned.
constexpr std::size_t most_outputs = 64, least_outputs = 8, most_places = 8192, most_found = 6;

/// Sums of products 0 to place - 1, place by place; those of one place together.
class FirstProducts {
 public:
  FirstProducts(const Claim& claim, const MatmulData& data, const Region& region, const std::vector<WrongOutput>& wrong)
      : k_(data.shape.k), stride_((k_ + most_places - 1) / most_places), width_(wrong.size()) {
    const RegionOperands operands = fetch_operands(data, claim.kernel, region);
    std::vector<double> sums(width_);
    for (std::size_t k = 0; k < k_; ++k) {
      if (k % stride_ == 0) add_place(k, sums);
      for (std::size_t o = 0; o < width_; ++o)
        sums[o] += operands.a[wrong[o].row * k_ + k] * operands.b[k * region.columns.size() + wrong[o].column] *
                   factor_of(claim, data, region, wrong[o], k);
    }
    add_place(k_, sums);
  }

  std::size_t places() const noexcept { return places_.size(); }
  std::size_t place(std::size_t i) const noexcept { return places_[i]; }
  const double* sums(std::size_t i) const noexcept { return sums_.data() + i * width_; }
  /// Of the squared differences from the sums of a range, their sum, or something beyond `most`.
  double rest(std::size_t begin, std::size_t end, const std::vector<double>& lacks, double most) const {
    const double *const from = sums(begin), *const to = sums(end);
    double rest = 0;
    for (std::size_t o = 0; o < width_ && rest <= most; ++o) {
      const double off = to[o] - from[o] - lacks[o];
      rest += off * off;
    }
    return rest;
  }

 private:
  void add_place(std::size_t k, const std::vector<double>& sums) {
    places_.push_back(k);
    sums_.insert(sums_.end(), sums.begin(), sums.end());
  }
  std::size_t k_, stride_, width_;
  std::vector<std::size_t> places_;
  std::vector<double> sums_;
};

/// Keeps the ranges with the least rests.
class Best {
 public:
  explicit Best(double most) : most_(most) {}
  /// The rest below which a range is kept.
  double most() const noexcept { return found_.size() < most_found ? most_ : found_.back().first; }
  void add(double rest, ProductsOff range) {
    const auto after = [](double x, const auto& y) { return x < y.first; };
    found_.insert(std::upper_bound(found_.begin(), found_.end(), rest, after), {rest, range});
    if (found_.size() > most_found) found_.pop_back();
  }
  /// The best first.
  std::vector<ProductsOff> ranges() const {
    std::vector<ProductsOff> ranges;
    for (const auto& [rest, range] : found_) ranges.push_back(range);
    return ranges;
  }

 private:
  double most_;
  std::vector<std::pair<double, ProductsOff>> found_;
};

}  // namespace

std::vector<WrongOutput> wrong_outputs(const Region& region, const ReplayedOutputs& outputs) {
  std::vector<WrongOutput> wrong;
  for (std::size_t i = 0; i < region.rows.size(); ++i)
    for (std::size_t j = 0; j < region.columns.size(); ++j) {
      const std::size_t at = outputs.place(region, i * region.columns.size() + j);
      const double lacks = outputs.claimed()[at] - outputs.d()[at];
      if (std::isfinite(lacks) && lacks != 0) wrong.push_back({i, j, lacks});
    }
  std::stable_sort(wrong.begin(), wrong.end(),
                   [](const WrongOutput& x, const WrongOutput& y) { return std::fabs(x.lacks) > std::fabs(y.lacks); });
  if (wrong.size() > most_outputs) wrong.resize(most_outputs);
  return wrong;
}

double factor_of(const Claim& claim, const MatmulData& data, const Region& region, const WrongOutput& output, std::size_t k) {
  double factor = claim.kernel.epilogue.alpha;
  if (!data.scale_a.empty())
    factor *= static_cast<double>(data.scale_a.at(data.shape.a_of[region.matrix], region.rows[output.row], k)) *
              static_cast<double>(data.scale_a.whole());
  if (!data.scale_b.empty())
    factor *= static_cast<double>(data.scale_b.at(data.shape.b_of[region.matrix], region.columns[output.column], k)) *
              static_cast<double>(data.scale_b.whole());
  return factor;
}

MissingProducts missing_products(const Claim& claim, const MatmulData& data, const ReplayedOutputs& outputs) {
  constexpr std::size_t sampled = 1024, products = std::size_t{1} << 22;
  const Region region = outputs.sample(sampled, products);
  const std::vector<WrongOutput> wrong = wrong_outputs(region, outputs);
  if (wrong.size() < least_outputs) return {};
  const FirstProducts first(claim, data, region, wrong);
  std::vector<double> lacks, has_more;
  for (const WrongOutput& output : wrong) lacks.push_back(output.lacks), has_more.push_back(-output.lacks);
  const double all = std::inner_product(lacks.begin(), lacks.end(), lacks.begin(), 0.0);
  Best best(all / 2);
  MissingProducts missing;
  const auto look = [&](std::size_t begin, std::size_t end) {
    for (const bool twice : {false, true}) {
      const double rest = first.rest(begin, end, twice ? has_more : lacks, best.most());
      if (rest < best.most()) best.add(rest, {{first.place(begin), first.place(end)}, twice, 1 - rest / all});
      ++missing.tried;
    }
  };
  // What fits roughly comes first: then most of the others are left after few outputs.
  constexpr std::size_t coarse = 32;
  for (std::size_t begin = 0; begin < first.places(); begin += coarse)
    for (std::size_t end = begin + coarse; end < first.places(); end += coarse) look(begin, end);
  for (std::size_t begin = 0; begin < first.places(); ++begin)
    for (std::size_t end = begin + 1; end < first.places(); ++end)
      if (begin % coarse != 0 || end % coarse != 0) look(begin, end);
  missing.found = best.ranges();
  return missing;
}

}  // namespace ulpscope::verify
