// SPDX-License-Identifier: Apache-2.0
// Differences as places in the order of a format's numbers.
#include "studies/devices/code_difference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/decode.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code, emu::Format;

/// The place of a number in the order of its format, zeros of both signs at 0.
std::int64_t place(Format format, Code code) {
  const auto magnitude = static_cast<std::int64_t>(code & format.magnitude_mask());
  return format.is_negative(code) ? -magnitude : magnitude;
}

double ulps_apart(Format format, Code x, Code y) {
  if (x == y || (format.is_nan(x) && format.is_nan(y))) return 0;
  if (format.is_nan(x) || format.is_nan(y)) return std::numeric_limits<double>::infinity();
  return std::abs(static_cast<double>(place(format, x)) - static_cast<double>(place(format, y)));
}

}  // namespace

void CodeDifference::add(Code got, Code expected) {
  ++compared_;
  const double ulps = ulps_apart(format_, got, expected);
  mismatches_ += got != expected ? 1 : 0;
  max_ulp_ = std::max(max_ulp_, ulps);
  sum_ulp_ += ulps;
  const double x = emu::decode(format_, got), y = emu::decode(format_, expected);
  if (got != expected) squared_difference_ += (x - y) * (x - y);
  squared_expected_ += y * y;
}

double CodeDifference::mean_ulp() const noexcept { return sum_ulp_ / static_cast<double>(compared_); }

double CodeDifference::equal_share() const noexcept {
  return static_cast<double>(compared_ - mismatches_) / static_cast<double>(compared_);
}

double CodeDifference::relative() const noexcept {
  return squared_expected_ > 0 ? std::sqrt(squared_difference_ / squared_expected_) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace ulpscope::studies
