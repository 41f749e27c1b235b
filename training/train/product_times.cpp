// SPDX-License-Identifier: Apache-2.0
// Rows of a CSV by formats, scales and extents.
#include "training/train/product_times.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "emu/error.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"
#include "gpu/library_scales.hpp"

namespace ulpscope::training {
namespace {

using gpu::ScaleMode;
using studies::ScaleRule;

/// The library's word for scales that lie so.
std::string mode_of(ScaleRule rule) {
  const auto mode = [rule] {
    switch (rule) {
      case ScaleRule::none:
      case ScaleRule::number:
      case ScaleRule::amax:
      case ScaleRule::pow2: return ScaleMode::scalar_32f;
      case ScaleRule::row: return ScaleMode::outer_vec_32f;
      case ScaleRule::tile_1x128: return ScaleMode::vec128_32f;
      case ScaleRule::tile_128x128: return ScaleMode::blk128x128_32f;
      case ScaleRule::minmax:
      case ScaleRule::minmax_row:
      case ScaleRule::minmax_1x128: break;
      case ScaleRule::nvfp4:
      case ScaleRule::nvfp4_16x16: return ScaleMode::vec16_ue4m3;
      case ScaleRule::mx_floor:
      case ScaleRule::mx_ceil:
      case ScaleRule::mx_rceil:
      case ScaleRule::mx_even: break;
    }
    return ScaleMode::vec32_ue8m0;
  };
  return std::string(gpu::facts_of(mode()).name);
}

double product_of(double m, double n, double k) { return m * n * k; }

/// How far apart extents are.
double distance(double a, double b) { return std::abs(emu::log2(a / b)); }

}  // namespace

ProductTimes::ProductTimes(const std::string& path) : ProductTimes(reports::read_csv(path), path) {}

ProductTimes::ProductTimes(const reports::CsvFile& file, const std::string& path) {
  const auto column = [&](std::string_view name) {
    for (std::size_t i = 0; i < file.columns.size(); ++i)
      if (file.columns[i] == name) return i;
    throw Error(path + ": no column " + std::string(name) + "; give the device_cost.csv that `ulpscope devices cost` writes");
  };
  const std::size_t format = column("format"), fast = column("fast_accumulation"), time = column("median_us");
  const std::size_t extents[] = {column("m"), column("n"), column("k")};
  const std::size_t scales[] = {column("scale_mode_a"), column("scale_mode_b")};
  std::size_t number = 0;
  for (const std::vector<std::string>& row : file.rows) {
    ++number;
    const auto positive = [&](std::size_t at) {
      double value = 0;
      const char* const end = row[at].data() + row[at].size();
      const auto [stop, error] = std::from_chars(row[at].data(), end, value);
      if (error != std::errc{} || stop != end || !(value > 0) || std::isinf(value))
        throw Error(path + ": row " + std::to_string(number) + ": " + file.columns[at] + " '" + row[at] +
                    "' is no positive number");
      return value;
    };
    if (row[time] == "nan" || row[time].empty()) continue;  // was not measured
    const std::size_t comma = row[format].find(',');
    rows_.push_back({.a = row[format].substr(0, comma),
                     .b = comma == std::string::npos ? row[format] : row[format].substr(comma + 1),
                     .scale_a = row[scales[0]],
                     .scale_b = row[scales[1]],
                     .fast = row[fast] == "yes",
                     .m = positive(extents[0]),
                     .n = positive(extents[1]),
                     .k = positive(extents[2]),
                     .microseconds = positive(time)});
  }
  if (rows_.empty()) throw Error(path + ": no product has a time");
}

std::optional<double> ProductTimes::microseconds(const ProductKind& kind) const {
  const std::string a = emu::format_name(kind.a), b = emu::format_name(kind.b);
  const std::string scale_a = mode_of(kind.scale_a), scale_b = mode_of(kind.scale_b);
  const auto m = static_cast<double>(kind.m), n = static_cast<double>(kind.n), k = static_cast<double>(kind.k);
  if (product_of(m, n, k) == 0) return 0.0;
  double least = std::numeric_limits<double>::infinity();
  std::optional<double> found;
  for (const bool fast : {!kind.promoted, kind.promoted}) {
    for (const Row& row : rows_) {
      if (row.fast != fast) continue;
      const auto consider = [&](double rows, double columns) {
        const double apart = distance(rows, m) + distance(columns, n) + distance(row.k, k);
        if (apart >= least) return;
        least = apart;
        found = row.microseconds * std::max(1.0, product_of(m, n, k) / product_of(row.m, row.n, row.k));
      };
      if (row.a == a && row.b == b && row.scale_a == scale_a && row.scale_b == scale_b) consider(row.m, row.n);
      // D^T = B^T.A^T
      if (row.a == b && row.b == a && row.scale_a == scale_b && row.scale_b == scale_a) consider(row.n, row.m);
    }
    if (found || kind.promoted) return found;
  }
  return found;
}

StepTime ProductTimes::of(const ProductTally& tally) const {
  StepTime sum;
  double all = 0;
  for (const CountedProducts& counted : tally.counts()) {
    const ProductKind& kind = counted.kind;
    const double multiply_adds =
        static_cast<double>(counted.count) *
        product_of(static_cast<double>(kind.m), static_cast<double>(kind.n), static_cast<double>(kind.k));
    all += multiply_adds;
    if (const auto one = microseconds(kind)) {
      sum.microseconds += *one * static_cast<double>(counted.count);
      sum.covered += multiply_adds;
    }
  }
  if (all > 0) sum.covered /= all;
  return sum;
}

}  // namespace ulpscope::training
