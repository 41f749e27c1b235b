// SPDX-License-Identifier: Apache-2.0
// Measures each way to multiply, and its error against float64.
#include "studies/devices/device_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/devices/scaled_operands.hpp"

namespace ulpscope::studies {
namespace {

using emu::Format, reports::Cell, reports::Table;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A way to multiply that is compared with the others.
struct Contestant {
  const char* format;
  const char* compute;
  Format a, b, d;
  bool fast = false;
  gpu::ScaleMode scale_a = gpu::ScaleMode::scalar_32f, scale_b = gpu::ScaleMode::scalar_32f;
};

constexpr Format e4m3 = emu::float8_e4m3fn, e5m2 = emu::float8_e5m2;
constexpr gpu::ScaleMode outer = gpu::ScaleMode::outer_vec_32f, mx = gpu::ScaleMode::vec32_ue8m0,
                         nv = gpu::ScaleMode::vec16_ue4m3;
constexpr const char* single = "CUBLAS_COMPUTE_32F";
constexpr std::array contestants{
    Contestant{"float32", single, emu::float32, emu::float32, emu::float32},
    Contestant{"tf32", "CUBLAS_COMPUTE_32F_FAST_TF32", emu::float32, emu::float32, emu::float32},
    Contestant{"float16", single, emu::float16, emu::float16, emu::float16},
    Contestant{"bfloat16", single, emu::bfloat16, emu::bfloat16, emu::bfloat16},
    Contestant{"float8_e4m3fn", single, e4m3, e4m3, emu::bfloat16},
    Contestant{"float8_e4m3fn", single, e4m3, e4m3, emu::bfloat16, true},
    Contestant{"float8_e5m2,float8_e4m3fn", single, e5m2, e4m3, emu::bfloat16},
    Contestant{"float8_e5m2,float8_e4m3fn", single, e5m2, e4m3, emu::bfloat16, true},
    Contestant{"float8_e4m3fn", single, e4m3, e4m3, emu::bfloat16, false, outer, outer},
    Contestant{"float8_e4m3fn", single, e4m3, e4m3, emu::bfloat16, true, outer, outer},
    Contestant{"float8_e4m3fn", single, e4m3, e4m3, emu::bfloat16, false, gpu::ScaleMode::vec128_32f,
               gpu::ScaleMode::blk128x128_32f},
    Contestant{"float8_e4m3fn", single, e4m3, e4m3, emu::bfloat16, false, mx, mx},
    Contestant{"float4_e2m1fn", single, emu::float4_e2m1fn, emu::float4_e2m1fn, emu::bfloat16, false, nv, nv},
};

std::optional<gpu::LibraryCall> find_call(const gpu::Library& library, const Contestant& wanted) {
  for (const gpu::LibraryCall& call : library.calls())
    if (call.compute == wanted.compute && call.a == wanted.a && call.b == wanted.b && call.d == wanted.d &&
        call.fast_accumulation == wanted.fast && call.reduced_precision_reduction && call.scale_mode_a == wanted.scale_a &&
        call.scale_mode_b == wanted.scale_b)
      return call;
  return std::nullopt;
}

std::string shape_words(const ProductShape& shape) {
  return std::to_string(shape.m) + " by " + std::to_string(shape.n) + " by " + std::to_string(shape.k);
}

/// The operands of one shape and their float64 product.
class Problem {
 public:
  Problem(const gpu::Library& library, const ProductShape& shape, const DeviceCostConfig& config)
      : library_(library), shape_(shape), seed_(config.seed) {
    try {
      if (shape.m * shape.n * shape.k <= config.most_on_host)
        multiply_here();
      else
        multiply_there();
    } catch (const Error& error) {
      remark_ = std::string("no float64 product: ") + error.what();
    }
  }

  /// Why there is no reference, if something went wrong.
  const std::string& remark() const noexcept { return remark_; }

