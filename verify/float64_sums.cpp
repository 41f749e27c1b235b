// SPDX-License-Identifier: Apache-2.0
// Tiles of sums in registers, for each SIMD path.
#include "verify/float64_sums.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "verify/float64_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace ulpscope::verify::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<double, ColumnPanels::width / 2>;
using V = hn::Vec<D>;
const D d;

/// Rows at a time: their sums, magnitudes and columns fill the registers.
constexpr std::size_t tile_rows = HWY_TARGET == HWY_AVX3 ? 6 : 2;
/// Products between loads and stores of sums: rows of A and a panel of B stay in the first cache.
constexpr std::size_t block = 256;

/// Rows of A, k by k: tile_rows numbers, then their magnitudes; zeros fill up the last rows.
class RowTiles {
 public:
  void pack(const float* a, std::size_t rows, std::size_t stride, std::size_t depth) {
    depth_ = depth;
    values_.assign((rows + tile_rows - 1) / tile_rows * depth * 2 * tile_rows, 0.0);
    for (std::size_t i = 0; i < rows; ++i) {
      double* const to = values_.data() + i / tile_rows * depth * 2 * tile_rows + i % tile_rows;
      for (std::size_t k = 0; k < depth; ++k) {
        const double x = static_cast<double>(a[i * stride + k]);
        to[k * 2 * tile_rows] = x;
        to[k * 2 * tile_rows + tile_rows] = std::fabs(x);
      }
    }
  }
  const double* tile(std::size_t t) const { return values_.data() + t * depth_ * 2 * tile_rows; }

 private:
  std::size_t depth_ = 0;
  std::vector<double> values_;
};

/// Two vectors of sums and of magnitudes for `tile_rows` rows over `depth` products.
HWY_INLINE void multiply(const double* a, const float* b, std::size_t depth, double* sums, double* magnitudes,
                         std::size_t stride) {
  const hn::Rebind<float, D> df;
  const std::size_t lanes = hn::Lanes(d);
  V sum[tile_rows][2], size[tile_rows][2];
  for (std::size_t i = 0; i < tile_rows; ++i)
    for (std::size_t v = 0; v < 2; ++v) {
      sum[i][v] = hn::LoadU(d, sums + i * stride + v * lanes);
      size[i][v] = hn::LoadU(d, magnitudes + i * stride + v * lanes);
    }
  for (std::size_t k = 0; k < depth; ++k, a += 2 * tile_rows, b += ColumnPanels::width) {
    const V b0 = hn::PromoteTo(d, hn::LoadU(df, b)), b1 = hn::PromoteTo(d, hn::LoadU(df, b + lanes));
    const V m0 = hn::Abs(b0), m1 = hn::Abs(b1);
    for (std::size_t i = 0; i < tile_rows; ++i) {
      const V x = hn::Set(d, a[i]), m = hn::Set(d, a[tile_rows + i]);
      sum[i][0] = hn::MulAdd(x, b0, sum[i][0]);
      sum[i][1] = hn::MulAdd(x, b1, sum[i][1]);
      size[i][0] = hn::MulAdd(m, m0, size[i][0]);
      size[i][1] = hn::MulAdd(m, m1, size[i][1]);
    }
  }
  for (std::size_t i = 0; i < tile_rows; ++i)
    for (std::size_t v = 0; v < 2; ++v) {
      hn::StoreU(sum[i][v], d, sums + i * stride + v * lanes);
      hn::StoreU(size[i][v], d, magnitudes + i * stride + v * lanes);
    }
}

void add(std::span<const float> a, std::size_t rows, std::size_t stride, const ColumnPanels& b, std::size_t k_first,
         std::size_t k_last, double* sums, double* magnitudes) {
  const std::size_t columns = b.padded_columns(), pair = 2 * hn::Lanes(d);
  RowTiles tiles;
  for (std::size_t k = k_first; k < k_last; k += block) {
    const std::size_t depth = std::min(block, k_last - k);
    tiles.pack(a.data() + k, rows, stride, depth);
    for (std::size_t p = 0; p < b.count(); ++p)
      for (std::size_t i = 0; i < rows; i += tile_rows)
        for (std::size_t j = 0; j < ColumnPanels::width; j += pair) {
          const std::size_t at = i * columns + p * ColumnPanels::width + j;
          multiply(tiles.tile(i / tile_rows), b.panel(p) + k * ColumnPanels::width + j, depth, sums + at, magnitudes + at,
                   columns);
        }
  }
}

std::size_t rows_of_tile() { return tile_rows; }

}  // namespace
}  // namespace ulpscope::verify::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::verify {

HWY_EXPORT(add);
HWY_EXPORT(rows_of_tile);

ColumnPanels::ColumnPanels(const emu::EngineOperand<float>& b)
    : depth_(b.shape.rows), columns_(b.shape.columns), values_(padded_columns() * depth_) {
  for (std::size_t k = 0; k < depth_; ++k)
    for (std::size_t j = 0; j < columns_; ++j)
      values_[(j / width * depth_ + k) * width + j % width] = b.values[b.shape.at(k, j)];
}

void add_float64_sums(std::span<const float> a, std::size_t rows, std::size_t stride, const ColumnPanels& b,
                      std::size_t k_first, std::size_t k_last, std::span<double> sums, std::span<double> magnitudes) {
  const std::size_t tile = HWY_DYNAMIC_DISPATCH(rows_of_tile)(), whole = rows / tile * tile, columns = b.padded_columns();
  if (whole > 0) HWY_DYNAMIC_DISPATCH(add)(a, whole, stride, b, k_first, k_last, sums.data(), magnitudes.data());
  if (whole == rows) return;
  // The last rows are fewer than a tile: into a buffer that has room for one.
  std::vector<double> last(2 * tile * columns, 0.0);
  const std::size_t count = (rows - whole) * columns;
  std::copy_n(sums.begin() + static_cast<std::ptrdiff_t>(whole * columns), count, last.begin());
  std::copy_n(magnitudes.begin() + static_cast<std::ptrdiff_t>(whole * columns), count,
              last.begin() + static_cast<std::ptrdiff_t>(tile * columns));
  HWY_DYNAMIC_DISPATCH(add)
  (a.subspan(whole * stride), rows - whole, stride, b, k_first, k_last, last.data(), last.data() + tile * columns);
  std::copy_n(last.begin(), count, sums.begin() + static_cast<std::ptrdiff_t>(whole * columns));
  std::copy_n(last.begin() + static_cast<std::ptrdiff_t>(tile * columns), count,
              magnitudes.begin() + static_cast<std::ptrdiff_t>(whole * columns));
}

}  // namespace ulpscope::verify
#endif
