// SPDX-License-Identifier: Apache-2.0
// Chooses the size of tiles, shares them among threads and joins their parts.
#include "emu/products/tiles.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/tasks.hpp"

namespace ulpscope::emu::detail {
namespace {

constexpr float infinity = __builtin_inff();
constexpr std::size_t square = panel_rows * panel_columns;

std::size_t panels_in(std::size_t extent, std::size_t panel) { return (extent + panel - 1) / panel; }

/// Large tiles share their packing, small ones keep all threads busy.
std::size_t tile_for(const EngineMatmul<float>& problem, std::size_t products) {
  constexpr std::size_t largest = 256, least = panel_rows;
  if (products > 1024) return least;  // panels of whole chains
  const std::size_t threads =
      problem.threads > 0 ? static_cast<std::size_t>(problem.threads) : std::thread::hardware_concurrency();
  std::size_t tile = largest;
  while (tile > least && panels_in(problem.a.rows(), tile) * panels_in(problem.b.columns(), tile) < 2 * threads) tile /= 2;
  return tile;
}

void add_to(float* sums, const float* more, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += more[i];
}

/// One row of a panel: sums + more * (of_row * of_columns), the first product rounded, the second added by a fused
/// multiply-add.
inline void add_scaled(float* sums, const float* more, float of_row, const float* of_columns) {
  for (std::size_t j = 0; j < panel_columns; ++j) sums[j] = std::fma(more[j], of_row * of_columns[j], sums[j]);
}

// Compiled once more for processors with fused multiply-adds, where std::fma is an instruction and no call: the same bits.
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void add_scaled_by_fma(float* sums, const float* more, float of_row,
                                                           const float* of_columns) {
  add_scaled(sums, more, of_row, of_columns);
}
void add_scaled_to(float* sums, const float* more, float of_row, const float* of_columns) {
  static const bool has_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  (has_fma ? add_scaled_by_fma : add_scaled)(sums, more, of_row, of_columns);
}
#else
void add_scaled_to(float* sums, const float* more, float of_row, const float* of_columns) {
  add_scaled(sums, more, of_row, of_columns);
}
#endif

}  // namespace

/// A tile of D while it is worked on. Output (i, j) of panels (r, q) has its chain at (r * b.size() + q) * square + ...
struct Tiles::Tile {
  std::size_t row, column;    ///< of D
  std::size_t rows, columns;  ///< within D
  std::vector<RowPanel> a;
  std::vector<ColumnPanel> b;
  Lines<float> chains;

  Tile(std::size_t first_row, std::size_t first_column, std::size_t row_count, std::size_t column_count)
      : row(first_row),
        column(first_column),
        rows(row_count),
        columns(column_count),
        a(panels_in(row_count, panel_rows)),
        b(panels_in(column_count, panel_columns)) {
    chains.resize(a.size() * b.size() * square);
  }
  float* chains_of(std::size_t r, std::size_t q) noexcept { return chains.data() + (r * b.size() + q) * square; }

