// SPDX-License-Identifier: Apache-2.0
// One pass over each tensor, in pieces that threads share.
#include "studies/info/info.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <mutex>
#include <span>
#include <type_traits>

#include "emu/decode.hpp"
#include "studies/info/integer_cells.hpp"
#include "tensors/memory_limit.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::studies {
namespace {

constexpr std::size_t piece_size = 1 << 16;
constexpr std::uint64_t pieces_in_flight = 64;  // so that what is inflated is read in about its order
constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

/// What some elements hold. Finite ones are given by numbers of their order, or magnitude, in the type that they were read as.
struct Found {
  std::uint64_t least = none, greatest = 0, least_magnitude = none;  ///< the last: of nonzero ones
  std::uint64_t zeros = 0, subnormals = 0, infinities = 0, nans = 0;

  void add(const Found& other) {
    least = std::min(least, other.least);
    greatest = std::max(greatest, other.greatest);
    least_magnitude = std::min(least_magnitude, other.least_magnitude);
    zeros += other.zeros;
    subnormals += other.subnormals;
    infinities += other.infinities;
    nans += other.nans;
  }
};

template <class Float>
using Bits = std::conditional_t<sizeof(Float) == 4, std::int32_t, std::int64_t>;

/// Of floating-point values, by their bits. Two's complement of the bits orders them, -0 below +0, where those of negative ones
/// but for the sign are flipped. No branch depends on an element, so that compilers make vectors of this.
template <class Float>
Found found_of(std::span<const Float> elements, Float least_normal) {
  using Int = Bits<Float>;
  constexpr Int greatest_int = std::numeric_limits<Int>::max(), least_int = std::numeric_limits<Int>::min();
  constexpr Int inf = std::bit_cast<Int>(std::numeric_limits<Float>::infinity());
  const Int normal = std::bit_cast<Int>(least_normal);
  Int least = greatest_int, greatest = least_int, least_magnitude = greatest_int;
  Int zeros = 0, subnormals = 0, infinities = 0, nans = 0;
  for (const Float x : elements) {
    const auto bits = std::bit_cast<Int>(x);
    const Int magnitude = bits & greatest_int, order = bits ^ (bits < 0 ? greatest_int : 0);
    const bool finite = magnitude < inf;
    least = std::min(least, finite ? order : greatest_int);
    greatest = std::max(greatest, finite ? order : least_int);
    least_magnitude = std::min(least_magnitude, magnitude == 0 ? greatest_int : magnitude);
    zeros += magnitude == 0 ? 1 : 0;
    subnormals += magnitude < normal ? 1 : 0;
    infinities += magnitude == inf ? 1 : 0;
    nans += magnitude > inf ? 1 : 0;
  }
  if (normal != 0) subnormals -= zeros;
  const auto place = [](Int order) { return static_cast<std::uint64_t>(std::int64_t{order}) ^ (std::uint64_t{1} << 63); };
  const auto count = [](Int n) { return static_cast<std::uint64_t>(n); };
  Found found{none, 0, none, count(zeros), count(subnormals), count(infinities), count(nans)};
  if (count(infinities) + count(nans) == elements.size()) return found;
  found.least = place(least);
  found.greatest = place(greatest);
  if (least_magnitude < inf) found.least_magnitude = count(least_magnitude);
  return found;
}

/// The value of found_of()'s number of an order.
template <class Float>
double value_of(std::uint64_t place) {
  const auto order = static_cast<Bits<Float>>(place ^ (std::uint64_t{1} << 63));
  return std::bit_cast<Float>(order ^ (order < 0 ? std::numeric_limits<Bits<Float>>::max() : 0));
}

/// Of integers of 64 bits.
Found found_of(std::span<const emu::Code> elements, const tensors::DType& dtype) {
  Found found;
  for (const emu::Code bits : elements) {
    const std::uint64_t order = flip_order(dtype, bits), magnitude = wide_magnitude(dtype, bits);
    found.least = std::min(found.least, order);
    found.greatest = std::max(found.greatest, order);
    if (magnitude == 0)
      ++found.zeros;
    else
      found.least_magnitude = std::min(found.least_magnitude, magnitude);
  }
  return found;
}

template <class Float>
Found piece_of(const tensors::Tensor& tensor, std::uint64_t first, std::size_t count) {
  const auto least_normal = static_cast<Float>(tensor.dtype.format ? emu::min_normal(*tensor.dtype.format) : 0);
  if constexpr (sizeof(Float) == 4) {
    const tensors::FloatPiece piece = tensor.source->floats(first, count);
    if (!piece.values.empty()) {
      const Found found = found_of(piece.values, least_normal);
      tensor.source->check();
      return found;
    }
  }
  thread_local std::vector<Float> values;
  values.resize(count);
  tensor.source->read(first, std::span(values));
  return found_of(std::span<const Float>(values), least_normal);
}

Found piece_of(const tensors::Tensor& tensor, std::uint64_t first, std::size_t count) {
  if (tensor.dtype.fits_float()) return piece_of<float>(tensor, first, count);
  if (!is_wide_integer(tensor.dtype)) return piece_of<double>(tensor, first, count);
  thread_local std::vector<emu::Code> codes;
  codes.resize(count);
  tensor.source->read_codes(first, codes);
  return found_of(codes, tensor.dtype);
}

std::vector<reports::Cell> row_of(const tensors::Tensor& tensor, const Found& found) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto value = [&](std::uint64_t place) -> reports::Cell {
    if (is_wide_integer(tensor.dtype)) return wide_integer_cell(tensor.dtype, flip_order(tensor.dtype, place));
    const double x = tensor.dtype.fits_float() ? value_of<float>(place) : value_of<double>(place);
    if (tensor.is_integer()) return static_cast<std::int64_t>(x);
    return x;
  };
  const auto magnitude = [&](std::uint64_t bits) -> reports::Cell {
    if (is_wide_integer(tensor.dtype)) return wide_integer_cell({"uint64", {}}, bits);
    return value(bits ^ (std::uint64_t{1} << 63));
  };
  const bool any = found.infinities + found.nans != tensor.count();
  return {tensor.label,
          tensor.dtype.name,
          tensors::shape_text(tensor.shape),
          reports::whole(tensor.count()),
          any ? value(found.least) : nan,
          any ? value(found.greatest) : nan,
          found.least_magnitude == none ? nan : magnitude(found.least_magnitude),
          reports::whole(found.zeros),
          reports::whole(found.subnormals),
          reports::whole(found.infinities),
          reports::whole(found.nans)};
}

