// SPDX-License-Identifier: Apache-2.0
// Chooses the size of tiles, shares them among threads and joins their parts.
#include "emu/products/tiles.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/products/engine_scales.hpp"
#include "emu/stop.hpp"
#include "emu/tasks.hpp"

namespace ulpscope::emu::detail {
namespace {

constexpr float infinity = __builtin_inff();

std::size_t panels_in(std::size_t extent, std::size_t panel) { return (extent + panel - 1) / panel; }

/// Large tiles share their packing, small ones keep all threads busy.
std::size_t tile_for(const EngineMatmul<float>& problem, std::size_t products) {
  constexpr std::size_t largest = 256, least = panel_rows;
  if (products > 1024) return least;  // panels of whole chains
  const std::size_t threads = threads_wanted(problem.threads);
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

Tiles::Tiles(const EngineMatmul<float>& problem, const MatmulPlan& plan, std::span<float> d, Workspace& workspace)
    : problem_(problem),
      plan_(plan),
      d_(d),
      workspace_(workspace),
      a_(workspace.a),
      b_(workspace.b),
      epilogue_(problem),
      reference_(problem),
      single_(plan.parts.size() == 1 && !software_scales(problem).along_k),
      tile_(tile_for(problem, plan.parts.empty() ? 1 : plan.kernels->front().products())) {
  workspace.a.check("A", problem.a, true, problem.threads);
  workspace.b.check("B", problem.b, false, problem.threads);
  if (problem.engine.scales == EngineScales::none) return;
  look_at_scales(problem.engine, problem.scale_a, true, workspace.a);
  look_at_scales(problem.engine, problem.scale_b, false, workspace.b);
}

void Tiles::run() const {
  const std::size_t rows = problem_.a.rows(), columns = problem_.b.columns();
  const std::size_t across = panels_in(columns, tile_), down = panels_in(rows, tile_);
  for_each_task(across * down, problem_.threads, [&](std::size_t task) {
    const std::size_t row = task / across * tile_, column = task % across * tile_;
    std::unique_ptr<Tile> tile = workspace_.take_tile();
    tile->place(row, column, std::min(tile_, rows - row), std::min(tile_, columns - column));
    run_tile(*tile);
    workspace_.give_back(std::move(tile));
  });
}

float Tiles::start_of(std::size_t i, std::size_t j) const noexcept {
  return epilogue_.chain_starts_with_c() ? problem_.c[i * problem_.b.columns() + j] : 0.0F;
}

/// What the outputs of a tile begin with; zeros beyond D.
void Tiles::begin(const Tile& tile, float* sums) const {
  std::fill_n(sums, tile.outputs(), 0.0F);
  if (!epilogue_.chain_starts_with_c()) return;
  tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t at) { sums[at] = start_of(i, j); });
}

void Tiles::finish(Tile& tile, const float* totals) const {
  const std::size_t columns = problem_.b.columns();
  const bool scales_columns = epilogue_.scales_columns();
  if (scales_columns) tile.of_columns.resize(tile.columns);
  for (std::size_t j = 0; scales_columns && j < tile.columns; ++j) tile.of_columns[j] = epilogue_.column_scale(tile.column + j);
  for (std::size_t i = 0; i < tile.rows; ++i)
    for (std::size_t q = 0; q < tile.column_panels; ++q) {
      const std::size_t row = tile.row + i, first = q * panel_columns, column = tile.column + first;
      epilogue_.finish_row(totals + tile.row_at(i, q), tile.columns_of(q), row, column,
                           scales_columns ? tile.of_columns.data() + first : nullptr, d_.data() + row * columns + column);
    }
}

void Tiles::run_tile(Tile& tile) const {
  if (single_) {
    begin(tile, tile.chains.data());
    run_part(0, tile);
    if (has_specials())
      tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t at) {
        tile.chains[at] = with_specials(i, j, plan_.parts.front(), start_of(i, j), tile.chains[at]);
      });
    return finish(tile, tile.chains.data());
  }
  // As Total does it, for all outputs at once: the parts of a split are joined, then the splits.
  const std::size_t outputs = tile.outputs();
  tile.sums.resize(outputs);
  tile.joined.assign(outputs, 0.0F);
  begin(tile, tile.sums.data());
  const auto close = [&] {
    add_to(tile.sums.data(), tile.joined.data(), outputs);
    std::fill(tile.joined.begin(), tile.joined.end(), 0.0F);
  };
  for (std::size_t p = 0; p < plan_.parts.size(); ++p) {
    const Part& part = plan_.parts[p];
    if (p > 0 && part.split != plan_.parts[p - 1].split) close();
    std::fill_n(tile.chains.data(), outputs, 0.0F);
    run_part(p, tile);
    if (has_specials())
      tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t at) {
        tile.chains[at] = with_specials(i, j, part, 0, tile.chains[at]);
      });
    join(p, tile);
  }
  close();
  finish(tile, tile.sums.data());
}

