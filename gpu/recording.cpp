// SPDX-License-Identifier: Apache-2.0
// Writes and reads the arrays of codes behind the header, and their checksum.
#include "gpu/recording.hpp"

#include <algorithm>
#include <array>

#include "files/new_file.hpp"
#include "files/read_file.hpp"
#include "gpu/crc64.hpp"
#include "gpu/recording_header.hpp"

namespace ulpscope::gpu {
namespace {

using emu::Code;
using emu::Format;

constexpr std::array class_names{"random", "adversarial", "chain", "every"};
constexpr std::size_t checksum_bytes = sizeof(std::uint64_t);

/// One array of codes of a set: how many for each inner product or element, and in which format.
template <class Codes>
struct Column {
  Codes* codes;
  Format format;
  std::size_t each;
};

/// Calls act(column) for all of a set, in the order of the file.
template <class Set, class Act>
void for_each_column(Set& set, Act act)
  requires requires { set.problems; }
{
  using Codes = std::remove_reference_t<decltype((set.d))>;
  const Operation& o = set.operation;
  auto& p = set.problems;
  const std::size_t blocks = TestShape(o, p.products).blocks();
  for (const Column<Codes>& column :
       {Column<Codes>{&p.a, o.a, p.products}, Column<Codes>{&p.b, o.b, p.products},
        Column<Codes>{&p.a_scales, o.scale_format, blocks}, Column<Codes>{&p.b_scales, o.scale_format, blocks},
        Column<Codes>{&p.c, o.accumulator, 1}, Column<Codes>{&set.d, o.accumulator, 1}})
    act(column);
}
template <class Set, class Act>
void for_each_column(Set& set, Act act) {
  using Codes = std::remove_reference_t<decltype((set.d))>;
  const ElementModel& model = set.operation.model;
  const int operands = operands_of(model.kind);
  for (const Column<Codes>& column :
       {Column<Codes>{&set.a, model.from, 1}, Column<Codes>{&set.b, model.from, operands > 1 ? 1u : 0u},
        Column<Codes>{&set.c, model.to, operands > 2 ? 1u : 0u}, Column<Codes>{&set.d, model.to, 1}})
    act(column);
}

void put(std::vector<std::byte>& bytes, Code code, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(code >> (8 * i) & 0xff));
}
Code take(std::span<const std::byte> bytes) noexcept {
  Code code = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) code |= static_cast<Code>(bytes[i]) << (8 * i);
  return code;
}

template <class Set>
std::size_t bytes_of_one(const Set& set) {
  std::size_t bytes = 0;
  for_each_column(set, [&](const auto& column) { bytes += column.each * detail::packed_bytes(column.format); });
  return bytes;
}

template <class Set>
void put_set(std::vector<std::byte>& bytes, const Set& set) {
  for_each_column(set, [&](const auto& column) {
    if (column.codes->size() != column.each * set.d.size())
      throw Error("recording of " + set.operation.instruction + ": operands and results differ in number");
    for (const Code code : *column.codes) put(bytes, code, detail::packed_bytes(column.format));
  });
}

/// The codes of a set from the front of `bytes`, which are cut off.
template <class Set>
void take_set(std::span<const std::byte>& bytes, Set& set, std::size_t count, const std::string& name) {
  for_each_column(set, [&](const auto& column) {
    const std::size_t each = detail::packed_bytes(column.format);
    column.codes->resize(count * column.each);
    for (Code& code : *column.codes) {
      code = take(bytes.first(each));
      bytes = bytes.subspan(each);
      if ((code & ~column.format.code_mask()) != 0)
        throw Error(name + ": " + set.operation.instruction + ": a code has more bits than its format");
    }
  });
}

/// Takes the bytes of a set from those that are left. @throws Error where fewer are.
template <class Set>
void reserve(std::size_t& left, const Set& set, std::size_t count, const std::string& name) {
  const std::size_t each = std::max<std::size_t>(bytes_of_one(set), 1);  // a result has a byte at least
  if (count > left / each)
    throw Error(name + ": the file ends before the codes of " + set.operation.instruction + ", which are " +
                std::to_string(count) + " times " + std::to_string(each) + " bytes");
  left -= count * each;
}

}  // namespace

std::string_view name_of(OperandClass operands) noexcept { return class_names[static_cast<std::size_t>(operands)]; }

std::optional<OperandClass> parse_operand_class(std::string_view word) {
  for (std::size_t i = 0; i < class_names.size(); ++i)
    if (word == class_names[i]) return static_cast<OperandClass>(i);
  return std::nullopt;
}

std::vector<std::byte> recording_bytes(const Recording& recording) {
  const std::string text = detail::header_text(recording);
  std::vector<std::byte> bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  for (const RecordedProducts& set : recording.products) put_set(bytes, set);
  for (const RecordedElements& set : recording.elements) put_set(bytes, set);
  put(bytes, crc64(bytes), checksum_bytes);
  return bytes;
}

Recording parse_recording(std::span<const std::byte> bytes, const std::string& name) {
  auto header = detail::parse_header({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name);
  Recording& recording = header.recording;
  std::size_t left = bytes.size() - header.bytes;
  for (std::size_t i = 0; i < recording.products.size(); ++i)
    reserve(left, recording.products[i], header.product_counts[i], name);
  for (std::size_t i = 0; i < recording.elements.size(); ++i)
    reserve(left, recording.elements[i], header.element_counts[i], name);
  if (left != checksum_bytes)
    throw Error(name + ": " + std::to_string(left) + " bytes follow the codes, where a checksum of 8 belongs");
  if (take(bytes.last(checksum_bytes)) != crc64(bytes.first(bytes.size() - checksum_bytes)))
    throw Error(name + ": is damaged: its checksum is not that of its bytes");
  std::span<const std::byte> codes = bytes.subspan(header.bytes);
  for (std::size_t i = 0; i < recording.products.size(); ++i)
    take_set(codes, recording.products[i], header.product_counts[i], name);
  for (std::size_t i = 0; i < recording.elements.size(); ++i)
    take_set(codes, recording.elements[i], header.element_counts[i], name);
  return std::move(recording);
}

void write_recording(const std::string& path, const Recording& recording) {
  const std::vector<std::byte> bytes = recording_bytes(recording);
  if (bytes.size() > most_recording_bytes) throw Error(path + ": a recording of this size could not be read again");
  files::NewFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

Recording read_recording(const std::string& path) {
  const std::string bytes = files::read_file(path, most_recording_bytes);
  return parse_recording(std::as_bytes(std::span(bytes)), path);
}

}  // namespace ulpscope::gpu
