// SPDX-License-Identifier: Apache-2.0
// Headers and packed elements, written piece by piece.
#include "tensors/write.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "files/new_file.hpp"
#include "tensors/elements.hpp"
#include "tensors/safetensors_dtypes.hpp"

namespace ulpscope::tensors {
namespace {

constexpr std::size_t piece = 1 << 16;  // elements; a multiple of 8, so that packed pieces end on a byte

template <class T, class Sink>
void produce(std::uint64_t count, const Producer<T>& values, Sink sink) {
  std::vector<T> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(piece, count)));
  for (std::uint64_t first = 0; first < count; first += piece) {
    const auto part = std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(piece, count - first)));
    values(first, part);
    sink(std::span<const T>(part));
  }
}

std::uint64_t count_of(const std::string& path, const std::vector<std::uint64_t>& shape) {
  const auto count = element_count(shape);
  if (!count) throw Error(path + ": the extents of the shape overflow when multiplied");
  return *count;
}

/// numpy.lib.format, version 1.0: the header ends on a multiple of 64 bytes.
std::string npy_header(const std::string& descr, const std::vector<std::uint64_t>& shape) {
  std::string tuple;
  for (const std::uint64_t extent : shape) tuple += std::to_string(extent) + (shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1) tuple.resize(tuple.size() - 2);
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + tuple + "), }";
  constexpr std::size_t prefix = 10, alignment = 64;
  const std::size_t padded = (prefix + text.size() + 1 + alignment - 1) / alignment * alignment;
  text.resize(padded - prefix - 1, ' ');
  text += '\n';
  std::string out = "\x93NUMPY";
  out += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return out + text;
}

void append_bytes(std::string& out, emu::Code code, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(code >> (8 * i) & 0xff);
}

/// Codes as they lie in a file: whole bytes, or packed from the low bits up.
std::string stored(std::span<const emu::Code> codes, int storage_bits) {
  std::string out;
  if (storage_bits % 8 == 0) {
    static_assert(std::endian::native == std::endian::little);
    const auto size = static_cast<std::size_t>(storage_bits / 8);
    out.resize(codes.size() * size);
    for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(&out[i * size], &codes[i], size);
    return out;
  }
  std::uint64_t pending = 0;
  int held = 0;
  for (const emu::Code code : codes) {
    pending |= code << held;
    for (held += storage_bits; held >= 8; held -= 8, pending >>= 8) out += static_cast<char>(pending & 0xff);
  }
  if (held > 0) out += static_cast<char>(pending & 0xff);
  return out;
}

/// As files hold them: integers in two's complement of as many bits.
Producer<emu::Code> file_codes(emu::Format format, const Producer<emu::Code>& codes, int bits) {
  if (!format.is_integer()) return codes;
  return [format, codes, bits](std::uint64_t first, std::span<emu::Code> out) {
    codes(first, out);
    const emu::Format wide = emu::integer(bits);
    for (emu::Code& code : out)
      code = emu::twos_complement(wide, (code & format.magnitude_mask()) | (format.is_negative(code) ? wide.sign_mask() : 0));
  };
}

template <class Float>
void put_values(const char* descr, const Destination& to, const std::vector<std::uint64_t>& shape, const Producer<Float>& values) {
  to.write(npy_header(descr, shape));
  produce<Float>(count_of(to.name, shape), values, [&](std::span<const Float> part) {
    to.write({reinterpret_cast<const char*>(part.data()), part.size_bytes()});
  });
}

/// Calls act(destination) for a file that appears whole or not at all.
template <class Act>
void to_file(const std::string& path, Act act) {
  files::NewFile file(path);
  act(Destination{path, [&](std::string_view bytes) { file.write(bytes); }});
  file.commit();
}

/// A tensor on its way into a .safetensors file.
struct Entry {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t bytes, words;  ///< what is written, and the codes that it is written from
  int word_bits;
  std::uint64_t element_bits;
  Producer<emu::Code> codes;
};

