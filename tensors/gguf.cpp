// SPDX-License-Identifier: Apache-2.0
// The .gguf reader: walks over the metadata, reads the list of tensors, and checks that each lies in the file.
#include <algorithm>
#include <bit>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "tensors/elements.hpp"
#include "tensors/gguf_blocks.hpp"
#include "tensors/readers.hpp"

namespace ulpscope::tensors {
namespace {

constexpr std::string_view magic = "GGUF";
constexpr std::uint32_t least_version = 2, most_version = 3;
constexpr std::uint32_t most_dimensions = 4;   // GGML_MAX_DIMS
constexpr std::uint64_t longest_name = 65535;  // of a key, as the format says; of a tensor they are shorter
constexpr std::uint64_t least_pair_bytes = 13;  // of metadata: the length of a key without any, a type, a value of one
constexpr const char* alignment_key = "general.alignment";
constexpr int deepest_array = 8;
constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;

/// Types of metadata values, by their numbers (enum gguf_type).
constexpr std::uint32_t uint32_value = 4, string_value = 8, array_value = 9;
constexpr std::array<std::uint64_t, 13> value_bytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/// Blocks of small integers, decoded as they are read.
class BlockSource final : public Source {
 public:
  /// They begin at byte `begin` of the file.
  BlockSource(std::shared_ptr<const Bytes> bytes, std::uint64_t begin, const GgufType& type)
      : bytes_(std::move(bytes)), begin_(begin), type_(type) {}

  void read(std::uint64_t first, std::span<float> out) const override {
    visit(first, out.size(), [&](std::size_t at, std::span<const float> values) {
      std::ranges::copy(values, out.begin() + static_cast<std::ptrdiff_t>(at));
    });
  }
  void read(std::uint64_t first, std::span<double> out) const override {
    visit(first, out.size(), [&](std::size_t at, std::span<const float> values) {
      std::ranges::copy(values, out.begin() + static_cast<std::ptrdiff_t>(at));
    });
  }
  /// Of the values, in float32: a block's integers mean nothing by themselves.
  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override {
    visit(first, out.size(), [&](std::size_t at, std::span<const float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) out[at + i] = std::bit_cast<std::uint32_t>(values[i]);
    });
  }
  void check() const override { bytes_->check(); }

 private:
  /// Calls use(place in the output, values) for the values from `first` on, by block.
  template <class Use>
  void visit(std::uint64_t first, std::size_t count, Use use) const {
    std::array<float, 256> values;
    Cursor from(*bytes_);
    for (std::size_t done = 0; done < count;) {
      const std::uint64_t block = (first + done) / type_.elements;
      const auto in_block = static_cast<std::size_t>((first + done) % type_.elements);
      type_.decode(from.at(begin_ + block * type_.bytes, type_.bytes), values);
      const std::size_t size = std::min(type_.elements - in_block, count - done);
      use(done, std::span<const float>(values).subspan(in_block, size));
      done += size;
    }
    check();
  }

  std::shared_ptr<const Bytes> bytes_;
  std::uint64_t begin_;
  const GgufType& type_;
};

/// A tensor as the file lists it.
struct GgufEntry {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint32_t type;
  std::uint64_t offset;
};

class GgufReader {
 public:
  explicit GgufReader(const FileBytes& file) : file_(file), size_(file.bytes->size()), header_(*file.bytes) {}

  std::vector<Tensor> read() {
    if (text(magic.size()) != magic) fail("does not begin with GGUF; is it a .gguf file?");
    const auto version = number<std::uint32_t>();
    if (version < least_version || version > most_version)
      fail("is of version " + std::to_string(version) + "; versions 2 and 3 are read, little-endian");
    const auto tensors = number<std::uint64_t>(), values = number<std::uint64_t>();
    if (values > (size_ - at_) / least_pair_bytes)
      fail("ends in its header: it has no room for " + std::to_string(values) + " pairs");
    std::set<std::string> keys, names;
    for (std::uint64_t i = 0; i < values; ++i) read_pair(keys);
    std::vector<GgufEntry> entries;
    for (std::uint64_t i = 0; i < tensors; ++i) {
      entries.push_back(entry());
      if (!emu::is_utf8(entries.back().name)) fail("lists tensor '" + entries.back().name + "', whose name is no UTF-8");
      if (!names.insert(entries.back().name).second) fail("lists tensor '" + entries.back().name + "' twice");
    }
    const std::uint64_t begin = (at_ + alignment_ - 1) / alignment_ * alignment_;
    data_begin_ = std::min(begin, size_);
    std::vector<Tensor> all;
    for (const GgufEntry& entry : entries) all.push_back(tensor_of(entry));
    if (all.empty()) fail("holds no tensors");
    return all;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw Error(emu::visible(file_.name + ": " + why)); }

  /// Goes beyond the next bytes of the header.
  void skip(std::uint64_t size) {
    if (size > size_ - at_) fail("ends in its header at byte " + std::to_string(size_));
    at_ += size;
  }
  /// The next bytes of the header, until more are asked for.
  std::string_view text(std::size_t size) {
    skip(size);
    return {reinterpret_cast<const char*>(header_.at(at_ - size, size).data()), size};
  }
  template <class Number>
  Number number() {
    Number n = 0;
    const std::string_view bytes = text(sizeof(Number));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      n = static_cast<Number>(n | static_cast<Number>(static_cast<Number>(static_cast<unsigned char>(bytes[i])) << (8 * i)));
    return n;
  }
  std::string name() {
    const auto size = number<std::uint64_t>();
    if (size > longest_name) fail("has a name of " + std::to_string(size) + " bytes");
    return std::string(text(static_cast<std::size_t>(size)));
  }