  /// D of a call; nothing where its operands are to be scaled and are too many for this processor.
  std::vector<std::byte> multiply(const gpu::LibraryCall& call, const gpu::LibraryAlgorithm& algorithm) const {
    constexpr std::size_t most_scaled = std::size_t{1} << 22;
    const bool scaled = call.scale_mode_a != gpu::ScaleMode::scalar_32f;
    if (scaled && (shape_.m + shape_.n) * shape_.k > most_scaled) return {};
    const ScaledOperand a = scaled ? scaled_operand(call.a, call.scale_mode_a, gpu::OperandSide::a, drawn_a(emu::float32))
                                   : ScaledOperand{drawn_a(call.a), {}};
    const ScaledOperand b = scaled ? scaled_operand(call.b, call.scale_mode_b, gpu::OperandSide::b, drawn_b(emu::float32))
                                   : ScaledOperand{drawn_b(call.b), {}};
    std::vector<std::byte> d(shape_.m * shape_.n * gpu::bytes_per_code(call.d));
    library_.multiply(call, algorithm, {{a.matrix.view(), b.matrix.view(), {}}, 1, 0, a.scales.view(), b.scales.view()}, d);
    return d;
  }
  /// nan where there is no reference or no D.
  double error(Format format, const std::vector<std::byte>& d) const {
    if (d.empty()) return nan;
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < reference_.size(); ++i) {
      const double x = emu::decode(format, gpu::load_code(format, d.data(), i)) - reference_[i];
      difference += x * x;
      norm += reference_[i] * reference_[i];
    }
    return norm > 0 ? std::sqrt(difference / norm) : nan;
  }

 private:
  OwnMatrix drawn_a(Format format) const { return drawn(format, 0, shape_.m, shape_.k); }
  OwnMatrix drawn_b(Format format) const { return drawn(format, 1, shape_.k, shape_.n); }
  /// The operands' float32 numbers, rounded.
  OwnMatrix drawn(Format format, std::uint64_t operand, std::size_t rows, std::size_t columns) const {
    OwnMatrix matrix{format, rows, columns, std::vector<std::byte>(rows * columns * gpu::bytes_per_code(format))};
    library_.draw_normal(format, seed_, operand, matrix.codes);
    return matrix;
  }

  void multiply_here() {
    const std::size_t n = shape_.n;
    const OwnMatrix a = drawn_a(emu::float32), b = drawn_b(emu::float32);
    const auto number = [](const OwnMatrix& matrix, std::size_t i) {
      return emu::decode(emu::float32, gpu::load_code(emu::float32, matrix.codes.data(), i));
    };
    std::vector<double> right(shape_.k * n);
    for (std::size_t i = 0; i < right.size(); ++i) right[i] = number(b, i);
    reference_.assign(shape_.m * n, 0);
    for (std::size_t i = 0; i < shape_.m; ++i)
      for (std::size_t p = 0; p < shape_.k; ++p) {
        const double x = number(a, i * shape_.k + p);
        for (std::size_t j = 0; j < n; ++j) reference_[i * n + j] += x * right[p * n + j];
      }
  }
  void multiply_there() {
    const auto call = find_call(library_, {"", "CUBLAS_COMPUTE_64F", emu::float64, emu::float64, emu::float64});
    if (!call) return;
    const auto algorithms = library_.algorithms(*call, shape_.m, shape_.n, shape_.k, 1);
    if (algorithms.empty()) return;
    const std::vector<std::byte> d = multiply(*call, algorithms.front());
    reference_.resize(shape_.m * shape_.n);
    for (std::size_t i = 0; i < reference_.size(); ++i)
      reference_[i] = emu::decode(emu::float64, gpu::load_code(emu::float64, d.data(), i));
  }

