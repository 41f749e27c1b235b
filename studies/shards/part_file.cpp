// SPDX-License-Identifier: Apache-2.0
// JSON of numbers that come back to the bit: doubles in hexadecimal, exact sums as one integer and an exponent.
#include "studies/shards/part_file.hpp"

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>
#include <cstddef>
#include <limits>
#include <numeric>

#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"
#include "emu/visible.hpp"
#include "requests/parts.hpp"
#include "studies/shards/sample.hpp"

namespace ulpscope::studies {
namespace {

using Json = nlohmann::ordered_json;
using BigInteger = boost::multiprecision::cpp_int;

/// What is not as to_text() writes it.
struct Malformed {
  std::string what;
};

std::uint64_t count_of(const Json& json) { return emu::whole_number<std::uint64_t>(json); }

Json json_number(double x) {
  std::array<char, 64> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), x, std::chars_format::hex);
  return std::string(text.data(), error == std::errc{} ? end : text.data());
}

double number_of(const Json& json) {
  const std::string text = json.get<std::string>();
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x, std::chars_format::hex);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) throw Malformed{"'" + text + "' is no number"};
  return x;
}

constexpr int most_exponent = 10'000;        // of a term of an exact sum; far more than any has
constexpr std::size_t most_digits = 10'000;  // of its integer

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
  const std::string text = json.get<std::string>();
  const std::size_t space = text.find(' '), begin = text.starts_with('-') ? 1 : 0;
  const std::string digits = space == std::string::npos ? std::string() : text.substr(begin, space - begin);
  int exponent = 0;
  const char* const last = text.data() + text.size();
  const bool has_digits = !digits.empty() && digits.size() <= most_digits &&
                          digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  const auto read = std::from_chars(text.data() + std::min(space + 1, text.size()), last, exponent);
  if (!has_digits || read.ec != std::errc{} || read.ptr != last || std::abs(exponent) > most_exponent)
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

Json json_sums(const ErrorSums& of) {
  Json all{{"counts", of.counts},
           {"nonzero", of.nonzero},
           {"lost", {of.lost, of.lost_when_saturating}},
           {"max", {json_number(of.max_abs), json_number(of.max_rel), json_number(of.max_ulp)}},
           {"sum", {json_number(of.sum_abs), json_number(of.sum_signed), json_number(of.sum_rel)}},
           {"squares", {json_squares(of.input), json_squares(of.error), json_squares(of.saturating_error)}},
           {"largest", {json_number(of.largest.magnitude), of.largest.index}},
           {"smallest", {json_number(of.smallest.magnitude), of.smallest.index}}};
  if (of.large_abs.scaled() != 0) all["large"] = {json_number(of.large_abs.scaled()), json_number(of.large_signed.scaled())};
  return all;
}

ErrorSums sums_of(const Json& json) {
  ErrorSums all;
  for (std::size_t i = 0; i < all.counts.size(); ++i) all.counts[i] = count_of(json.at("counts").at(i));
  all.nonzero = count_of(json.at("nonzero"));
  all.lost = count_of(json.at("lost").at(0)), all.lost_when_saturating = count_of(json.at("lost").at(1));
  const Json &most = json.at("max"), &sum = json.at("sum"), &of_squares = json.at("squares");
  all.max_abs = number_of(most.at(0)), all.max_rel = number_of(most.at(1)), all.max_ulp = number_of(most.at(2));
  all.sum_abs = number_of(sum.at(0)), all.sum_signed = number_of(sum.at(1)), all.sum_rel = number_of(sum.at(2));
  if (json.contains("large")) {
    all.large_abs = LargeSum::of_scaled(number_of(json.at("large").at(0)));
    all.large_signed = LargeSum::of_scaled(number_of(json.at("large").at(1)));
  }
  all.input = squares_of(of_squares.at(0)), all.error = squares_of(of_squares.at(1));
  all.saturating_error = squares_of(of_squares.at(2));
  all.largest = {number_of(json.at("largest").at(0)), count_of(json.at("largest").at(1))};
  all.smallest = {number_of(json.at("smallest").at(0)), count_of(json.at("smallest").at(1))};
  return all;
}

Json json_partial(const PartialSums& of) {
  Json json = Json::object();
  if (of.chunks().empty()) {
    const ExactSums& exact = of.exact();
    json["exact"] = json_sums(exact.counts);
    json["sums"] = {json_sum(exact.input), json_sum(exact.error),        json_sum(exact.lost_error),
                    json_sum(exact.sizes), json_sum(exact.signed_error), json_sum(exact.relative_error)};
  } else {
    json["chunks"] = Json::array();
    for (const ChunkSums& chunk : of.chunks())
      json["chunks"].push_back({{"first", chunk.first}, {"level", chunk.level}, {"sums", json_sums(chunk.sums)}});
  }
  return json;
}

