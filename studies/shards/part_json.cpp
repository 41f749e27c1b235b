// SPDX-License-Identifier: Apache-2.0
// JSON of numbers that come back to the bit: doubles in hexadecimal, exact sums as one integer and an exponent.
#include "studies/shards/part_json.hpp"

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "emu/exact_sum.hpp"
#include "emu/json_input.hpp"
#include "emu/names.hpp"
#include "requests/parts.hpp"

namespace ulpscope::studies {
namespace {

using Json = PartJson;
using BigInteger = boost::multiprecision::cpp_int;

std::uint64_t count_of(const Json& json) { return emu::whole_number<std::uint64_t>(json); }

Json json_number(double x) {
  std::array<char, 64> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), x, std::chars_format::hex);
  return std::string(text.data(), error == std::errc{} ? end : text.data());
}

double number_of(const Json& json) {
  const std::string& text = json.get_ref<const std::string&>();
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x, std::chars_format::hex);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size())
    throw Malformed{"'" + text.substr(0, 40) + "' is no number"};
  return x;
}

constexpr int most_exponent = 10'000;  // of a term of an exact sum; far more than any has
// Of its integer: WideSum::value() takes terms that lie no further apart than bits of products of doubles, and carries of
// their sums are at most as long as a term.
constexpr std::size_t most_digits = (-emu::ExactSum::least_exponent + 2 * 64) / 4;

/// `-1f 3` is -31 * 2^3.
Json json_sum(const WideSum& wide) {
  if (wide.terms().empty()) return "0 0";
  int least = std::numeric_limits<int>::max();
  for (const WideSum::Term& term : wide.terms()) least = std::min(least, term.exponent);
  BigInteger all = 0;
  for (const WideSum::Term& term : wide.terms()) all += BigInteger(term.integer) << (term.exponent - least);
  const BigInteger magnitude = all < 0 ? BigInteger(-all) : all;
  return (all < 0 ? "-" : "") + magnitude.str(0, std::ios_base::hex) + " " + std::to_string(least);
}

WideSum sum_of(const Json& json) {
  const std::string& text = json.get_ref<const std::string&>();
  const std::size_t space = text.find(' '), begin = text.starts_with('-') ? 1 : 0;
  const std::string digits = space == std::string::npos ? std::string() : text.substr(begin, space - begin);
  int exponent = 0;
  const char* const last = text.data() + text.size();
  const bool has_digits = !digits.empty() && digits.size() <= most_digits &&
                          digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  const auto read = std::from_chars(text.data() + std::min(space + 1, text.size()), last, exponent);
  if (!has_digits || read.ec != std::errc{} || read.ptr != last || exponent < -most_exponent || exponent > most_exponent)
    throw Malformed{"'" + text.substr(0, 40) + "' is no exact sum"};
  constexpr int limb = 60;
  BigInteger left("0x" + digits);
  WideSum wide;
  for (int shift = 0; left != 0; shift += limb, left >>= limb) {
    const auto part = static_cast<std::int64_t>(left & ((BigInteger(1) << limb) - 1));
    wide.add(begin == 1 ? -part : part, exponent + shift);
  }
  return wide;
}

Json json_squares(const SquareSum& of) {
  Json all = Json::array();
  for (const double part : of.parts()) all.push_back(json_number(part));
  return all;
}

SquareSum squares_of(const Json& json) {
  return SquareSum::of_parts({number_of(json.at(0)), number_of(json.at(1)), number_of(json.at(2))});
}

/// What is zero is left out, but for counts and magnitudes.
Json json_sums(const ErrorSums& of) {
  Json all{{"counts", of.counts},
           {"nonzero", of.nonzero},
           {"largest", {json_number(of.largest.magnitude), of.largest.index}},
           {"smallest", {json_number(of.smallest.magnitude), of.smallest.index}}};
  const auto add = [&all](const char* name, const auto&... numbers) {
    if (((numbers != 0) || ...)) all[name] = {json_number(numbers)...};
  };
  if (of.lost != 0 || of.lost_when_saturating != 0) all["lost"] = {of.lost, of.lost_when_saturating};
  add("max", of.max_abs, of.max_rel, of.max_ulp);
  add("sum", of.sum_abs, of.sum_signed, of.sum_rel);
  add("large", of.large_abs.scaled(), of.large_signed.scaled());
  if (!of.input.is_zero()) all["input"] = json_squares(of.input);
  if (!of.error.is_zero()) all["error"] = json_squares(of.error);
  if (!of.saturating_error.is_zero()) all["saturating_error"] = json_squares(of.saturating_error);
  return all;
}

