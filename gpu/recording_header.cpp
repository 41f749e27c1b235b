// SPDX-License-Identifier: Apache-2.0
// Writes and parses the lines of the header.
#include "gpu/recording_header.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "emu/names.hpp"
#include "gpu/element_words.hpp"

namespace ulpscope::gpu::detail {
namespace {

using emu::Format;

constexpr std::string_view magic = "ulpscope recording 1", end_of_header = "codes";
constexpr std::size_t longest_line = 4096, most_products = std::size_t{1} << 20, most_count = std::size_t{1} << 32;

constexpr bool is_printable(char c) noexcept { return c >= ' ' && c <= '~'; }

std::string line(std::string_view key, std::string_view value) {
  std::string text = std::string(key) + ' ' + std::string(value) + '\n';
  for (char& c : text)
    if (!is_printable(c)) c = ' ';
  text.back() = '\n';
  return text;
}
std::string line(std::string_view key, std::uint64_t value) { return line(key, std::to_string(value)); }

std::string set_lines(OperandClass operands, std::uint64_t seed, std::size_t count) {
  return line("operands", name_of(operands)) + line("seed", seed) + line("count", count);
}

/// The lines of a header, in their order.
class Lines {
 public:
  Lines(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::size_t position() const noexcept { return position_; }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(name_ + ": line " + std::to_string(number_) + " of the header: " + what);
  }

  std::string_view next() {
    ++number_;
    const std::string_view rest = text_.substr(position_, longest_line);
    const std::size_t length = rest.find('\n');
    if (length == std::string_view::npos) fail(rest.size() == longest_line ? "is too long" : "the file ends in it");
    const std::string_view words = rest.substr(0, length);
    if (!std::all_of(words.begin(), words.end(), is_printable)) fail("is not printable ASCII");
    position_ += length + 1;
    return words;
  }

  /// What follows the key.
  std::string value(std::string_view key) {
    const std::string_view words = next();
    if (words.size() <= key.size() || !words.starts_with(key) || words[key.size()] != ' ')
      fail("'" + std::string(key) + "' is missing");
    return std::string(words.substr(key.size() + 1));
  }

  std::uint64_t number(std::string_view key, std::uint64_t least, std::uint64_t most) {
    const std::string words = value(key);
    std::uint64_t result = 0;
    const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), result);
    const bool plain = error == std::errc() && end == words.data() + words.size() && std::to_string(result) == words;
    if (!plain || result < least || result > most)
      fail(std::string(key) + " '" + words + "': a number from " + std::to_string(least) + " to " + std::to_string(most));
    return result;
  }

  Format format(std::string_view key) {
    const std::string word = value(key);
    const auto format = emu::parse_format(word);
    if (!format || emu::format_name(*format) != word) fail("no format '" + word + "'");
    return *format;
  }
  Format operand(std::string_view key) {
    const Format format = this->format(key);
    if (!format.is_signed() || !format.has_zero()) fail(emu::format_name(format) + " has no sign or no zero");
    return format;
  }

 private:
  std::string_view text_;
  std::string name_;
  std::size_t position_ = 0, number_ = 0;
};

constexpr std::array scales_words{"none", "products", "group_sums"};

std::string lines_of(const RecordedProducts& set) {
  const Operation& o = set.operation;
  std::string text = "set inner_products\n" + line("instruction", o.instruction) + line("engine", o.engine);
  text += line("a", emu::format_name(o.a)) + line("b", emu::format_name(o.b));
  text += line("accumulator", emu::format_name(o.accumulator)) + line("products", o.products);
  text += line("scales", scales_words[static_cast<std::size_t>(o.scales)]);
  if (o.scales != emu::EngineScales::none)
    text += line("scale_format", emu::format_name(o.scale_format)) + line("scale_products", o.scale_products);
  text += line("length", set.problems.products);
  return text + set_lines(set.operands, set.seed, set.d.size());
}

