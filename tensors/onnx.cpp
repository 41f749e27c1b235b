// SPDX-License-Identifier: Apache-2.0
// The .onnx reader: fields by their numbers in onnx.proto, read by protozero. Nothing of a file is believed: a field of another
// wire type than its own is passed over as one that is not known, and data must lie in the file, or in one beside it.
#include "tensors/onnx.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <span>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "tensors/elements.hpp"
#include "tensors/mapped_file.hpp"
#include "tensors/memory_limit.hpp"

namespace ulpscope::tensors {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr std::uint32_t field(std::uint32_t number, pbf_wire_type type) {
  return number << 3 | static_cast<std::uint32_t>(type);
}
constexpr auto varint = pbf_wire_type::varint;
constexpr auto bytes_type = pbf_wire_type::length_delimited;
constexpr auto fixed32 = pbf_wire_type::fixed32;
constexpr auto fixed64 = pbf_wire_type::fixed64;

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

std::string text_of(const protozero::data_view& view) { return {view.data(), view.size()}; }

class OnnxReader {
 public:
  explicit OnnxReader(const FileBytes& file) : file_(file) {}

  OnnxModel read() {
    const std::uint64_t size = file_.bytes->size();
    if (size > most_bytes) fail("has more than 2 GiB, which no such file has: data of larger models lie in files beside it");
    all_ = file_.bytes->piece(0, static_cast<std::size_t>(size));
    try {
      model({reinterpret_cast<const char*>(all_.bytes.data()), all_.bytes.size()});
    } catch (const protozero::exception& wrong) {
      fail(std::string("is no protocol buffer of an ONNX model, or is not complete (") + wrong.what() + ")");
    }
    file_.bytes->check();
    if (!has_graph_) fail("holds no graph; is it an ONNX model?");
    std::set<std::string> constants;
    for (const Tensor& tensor : model_.constants)
      if (!constants.insert(tensor.name).second) fail("holds initializer '" + tensor.name + "' twice");
    std::erase_if(model_.inputs, [&](const OnnxInput& input) { return constants.contains(input.name); });
    return std::move(model_);
  }

 private:
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 31;

  [[noreturn]] void fail(const std::string& why) const { throw Error(emu::visible(file_.name + ": " + why)); }

  std::string name_in(pbf_reader& from) const {
    std::string name = text_of(from.get_view());
    if (!emu::is_utf8(name)) fail("has a name that is no UTF-8: '" + name + "'");
    return name;
  }

