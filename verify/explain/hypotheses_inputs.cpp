// SPDX-License-Identifier: Apache-2.0
// What may happen to A and B before they are multiplied.
#include <array>
#include <string>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "verify/explain/hypotheses.hpp"

namespace ulpscope::verify {
namespace {

using emu::Format;

/// Which operands a cause concerns.
struct Which {
  bool a, b;
  const char* suffix;
  const char* words;
};
constexpr std::array sides{Which{true, true, "", "inputs"}, Which{true, false, "/a", "A"}, Which{false, true, "/b", "B"}};

template <class Change>
std::function<void(Kernel&)> changing(Which operands, Change change) {
  return [operands, change](Kernel& kernel) {
    if (operands.a) change(kernel.a);
    if (operands.b) change(kernel.b);
  };
}

/// Whether rounding numbers of `from` to `to` may change one.
bool loses(Format from, Format to) {
  return to.fraction_bits < from.fraction_bits || to.max_exponent() < from.max_exponent() ||
         to.min_exponent() > from.min_exponent();
}

std::string in_words(const Claim& claim, Which operands, const std::string& word) {
  const std::string a = operands.a ? word : emu::format_name(claim.a()), b = operands.b ? word : emu::format_name(claim.b());
  return a == b ? a : a + "," + b;
}

Cause format_cause(const Claim& claim, Which operands, const products::InputRounding& rounding, const std::string& word) {
  const bool cut = rounding.options.rounding == emu::Rounding::toward_zero;
  const bool away = rounding.options.rounding == emu::Rounding::nearest_away;
  Cause cause{"in" + std::string(operands.suffix) + "=" + word,
              std::string(operands.words) + (cut ? " cut to " : " rounded to ") + emu::format_name(rounding.format) +
                  (away ? ", ties away from zero" : ""),
              {},
              changing(operands, [rounding](OperandPath& path) { path.roundings.push_back(rounding); })};
  const bool tf32_claimed = claim.a() == emu::tf32 || claim.b() == emu::tf32;
  if (!tf32_claimed && (claim.config.a.input.tensor.dtype.format == claim.a() || claim.a() == emu::float32))
    cause.options = {{"--in", in_words(claim, operands, word)}};
  return cause;
}

void add_misread(std::vector<Cause>& causes, const Claim& claim, Which operands, Format as) {
  const Format from = operands.a ? claim.a() : claim.b();
  if (operands.a && operands.b && claim.a() != claim.b()) return;
  if (as == from || as.bits() != from.bits()) return;
  const std::string name = emu::format_name(as);
  causes.push_back({"read-as" + std::string(operands.suffix) + "=" + name,
                    "codes of " + std::string(operands.words) + " read as " + name,
                    {},
                    changing(operands, [as](OperandPath& path) { path.read_as = as; })});
}

}  // namespace

std::vector<Cause> format_causes(const Claim& claim) {
  std::vector<Cause> causes;
  for (const Which operands : sides) {
    const auto add = [&](products::InputRounding rounding, const std::string& word) {
      const bool useful =
          (operands.a && loses(claim.a(), rounding.format)) || (operands.b && loses(claim.b(), rounding.format));
      if (useful) causes.push_back(format_cause(claim, operands, rounding, word));
    };
    add({emu::tf32, {.rounding = emu::Rounding::toward_zero}, {}, true}, "tf32");
    add({emu::tf32}, "tf32:nearest");
    add({emu::tf32, {.rounding = emu::Rounding::nearest_away}}, "tf32:nearest_away");
    for (const Format format : {emu::bfloat16, emu::float16, emu::float8_e4m3fn, emu::float8_e5m2})
      add({format}, emu::format_name(format));
    if (claim.kernel.wide()) add({emu::float32}, "float32");
  }
  return causes;
}

std::vector<Cause> input_causes(const Claim& claim) {
  std::vector<Cause> causes;
  const auto last = [](auto change) { return [change](OperandPath& path) { change(path.roundings.back().options); }; };
  for (const Which operands : sides) {
    const std::string suffix = operands.suffix, words = operands.words;
    causes.push_back({"in" + suffix + ":flush",
                      "subnormal " + words + " flushed to zero",
                      {},
                      changing(operands, last([](emu::RoundingOptions& options) { options.flush_subnormals = true; }))});
    causes.push_back(
        {"in" + suffix + ":saturating", words + " saturated", {}, changing(operands, last([](emu::RoundingOptions& options) {
                                                                             options.policy = emu::Policy::saturating;
                                                                           }))});
    for (const auto mode : {emu::Rounding::toward_zero, emu::Rounding::nearest_away, emu::Rounding::nearest_even}) {
      causes.push_back({"in" + suffix + ":" + std::string(emu::name_of(mode)),
                        words + " rounded by " + std::string(emu::name_of(mode)),
                        {},
                        changing(operands, last([mode](emu::RoundingOptions& options) { options.rounding = mode; }))});
      if (mode == emu::Rounding::nearest_away && operands.a && operands.b && claim.a() == emu::tf32 && claim.b() == emu::tf32)
        causes.back().options = {{"--in", "tf32:nearest_away"}};
    }
    const auto own_a = claim.config.a.input.tensor.dtype.format, own_b = claim.config.b.input.tensor.dtype.format;
    if ((!operands.a || (own_a && *own_a != claim.a())) && (!operands.b || (own_b && *own_b != claim.b())))
      causes.push_back({"in" + suffix + "=unrounded", words + " not rounded", {}, [=](Kernel& kernel) {
                          if (operands.a) kernel.a.roundings = {{*own_a}};
                          if (operands.b) kernel.b.roundings = {{*own_b}};
                        }});
    for (const Format as : {emu::float8_e4m3fn, emu::float8_e4m3fnuz, emu::float8_e4m3, emu::float8_e4m3b11fnuz,
                            emu::float8_e5m2, emu::float8_e5m2fnuz, emu::float8_e3m4, emu::float16, emu::bfloat16})
      add_misread(causes, claim, operands, as);
  }
  return causes;
}

std::vector<Cause> lag_causes(const Claim& claim) {
  std::vector<Cause> causes;
  // Tiles of 8 to 256, one to four behind.
  for (const std::size_t by : std::initializer_list<std::size_t>{8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024})
    for (const bool zero_first : {false, true})
      for (const Which operands : sides) {
        if (by >= claim.shape.k) continue;
        if (operands.a && operands.b && zero_first) continue;  // the last products left out, which has a name
        const std::string length = std::to_string(by);
        causes.push_back({std::string(operands.words) + "=lags:" + length + (zero_first ? ",zero" : ""),
                          std::string(operands.words) + " of " + length + " earlier along K, the first " + length +
                              (zero_first ? " zero" : " right"),
                          {},
                          changing(operands, [=](OperandPath& path) {
                            path.lag = {by, zero_first};
                          })});
      }
  return causes;
}

std::vector<Cause> layout_causes(const Claim& claim) {
  std::vector<Cause> causes;
  const auto& shape = claim.shape;
  for (const Which operands : {sides[2], sides[1]}) {
    const std::size_t rows = operands.a ? shape.m : shape.k, columns = operands.a ? shape.k : shape.n;
    const std::string name = operands.words;
    if (rows < 2 || columns < 2) continue;
    Cause misread{name + "=transposed",
                  rows == columns ? name + " transposed" : "the buffer of " + name + " read as its transpose's",
                  {},
                  changing(operands, [](OperandPath& path) { path.layout = Layout::misread; })};
    const bool stored_so = operands.a ? claim.config.a.input.transposed : claim.config.b.input.transposed;
    if (rows == columns && !stored_so) misread.options = {{operands.a ? "--transpose-a" : "--transpose-b", ""}};
    causes.push_back(std::move(misread));
    for (const std::size_t tile : std::initializer_list<std::size_t>{4, 8, 16, 32, 64})
      if (rows % tile == 0 && columns % tile == 0 && (rows != tile || columns != tile))
        causes.push_back({name + "=tiles:" + std::to_string(tile),
                          "every " + std::to_string(tile) + "x" + std::to_string(tile) + " tile of " + name + " transposed",
                          {},
                          changing(operands, [tile](OperandPath& path) {
                            path.layout = Layout::tiles;
                            path.tile = tile;
                          })});
  }
  if (shape.m == shape.n && shape.m > 1)
    causes.push_back({"D=transposed", "D transposed", {}, [](Kernel& kernel) { kernel.result_transposed = true; }});
  if (shape.m == shape.n && shape.m == shape.k && shape.m > 1)
    causes.push_back({"operands=swapped", "B.A instead of A.B", {}, [](Kernel& kernel) { kernel.operands_swapped = true; }});
  return causes;
}

}  // namespace ulpscope::verify