std::uint64_t bytes_of(const std::string& path, const std::string& name, std::uint64_t count, int bits) {
  const auto size = byte_size(count, {Layout::Kind::floating, bits, false});
  if (!size) throw Error(path + ": the extents of the shape overflow when multiplied");
  if (count % 8 * static_cast<unsigned>(bits) % 8 != 0)
    throw Error(emu::visible(path + ": the " + std::to_string(count) + " codes of '" + name + "', of " + std::to_string(bits) +
                             " bits, end within a byte, which readers of .safetensors refuse; write an .npy"));
  return *size;
}

/// Bits of an element of this dtype, which safetensors knows.
int bits_of(std::string_view dtype) { return safetensors_dtype(dtype)->layout.storage_bits; }

Entry entry_of(const std::string& path, const NamedCodes& tensor) {
  const int bits = tensor.format.is_integer() ? whole_bytes(tensor.format) : tensor.format.bits();
  const std::string_view own =
      tensor.format.is_integer() ? safetensors_integer_word("int" + std::to_string(bits)) : safetensors_word(tensor.format);
  const std::string word = tensor.dtype.empty() ? std::string(own) : tensor.dtype;
  if (word.empty())
    throw Error(emu::visible(path + ": safetensors has no dtype for " + emu::format_name(tensor.format) + ", that of " +
                             tensor.name + "; known are " + safetensors_words()));
  const std::uint64_t count = count_of(path, tensor.shape), bytes = bytes_of(path, tensor.name, count, bits_of(word));
  const std::uint64_t codes = tensor.dtype.empty() ? count : bytes * 8 / static_cast<std::uint64_t>(bits);
  return {tensor.name,
          word,
          tensor.shape,
          bytes,
          codes,
          bits,
          static_cast<std::uint64_t>(bits_of(word)),
          file_codes(tensor.format, tensor.codes, bits)};
}

Entry entry_of(const std::string& path, const Tensor& tensor) {
  const auto codes = [source = tensor.source](std::uint64_t first, std::span<emu::Code> out) {
    source->read_codes(first, out);
  };
  const std::uint64_t count = count_of(path, tensor.shape);
  if (tensor.opaque) {
    if (!tensor.opaque->bytes) throw Error(tensor.label + ": " + tensor.opaque->why);
    const std::uint64_t bytes = *tensor.opaque->bytes, element_bits = count == 0 ? 0 : bytes / count * 8;
    return {tensor.name, tensor.dtype.name, tensor.shape, bytes, bytes, 8, element_bits, codes};
  }
  const std::string word(tensor.dtype.format ? safetensors_word(*tensor.dtype.format)
                                             : safetensors_integer_word(tensor.dtype.name));
  if (word.empty())
    throw Error(path + ": safetensors has no dtype for " + tensor.dtype.name + ", that of " + tensor.label + "; known are " +
                safetensors_words());
  const int bits = bits_of(word);
  return {
      tensor.name, word, tensor.shape, bytes_of(path, tensor.name, count, bits), count, bits, static_cast<std::uint64_t>(bits),
      codes};
}

}  // namespace

int whole_bytes(emu::Format format) {
  int bits = 8;
  while (bits < format.bits()) bits *= 2;
  return bits;
}

std::uint64_t stored_bytes(const NamedCodes& tensor) { return entry_of(tensor.name, tensor).bytes; }

void put_npy(const Destination& to, const std::vector<std::uint64_t>& shape, const Producer<float>& values) {
  put_values("<f4", to, shape, values);
}
void put_npy(const Destination& to, const std::vector<std::uint64_t>& shape, const Producer<double>& values) {
  put_values("<f8", to, shape, values);
}
void write_npy(const std::string& path, const std::vector<std::uint64_t>& shape, const Producer<float>& values) {
  to_file(path, [&](const Destination& to) { put_npy(to, shape, values); });
}
void write_npy(const std::string& path, const std::vector<std::uint64_t>& shape, const Producer<double>& values) {
  to_file(path, [&](const Destination& to) { put_npy(to, shape, values); });
}

