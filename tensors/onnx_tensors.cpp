// SPDX-License-Identifier: Apache-2.0
// Data must lie in the file, or in one beside it; what does not fit its shape is refused.
#include "tensors/onnx_tensors.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "tensors/elements.hpp"
#include "tensors/mapped_file.hpp"
#include "tensors/memory_limit.hpp"
#include "tensors/onnx.hpp"

namespace ulpscope::tensors {
namespace {

using protozero::pbf_reader;

/// A type of elements by its number, and how TensorProto.raw_data holds it.
struct OnnxType {
  std::int64_t number;
  const char* name;  ///< a word of emu::parse_format(), or an integer type
  Layout layout;
};

using Kind = Layout::Kind;
constexpr OnnxType types[] = {
    {1, "float32", {Kind::floating, 32, false}},         {2, "uint8", {Kind::unsigned_integer, 8, false}},
    {3, "int8", {Kind::signed_integer, 8, false}},       {4, "uint16", {Kind::unsigned_integer, 16, false}},
    {5, "int16", {Kind::signed_integer, 16, false}},     {6, "int32", {Kind::signed_integer, 32, false}},
    {7, "int64", {Kind::signed_integer, 64, false}},     {9, "bool", {Kind::boolean, 8, false}},
    {10, "float16", {Kind::floating, 16, false}},        {11, "float64", {Kind::floating, 64, false}},
    {12, "uint32", {Kind::unsigned_integer, 32, false}}, {13, "uint64", {Kind::unsigned_integer, 64, false}},
    {16, "bfloat16", {Kind::floating, 16, false}},       {17, "float8_e4m3fn", {Kind::floating, 8, false}},
    {18, "float8_e4m3fnuz", {Kind::floating, 8, false}}, {19, "float8_e5m2", {Kind::floating, 8, false}},
    {20, "float8_e5m2fnuz", {Kind::floating, 8, false}}, {21, "uint4", {Kind::unsigned_integer, 4, false}},
    {22, "int4", {Kind::signed_integer, 4, false}},      {23, "float4_e2m1fn", {Kind::floating, 4, false}},
    {24, "float8_e8m0fnu", {Kind::floating, 8, false}}};

const OnnxType* type_of(std::int64_t number) {
  const auto* const found = std::ranges::find(types, number, &OnnxType::number);
  return found == std::end(types) ? nullptr : found;
}

/// Appends the least bytes of a value: as many as an element of the type has, whatever its field.
void append(std::uint64_t value, std::size_t bytes, std::vector<std::byte>& to) {
  for (std::size_t i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

/// Where elements of a type are listed: float_data, double_data, int64_data, uint64_data, or int32_data.
std::uint32_t field_of(const OnnxType& type) {
  const std::string_view name = type.name;
  return name == "float32" ? 4 : name == "float64" ? 10 : name == "int64" ? 7 : name == "uint32" || name == "uint64" ? 11 : 5;
}

bool is_link(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_symlink(path, ignored);
}

/// The first link of a path below the folder of `model` that may lead out of it, as an archive can plant them; empty where
/// there is none. A file may be a link into the folder; where the model is one too, to a file beside the model's own; or into
/// the cache of models of huggingface_hub, which keeps the files of all revisions in `models--NAME/blobs` and links to them,
/// its older versions large ones alone.
std::string leaving_link(const std::filesystem::path& model, const std::filesystem::path& below) {
  const std::filesystem::path folder = model.parent_path();
  std::filesystem::path part;
  for (const std::filesystem::path& name : below.parent_path()) {
    part /= name;
    if (is_link(folder / part)) return part.string();
  }
  if (!is_link(folder / below)) return {};
  std::error_code error, ignored;
  const std::filesystem::path target = std::filesystem::canonical(folder / below, error);
  if (error) return {};  // who opens it says why
  const std::filesystem::path root = std::filesystem::canonical(folder.empty() ? "." : folder, ignored);
  const bool is_within = !root.empty() && std::ranges::mismatch(root, target).in1 == root.end();
  const bool is_beside = is_link(model) && std::filesystem::canonical(model, ignored).parent_path() == target.parent_path();
  const std::filesystem::path kept = target.parent_path();
  const bool is_cached = kept.filename() == "blobs" && kept.parent_path().filename().string().starts_with("models--");
  return is_within || is_beside || is_cached ? std::string() : below.string();
}

/// Elements that the file lists one by one.
struct Listed {
  Listed(std::string what, std::vector<std::byte> all) : memory(std::move(what)), bytes(std::move(all)) {
    memory.grow(bytes.size());
  }
  HeldMemory memory;
  std::vector<std::byte> bytes;
};

}  // namespace

protozero::data_view OnnxTensors::message() {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 31;
  const std::uint64_t size = file_.bytes->size();
  if (size > most_bytes) fail("has more than 2 GiB, which no such file has: data of larger models lie in files beside it");
  all_ = file_.bytes->piece(0, static_cast<std::size_t>(size));
  return {reinterpret_cast<const char*>(all_.bytes.data()), all_.bytes.size()};
}

void OnnxTensors::fail(const std::string& why) const { throw Error(emu::visible(file_.name + ": " + why)); }

std::string OnnxTensors::name_in(pbf_reader& from) const {
  const protozero::data_view view = from.get_view();
  std::string name(view.data(), view.size());
  if (!emu::is_utf8(name)) fail("has a name that is no UTF-8: '" + name + "'");
  return name;
}

Tensor OnnxTensors::tensor(pbf_reader from) {
  Tensor made;
  Stored stored;
  std::vector<std::uint64_t> wholes;  // whose width is that of the type, which may be said behind them
  std::uint32_t listed = 0;           // the field in which elements are listed
  std::int64_t least = 0;             // of all extents
  const auto extents = [&](std::int64_t extent) {
    least = std::min(least, extent);
    made.shape.push_back(static_cast<std::uint64_t>(extent));
  };
  while (from.next()) {
    switch (static_cast<std::uint32_t>(from.tag_and_type())) {
      case onnx_varint(1): extents(from.get_int64()); break;
      case onnx_bytes(1):
        for (const std::int64_t value : from.get_packed_int64()) extents(value);
        break;
      case onnx_varint(2): stored.type = from.get_int32(); break;
      case onnx_bytes(3): stored.is_segment = true, from.skip(); break;
      case onnx_bytes(4):  // floats, one after the other as raw_data would have them
      case onnx_bytes(10): {
        listed = from.tag();
        const protozero::data_view view = from.get_view();
        const auto* const first = reinterpret_cast<const std::byte*>(view.data());
        stored.listed.insert(stored.listed.end(), first, first + view.size());
        break;
      }
      case onnx_fixed32(4): listed = from.tag(), append(from.get_fixed32(), 4, stored.listed); break;
      case onnx_fixed64(10): listed = from.tag(), append(from.get_fixed64(), 8, stored.listed); break;
      case onnx_varint(5): listed = from.tag(), wholes.push_back(static_cast<std::uint64_t>(from.get_int32())); break;
      case onnx_varint(7):
      case onnx_varint(11): listed = from.tag(), wholes.push_back(from.get_uint64()); break;
      case onnx_bytes(5):
        listed = from.tag();
        for (const std::int32_t value : from.get_packed_int32()) wholes.push_back(static_cast<std::uint64_t>(value));
        break;
      case onnx_bytes(7):
      case onnx_bytes(11):
        listed = from.tag();
        for (const std::uint64_t value : from.get_packed_uint64()) wholes.push_back(value);
        break;
      case onnx_bytes(8): made.name = name_in(from); break;
      case onnx_bytes(9): {
        const protozero::data_view view = from.get_view();
        stored.raw = std::span<const char>(view.data(), view.size());
        break;
      }
      case onnx_bytes(13): external(from.get_message(), stored); break;
      case onnx_varint(14): stored.is_external = from.get_int32() == 1; break;
      default: from.skip();
    }
  }
  const OnnxType* const type = type_of(stored.type);
  if (stored.is_segment) fail("tensor '" + made.name + "' is a segment of one in parts, which are not read");
  if (stored.is_external && (listed != 0 || (stored.raw && !stored.raw->empty())))
    fail("tensor '" + made.name + "' has data in the file and in one beside it");
  if (least < 0) fail("tensor '" + made.name + "' has an extent of " + std::to_string(least));
  if (type != nullptr && listed != 0 && (listed != field_of(*type) || stored.raw))
    fail("tensor '" + made.name + "' has elements of " + type->name + " in a field of others, or in two");
  if (type != nullptr)
    for (const std::uint64_t value : wholes)
      append(value, static_cast<std::size_t>(std::max(type->layout.storage_bits, 8)) / 8, stored.listed);
  return finished(std::move(made), std::move(stored));
}

void OnnxTensors::external(pbf_reader from, Stored& stored) const {
  std::string key, value;
  while (from.next()) {
    switch (static_cast<std::uint32_t>(from.tag_and_type())) {
      case onnx_bytes(1): key = name_in(from); break;
      case onnx_bytes(2): value = name_in(from); break;
      default: from.skip();
    }
  }
  const auto number = [&] {
    std::uint64_t parsed = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc() || end != value.data() + value.size())
      fail("external data: " + key + " '" + value + "' is no whole number");
    return parsed;
  };
  if (key == "location") stored.location = value;
  if (key == "offset") stored.offset = number();
  if (key == "length") stored.length = number();
}

/// The bytes beside the file that a tensor names: in its folder or below, as the format wants it.
std::shared_ptr<const Bytes> OnnxTensors::beside(const std::string& location, const std::string& tensor) {
  const std::filesystem::path path(location), folder = std::filesystem::path(file_.name).parent_path();
  const auto refuse = [&](const std::string& why) { fail("tensor '" + tensor + "' names data in '" + location + "', " + why); };
  const bool climbs = std::ranges::any_of(path, [](const auto& part) { return part == ".."; });
  if (location.empty() || location.find('\0') != location.npos || path.is_absolute() || climbs)
    refuse("which is no file beside the model");
  std::shared_ptr<const Bytes>& opened = beside_[location];
  if (opened) return opened;
  if (const std::string link = leaving_link(file_.name, path); !link.empty())
    refuse("where '" + link + "' is a link that may lead out of the model's folder; put what it leads to there");
  return opened = std::make_shared<MappedFile>((folder / path).string());
}

Tensor OnnxTensors::finished(Tensor made, Stored stored) {
  const OnnxType* const type = type_of(stored.type);
  made.label = file_.name + ":" + made.name;
  const auto refuse = [&](const std::string& why) { fail("tensor '" + made.name + "': " + why); };
  const std::optional<std::uint64_t> count = element_count(made.shape);
  if (!count || *count > std::uint64_t{1} << 48) refuse("the extents of the shape overflow when multiplied");
  if (type == nullptr) {
    made.dtype.name = "onnx_type_" + std::to_string(stored.type);
    std::string known;
    for (const OnnxType& one : types) known += std::string(known.empty() ? "" : " ") + one.name;
    const std::string why = "type " + std::to_string(stored.type) + " of ONNX is not known; known are " + known;
    made.opaque = Opaque{.why = why, .bytes = {}};
    made.source = make_opaque_source({file_.bytes, 0, 0, made.dtype, {}}, emu::visible(made.label + ": " + why));
    return made;
  }
  made.dtype = {type->name, type->layout.kind == Kind::floating ? emu::parse_format(type->name) : std::nullopt};
  const std::uint64_t bytes = byte_size(*count, type->layout).value_or(~std::uint64_t{0});
  StoredElements elements{.bytes = {}, .size = bytes, .dtype = made.dtype, .layout = type->layout};
  std::uint64_t have = 0;
  if (stored.is_external) {
    elements.bytes = beside(stored.location, made.name), elements.first = stored.offset;
    const std::uint64_t all = elements.bytes->size(), rest = stored.offset > all ? 0 : all - stored.offset;
    have = stored.length.value_or(bytes);
    if (have > rest) refuse("its data end beyond " + stored.location + "; is it complete?");
  } else if (stored.raw) {
    elements.bytes = file_.bytes;
    elements.first = static_cast<std::uint64_t>(stored.raw->data() - reinterpret_cast<const char*>(all_.bytes.data()));
    have = stored.raw->size();
  } else {
    have = stored.listed.size();
    const auto owner = std::make_shared<Listed>(emu::visible(made.label), std::move(stored.listed));
    elements.bytes = bytes_in_memory(std::span<const std::byte>(owner->bytes), owner);
  }
  if (have != bytes)
    refuse(std::to_string(have) + " bytes of data, where its shape " + shape_words(made.shape) + " of " + type->name +
           " needs " + std::to_string(bytes));
  made.source = make_source(std::move(elements));
  return made;
}

std::optional<std::string> onnx_dtype(std::int64_t type) {
  const OnnxType* const found = type_of(type);
  return found == nullptr ? std::nullopt : std::optional<std::string>(found->name);
}

}  // namespace ulpscope::tensors