  void skip_value(std::uint32_t type, int depth) {
    if (type == string_value) {
      skip(number<std::uint64_t>());
    } else if (type == array_value) {
      if (depth == deepest_array) fail("has arrays of metadata in each other deeper than " + std::to_string(deepest_array));
      const auto of = number<std::uint32_t>();
      const auto count = number<std::uint64_t>();
      if (of < value_bytes.size() && value_bytes[of] != 0) {
        if (count > (size_ - at_) / value_bytes[of]) fail("ends in its metadata");
        skip(count * value_bytes[of]);
      } else {
        for (std::uint64_t i = 0; i < count; ++i) skip_value(of, depth + 1);
      }
    } else if (type < value_bytes.size()) {
      skip(value_bytes[type]);
    } else {
      fail("has metadata of type " + std::to_string(type) + ", which there is not");
    }
  }
  /// Takes from a pair what concerns tensors; `keys` are those before it.
  void read_pair(std::set<std::string>& keys) {
    const std::string key = name();
    if (!keys.insert(key).second) fail("has the metadata key '" + key + "' twice");
    const auto type = number<std::uint32_t>();
    if (key != alignment_key) return skip_value(type, 0);
    if (type != uint32_value) fail(std::string(alignment_key) + " is no uint32");
    alignment_ = number<std::uint32_t>();
    if (!std::has_single_bit(alignment_)) fail(std::string(alignment_key) + " is no power of two");
  }

  GgufEntry entry() {
    GgufEntry entry{name(), {}, 0, 0};
    const auto dimensions = number<std::uint32_t>();
    if (dimensions > most_dimensions) fail("tensor '" + entry.name + "' has " + std::to_string(dimensions) + " dimensions");
    for (std::uint32_t i = 0; i < dimensions; ++i) entry.shape.push_back(number<std::uint64_t>());
    std::ranges::reverse(entry.shape);
    entry.type = number<std::uint32_t>();
    entry.offset = number<std::uint64_t>();
    return entry;
  }

  [[noreturn]] void fail_at(const GgufEntry& entry, const std::string& why) const {
    fail("tensor '" + entry.name + "': " + why);
  }
  /// Tensors lie in the order of the list, each at the first multiple of the alignment behind the one before: ggml's reader
  /// takes no other files (gguf_init_from_file_impl). One of a type that is not known has some byte or more.
  void place(const GgufEntry& entry, std::optional<std::uint64_t> bytes) {
    const std::uint64_t least = bytes.value_or(1);
    if (entry.offset % alignment_ != 0) fail_at(entry, "does not begin at a multiple of " + std::to_string(alignment_));
    if (entry.offset > size_ - data_begin_ || least > size_ - data_begin_ - entry.offset)
      fail_at(entry, "its data end beyond the file; is it complete?");
    if (entry.offset < next_offset_ || (is_next_known_ && entry.offset > next_offset_))
      fail_at(entry, "has offset " + std::to_string(entry.offset) + ", where " + std::to_string(next_offset_) +
                         (is_next_known_ ? "" : " or more") +
                         " is expected: tensors follow each other without overlap or hole");
    next_offset_ = entry.offset + (least + alignment_ - 1) / alignment_ * alignment_;
    is_next_known_ = bytes.has_value();
  }

  Tensor tensor_of(const GgufEntry& entry) {
    const auto refuse = [&](const std::string& why) { fail_at(entry, why); };
    const std::optional<std::uint64_t> count = element_count(entry.shape);
    if (!count || *count > most_elements) refuse("the extents of the shape overflow when multiplied");
    Tensor tensor;
    tensor.label = file_.name + ":" + entry.name;
    tensor.name = entry.name;
    tensor.shape = entry.shape;
    const GgufType* const type = gguf_type(entry.type);
    if (type == nullptr) {
      place(entry, *count == 0 ? std::optional<std::uint64_t>(0) : std::nullopt);
      tensor.dtype.name = "ggml_type_" + std::to_string(entry.type);
      const std::string why = "type " + std::to_string(entry.type) + " of ggml is not known; known are " + gguf_types();
      tensor.opaque = Opaque{.why = why, .bytes = {}};
      tensor.source = make_opaque_source({file_.bytes, 0, 0, tensor.dtype, {}}, emu::visible(tensor.label + ": " + why));
      return tensor;
    }
    const std::uint64_t columns = entry.shape.empty() ? 1 : entry.shape.back();
    if (columns % type->elements != 0)
      refuse("rows of " + std::to_string(columns) + " are no whole blocks of " + std::to_string(type->elements));
    const std::uint64_t bytes = *count / type->elements * type->bytes;
    place(entry, bytes);
    const std::uint64_t begin = data_begin_ + entry.offset;
    tensor.dtype.name = type->name;
    if (type->decode != nullptr) {
      tensor.dtype.format = emu::float32;
      tensor.dtype.stored_bits = 8.0 * static_cast<double>(type->bytes) / static_cast<double>(type->elements);
      tensor.source = std::make_shared<BlockSource>(file_.bytes, begin, *type);
    } else {
      tensor.dtype.format = emu::parse_format(type->name);
      tensor.source = make_source({file_.bytes, begin, bytes, tensor.dtype, *type->layout});
    }
    return tensor;
  }

  const FileBytes& file_;
  std::uint64_t size_;
  Cursor header_;
  std::uint64_t at_ = 0, data_begin_ = 0;
  std::uint32_t alignment_ = 32;
  std::uint64_t next_offset_ = 0;  // at which the next tensor begins,
  bool is_next_known_ = true;      // or behind it, where a tensor of a type that is not known is before it
};

}  // namespace

std::vector<Tensor> read_gguf(const FileBytes& file) { return GgufReader(file).read(); }

}  // namespace ulpscope::tensors