  /// act(i, j, at): row and column of D, and where its chain is.
  template <class Act>
  void for_each_output(const Act& act) const {
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        act(row + i, column + j,
            (i / panel_rows * b.size() + j / panel_columns) * square + i % panel_rows * panel_columns + j % panel_columns);
  }
};

Tiles::Tiles(const EngineMatmul<float>& problem, const std::vector<Part>& parts, const std::vector<Kernel>& kernels,
             std::span<float> d)
    : problem_(problem),
      parts_(parts),
      kernels_(kernels),
      d_(d),
      epilogue_(problem),
      reference_(problem),
      a_("A", problem.a, true, problem.threads),
      b_("B", problem.b, false, problem.threads),
      single_(parts.size() == 1 && !software_scales(problem).along_k),
      tile_(tile_for(problem, kernels.empty() ? 1 : kernels.front().products())) {
  if (problem.engine.scales != EngineScales::none) look_at_scales();
}

void Tiles::run() const {
  const std::size_t across = panels_in(problem_.b.columns(), tile_), down = panels_in(problem_.a.rows(), tile_);
  for_each_task(across * down, problem_.threads,
                [&](std::size_t task) { run_tile(task / across * tile_, task % across * tile_); });
}

float Tiles::start_of(std::size_t i, std::size_t j) const noexcept {
  return epilogue_.chain_starts_with_c() ? problem_.c[i * problem_.b.columns() + j] : 0.0F;
}

void Tiles::run_tile(std::size_t row, std::size_t column) const {
  Tile tile(row, column, std::min(tile_, problem_.a.rows() - row), std::min(tile_, problem_.b.columns() - column));
  const std::size_t outputs = tile.a.size() * tile.b.size() * square;
  const auto store = [&](std::size_t i, std::size_t j, float total) {
    d_[i * problem_.b.columns() + j] = epilogue_.finish(total, i, j);
  };
  std::fill_n(tile.chains.data(), outputs, 0.0F);
  if (single_) {
    tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t at) { tile.chains[at] = start_of(i, j); });
    run_part(0, tile);
    tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t at) {
      store(i, j, with_specials(i, j, parts_.front(), start_of(i, j), tile.chains[at]));
    });
    return;
  }
  // As Total does it, for all outputs at once: the parts of a split are joined, then the splits.
  std::vector<float> sums(outputs, 0.0F), joined(outputs, 0.0F);
  tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t at) { sums[at] = start_of(i, j); });
  const auto close = [&] {
    add_to(sums.data(), joined.data(), outputs);
    std::fill(joined.begin(), joined.end(), 0.0F);
  };
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    if (p > 0 && parts_[p].split != parts_[p - 1].split) close();
    std::fill_n(tile.chains.data(), outputs, 0.0F);
    run_part(p, tile);
    if (a_.has_specials() || b_.has_specials())
      tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t at) {
        tile.chains[at] = with_specials(i, j, parts_[p], 0, tile.chains[at]);
      });
    join(p, tile, joined);
  }
  close();
  tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t at) { store(i, j, sums[at]); });
}

void Tiles::join(std::size_t part, Tile& tile, std::vector<float>& joined) const {
  if (!software_scales(problem_).along_k) return add_to(joined.data(), tile.chains.data(), joined.size());
  // The scale of an output is that of its row times that of its column: each is looked up once.
  const std::size_t k = parts_[part].begin;
  const auto scale_of = [&](const ScaleGrid& grid, const EngineOperand<float>& operand, std::size_t i, std::size_t j) {
    return grid.empty() ? 1.0F : scale_at(grid, operand.rows(), operand.columns(), i, j);
  };
  std::vector<float> of_columns(tile.b.size() * panel_columns, 1.0F);
  for (std::size_t j = 0; j < tile.columns; ++j) of_columns[j] = scale_of(problem_.scale_b, problem_.b, k, tile.column + j);
  for (std::size_t i = 0; i < tile.rows; ++i) {
    const float of_row = scale_of(problem_.scale_a, problem_.a, tile.row + i, k);
    for (std::size_t q = 0; q < tile.b.size(); ++q) {
      const std::size_t at = (i / panel_rows * tile.b.size() + q) * square + i % panel_rows * panel_columns;
      add_scaled_to(joined.data() + at, tile.chains.data() + at, of_row, of_columns.data() + q * panel_columns);
    }
  }
}

void Tiles::run_part(std::size_t part, Tile& tile) const {
  constexpr std::size_t stretch = 512;  // of K: the panels of a tile fit the second-level cache together
  const Kernel& kernel = kernels_[part];
  const PanelLayout layout{kernel.products(), kernel.wide(), problem_.engine.subnormal_inputs_are_zero,
                           problem_.engine.input_zeros_are_positive};
  const std::size_t distance = std::max(stretch / layout.products, std::size_t{1}) * layout.products;
  for (std::size_t begin = parts_[part].begin; begin < parts_[part].end; begin += distance) {
    const std::size_t end = std::min(parts_[part].end, begin + distance);
    const std::size_t steps = panels_in(end - begin, layout.products);
    for (std::size_t r = 0; r < tile.a.size(); ++r) a_.pack_rows(layout, tile.row + r * panel_rows, begin, end, tile.a[r]);
    for (std::size_t q = 0; q < tile.b.size(); ++q)
      b_.pack_columns(layout, tile.column + q * panel_columns, begin, end, tile.b[q]);
    if (kernel.blocks() > 0) pack_scales(kernel, begin, steps, tile);
    for (std::size_t q = 0; q < tile.b.size(); ++q)
      for (std::size_t r = 0; r < tile.a.size(); ++r) kernel.run(tile.a[r], tile.b[q], steps, tile.chains_of(r, q));
  }
}

float Tiles::engine_scale(const ScaleGrid& grid, const EngineOperand<float>& operand, std::size_t i,
                          std::size_t j) const noexcept {
  return grid.empty() ? 1.0F : std::abs(scale_at(grid, operand.rows(), operand.columns(), i, j));
}

