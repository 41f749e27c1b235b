// SPDX-License-Identifier: Apache-2.0
// The .npy reader: the header's dictionary, the descr, and the elements behind it.
#include "tensors/npy.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "tensors/elements.hpp"
#include "tensors/readers.hpp"

namespace ulpscope::tensors {
namespace {

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

/// The header: a Python dictionary literal with the keys descr, fortran_order and shape, each once.
class HeaderParser {
 public:
  HeaderParser(std::string name, std::string_view text) : name_(std::move(name)), rest_(text) {}

  Header parse() {
    Header header;
    bool seen[3] = {};
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0) fail("unknown key '" + key + "'");
      if (seen[which]) fail("key '" + key + "' twice");
      seen[which] = true;
      if (which == 0) header.descr = descr();
      if (which == 1) header.fortran_order = boolean();
      if (which == 2) header.shape = shape();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!rest_.empty()) fail("text after the dictionary");
    if (!seen[0] || !seen[1] || !seen[2]) fail("descr, fortran_order or shape is missing");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw Error(name_ + ": malformed .npy header: " + why); }
  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }
  bool accept(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("'") + c + "' expected");
  }
  std::string string() {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) fail("a quoted word expected");
    const char quote = rest_.front();
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("a quote is not closed");
    std::string word(rest_.substr(1, end - 1));
    if (std::any_of(word.begin(), word.end(), [](char c) { return c < ' ' || c > '~' || c == '\\'; })) fail("an odd character");
    rest_.remove_prefix(end + 1);
    return word;
  }
  std::string descr() {
    skip_space();
    if (!rest_.empty() && rest_.front() == '[') fail("a structured dtype; save one field as an array of its own");
    return string();
  }
  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return value;
      }
    fail("True or False expected");
  }
  std::vector<std::uint64_t> shape() {
    std::vector<std::uint64_t> out;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::uint64_t extent = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc{}) fail("shape: a whole number from 0 to 2^64 - 1 expected");
      if (rest_.front() == '0' && extent != 0) fail("shape: a number begins with 0");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      if (!rest_.empty() && rest_.front() == 'L') rest_.remove_prefix(1);  // written by Python 2
      out.push_back(extent);
      if (out.size() > 64) fail("more than 64 dimensions");
      if (!accept(',')) {
        expect(')');
        if (out.size() == 1) fail("shape: (" + std::to_string(extent) + ") is no tuple, which has a comma");
        break;
      }
    }
    return out;
  }

  std::string name_;
  std::string_view rest_;
};

struct Element {
  DType dtype;
  Layout layout;
};

/// `what` completes "dtype <V2 ...".
UnknownDType unknown(const std::string& name, const Header& header,
                     const std::string& what =
                         "is not known; floats f2 f4 f8, integers i1 to u8, b1, and codes (u1 u2 u4 V1 V2) with --dtype are") {
  const std::string why = "dtype " + header.descr + " " + what;
  const std::string message = name + ": " + why;
  Tensor tensor;
  tensor.label = name;
  tensor.dtype.name = header.descr;
  tensor.shape = header.shape;
  tensor.source = make_opaque_source({}, message);
  tensor.opaque = Opaque{.why = why, .bytes = {}};
  return {message, std::move(tensor)};
}

/// What a `descr` such as `<f4` or `|V1` means.
Element element_of(const std::string& name, const Header& header, std::optional<emu::Format> codes) {
  const std::string& descr = header.descr;
  const auto refuse = [&](const std::string& why) { return Error(name + ": dtype " + descr + " " + why); };
  int bytes = 0;
  const bool sized = descr.size() >= 3 &&
                     std::from_chars(descr.data() + 2, descr.data() + descr.size(), bytes).ptr == descr.data() + descr.size() &&
                     bytes >= 1 && bytes <= 8;
  if (!sized || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) throw unknown(name, header);
  const char kind = descr[1];
  Layout layout{Layout::Kind::floating, bytes * 8, descr[0] == '>'};
  const bool power = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  if (kind == 'f' && (bytes == 2 || bytes == 4 || bytes == 8)) {
    const emu::Format format = bytes == 2 ? emu::float16 : bytes == 4 ? emu::float32 : emu::float64;
    if (codes && *codes != format) throw refuse("already says " + emu::format_name(format) + "; leave --dtype out");
    return {{emu::format_name(format), format}, layout};
  }
  if (kind == 'f' && bytes == 1) codes = codes.value_or(emu::float8_e5m2);  // ml_dtypes gives kind f to e5m2 alone
  const bool holds_codes = codes && power && (kind == 'V' || kind == 'u' || kind == 'f');
  if (holds_codes) {
    if (const std::string why = why_no_codes(8 * bytes, *codes); !why.empty()) throw refuse(why);
    return {{emu::format_name(*codes), codes}, layout};
  }
  if (kind == 'V' && bytes == 1)
    throw unknown(name, header, "does not say which 8-bit format; add --dtype e4m3 or --dtype e5m2");
  if (kind == 'V' && bytes == 2)
    throw unknown(name, header, "does not say which 16-bit format; add --dtype bf16 or --dtype fp16");
  if (codes) throw refuse("holds no codes of " + emu::format_name(*codes) + "; leave --dtype out");
  if (kind == 'b' && bytes == 1) return {{"bool", {}}, {Layout::Kind::boolean, 8, false}};
  if ((kind == 'i' || kind == 'u') && power) {
    layout.kind = kind == 'i' ? Layout::Kind::signed_integer : Layout::Kind::unsigned_integer;
    return {{(kind == 'i' ? "int" : "uint") + std::to_string(8 * bytes), {}}, layout};
  }
  throw unknown(name, header);
}

}  // namespace