ErrorSums sums_of(const Json& json) {
  ErrorSums all;
  for (std::size_t i = 0; i < all.counts.size(); ++i) all.counts[i] = count_of(json.at("counts").at(i));
  all.nonzero = count_of(json.at("nonzero"));
  all.largest = {number_of(json.at("largest").at(0)), count_of(json.at("largest").at(1))};
  all.smallest = {number_of(json.at("smallest").at(0)), count_of(json.at("smallest").at(1))};
  const auto when = [&json](const char* name, const auto& take) {
    if (const auto found = json.find(name); found != json.end()) take(*found);
  };
  when("lost", [&](const Json& of) { all.lost = count_of(of.at(0)), all.lost_when_saturating = count_of(of.at(1)); });
  when("max", [&](const Json& of) {
    all.max_abs = number_of(of.at(0)), all.max_rel = number_of(of.at(1)), all.max_ulp = number_of(of.at(2));
  });
  when("sum", [&](const Json& of) {
    all.sum_abs = number_of(of.at(0)), all.sum_signed = number_of(of.at(1)), all.sum_rel = number_of(of.at(2));
  });
  when("large", [&](const Json& of) {
    all.large_abs = LargeSum::of_scaled(number_of(of.at(0))), all.large_signed = LargeSum::of_scaled(number_of(of.at(1)));
  });
  when("input", [&](const Json& of) { all.input = squares_of(of); });
  when("error", [&](const Json& of) { all.error = squares_of(of); });
  when("saturating_error", [&](const Json& of) { all.saturating_error = squares_of(of); });
  return all;
}

Json json_partial(const PartialSums& of) {
  if (of.chunks().empty()) {
    const ExactSums& exact = of.exact();
    Json json = json_sums(exact.counts);
    json["exact"] = {{"input", json_sum(exact.input)},         {"error", json_sum(exact.error)},
                     {"lost", json_sum(exact.lost_error)},     {"sizes", json_sum(exact.sizes)},
                     {"signed", json_sum(exact.signed_error)}, {"relative", json_sum(exact.relative_error)}};
    return json;
  }
  Json json = Json::object();
  json["chunks"] = Json::object();
  for (const ChunkSums& chunk : of.chunks()) {
    Json& sums = json["chunks"][std::to_string(chunk.first)] = json_sums(chunk.sums);
    sums["level"] = chunk.level;
  }
  return json;
}

std::uint64_t chunk_of(const std::string& key) {
  std::uint64_t chunk = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), chunk);
  if (error != std::errc{} || std::to_string(chunk) != key) throw Malformed{"'" + key.substr(0, 40) + "' is no chunk"};
  return chunk;
}

constexpr int most_level = 47;  // of chunks: of 2^63 elements

/// An ordered_json looks through all members of an object for each that it is asked for. A patch has no more than it takes away
/// and adds, of chunks at most two of each level, as PartialSums keeps them.
void check_few_members(const Json& json) {
  constexpr std::size_t most = std::size_t{4} * (most_level + 1);
  if (!json.is_object()) return;
  if (json.size() > most) throw Malformed{"has more chunks than any tensor"};
  for (const Json& value : json) check_few_members(value);
}

PartialSums partial_of(const Json& json) {
  if (json.contains("exact")) {
    const Json& of = json.at("exact");
    return PartialSums(ExactSums{sums_of(json), sum_of(of.at("input")), sum_of(of.at("error")), sum_of(of.at("lost")),
                                 sum_of(of.at("sizes")), sum_of(of.at("signed")), sum_of(of.at("relative"))});
  }
  std::vector<ChunkSums> chunks;
  if (!json.at("chunks").is_object()) throw Malformed{"has chunks without places"};
  for (const auto& [key, chunk] : json.at("chunks").items()) {
    chunks.push_back({chunk_of(key), emu::whole_number<int>(chunk.at("level")), sums_of(chunk)});
    const bool is_far = chunks.back().first >> most_level != 0;
    if (is_far || chunks.back().level < 0 || chunks.back().level > most_level)
      throw Malformed{"a level of chunks is out of range"};
  }
  std::ranges::sort(chunks, {}, &ChunkSums::first);
  return PartialSums(chunks);
}

/// The merge patch (RFC 7396) that makes `to` of `from`; both are objects.
Json patch_of(const Json& from, const Json& to) {
  Json patch = Json::object();
  for (const auto& [key, value] : from.items())
    if (!to.contains(key)) patch[key] = nullptr;
  for (const auto& [key, value] : to.items()) {
    const auto before = from.find(key);
    if (before == from.end() || before->is_object() != value.is_object())
      patch[key] = value;
    else if (*before != value)
      patch[key] = value.is_object() ? patch_of(*before, value) : value;
  }
  return patch;
}

/// Sums of one format and scale after the other are alike: each is the patch of those before, the first of nothing.
///@{
Json json_partials(const std::vector<PartialSums>& sums, Json& before) {
  Json all = Json::array();
  for (const PartialSums& one : sums) {
    Json now = json_partial(one);
    all.push_back(patch_of(before, now));
    before = std::move(now);
  }
  return all;
}