PartialSums partial_of(const Json& json) {
  if (json.contains("exact")) {
    const Json& of = json.at("sums");
    return PartialSums(ExactSums{sums_of(json.at("exact")), sum_of(of.at(0)), sum_of(of.at(1)), sum_of(of.at(2)),
                                 sum_of(of.at(3)), sum_of(of.at(4)), sum_of(of.at(5))});
  }
  std::vector<ChunkSums> chunks;
  for (const Json& chunk : json.at("chunks")) {
    constexpr int most_level = 47;  // of 2^63 elements
    chunks.push_back({count_of(chunk.at("first")), emu::whole_number<int>(chunk.at("level")), sums_of(chunk.at("sums"))});
    if (chunks.back().level < 0 || chunks.back().level > most_level) throw Malformed{"a level of chunks is out of range"};
  }
  return PartialSums(chunks);
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

Json json_tensor(const tensors::Tensor& of) {
  return {{"label", of.label},
          {"name", of.name},
          {"dtype", of.dtype.name},
          {"format", of.dtype.format ? emu::format_name(*of.dtype.format) : ""},
          {"shape", of.shape}};
}

tensors::Tensor tensor_of(const Json& json) {
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
  return of;
}

Json part_json(const TensorPart& of) {
  Json json{{"census", Json::array()},
            {"sweep", Json::array()},
            {"exponents", json_exponents(of.exponents)},
            {"scales", Json::array()}};
  for (const PartialSums& one : of.census) json["census"].push_back(json_partial(one));
  for (const PartialSums& one : of.sweep) json["sweep"].push_back(json_partial(one));
  for (const double scale : of.tensor_scales) json["scales"].push_back(json_number(scale));
  if (of.amax) json["amax"] = json_number(*of.amax);
  return json;
}

TensorPart tensor_part_of(const Json& json) {
  TensorPart of;
  for (const Json& one : json.at("census")) of.census.push_back(partial_of(one));
  for (const Json& one : json.at("sweep")) of.sweep.push_back(partial_of(one));
  of.exponents = exponents_of(json.at("exponents"));
  for (const Json& scale : json.at("scales")) of.tensor_scales.push_back(number_of(scale));
  if (json.contains("amax")) of.amax = number_of(json.at("amax"));
  if (of.amax && !(*of.amax >= 0)) throw Malformed{"has a magnitude below zero"};
  return of;
}

constexpr const char* part_kind = "part of a census or sweep";

PartFile read_part(const Json& json) {
  if (!json.is_object() || json.value("ulpscope", "") != part_kind) throw Malformed{"is no part of a census or sweep"};
  PartFile part{.version = json.at("version").get<std::string>(),
                .command = json.at("command").get<std::string>(),
                .request = json.at("request").get<std::vector<std::string>>(),
                .arguments = json.at("arguments").get<std::vector<std::string>>(),
                .tensors = {},
                .samples = {},
                .ranges = {},
                .parts = {}};
  if (emu::whole_number<int>(json.at("stochastic_rounding")) != emu::rounding_bits_version)
    throw Malformed{"has random words by another rule than this program's"};
  for (const Json& of : json.at("tensors")) {
    part.tensors.push_back(tensor_of(of));
    if (!of.contains("sample")) throw Malformed{"does not tell which numbers its input held; make it again by this version"};
    part.samples.push_back(of.at("sample").get<std::string>());
    if (!is_sample(part.samples.back())) throw Malformed{"'" + part.samples.back() + "' is no digest of a sample"};
    const std::uint64_t count = part.tensors.back().count(), first = count_of(of.at("first")), size = count_of(of.at("count"));
    if (first > count || size > count - first || first % chunk_elements != 0)
      throw Malformed{"has elements that are not there"};
    part.ranges.push_back({first, size});
    part.parts.push_back(size == 0 ? TensorPart{} : tensor_part_of(of.at("part")));
  }
  return part;
}

bool is_one_tensor(const tensors::Tensor& a, const tensors::Tensor& b) {
  return a.label == b.label && a.name == b.name && a.dtype.name == b.dtype.name && a.shape == b.shape;
}

/// Of which tensor a part has read other numbers than those of these samples; empty where it has not.
std::string other_numbers(const PartFile& part, const std::vector<std::string>& samples) {
  for (std::size_t t = 0; t < part.samples.size(); ++t)
    if (part.samples[t] != samples[t]) return "has read other numbers of " + part.tensors[t].label;
  return {};
}

/// What makes two parts no parts of one request; empty where nothing does.
std::string unlike(const PartFile& a, const PartFile& b) {
  if (a.version != b.version) return "is of another version, " + b.version + ",";
  if (a.command != b.command || a.request != b.request) return "asks something else";
  if (!std::ranges::equal(a.tensors, b.tensors, is_one_tensor)) return "is of other tensors";
  return other_numbers(b, a.samples);
}

}  // namespace