std::size_t npy_header_bytes(const std::string& name, std::span<const std::byte> start) {
  constexpr std::string_view magic = "\x93NUMPY";
  const auto text = std::string_view(reinterpret_cast<const char*>(start.data()), start.size());
  if (!text.starts_with(magic)) throw Error(name + ": is not a .npy file (it does not begin with \\x93NUMPY)");
  if (text.size() < 10) throw Error(name + ": is cut off in the .npy header");
  const int version = static_cast<unsigned char>(text[6]), minor = static_cast<unsigned char>(text[7]);
  if (version < 1 || version > 3 || minor != 0)
    throw Error(name + ": .npy version " + std::to_string(version) + "." + std::to_string(minor) +
                " is not known; 1.0, 2.0 and 3.0 are");
  const std::size_t length_bytes = version == 1 ? 2 : 4, prefix = magic.size() + 2 + length_bytes;
  if (text.size() < prefix) throw Error(name + ": is cut off in the .npy header");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= std::size_t{static_cast<unsigned char>(text[8 + i])} << (8 * i);
  if (length > longest_npy_header)
    throw Error(name + ": the .npy header has " + std::to_string(length) + " bytes; at most " +
                std::to_string(longest_npy_header) + " are read");
  return prefix + length;
}

NpyHeader parse_npy_header(const std::string& name, std::span<const std::byte> start, std::optional<emu::Format> dtype) {
  const std::size_t bytes = npy_header_bytes(name, start.first(std::min(start.size(), npy_start_bytes)));
  if (bytes > start.size()) throw Error(name + ": is cut off in the .npy header");
  const auto text = std::string_view(reinterpret_cast<const char*>(start.data()), bytes);
  const Header header = HeaderParser(name, text.substr(text[6] == 1 ? 10 : 12)).parse();
  Element element = element_of(name, header, dtype);
  const auto count = element_count(header.shape);
  const auto size = count ? byte_size(*count, element.layout) : std::nullopt;
  if (!size) throw Error(name + ": the extents of the shape overflow when multiplied");
  return {bytes, std::move(element.dtype), element.layout, header.shape, header.fortran_order && *count > 1, *size};
}

void check_npy_size(const std::string& name, const NpyHeader& header, std::uint64_t available) {
  if (header.data_bytes > available)
    throw Error(name + ": the header promises " + std::to_string(header.data_bytes) + " bytes of data, the file holds " +
                std::to_string(available));
  if (header.data_bytes < available)
    throw Error(name + ": " + std::to_string(available - header.data_bytes) +
                " bytes follow the data that the header promises");
}

StoredElements npy_elements(const NpyHeader& header) {
  StoredElements elements;
  elements.size = header.data_bytes;
  elements.dtype = header.dtype;
  elements.layout = header.layout;
  if (header.fortran_order) elements.column_major = header.shape;
  return elements;
}

Tensor read_npy(const FileBytes& file, std::optional<emu::Format> dtype) {
  const std::uint64_t size = file.bytes->size();
  const auto start = [&](std::size_t bytes) {
    return file.bytes->piece(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size)));
  };
  const Piece words = start(npy_header_bytes(file.name, start(npy_start_bytes).bytes));
  const NpyHeader header = parse_npy_header(file.name, words.bytes, dtype);
  check_npy_size(file.name, header, size - header.bytes);
  StoredElements elements = npy_elements(header);
  elements.bytes = file.bytes;
  elements.first = header.bytes;
  elements.label = file.name;
  return {file.name, {}, header.dtype, header.shape, make_source(std::move(elements))};
}

}  // namespace ulpscope::tensors
