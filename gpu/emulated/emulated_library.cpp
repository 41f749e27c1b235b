// SPDX-License-Identifier: Apache-2.0
// A product under each known algorithm: chain, split K, promotion, scaled blocks.
#include "gpu/emulated/emulated_library.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"
#include "gpu/emulated/emulated_calls.hpp"

namespace ulpscope::gpu {
namespace {

using emu::Code, emu::Engine, emu::float64, emu::Format, emu::tf32;

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

/// One element of D after another.
class Multiplier {
 public:
  Multiplier(Engine engine, const LibraryCall& call, const Algorithm& algorithm, const LibraryProduct& product)
      : engine_(engine), call_(call), algorithm_(algorithm), product_(product), promote_(promotion()) {}

  Code element(std::size_t i, std::size_t j) {
    const std::size_t k = product_.product.k();
    a_.clear();
    b_.clear();
    a_scales_ = scales_of_line(call_.scale_mode_a, OperandSide::a, product_.scale_a, i);
    b_scales_ = scales_of_line(call_.scale_mode_b, OperandSide::b, product_.scale_b, j);
    for (std::size_t p = 0; p < k; ++p) {
      a_.push_back(taken(call_.a, product_.product.a.at(i, p)));
      b_.push_back(taken(call_.b, product_.product.b.at(p, j)));
    }
    const double before = finished(total(i, j), i, j);
    amax_ = std::max(amax_, static_cast<float>(std::abs(before)));
    emu::RoundingOptions options;
    if (call_.d.bits() == 8) options.policy = emu::Policy::saturating;
    const Code d = emu::encode(call_.d, static_cast<double>(product_.scale_d.value_or(1.0F)) * before, options);
    return algorithm_.kind == Kind::noise ? disturbed(d, i, j) : d;
  }
  float amax() const { return amax_; }

 private:
  std::size_t promotion() const {
    constexpr std::size_t usual = 128;
    const std::size_t block = scaled_block();
    if (algorithm_.kind == Kind::promote) return block > 0 ? std::min(block, algorithm_.number) : algorithm_.number;
    if (facts_of(call_.scale_mode_a).by_the_engine) return 0;
    return call_.a.bits() == 8 && !call_.fast_accumulation ? usual : 0;
  }

  /// Products after which a sum is multiplied by scales outside the engine; 0: not before the end.
  std::size_t scaled_block() const {
    const ScaleModeFacts scales = facts_of(call_.scale_mode_a);
    return scales.by_the_engine ? 0 : scales.products;
  }

  /// The rounded product of the scales of a block.
  float scale_of(std::size_t block) const {
    const auto number = [&](const std::vector<Code>& scales, ScaleMode mode) {
      return scales.empty() ? 1.0F : static_cast<float>(emu::decode(facts_of(mode).format, scales[block]));
    };
    return number(a_scales_, call_.scale_mode_a) * number(b_scales_, call_.scale_mode_b);
  }

  Code taken(Format format, Code code) const {
    const Format to = taken_as(call_, format);
    if (to == format) return code;
    emu::RoundingOptions options;
    if (to == tf32) options.rounding = emu::Rounding::toward_zero;
    return emu::convert(format, code, to, options).code;
  }

  double chain(std::size_t begin, std::size_t end) const {
    emu::BlockScales scales;
    if (const ScaleModeFacts facts = facts_of(call_.scale_mode_a); facts.by_the_engine)
      scales = {facts.format, std::span(a_scales_).subspan(begin / facts.products),
                std::span(b_scales_).subspan(begin / facts.products)};
    const Code sum = emu::inner_product(engine_, taken_as(call_, call_.a), std::span(a_).subspan(begin, end - begin),
                                        taken_as(call_, call_.b), std::span(b_).subspan(begin, end - begin), 0, scales);
    return emu::decode(engine_.accumulator, sum);
  }

  double part(std::size_t begin, std::size_t end) const {
    if (promote_ == 0) return chain(begin, end);
    float sum = 0;
    const std::size_t block = scaled_block();
    while (begin < end) {
      std::size_t next = std::min(begin + promote_, end);
      if (block > 0) next = std::min(next, (begin / block + 1) * block);
      const auto piece = static_cast<float>(chain(begin, next));
      sum = block > 0 ? std::fma(piece, scale_of(begin / block), sum) : sum + piece;
      begin = next;
    }
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
    const bool by_lines = call_.scale_mode_a == ScaleMode::outer_vec_32f;
    if (by_lines) sum = static_cast<double>(static_cast<float>(sum) * scale_of(0));
    const double scale = call_.scale_mode_a == ScaleMode::scalar_32f ? static_cast<double>(scale_of(0)) : 1;
    const double scaled = static_cast<double>(product_.alpha) * scale * sum;
    if (product_.product.c.codes.empty()) return scaled;
    return scaled + static_cast<double>(product_.beta) * emu::decode(call_.c_format(), product_.product.c.at(i, j));
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
  std::vector<Code> a_, b_, a_scales_, b_scales_;
  float amax_ = 0;
};

}  // namespace

EmulatedLibrary::EmulatedLibrary(std::string engine) : engine_(std::move(engine)) {
  const std::vector<std::string> names = emu::engine_names();
  if (std::find(names.begin(), names.end(), engine_) == names.end()) throw Error("no engine named " + engine_);
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
    const bool ignores_scales = algorithm.kind == Kind::other_engine && facts_of(call.scale_mode_a).by_the_engine;
    if (algorithms.size() < most && !loses_bits && !ignores_scales) algorithms.push_back(described(algorithm));
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

  const auto scales_fit = [](const ConstMatrix& scales, ScaleMode mode, const ScaleExtent& extent) {
    if (scales.codes.empty()) return !facts_of(mode).by_the_engine;
    return scales.format == facts_of(mode).format && ScaleExtent{scales.rows, scales.columns} == extent;
  };
  if (!scales_fit(product.scale_a, call.scale_mode_a,
                  scale_extent(call.scale_mode_a, OperandSide::a, matrices.m(), matrices.k())) ||
      !scales_fit(product.scale_b, call.scale_mode_b,
                  scale_extent(call.scale_mode_b, OperandSide::b, matrices.n(), matrices.k())))
    throw Error(name() + ": scales do not fit the call");

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
  if (!product.amax_d.empty()) product.amax_d.front() = multiplier.amax();
}

LibraryTime EmulatedLibrary::time(const LibraryCall& call, const LibraryAlgorithm& /*algorithm*/, std::size_t /*m*/,
                                  std::size_t /*n*/, std::size_t /*k*/) const {
  require(call);
  return {};
}

}  // namespace ulpscope::gpu
