// SPDX-License-Identifier: Apache-2.0
#include "gpu/emulated/emulated_library.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"

namespace ulpscope::gpu {
namespace {

using emu::bfloat16, emu::float16, emu::float32, emu::float64, emu::tf32;
using emu::Code, emu::Engine, emu::Format;

enum class Kind : std::uint8_t { chain, split_k, promote, stream_k, other_engine, noise };

struct Algorithm {
  Kind kind = Kind::chain;
  std::size_t number = 0;  ///< of parts, or of products between promotions
  bool reduced_in_output = false;
};

constexpr std::array algorithms_of_all{
    Algorithm{},
    Algorithm{Kind::split_k, 2},
    Algorithm{Kind::split_k, 3},
    Algorithm{Kind::split_k, 4},
    Algorithm{Kind::split_k, 2, true},
    Algorithm{Kind::split_k, 3, true},
    Algorithm{Kind::split_k, 4, true},
    Algorithm{Kind::promote, 32},
    Algorithm{Kind::promote, 64},
    Algorithm{Kind::promote, 128},
    Algorithm{Kind::promote, 512},
    Algorithm{Kind::stream_k},
    Algorithm{Kind::other_engine},
    Algorithm{Kind::noise},
};

LibraryAlgorithm described(const Algorithm& algorithm) {
  const std::string number = std::to_string(algorithm.number);
  switch (algorithm.kind) {
    case Kind::chain: return {"kind=chain", 1, "", {}};
    case Kind::promote: return {"kind=promote every=" + number, 1, "", {}};
    case Kind::stream_k: return {"kind=stream_k", 1, "", {}};
    case Kind::other_engine: return {"kind=other_engine", 1, "", {}};
    case Kind::noise: return {"kind=noise", 1, "", {}};
    case Kind::split_k: break;
  }
  const std::string reduction = algorithm.reduced_in_output ? "OUTPUT_TYPE" : "COMPUTE_TYPE";
  return {"kind=split_k split_k=" + number + " reduction=" + reduction, static_cast<int>(algorithm.number), reduction, {}};
}

/// What operands of the fast compute types become.
Format taken_as(const LibraryCall& call, Format format) {
  if (call.compute == "CUBLAS_COMPUTE_32F_FAST_TF32") return tf32;
  if (call.compute == "CUBLAS_COMPUTE_32F_FAST_16F") return float16;
  if (call.compute == "CUBLAS_COMPUTE_32F_FAST_16BF") return bfloat16;
  return format;
}

std::optional<Engine> engine_for(const std::string& name, const LibraryCall& call) {
  const Format a = taken_as(call, call.a), b = taken_as(call, call.b);
  if (a == float32) return emu::fma_chain(float32);
  try {
    return emu::find_engine(name, {a, b, call.accumulator}).model;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// One element of D after another.
class Multiplier {
 public:
  Multiplier(Engine engine, const LibraryCall& call, const Algorithm& algorithm, const LibraryProduct& product)
      : engine_(engine), call_(call), algorithm_(algorithm), product_(product), promote_(promotion()) {}

  Code element(std::size_t i, std::size_t j) {
    const std::size_t k = product_.product.k();
    a_.clear();
    b_.clear();
    for (std::size_t p = 0; p < k; ++p) {
      a_.push_back(taken(call_.a, product_.product.a.at(i, p)));
      b_.push_back(taken(call_.b, product_.product.b.at(p, j)));
    }
    const Code d = emu::encode(call_.d, finished(total(i, j), i, j));
    return algorithm_.kind == Kind::noise ? disturbed(d, i, j) : d;
  }

 private:
  std::size_t promotion() const {
    constexpr std::size_t usual = 128;
    if (algorithm_.kind == Kind::promote) return algorithm_.number;
    return call_.a.bits() == 8 && !call_.fast_accumulation ? usual : 0;
  }

  Code taken(Format format, Code code) const {
    const Format to = taken_as(call_, format);
    if (to == format) return code;
    emu::RoundingOptions options;
    if (to == tf32) options.rounding = emu::Rounding::toward_zero;
    return emu::convert(format, code, to, options).code;
  }

  double chain(std::size_t begin, std::size_t end) const {
    const Code sum = emu::inner_product(engine_, taken_as(call_, call_.a), std::span(a_).subspan(begin, end - begin),
                                        taken_as(call_, call_.b), std::span(b_).subspan(begin, end - begin), 0);
    return emu::decode(engine_.accumulator, sum);
  }

  double part(std::size_t begin, std::size_t end) const {
    if (promote_ == 0) return chain(begin, end);
    float sum = 0;
    for (; begin < end; begin += promote_) sum += static_cast<float>(chain(begin, std::min(begin + promote_, end)));
    return static_cast<double>(sum);
  }

  double added(double x, double y) const {
    // Two numbers of the accumulator, added in float64 and rounded once more, are rounded as if once: 53 >= 2 * 24 + 2 bits
    // (Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995).
    return emu::round_to(engine_.accumulator, x + y).value;
  }

  double total(std::size_t i, std::size_t j) const {
    const std::size_t k = a_.size();
    if (algorithm_.kind == Kind::stream_k) {
      const std::size_t cut = stream_cut(i, j);
      return cut == 0 ? part(0, k) : added(part(0, cut), part(cut, k));
    }
    if (algorithm_.kind != Kind::split_k) return part(0, k);
    constexpr std::size_t unit = 64;
    const std::size_t units = (k + unit - 1) / unit, each = (units + algorithm_.number - 1) / algorithm_.number * unit;
    double sum = 0;
    for (std::size_t begin = 0; begin < k; begin += each) {
      const double stored = part(begin, std::min(begin + each, k));
      const double joining = algorithm_.reduced_in_output ? emu::round_to(call_.d, stored).value : stored;
      sum = begin == 0 ? joining : added(sum, joining);
    }
    return sum;
  }

  /// Where the tile of an output is cut; 0: nowhere.
  std::size_t stream_cut(std::size_t i, std::size_t j) const {
    constexpr std::size_t tile = 16, unit = 32, whole_tiles = 3;
    const std::size_t units = (a_.size() + unit - 1) / unit;
    const std::size_t number = i / tile * ((product_.product.n() + tile - 1) / tile) + j / tile;
    if (units < 2 || number % whole_tiles == whole_tiles - 1) return 0;
    return (1 + (7 * number + 3) % (units - 1)) * unit;
  }

  double finished(double sum, std::size_t i, std::size_t j) const {
    const double scale =
        static_cast<double>(product_.scale_a.value_or(1.0F)) * static_cast<double>(product_.scale_b.value_or(1.0F));
    const double scaled = static_cast<double>(product_.alpha) * scale * sum;
    if (product_.product.c.codes.empty()) return scaled;
    return scaled + static_cast<double>(product_.beta) * emu::decode(call_.d, product_.product.c.at(i, j));
  }

  Code disturbed(Code d, std::size_t i, std::size_t j) const {
    const std::uint32_t word = emu::philox4x32(0, i, j).word[0];
    return word % 4 == 0 && (d & call_.d.magnitude_mask()) != 0 ? d - 1 : d;
  }

  Engine engine_;
  const LibraryCall& call_;
  Algorithm algorithm_;
  const LibraryProduct& product_;
  std::size_t promote_;
  std::vector<Code> a_, b_;
};

}  // namespace

EmulatedLibrary::EmulatedLibrary(std::string engine) : engine_(std::move(engine)) {
  const std::vector<std::string> names = emu::engine_names();
  if (std::find(names.begin(), names.end(), engine_) == names.end()) throw Error("no engine named " + engine_);
}

std::vector<LibraryCall> EmulatedLibrary::calls() const {
  constexpr Format e4m3 = emu::float8_e4m3fn, e5m2 = emu::float8_e5m2;
  constexpr const char* single = "CUBLAS_COMPUTE_32F";
  std::vector<LibraryCall> calls;
  const auto add = [&](const char* compute, Format a, Format b, Format d, Format accumulator) {
    LibraryCall call{"emulated", compute, a, b, d, accumulator};
    if (!engine_for(engine_, call)) return;
    calls.push_back(call);
    if (a.bits() != 8) return;
    call.fast_accumulation = true;
    calls.push_back(call);
  };
  for (const Format operands : {float16, bfloat16})
    for (const Format d : {operands, float32}) add(single, operands, operands, d, float32);
  add("CUBLAS_COMPUTE_16F", float16, float16, float16, float16);
  for (const char* compute :
       {single, "CUBLAS_COMPUTE_32F_FAST_TF32", "CUBLAS_COMPUTE_32F_FAST_16F", "CUBLAS_COMPUTE_32F_FAST_16BF"})
    add(compute, float32, float32, float32, float32);
  add("CUBLAS_COMPUTE_64F", float64, float64, float64, float64);
  for (const auto& [a, b] : {std::pair{e4m3, e4m3}, std::pair{e4m3, e5m2}, std::pair{e5m2, e4m3}})
    for (const Format d : {bfloat16, float16, float32}) add(single, a, b, d, float32);
  return calls;
}

void EmulatedLibrary::require(const LibraryCall& call) const {
  const std::vector<LibraryCall> known = calls();
  if (std::find(known.begin(), known.end(), call) == known.end())
    throw Error(name() + " has no call " + call.compute + " from " + emu::format_name(call.a) + " and " +
                emu::format_name(call.b) + " to " + emu::format_name(call.d));
}

std::vector<LibraryAlgorithm> EmulatedLibrary::algorithms(const LibraryCall& call, std::size_t /*m*/, std::size_t /*n*/,
                                                          std::size_t /*k*/, std::size_t most) const {
  require(call);
  std::vector<LibraryAlgorithm> algorithms;
  for (const Algorithm& algorithm : algorithms_of_all) {
    const bool loses_bits = algorithm.kind == Kind::promote && call.accumulator == float64;
    if (algorithms.size() < most && !loses_bits) algorithms.push_back(described(algorithm));
  }
  return algorithms;
}

void EmulatedLibrary::multiply(const LibraryCall& call, const LibraryAlgorithm& algorithm, const LibraryProduct& product,
                               std::span<std::byte> d) const {
  require(call);
  const auto* const found = std::find_if(algorithms_of_all.begin(), algorithms_of_all.end(),
                                         [&](const Algorithm& a) { return described(a).words == algorithm.words; });
  if (found == algorithms_of_all.end()) throw Error(name() + " has no algorithm " + algorithm.words);
  const MatrixProduct& matrices = product.product;
  if (matrices.a.format != call.a || matrices.b.format != call.b || matrices.b.rows != matrices.k() ||
      d.size() != matrices.m() * matrices.n() * bytes_per_code(call.d))
    throw Error(name() + ": operands do not fit the call or each other");

  Engine engine = *engine_for(engine_, call);
  if (found->kind == Kind::other_engine) {
    const auto other = engine_for(call.a.bits() == 8 ? "sm_89" : "sm_80", call);
    if (other && !(*other == engine))
      engine = *other;
    else
      engine = emu::find_engine("pairwise", {call.a, call.b, call.accumulator}).model;
  }
  Multiplier multiplier(engine, call, *found, product);
  for (std::size_t i = 0; i < matrices.m(); ++i)
    for (std::size_t j = 0; j < matrices.n(); ++j) store_code(call.d, d.data(), i * matrices.n() + j, multiplier.element(i, j));
}

LibraryTime EmulatedLibrary::time(const LibraryCall& call, const LibraryAlgorithm& /*algorithm*/, std::size_t /*m*/,
                                  std::size_t /*n*/, std::size_t /*k*/) const {
  require(call);
  return {};
}

}  // namespace ulpscope::gpu