  void model(pbf_reader from) {
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case field(7, bytes_type): graph(from.get_message()); break;
        case field(8, bytes_type): operators(from.get_message()); break;
        case field(25, bytes_type): model_.functions.push_back(function(from.get_message())); break;
        default: from.skip();
      }
    }
  }

  void operators(pbf_reader from) {
    std::string domain;
    std::int64_t version = 0;
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case field(1, bytes_type): domain = name_in(from); break;
        case field(2, varint): version = from.get_int64(); break;
        default: from.skip();
      }
    }
    if (domain.empty() || domain == "ai.onnx") model_.opset = version;
  }

  void graph(pbf_reader from) {
    if (std::exchange(has_graph_, true)) fail("holds two graphs");
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case field(1, bytes_type): model_.nodes.push_back(node(from.get_message())); break;
        case field(5, bytes_type): model_.constants.push_back(tensor(from.get_message())); break;
        case field(11, bytes_type): model_.inputs.push_back(input(from.get_message())); break;
        case field(12, bytes_type): model_.outputs.push_back(input(from.get_message()).name); break;
        case field(15, bytes_type): {
          pbf_reader sparse = from.get_message();
          while (sparse.next(1, bytes_type)) model_.sparse.push_back(name_of(sparse.get_message()));
          break;
        }
        default: from.skip();
      }
    }
  }

  /// Of a TensorProto.
  std::string name_of(pbf_reader from) const { return from.next(8, bytes_type) ? name_in(from) : std::string(); }

  OnnxFunction function(pbf_reader from) {
    OnnxFunction made;
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case field(1, bytes_type): made.name = name_in(from); break;
        case field(4, bytes_type): made.inputs.push_back(name_in(from)); break;
        case field(5, bytes_type): made.outputs.push_back(name_in(from)); break;
        case field(7, bytes_type): made.nodes.push_back(node(from.get_message())); break;
        case field(10, bytes_type): made.domain = name_in(from); break;
        case field(13, bytes_type): made.overload = name_in(from); break;
        case field(11, bytes_type): made.defaults.push_back(attribute(from.get_message())); break;
        default: from.skip();
      }
    }
    return made;
  }

  OnnxNode node(pbf_reader from) {
    OnnxNode made;
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case field(1, bytes_type): made.inputs.push_back(name_in(from)); break;
        case field(2, bytes_type): made.outputs.push_back(name_in(from)); break;
        case field(3, bytes_type): made.name = name_in(from); break;
        case field(4, bytes_type): made.op = name_in(from); break;
        case field(5, bytes_type): made.attributes.push_back(attribute(from.get_message())); break;
        case field(7, bytes_type): made.domain = name_in(from); break;
        case field(8, bytes_type): made.overload = name_in(from); break;
        default: from.skip();
      }
    }
    if (made.domain == "ai.onnx") made.domain.clear();
    return made;
  }

  OnnxAttribute attribute(pbf_reader from) {
    OnnxAttribute made;
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case field(1, bytes_type): made.name = name_in(from); break;
        case field(2, fixed32): made.real = from.get_float(); break;
        case field(3, varint): made.whole = from.get_int64(); break;
        case field(4, bytes_type): made.text = text_of(from.get_view()); break;
        case field(5, bytes_type): made.tensor = tensor(from.get_message()); break;
        case field(7, fixed32): made.reals.push_back(from.get_float()); break;
        case field(7, bytes_type):
          for (const float value : from.get_packed_float()) made.reals.push_back(value);
          break;
        case field(8, varint): made.wholes.push_back(from.get_int64()); break;
        case field(8, bytes_type):
          for (const std::int64_t value : from.get_packed_int64()) made.wholes.push_back(value);
          break;
        case field(21, bytes_type): made.refers_to = name_in(from); break;
        default: from.skip();
      }
    }
    return made;
  }

  OnnxInput input(pbf_reader from) {
    OnnxInput made;
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case field(1, bytes_type): made.name = name_in(from); break;
        case field(2, bytes_type): {
          pbf_reader type = from.get_message();
          while (type.next(1, bytes_type)) tensor_type(type.get_message(), made);
          break;
        }
        default: from.skip();
      }
    }
    return made;
  }

  void tensor_type(pbf_reader from, OnnxInput& made) const {
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case field(1, varint): made.dtype = onnx_dtype(from.get_int64()).value_or(""); break;
        case field(2, bytes_type): {
          pbf_reader shape = from.get_message();
          while (shape.next(1, bytes_type)) made.shape.push_back(extent(shape.get_message()));
          break;
        }
        default: from.skip();
      }
    }
  }

  std::string extent(pbf_reader from) const {
    std::string made = "?";
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case field(1, varint):
          if (const std::int64_t known = from.get_int64(); known >= 0) made = std::to_string(known);
          break;
        case field(2, bytes_type): made = name_in(from); break;
        default: from.skip();
      }
    }
    return made;
  }

  /// Where data lie: of a TensorProto, or beside the file.
  struct Stored {
    std::int64_t type = 0;
    std::optional<std::span<const char>> raw = {};
    std::vector<std::byte> listed = {};  ///< of the typed fields, as raw_data would hold them
    bool is_external = false;
    std::string location = {};
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> length = {};
  };

  /// Appends the least bytes of a value: as many as an element of the type has, whatever its field.
  static void append(std::uint64_t value, std::size_t bytes, std::vector<std::byte>& to) {
    for (std::size_t i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
  }

  /// Where elements of a type are listed: float_data, double_data, int64_data, uint64_data, or int32_data.
  static std::uint32_t field_of(const OnnxType& type) {
    const std::string_view name = type.name;
    return name == "float32" ? 4 : name == "float64" ? 10 : name == "int64" ? 7 : name == "uint32" || name == "uint64" ? 11 : 5;
  }

  Tensor tensor(pbf_reader from) {
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
        case field(1, varint): extents(from.get_int64()); break;
        case field(1, bytes_type):
          for (const std::int64_t value : from.get_packed_int64()) extents(value);
          break;
        case field(2, varint): stored.type = from.get_int32(); break;
        case field(4, bytes_type):  // floats, one after the other as raw_data would have them
        case field(10, bytes_type): {
          listed = from.tag();
          const protozero::data_view view = from.get_view();
          const auto* const first = reinterpret_cast<const std::byte*>(view.data());
          stored.listed.insert(stored.listed.end(), first, first + view.size());
          break;
        }
        case field(4, fixed32): listed = from.tag(), append(from.get_fixed32(), 4, stored.listed); break;
        case field(10, fixed64): listed = from.tag(), append(from.get_fixed64(), 8, stored.listed); break;
        case field(5, varint): listed = from.tag(), wholes.push_back(static_cast<std::uint64_t>(from.get_int32())); break;
        case field(7, varint):
        case field(11, varint): listed = from.tag(), wholes.push_back(from.get_uint64()); break;
        case field(5, bytes_type):
          listed = from.tag();
          for (const std::int32_t value : from.get_packed_int32()) wholes.push_back(static_cast<std::uint64_t>(value));
          break;
        case field(7, bytes_type):
        case field(11, bytes_type):
          listed = from.tag();
          for (const std::uint64_t value : from.get_packed_uint64()) wholes.push_back(value);
          break;
        case field(8, bytes_type): made.name = name_in(from); break;
        case field(9, bytes_type): {
          const protozero::data_view view = from.get_view();
          stored.raw = std::span<const char>(view.data(), view.size());
          break;
        }
        case field(13, bytes_type): external(from.get_message(), stored); break;
        case field(14, varint): stored.is_external = from.get_int32() == 1; break;
        default: from.skip();
      }
    }
    const OnnxType* const type = type_of(stored.type);
    if (least < 0) fail("tensor '" + made.name + "' has an extent of " + std::to_string(least));
    if (type != nullptr && listed != 0 && (listed != field_of(*type) || stored.raw))
      fail("tensor '" + made.name + "' has elements of " + type->name + " in a field of others, or in two");
    if (type != nullptr)
      for (const std::uint64_t value : wholes)
        append(value, static_cast<std::size_t>(std::max(type->layout.storage_bits, 8)) / 8, stored.listed);
    return finished(std::move(made), std::move(stored), type);
  }

  void external(pbf_reader from, Stored& stored) const {
    std::string key, value;
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case field(1, bytes_type): key = name_in(from); break;
        case field(2, bytes_type): value = name_in(from); break;
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
  std::shared_ptr<const Bytes> beside(const std::string& location, const std::string& tensor) {
    const std::filesystem::path path(location);
    const bool climbs = std::ranges::any_of(path, [](const auto& part) { return part == ".."; });
    if (location.empty() || location.find('\0') != location.npos || path.is_absolute() || climbs)
      fail("tensor '" + tensor + "' names data in '" + location + "', which is no file beside the model");
    std::shared_ptr<const Bytes>& opened = beside_[location];
    if (!opened) opened = std::make_shared<MappedFile>((std::filesystem::path(file_.name).parent_path() / path).string());
    return opened;
  }

  Tensor finished(Tensor made, Stored stored, const OnnxType* type) {
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

  /// Elements that the file lists one by one.
  struct Listed {
    Listed(std::string what, std::vector<std::byte> all) : memory(std::move(what)), bytes(std::move(all)) {
      memory.grow(bytes.size());
    }
    HeldMemory memory;
    std::vector<std::byte> bytes;
  };

  const FileBytes& file_;
  Piece all_;
  OnnxModel model_;
  bool has_graph_ = false;
  std::map<std::string, std::shared_ptr<const Bytes>> beside_;
};

}  // namespace

const OnnxAttribute* OnnxNode::find(std::string_view wanted) const {
  const auto found = std::ranges::find(attributes, wanted, &OnnxAttribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

OnnxModel read_onnx_model(const FileBytes& file) { return OnnxReader(file).read(); }

std::vector<Tensor> read_onnx(const FileBytes& file) {
  const OnnxModel model = read_onnx_model(file);
  std::vector<Tensor> constants = model.constants;
  for (const OnnxNode& node : model.nodes) {  // some exporters have weights there
    const OnnxAttribute* const value = node.op == "Constant" && node.outputs.size() == 1 ? node.find("value") : nullptr;
    if (value == nullptr || !value->tensor || value->tensor->count() <= 1) continue;
    constants.push_back(*value->tensor);
    constants.back().name = node.outputs.front();
    constants.back().label = file.name + ":" + node.outputs.front();
  }
  if (constants.empty()) throw Error(emu::visible(file.name + ": holds no constants, which are the tensors of a model"));
  return constants;
}

std::optional<std::string> onnx_dtype(std::int64_t type) {
  const OnnxType* const found = type_of(type);
  return found == nullptr ? std::nullopt : std::optional<std::string>(found->name);
}

}  // namespace ulpscope::tensors