std::string to_text(const PartFile& part) {
  Json json{{"ulpscope", part_kind},   {"version", part.version}, {"stochastic_rounding", emu::rounding_bits_version},
            {"command", part.command}, {"request", part.request}, {"arguments", part.arguments},
            {"tensors", Json::array()}};
  for (std::size_t i = 0; i < part.tensors.size(); ++i) {
    Json of = json_tensor(part.tensors[i]);
    of["sample"] = part.samples[i];
    of["first"] = part.ranges[i].first;
    of["count"] = part.ranges[i].count;
    if (part.ranges[i].count != 0) of["part"] = part_json(part.parts[i]);
    json["tensors"].push_back(of);
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

PartFile part_of(std::string_view text, const std::string& name) {
  const auto fail = [&](const std::string& why) { throw Error(emu::visible(name + ": " + why)); };
  try {
    return read_part(Json(emu::parse_json(text)));
  } catch (const Malformed& problem) {
    fail(problem.what);
  } catch (const emu::BadJson& problem) {
    fail(std::string("is no part of a census or sweep: ") + problem.what());
  } catch (const Json::exception&) {
    fail("is no part of a census or sweep, or not all of it");
  } catch (const std::out_of_range&) {
    fail("is no part of a census or sweep, or not all of it");
  }
  return {};
}

std::vector<TensorPart> merged(const std::vector<PartFile>& parts, const std::vector<std::string>& names) {
  const auto fail = [](const std::string& name, const std::string& why) { throw Error(emu::visible(name + ": " + why)); };
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (const std::string why = unlike(parts.front(), parts[i]); !why.empty()) fail(names[i], why + " than " + names.front());
  std::vector<TensorPart> whole;
  for (std::size_t t = 0; t < parts.front().tensors.size(); ++t) {
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) { return parts[i].ranges[t].count == 0; });
    std::ranges::sort(order, {}, [&](std::size_t i) { return parts[i].ranges[t].first; });
    const tensors::Tensor& tensor = parts.front().tensors[t];
    TensorPart& of_tensor = whole.emplace_back();
    std::uint64_t next = 0;
    for (const std::size_t i : order) {
      const ElementRange& range = parts[i].ranges[t];
      const std::string where = tensor.label + ", elements from " + std::to_string(std::min(next, range.first)) + " on";
      if (range.first > next) fail(where, "are in no part");
      if (range.first < next) fail(names[i], "has elements of " + tensor.label + " that another part has, too");
      const TensorPart& part = parts[i].parts[t];
      if (next != 0 && (of_tensor.census.size() != part.census.size() || of_tensor.sweep.size() != part.sweep.size()))
        fail(names[i], "has sums of " + tensor.label + " for another number of formats");
      if (next != 0 && of_tensor.tensor_scales != part.tensor_scales)
        fail(names[i], "has other scales for " + tensor.label + ": it read other numbers");
      of_tensor.merge(part);
      next = range.first + range.count;
    }
    if (next != tensor.count()) fail(tensor.label + ", elements from " + std::to_string(next) + " on", "are in no part");
  }
  return whole;
}

std::vector<double> merged_amax(const std::vector<PartFile>& parts, const std::vector<std::string>& names,
                                const std::vector<tensors::Tensor>& tensors, const std::vector<std::string>& samples) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].command != "amax") throw Error(emu::visible(names[i] + ": holds no magnitudes; make it by --pass amax"));
    for (std::size_t t = 0; t < parts[i].tensors.size(); ++t)
      if (parts[i].ranges[t].count != 0 && !parts[i].parts[t].amax)
        throw Error(emu::visible(names[i] + ": has no magnitude of " + parts[i].tensors[t].label));
  }
  if (!std::ranges::equal(parts.front().tensors, tensors, is_one_tensor))
    throw Error(emu::visible(names.front() + ": is of other tensors than these inputs"));
  if (const std::string why = other_numbers(parts.front(), samples); !why.empty())
    throw Error(emu::visible(names.front() + ": " + why + " than these inputs hold"));
  std::vector<double> all;
  for (const TensorPart& whole : merged(parts, names)) all.push_back(whole.amax.value_or(0));
  return all;
}

void check_tensor_scales(const tensors::Tensor& tensor, const TensorPart& whole, const Scaling& scaling,
                         const std::vector<emu::Format>& formats, const std::string& name) {
  if (!has_tensor_scale(scaling.rule) || tensor.count() == 0) return;
  Scaling known = scaling;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    known.shared_amax =
        whole.exponents.infinite > 0 ? std::numeric_limits<double>::infinity() : whole.census.at(i).finish().largest.magnitude;
    const double scale = ScaleMap(known, formats[i], std::array{0.0F}, 1).of_tensor(scaling.rule);
    if (i >= whole.tensor_scales.size() || whole.tensor_scales[i] != scale)
      throw Error(emu::visible(name + ": has a scale for " + tensor.label + " that does not follow from its numbers"));
  }
}

}  // namespace ulpscope::studies