std::vector<PartialSums> partials_of(const Json& json, Json& before,
                                     const std::function<void(const PartialSums&)>& check_sums) {
  std::vector<PartialSums> all;
  for (const Json& one : json) {
    check_few_members(one);
    before.merge_patch(one);
    check_few_members(before);
    check_sums(all.emplace_back(partial_of(before)));
  }
  return all;
}
///@}

constexpr std::array<std::uint64_t BlockCounts::*, 6> block_counts{&BlockCounts::blocks,       &BlockCounts::zero,
                                                                   &BlockCounts::nonfinite,    &BlockCounts::saturated,
                                                                   &BlockCounts::with_to_zero, &BlockCounts::all_to_zero};

Json json_blocks(const BlockSums& of) {
  Json counts = Json::array();
  for (const auto count : block_counts) counts.push_back(of.counts.*count);
  return {{"first", of.first},
          {"counts", counts},
          {"scales", of.scales.text()},
          {"decibels", of.decibels.text()},
          {"worst", of.worst}};
}

BlockSums block_sums_of(const Json& json) {
  BlockSums of{.first = count_of(json.at("first")), .worst = count_of(json.at("worst"))};
  for (std::size_t i = 0; i < block_counts.size(); ++i) of.counts.*block_counts[i] = count_of(json.at("counts").at(i));
  const auto spread_of = [&json](const char* name) {
    const std::string& text = json.at(name).get_ref<const std::string&>();
    std::optional<Spread> read = Spread::of_text(text);
    if (!read) throw Malformed{"'" + text.substr(0, 40) + "' is no count of numbers"};
    return *std::move(read);
  };
  of.scales = spread_of("scales"), of.decibels = spread_of("decibels");
  return of;
}

Json json_exponents(const ExponentCounts& of) {
  Json counts = Json::array();
  for (std::size_t i = 0; i < of.counts.size(); ++i)
    if (of.counts[i] != 0) counts.push_back({i, of.counts[i]});
  return {{"counts", counts}, {"zeros", of.zeros}, {"infinite", of.infinite}, {"nan", of.nan}};
}

ExponentCounts exponents_of(const Json& json) {
  ExponentCounts all;
  for (const Json& pair : json.at("counts")) all.counts.at(count_of(pair.at(0))) = count_of(pair.at(1));
  all.zeros = count_of(json.at("zeros"));
  all.infinite = count_of(json.at("infinite"));
  all.nan = count_of(json.at("nan"));
  return all;
}

}  // namespace

PartJson json_tensor(const tensors::Tensor& of) {
  return {{"label", of.label},
          {"name", of.name},
          {"dtype", of.dtype.name},
          {"format", of.dtype.format ? emu::format_name(*of.dtype.format) : ""},
          {"shape", of.shape}};
}

tensors::Tensor tensor_of(const PartJson& json) {
  tensors::Tensor of{.label = json.at("label").get<std::string>(),
                     .name = json.at("name").get<std::string>(),
                     .dtype = {json.at("dtype").get<std::string>(), std::nullopt},
                     .shape = {},
                     .source = nullptr};
  if (const std::string format = json.at("format").get<std::string>(); !format.empty())
    of.dtype.format = requests::parse_format_or_integer(format);
  std::uint64_t count = 1;
  for (const Json& extent : json.at("shape"))
    if (__builtin_mul_overflow(count, of.shape.emplace_back(count_of(extent)), &count)) throw Malformed{"a shape is too large"};
  if (count > std::numeric_limits<std::int64_t>::max()) throw Malformed{"a shape is too large"};  // for a table
  return of;
}

PartJson json_part(const TensorPart& of) {
  Json before = Json::object(), json = Json::object();
  json["census"] = json_partials(of.census, before);
  json["sweep"] = json_partials(of.sweep, before);
  json["exponents"] = json_exponents(of.exponents);
  json["scales"] = Json::array();
  for (const double scale : of.tensor_scales) json["scales"].push_back(json_number(scale));
  if (!of.blocks.empty()) json["blocks"] = Json::array();
  for (const BlockSums& blocks : of.blocks) json["blocks"].push_back(json_blocks(blocks));
  if (of.amax) json["amax"] = json_number(*of.amax);
  return json;
}

TensorPart tensor_part_of(const PartJson& json, const std::function<void(const PartialSums&)>& check_sums) {
  TensorPart of;
  Json before = Json::object();
  of.census = partials_of(json.at("census"), before, check_sums);
  of.sweep = partials_of(json.at("sweep"), before, check_sums);
  of.exponents = exponents_of(json.at("exponents"));
  for (const Json& scale : json.at("scales")) of.tensor_scales.push_back(number_of(scale));
  if (json.contains("blocks"))
    for (const Json& blocks : json.at("blocks")) of.blocks.push_back(block_sums_of(blocks));
  if (json.contains("amax")) of.amax = number_of(json.at("amax"));
  if (of.amax && !(*of.amax >= 0)) throw Malformed{"has a magnitude below zero"};
  return of;
}

}  // namespace ulpscope::studies
