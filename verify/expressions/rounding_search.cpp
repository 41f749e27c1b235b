// SPDX-License-Identifier: Apache-2.0
// What a search for rounding points has found, and how it is said.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "emu/error.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"
#include "requests/parts.hpp"
#include "verify/expressions/rounding_points.hpp"

namespace ulpscope::verify {
namespace {

std::string share_of(std::uint64_t part, std::uint64_t of) {
  return fmt::format("{:.4g}%", of == 0 ? 100.0 : 100.0 * static_cast<double>(part) / static_cast<double>(of));
}

std::string other_formulas(std::ptrdiff_t count) { return count == 1 ? "one other" : std::to_string(count) + " others"; }

}  // namespace

RoundingPoint parse_rounding_point(const std::string& word) {
  std::string rest = word;
  const auto next = [&] {
    const std::size_t colon = rest.find(':');
    const std::string part = rest.substr(0, colon);
    rest = colon == std::string::npos ? std::string() : rest.substr(colon + 1);
    return part;
  };
  const bool ends = word.empty() || word.back() == ':';
  RoundingPoint point{.format = requests::parse_format(ends ? word : next())};
  if (!emu::fits_float(point.format)) throw Error("--points " + word + ": give formats of at most float32");
  while (!rest.empty()) {
    const std::string part = next();
    const auto rounding = emu::parse_rounding(part);
    const auto policy = emu::parse_policy(part);
    if (!policy && (!rounding || *rounding == emu::Rounding::stochastic))
      throw Error("--points " + word +
                  ": give FORMAT, FORMAT:ROUNDING or FORMAT:POLICY, such as bf16:toward_zero or e4m3:saturating");
    if (policy) point.options.policy = *policy;
    if (rounding) point.options.rounding = *rounding;
  }
  return point;
}

double RoundingPoints::evidence_bits() const {
  // Of n elements that are the value of one formula and not of the other, k are that of this one. Where the given formula is
  // the kernel's, each of them is its value at least as likely as not: k or more of n are this one's with a chance of at most
  // 2^-n(1 - H(k/n)), H the binary entropy (H. Chernoff, Ann. Math. Stat. 23 (1952), 493).
  const double n = static_cast<double>(gained + lost), share = static_cast<double>(gained) / n;
  if (gained <= lost) return 0;
  const auto entropy = [](double p) { return p == 0 ? 0 : -p * emu::log2(p); };
  return n * (1 - entropy(share) - entropy(1 - share));
}

double RoundingSearch::needed_bits() const { return emu::log2(static_cast<double>(points.size())) + 4; }

const RoundingPoints* RoundingSearch::found() const {
  const auto speaks = [&](const RoundingPoints& one) { return !holds() || one.evidence_bits() >= needed_bits(); };
  for (std::size_t i = 1; i < points.size(); ++i) {
    const RoundingPoints& one = points[i];
    if (one.beyond != 0 || one.equal <= points.front().equal) return nullptr;
    if (speaks(one)) return &one;
  }
  return nullptr;
}

std::string sentence_of(const RoundingSearch& search) {
  const RoundingPoints& given = search.points.front();
  const RoundingPoints* const found = search.found();
  if (search.is_vacuous())
    return "nothing to explain: " +
           std::string(search.count == 0 ? "it has no elements" : "every element is NaN, which shows no rounding");
  const std::string part = search.count == search.total
                               ? ""
                               : fmt::format("; of its {} elements these are the first {}", search.total, search.count);
  // Others that are as good.
  const auto others_like = [&](const RoundingPoints& one) {
    return std::count_if(search.points.begin(), search.points.end(), [&](const RoundingPoints& points) {
      return &points != &one && points.beyond == 0 &&
             (points.equal == one.equal || (&one == &given && points.equal > one.equal));
    });
  };
  if (search.holds() && found == nullptr) {
    const auto others = others_like(given);
    return fmt::format(
        "it rounds where the formula does: {} of {} elements are its value rounded once, the others within its bound{}{}",
        given.equal, search.count, others == 0 ? "" : "; this output does not tell it from " + other_formulas(others), part);
  }
  if (found != nullptr) {
    const auto others = others_like(*found);
    return fmt::format(
        "it is {}{}: {} of the elements are its value rounded once, all are within its bound; of the formula as it stands {} "
        "are, and {} are beyond its bound{}",
        found->formula, others == 0 ? "" : ", or " + other_formulas(others) + " that this output does not tell from it",
        share_of(found->equal, search.count), share_of(given.equal, search.count), share_of(given.beyond, search.count), part);
  }
  const bool other = search.points.size() > 1 && search.points[1].beyond < given.beyond;
  const RoundingPoints& best = other ? search.points[1] : given;
  const std::string fewer = fmt::format(", but {} of them are its value rounded once, and {} that of the formula as it stands",
                                        share_of(best.equal, search.count), share_of(given.equal, search.count));
  return fmt::format("no roundings of intermediate results explain it: {} leaves {} of the elements beyond its bound{}{}",
                     best.formula, share_of(best.beyond, search.count), best.beyond == 0 ? fewer : "", part);
}

reports::Table table_of(const RoundingSearch& search) {
  reports::Table table{"explain", {}, {}};
  for (const RoundingPoints& points : search.points)
    table.add({{"formula", points.formula},
               {"added", reports::whole(points.added)},
               {"removed", reports::whole(points.removed)},
               {"equal", reports::whole(points.equal)},
               {"beyond", reports::whole(points.beyond)},
               {"count", reports::whole(search.count)}});
  return table;
}

}  // namespace ulpscope::verify