void put_npy_codes(const Destination& to, const std::vector<std::uint64_t>& shape, emu::Format format,
                   const Producer<emu::Code>& codes) {
  const int bits = whole_bytes(format);
  to.write(npy_header((bits == 8 ? "|" : "<") + std::string(format.is_integer() ? "i" : "u") + std::to_string(bits / 8), shape));
  produce<emu::Code>(count_of(to.name, shape), file_codes(format, codes, bits),
                     [&](std::span<const emu::Code> part) { to.write(stored(part, bits)); });
}

void put_npy_integers(const Destination& to, const Tensor& integers) {
  const std::string& name = integers.dtype.name;
  const int own_bits = integers.dtype.integer_bits(), bits = std::max(8, own_bits);
  const bool is_signed = name.starts_with("int");
  const std::string kind = name == "bool" ? "b" : is_signed ? "i" : "u";
  to.write(npy_header((bits == 8 ? "|" : "<") + kind + std::to_string(bits / 8), integers.shape));
  const auto codes = [&](std::uint64_t first, std::span<emu::Code> out) {
    integers.source->read_codes(first, out);
    const emu::Code sign = emu::Code{1} << (own_bits - 1);
    if (is_signed && own_bits < bits)
      for (emu::Code& code : out) code = ((code & (2 * sign - 1)) ^ sign) - sign;  // the sign in all bits above it
  };
  produce<emu::Code>(integers.count(), codes, [&](std::span<const emu::Code> part) { to.write(stored(part, bits)); });
}

void write_npy_codes(const std::string& path, const std::vector<std::uint64_t>& shape, emu::Format format,
                     const Producer<emu::Code>& codes) {
  to_file(path, [&](const Destination& to) { put_npy_codes(to, shape, format, codes); });
}

std::uint64_t put_safetensors(const Destination& to, const std::vector<NamedCodes>& tensors, const Beside& beside) {
  const std::string& path = to.name;
  std::vector<Entry> entries;
  for (const NamedCodes& tensor : tensors) entries.push_back(entry_of(path, tensor));
  for (const Tensor& tensor : beside.copied) entries.push_back(entry_of(path, tensor));
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.element_bits > b.element_bits; });

  std::string text = "{";  // as an object of JSON would be searched for every name
  const auto add = [&](const std::string& key, const nlohmann::ordered_json& value) {
    text += (text.size() == 1 ? "" : ",") + nlohmann::json(key).dump() + ":" + value.dump();
  };
  if (!beside.metadata.empty()) add(safetensors_metadata, emu::parse_json<nlohmann::ordered_json>(beside.metadata));
  std::set<std::string_view> names;
  std::uint64_t offset = 0;
  for (const Entry& entry : entries) {
    if (!names.insert(entry.name).second) throw Error(emu::visible(path + ": two tensors would be named '" + entry.name + "'"));
    if (entry.name == safetensors_metadata) throw Error(path + ": no tensor can be named " + entry.name);
    add(entry.name, {{"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {offset, offset + entry.bytes}}});
    offset += entry.bytes;
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string prefix;
  append_bytes(prefix, text.size(), 8);

  to.write(prefix + text);
  for (const Entry& entry : entries)
    produce<emu::Code>(entry.words, entry.codes,
                       [&](std::span<const emu::Code> part) { to.write(stored(part, entry.word_bits)); });
  return offset;
}

void write_safetensors(const std::string& path, const std::vector<NamedCodes>& tensors, const Beside& beside) {
  to_file(path, [&](const Destination& to) { put_safetensors(to, tensors, beside); });
}

std::string safetensors_bytes(const std::string& name, const std::vector<NamedCodes>& tensors, const Beside& beside) {
  std::string all;
  put_safetensors({name, [&](std::string_view bytes) { all += bytes; }}, tensors, beside);
  return all;
}

}  // namespace ulpscope::tensors