void Tiles::join(std::size_t part, Tile& tile) const {
  if (!software_scales(problem_).along_k) return add_to(tile.joined.data(), tile.chains.data(), tile.joined.size());
  // The scale of an output is that of its row times that of its column: each is looked up once.
  const std::size_t k = plan_.parts[part].begin;
  const auto scale_of = [&](const ScaleGrid& grid, const EngineOperand<float>& operand, std::size_t i, std::size_t j) {
    return grid.empty() ? 1.0F : scale_at(grid, operand.rows(), operand.columns(), i, j);
  };
  tile.of_columns.assign(tile.column_panels * panel_columns, 1.0F);
  for (std::size_t j = 0; j < tile.columns; ++j)
    tile.of_columns[j] = scale_of(problem_.scale_b, problem_.b, k, tile.column + j);
  for (std::size_t i = 0; i < tile.rows; ++i) {
    const float of_row = scale_of(problem_.scale_a, problem_.a, tile.row + i, k);
    for (std::size_t q = 0; q < tile.column_panels; ++q) {
      const std::size_t at = tile.row_at(i, q);
      add_scaled_to(tile.joined.data() + at, tile.chains.data() + at, of_row, tile.of_columns.data() + q * panel_columns);
    }
  }
}

void Tiles::run_part(std::size_t part, Tile& tile) const {
  const std::vector<Stretch>& all = plan_.stretches;
  const auto is_before = [](const Stretch& stretch, std::size_t of) { return stretch.part < of; };
  const auto first = std::lower_bound(all.begin(), all.end(), part, is_before);
  for (auto stretch = first; stretch != all.end() && stretch->part == part; ++stretch)
    run_stretch(static_cast<std::size_t>(stretch - all.begin()), tile);
}

void Tiles::run_stretch(std::size_t number, Tile& tile) const {
  const Engine& engine = problem_.engine;
  const Stretch& stretch = plan_.stretches[number];
  const Kernel& kernel = (*plan_.kernels)[stretch.part];
  const PanelLayout layout = kernel.layout(engine);
  const bool scaled = kernel.blocks() > 0;
  for (std::size_t r = 0; r < tile.row_panels; ++r) {
    const std::size_t row = tile.row + r * panel_rows;
    a_.pack_rows(layout, row, stretch.begin, stretch.end, tile.a[r]);
    if (scaled) pack_row_scales(engine, kernel, stretch, problem_.scale_a, problem_.a, row, tile.a[r]);
  }
  for (std::size_t q = 0; q < tile.column_panels; ++q) {
    const std::size_t column = tile.column + q * panel_columns;
    b_.pack_columns(layout, column, stretch.begin, stretch.end, tile.b[q]);
    if (scaled) pack_column_scales(engine, kernel, stretch, problem_.scale_b, problem_.b, column, tile.b[q]);
  }
  for (std::size_t q = 0; q < tile.column_panels; ++q)
    for (std::size_t r = 0; r < tile.row_panels; ++r) {
      stop_if_asked();
      kernel.run(tile.a[r], tile.b[q], stretch.steps, tile.chains.data() + tile.square_at(r, q));
    }
}

/// The result of a chain whose infinite and NaN operands the panels have left out as zeros.
float Tiles::with_specials(std::size_t i, std::size_t j, const Part& part, float start, float finite) const {
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