/// What is known of a tensor without its values.
std::vector<reports::Cell> row_of_header(const tensors::Tensor& tensor, std::size_t columns) {
  std::vector<reports::Cell> row{tensor.label, tensor.dtype.name, tensors::shape_text(tensor.shape),
                                 reports::whole(tensor.count())};
  row.resize(columns, std::numeric_limits<double>::quiet_NaN());
  return row;
}

reports::Table table_by(int threads, const std::vector<tensors::Tensor>& tensors, const Progress& progress) {
  reports::Table table{
      "info", {"tensor", "dtype", "shape", "count", "min", "max", "min_abs", "zero", "subnormal", "infinite", "nan"}, {}};
  std::uint64_t done = 0, total = 0;
  for (const tensors::Tensor& tensor : tensors) total += tensor.opaque ? 0 : tensor.count();
  std::mutex one_at_a_time;
  table.rows.resize(tensors.size());
  tensors::for_each_index(tensors.size(), threads, [&](std::size_t i) {
    const tensors::Tensor& tensor = tensors[i];
    if (tensor.opaque) {
      table.rows[i] = row_of_header(tensor, table.columns.size());
      return;
    }
    Found found;
    const std::uint64_t count = tensor.count(), pieces = count / piece_size + (count % piece_size == 0 ? 0 : 1);
    for (std::uint64_t batch = 0; batch < pieces; batch += pieces_in_flight)
      tensors::for_each_index(static_cast<std::size_t>(std::min(pieces_in_flight, pieces - batch)), threads,
                              [&](std::size_t piece) {
                                const std::uint64_t first = (batch + piece) * piece_size;
                                const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(piece_size, count - first));
                                const Found of_piece = piece_of(tensor, first, size);
                                const std::lock_guard lock(one_at_a_time);
                                found.add(of_piece);
                                done += size;
                                if (progress) progress(done, total);
                              });
    table.rows[i] = row_of(tensor, found);
  });
  return table;
}

}  // namespace

reports::Table info_table(const std::vector<tensors::Tensor>& tensors, int threads, const Progress& progress) {
  try {
    return table_by(threads, tensors, progress);
  } catch (const tensors::NoMemoryLeft&) {
    if (threads == 1) throw;
    return table_by(1, tensors, progress);  // one holds less at a time
  }
}

reports::Table header_table(const std::vector<tensors::Tensor>& tensors) {
  reports::Table table{"info", {"tensor", "dtype", "shape", "count"}, {}};
  for (const tensors::Tensor& tensor : tensors) table.rows.push_back(row_of_header(tensor, table.columns.size()));
  return table;
}

}  // namespace ulpscope::studies
