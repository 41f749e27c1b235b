// SPDX-License-Identifier: Apache-2.0
// The .safetensors reader: a strict parse of the header, and checks that the data have no holes.
#include <algorithm>
#include <string_view>

#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "emu/visible.hpp"
#include "tensors/elements.hpp"
#include "tensors/memory_limit.hpp"
#include "tensors/readers.hpp"
#include "tensors/safetensors_dtypes.hpp"

namespace ulpscope::tensors {
namespace {

using nlohmann::json;

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t longest_header = 100'000'000;  // the limit of the reference implementation
// Three bytes of text are `{},`, a value of nlohmann-json and the map that it points to: some ninety bytes.
constexpr std::uint64_t memory_of_a_byte = 32;

struct Entry {
  std::string name, dtype;               ///< as the header has them
  std::optional<SafetensorsDType> type;  ///< absent for a dtype that is not known
  std::vector<std::uint64_t> shape;
  std::uint64_t begin, end;
};

class Reader {
 public:
  explicit Reader(const FileBytes& file) : file_(file) {}

  std::vector<Tensor> read() {
    const json header = parse_header();
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items())
      if (name != safetensors_metadata) entries.push_back(entry_of(name, value));
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    check_cover(entries);
    std::vector<Tensor> tensors;
    for (const Entry& entry : entries) tensors.push_back(tensor_of(entry));
    return tensors;
  }

  std::string metadata() {
    const json header = parse_header();
    const auto found = header.find(safetensors_metadata);
    return found == header.end() || found->is_null() ? std::string() : found->dump();
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw Error(emu::visible(file_.name + ": " + why)); }

  Tensor tensor_of(const Entry& entry) const {
    StoredElements elements;
    elements.bytes = file_.bytes;
    elements.first = data_begin_ + entry.begin;
    elements.size = entry.end - entry.begin;
    Tensor tensor;
    tensor.label = file_.name + ":" + entry.name;
    tensor.name = entry.name;
    tensor.shape = entry.shape;
    if (entry.type) {
      tensor.dtype = elements.dtype = entry.type->dtype;
      elements.layout = entry.type->layout;
      tensor.source = make_source(std::move(elements));
    } else {
      tensor.dtype.name = entry.dtype;
      const std::string why = "dtype " + entry.dtype + " is not known; known are " + safetensors_words();
      tensor.opaque = Opaque{.why = why, .bytes = entry.end - entry.begin};
      tensor.source = make_opaque_source(std::move(elements), emu::visible(tensor.label + ": " + why));
    }
    return tensor;
  }

  json parse_header() {
    const std::uint64_t size = file_.bytes->size();
    if (size < length_bytes) fail("is too short for a safetensors file");
    const Piece start = file_.bytes->piece(0, length_bytes);
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) length |= std::to_integer<std::uint64_t>(start.bytes[i]) << (8 * i);
    if (length > longest_header || length > size - length_bytes)
      fail("the header's length " + std::to_string(length) + " does not fit the file of " + std::to_string(size) +
           " bytes; is it a safetensors file, and complete?");
    if (length > memory_limit() / memory_of_a_byte)
      fail("a header of " + std::to_string(length) + " bytes may take " + std::to_string(memory_of_a_byte) +
           " times as much memory, and tensors may take " + std::to_string(memory_limit()) + "; --max-memory SIZE allows more");
    const Piece header_bytes = file_.bytes->piece(length_bytes, static_cast<std::size_t>(length));
    const auto text = std::string_view(reinterpret_cast<const char*>(header_bytes.bytes.data()), header_bytes.bytes.size());
    data_begin_ = length_bytes + length;
    data_size_ = size - data_begin_;
    if (!text.starts_with('{')) fail("malformed safetensors header: it does not begin with {");
    try {
      json header = emu::parse_json(text);
      check_metadata(header);
      return header;
    } catch (const emu::BadJson& problem) {
      fail(std::string("malformed safetensors header: ") + problem.what());
    }
  }

  /// `__metadata__` maps words to words (format description); the reference implementation takes null for none.
  void check_metadata(const json& header) const {
    const auto found = header.find(safetensors_metadata);
    if (found == header.end() || found->is_null()) return;
    const bool is_map =
        found->is_object() && std::all_of(found->begin(), found->end(), [](const json& value) { return value.is_string(); });
    if (!is_map) fail(std::string("malformed safetensors header: ") + safetensors_metadata + " is no map from words to words");
  }

  std::uint64_t whole_number(const std::string& name, const json& value, const char* what) const {
    if (!value.is_number_unsigned()) fail("tensor '" + name + "': " + what + " is not a whole number from 0 up");
    return value.get<std::uint64_t>();
  }

  Entry entry_of(const std::string& name, const json& value) const {
    const auto refuse = [&](const std::string& why) { fail("tensor '" + name + "': " + why); };
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets") ||
        value.size() != 3)
      refuse("needs dtype, shape and data_offsets, and nothing else");
    const json& dtype = value["dtype"];
    const json& shape = value["shape"];
    const json& offsets = value["data_offsets"];
    if (!dtype.is_string()) refuse("dtype is not a word");
    if (!shape.is_array()) refuse("shape is not a list");
    if (!offsets.is_array() || offsets.size() != 2) refuse("data_offsets is not a list of two");

    Entry entry{name,
                dtype.get<std::string>(),
                {},
                {},
                whole_number(name, offsets[0], "an offset"),
                whole_number(name, offsets[1], "an offset")};
    entry.type = safetensors_dtype(entry.dtype);
    for (const json& extent : shape) entry.shape.push_back(whole_number(name, extent, "an extent of the shape"));
    const auto count = element_count(entry.shape);
    const auto size = !count ? std::nullopt : entry.type ? byte_size(*count, entry.type->layout) : entry.end - entry.begin;
    if (!size) refuse("the extents of the shape overflow when multiplied");
    if (entry.begin > entry.end || entry.end > data_size_)
      refuse("its data end at byte " + std::to_string(entry.end) + " of " + std::to_string(data_size_));
    if (entry.end - entry.begin != *size)
      refuse("shape and dtype need " + std::to_string(*size) + " bytes, data_offsets give " +
             std::to_string(entry.end - entry.begin));
    if (entry.type && *count % 8 * static_cast<unsigned>(entry.type->layout.storage_bits) % 8 != 0)
      refuse(std::to_string(*count) + " elements of " + entry.dtype +
             " end within a byte, which readers of .safetensors refuse");
    return entry;
  }

  /// The data of all tensors follow each other without overlap or hole (format description: "no holes").
  void check_cover(const std::vector<Entry>& entries) const {
    std::uint64_t position = 0;
    for (const Entry& entry : entries) {
      if (entry.begin < position) fail("the data of tensor '" + entry.name + "' overlap those before");
      if (entry.begin > position)
        fail("bytes " + std::to_string(position) + " to " + std::to_string(entry.begin) + " of the data belong to no tensor");
      position = entry.end;
    }
    if (position != data_size_) fail(std::to_string(data_size_ - position) + " bytes at the end belong to no tensor");
  }

  const FileBytes& file_;
  std::uint64_t data_begin_ = 0, data_size_ = 0;
};

}  // namespace

std::vector<Tensor> read_safetensors(const FileBytes& file) { return Reader(file).read(); }
std::string read_safetensors_metadata(const FileBytes& file) { return Reader(file).metadata(); }

}  // namespace ulpscope::tensors