  const gpu::Library& library_;
  ProductShape shape_;
  std::uint64_t seed_;
  std::vector<double> reference_;  ///< empty where nothing computes it
  std::string remark_;
};

/// What was found out about one contestant.
struct Outcome {
  std::string algorithm, remark;
  gpu::LibraryTime time = {};
  double error = nan;
};

Outcome outcome_of(const gpu::Library& library, const gpu::LibraryCall& call, const ProductShape& shape,
                   const Problem& problem) {
  Outcome outcome;
  outcome.remark = problem.remark();
  try {
    const auto algorithms = library.algorithms(call, shape.m, shape.n, shape.k, 1);
    if (algorithms.empty()) throw Error(library.name() + " has no algorithm for this shape");
    outcome.algorithm = algorithms.front().words;
    outcome.error = problem.error(call.d, problem.multiply(call, algorithms.front()));
    outcome.time = library.time(call, algorithms.front(), shape.m, shape.n, shape.k);
  } catch (const Error& error) {
    outcome.remark = error.what();
  }
  return outcome;
}

std::vector<Cell> row_of(const Contestant& contestant, const ProductShape& shape, const Outcome& outcome,
                         double float32_seconds) {
  const double seconds = outcome.time.median_seconds > 0 ? outcome.time.median_seconds : nan;
  const double least = outcome.time.least_seconds > 0 ? outcome.time.least_seconds : nan;
  const double operations = 2 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  const auto stored = [](Format format, std::size_t codes) {
    return format.bits() == 4 ? codes / 2 : codes * gpu::bytes_per_code(format);  // two to a byte
  };
  const std::size_t bytes = stored(contestant.a, shape.m * shape.k) + stored(contestant.b, shape.k * shape.n) +
                            stored(contestant.d, shape.m * shape.n);
  return {std::string(contestant.format),
          emu::format_name(contestant.d),
          std::string(contestant.fast ? "yes" : "no"),
          reports::whole(shape.m),
          reports::whole(shape.n),
          reports::whole(shape.k),
          std::string(contestant.compute),
          outcome.algorithm,
          seconds * 1e6,
          least * 1e6,
          operations / seconds * 1e-12,
          float32_seconds / seconds,
          reports::whole(bytes),
          outcome.error,
          outcome.remark,
          std::string(gpu::facts_of(contestant.scale_a).name),
          std::string(gpu::facts_of(contestant.scale_b).name)};
}

}  // namespace

std::vector<ProductShape> device_cost_shapes() {
  std::vector<ProductShape> shapes;
  for (std::size_t extent = 256; extent <= 8192; extent *= 2) shapes.push_back({extent, extent, extent});
  for (const std::size_t batch : {16u, 32u, 64u})
    for (const std::size_t width : {512u, 1024u, 2048u}) shapes.push_back({batch, width, width});
  return shapes;
}

namespace {

class CostStudy {
 public:
  CostStudy(const gpu::Library& library, const DeviceCostConfig& config)
      : library_(library),
        config_(config),
        work_(config.deadline, config.usable, config.log),
        table_{"device_cost",
               {"format", "d", "fast_accumulation", "m", "n", "k", "compute", "algorithm", "median_us", "least_us", "tflops",
                "speedup_over_float32", "bytes", "error", "remark", "scale_mode_a", "scale_mode_b"},
               {}} {}

  Table run() {
    for (const ProductShape& shape : config_.shapes) {
      problem_.reset();
      float32_seconds_ = nan;
      for (const Contestant& contestant : contestants)
        if (const auto call = find_call(library_, contestant)) take(shape, contestant, *call);
    }
    return std::move(table_);
  }

 private:
  void take(const ProductShape& shape, const Contestant& contestant, const gpu::LibraryCall& call) {
    const auto keep = [&](const Outcome& outcome) {
      table_.rows.push_back(row_of(contestant, shape, outcome, float32_seconds_));
      if (config_.so_far) config_.so_far(table_);
    };
    const auto measure = [&] {
      if (config_.progress) config_.progress(library_.name() + " " + contestant.format + " " + shape_words(shape));
      if (!problem_) problem_.emplace(library_, shape, config_);
      const Outcome outcome = outcome_of(library_, call, shape, *problem_);
      if (&contestant == contestants.data() && outcome.time.median_seconds > 0) float32_seconds_ = outcome.time.median_seconds;
      keep(outcome);
      return outcome.remark.empty();
    };
    work_.piece(piece_++, contestant.format, measure, [&](const std::string& reason) {
      if (reason.empty()) return;
      Outcome none;
      none.remark = reason == process_ended ? reason : "not measured: " + reason;
      keep(none);
    });
  }

  const gpu::Library& library_;
  const DeviceCostConfig& config_;
  DeviceWork work_;
  Table table_;
  std::size_t piece_ = 0;
  std::optional<Problem> problem_;  ///< of the shape at hand, made when its first product is measured
  double float32_seconds_ = nan;
};

}  // namespace

Table device_cost(const gpu::Library& library, const DeviceCostConfig& config) { return CostStudy(library, config).run(); }

}  // namespace ulpscope::studies