void Tiles::pack_scales(const Kernel& kernel, std::size_t begin, std::size_t steps, Tile& tile) const {
  const std::size_t blocks = kernel.blocks(), depth = problem_.a.columns();
  const auto finite = [](float scale) {
    return std::isnan(scale) ? 1.0 : static_cast<double>(scale);
  };  // NaN is seen elsewhere
  const auto k_of = [&](std::size_t s, std::size_t block) {
    return begin + s * kernel.products() + block * static_cast<std::size_t>(problem_.engine.scale_products);
  };
  for (std::size_t r = 0; r < tile.a.size(); ++r) {
    tile.a[r].scales.resize(steps * panel_rows * blocks);
    for (std::size_t i = 0; i < tile.a[r].rows; ++i)
      for (std::size_t s = 0; s < steps; ++s)
        for (std::size_t block = 0; block < blocks; ++block)
          tile.a[r].scales[(s * panel_rows + i) * blocks + block] =
              k_of(s, block) < depth
                  ? finite(engine_scale(problem_.scale_a, problem_.a, tile.row + r * panel_rows + i, k_of(s, block)))
                  : 1;
  }
  for (std::size_t q = 0; q < tile.b.size(); ++q) {
    tile.b[q].scales.resize(steps * blocks * panel_columns);
    for (std::size_t s = 0; s < steps; ++s)
      for (std::size_t block = 0; block < blocks; ++block)
        for (std::size_t j = 0; j < panel_columns; ++j) {
          const bool within = k_of(s, block) < depth && q * panel_columns + j < tile.columns;
          tile.b[q].scales[(s * blocks + block) * panel_columns + j] =
              within ? finite(engine_scale(problem_.scale_b, problem_.b, k_of(s, block), tile.column + q * panel_columns + j))
                     : 1;
        }
  }
}

void Tiles::look_at_scales() {
  const std::size_t depth = problem_.a.columns(), each = static_cast<std::size_t>(problem_.engine.scale_products);
  for (std::size_t k = 0; k < depth; k += each) {
    for (std::size_t i = 0; i < problem_.a.rows(); ++i)
      if (std::isnan(engine_scale(problem_.scale_a, problem_.a, i, k))) a_.add_special(i, k);
    for (std::size_t j = 0; j < problem_.b.columns(); ++j)
      if (std::isnan(engine_scale(problem_.scale_b, problem_.b, k, j))) b_.add_special(j, k);
  }
}

/// The result of a chain whose infinite and NaN operands the panels have left out as zeros.
float Tiles::with_specials(std::size_t i, std::size_t j, const Part& part, float start, float finite) const {
  if (!a_.has_specials() && !b_.has_specials()) return finite;
  bool nan = std::isnan(start), plus = start == infinity, minus = start == -infinity, any = false;
  const auto see = [&](std::uint32_t k) {
    if (k < part.begin || k >= part.end) return;
    any = true;
    double product = static_cast<double>(factor(problem_.a, i, k)) * static_cast<double>(factor(problem_.b, k, j));
    if (problem_.engine.scales != EngineScales::none)
      product *= static_cast<double>(engine_scale(problem_.scale_a, problem_.a, i, k)) *
                 static_cast<double>(engine_scale(problem_.scale_b, problem_.b, k, j));
    nan |= std::isnan(product);
    plus |= product == static_cast<double>(infinity);
    minus |= product == -static_cast<double>(infinity);
  };
  for (const std::uint32_t k : a_.specials(i)) see(k);
  for (const std::uint32_t k : b_.specials(j)) see(k);
  if (!any) return finite;
  if (nan || (plus && minus)) return static_cast<float>(decode(problem_.engine.accumulator, problem_.engine.nan_code));
  if (!plus && !minus) return finite;
  // The finite part may have overflowed by itself, before or in the same sum: the reference knows.
  if (std::isnan(finite) || (std::isinf(finite) && (finite > 0) != plus)) return reference_(i, j, part, start);
  return plus ? infinity : -infinity;
}

float Tiles::factor(const EngineOperand<float>& operand, std::size_t i, std::size_t j) const noexcept {
  const float x = operand.at(i, j);
  const bool flushed = problem_.engine.subnormal_inputs_are_zero &&
                       std::abs(static_cast<double>(x)) < power_of_two(operand.format.min_exponent());
  return flushed ? 0 : x;
}

}  // namespace ulpscope::emu::detail