std::string lines_of(const RecordedElements& set) {
  const std::string model = model_words(set.operation.model);
  if (!parse_model(model)) throw Error("recording of " + set.operation.instruction + ": '" + model + "' could not be replayed");
  return "set elements\n" + line("instruction", set.operation.instruction) + line("model", model) +
         set_lines(set.operands, set.seed, set.d.size());
}

template <class Set>
std::size_t parse_set(Lines& lines, Set& set) {
  const std::string word = lines.value("operands");
  const auto operands = parse_operand_class(word);
  if (!operands) lines.fail("no class of operands '" + word + "'");
  set.operands = *operands;
  set.seed = lines.number("seed", 0, ~std::uint64_t{0});
  return lines.number("count", 1, most_count);
}

void parse_scales(Lines& lines, Operation& o) {
  const std::string word = lines.value("scales");
  const auto known = std::find(scales_words.begin(), scales_words.end(), word);
  if (known == scales_words.end()) lines.fail("no scales '" + word + "'");
  o.scales = static_cast<emu::EngineScales>(known - scales_words.begin());
  if (o.scales == emu::EngineScales::none) return;
  o.scale_format = lines.format("scale_format");
  o.scale_products = lines.number("scale_products", 1, o.products);
  if (o.products % o.scale_products != 0) lines.fail("products are no multiple of scale_products");
}

void parse_products(Lines& lines, RecordingHeader& header) {
  RecordedProducts& set = header.recording.products.emplace_back();
  Operation& o = set.operation;
  o.instruction = lines.value("instruction");
  o.engine = lines.value("engine");
  o.a = lines.operand("a");
  o.b = lines.operand("b");
  o.accumulator = lines.operand("accumulator");
  o.products = lines.number("products", 1, most_products);
  parse_scales(lines, o);
  set.problems.products = lines.number("length", o.products, most_products);
  if (set.problems.products % o.products != 0) lines.fail("length is no multiple of products");
  header.product_counts.push_back(parse_set(lines, set));
}

void parse_elements(Lines& lines, RecordingHeader& header) {
  RecordedElements& set = header.recording.elements.emplace_back();
  set.operation.instruction = lines.value("instruction");
  const std::string words = lines.value("model");
  const auto model = parse_model(words);
  if (!model) lines.fail("no element operation '" + words + "'");
  set.operation.model = *model;
  header.element_counts.push_back(parse_set(lines, set));
}

}  // namespace

std::string header_text(const Recording& recording) {
  const DeviceDescription& device = recording.device;
  std::string text = std::string(magic) + '\n' + line("device", device.id) + line("name", device.name);
  text += line("architecture", device.architecture) + line("driver", device.driver) + line("toolkit", device.toolkit);
  for (const RecordedProducts& set : recording.products) text += lines_of(set);
  for (const RecordedElements& set : recording.elements) text += lines_of(set);
  return text + std::string(end_of_header) + '\n';
}

RecordingHeader parse_header(std::string_view file, const std::string& name) {
  if (!file.starts_with(std::string(magic) + '\n'))
    throw Error(name + ": is no recording: it does not begin with '" + std::string(magic) + "'");
  Lines lines(file, name);
  lines.next();
  RecordingHeader header;
  DeviceDescription& device = header.recording.device;
  device.id = lines.value("device");
  device.name = lines.value("name");
  device.architecture = lines.value("architecture");
  device.driver = lines.value("driver");
  device.toolkit = lines.value("toolkit");
  for (std::string_view words = lines.next(); words != end_of_header; words = lines.next()) {
    if (words == "set inner_products" && header.recording.elements.empty())
      parse_products(lines, header);
    else if (words == "set elements")
      parse_elements(lines, header);
    else
      lines.fail("neither a set nor the end of the header");
  }
  header.bytes = lines.position();
  return header;
}

}  // namespace ulpscope::gpu::detail
