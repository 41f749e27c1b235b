// SPDX-License-Identifier: Apache-2.0
// Values, and their shapes.
#include "studies/onnx/value.hpp"

#include <algorithm>
#include <utility>

#include "tensors/elements.hpp"

namespace ulpscope::studies::onnx {

namespace {

std::shared_ptr<tensors::HeldMemory> memory_of(const Value& value, std::uint64_t count) {
  auto memory = std::make_shared<tensors::HeldMemory>("the values of a model");
  memory->grow(count * (value.is_sequence() ? sizeof(Value) : value.is_real() ? sizeof(float) : sizeof(std::int64_t)));
  return memory;
}

}  // namespace

std::size_t count_of(const Shape& shape) {
  const std::vector<std::uint64_t> extents(shape.begin(), shape.end());
  const auto count = tensors::element_count(extents);
  if (!count) throw Error("the extents of " + words_of(shape) + " overflow when multiplied");
  return static_cast<std::size_t>(*count);
}

std::string words_of(const Shape& shape) { return tensors::shape_words({shape.begin(), shape.end()}); }

Value::Kind kind_of(std::string_view dtype) {
  if (dtype == "bool") return Value::Kind::truth;
  return dtype.find("int") == std::string_view::npos ? Value::Kind::real : Value::Kind::whole;
}

const Value& Value::as_real() const {
  if (!is_real()) throw NotComputed("of " + dtype);
  return *this;
}

const Value& Value::as_integers() const {
  if (is_real() || is_sequence()) throw Error("of " + dtype + ", where integers or truth values are wanted");
  return *this;
}

Value make(Value::Kind kind, Shape shape, std::string dtype) {
  Value made;
  made.kind = kind;
  made.dtype = !dtype.empty()               ? std::move(dtype)
               : kind == Value::Kind::real  ? "float32"
               : kind == Value::Kind::whole ? "int64"
                                            : "bool";
  for (const std::size_t extent : shape)
    if (extent > std::size_t{1} << 40) throw Error("an extent of " + std::to_string(extent));
  const std::size_t count = count_of(shape);
  made.memory = memory_of(made, count);
  if (made.is_real())
    made.reals.assign(count, 0.0F);
  else
    made.wholes.assign(count, 0);
  made.shape = std::move(shape);
  return made;
}

void wrap(Value& value) {
  if (value.kind != Value::Kind::whole) return;
  const int above = 64 - tensors::DType{value.dtype, {}}.integer_bits();
  const bool is_signed = value.dtype.starts_with("int");
  for (std::int64_t& one : value.wholes) {
    if (above == 0 && !is_signed && one < 0) throw NotComputed("of uint64 beyond 2^63");
    const std::uint64_t left = static_cast<std::uint64_t>(one) << above;
    one = is_signed ? static_cast<std::int64_t>(left) >> above : static_cast<std::int64_t>(left >> above);
  }
}

Value sequence_of(std::vector<std::shared_ptr<const Value>> items) {
  Value made;
  made.kind = Value::Kind::sequence, made.dtype = "a sequence";
  made.memory = memory_of(made, items.size());
  made.items = std::move(items);
  return made;
}

void count_again(Value& value) {
  if (value.memory.use_count() > 1) value.memory = memory_of(value, value.is_sequence() ? value.items.size() : value.count());
}

Value row_of(const std::vector<std::int64_t>& wholes) {
  Value made = make(Value::Kind::whole, {wholes.size()});
  made.wholes = wholes;
  return made;
}

Value value_of(const tensors::Tensor& tensor) {
  if (tensor.opaque) throw NotComputed(tensor.name + ": " + tensor.opaque->why);
  Value made = make(kind_of(tensor.dtype.name), {tensor.shape.begin(), tensor.shape.end()}, tensor.dtype.name);
  constexpr std::size_t at_once = std::size_t{1} << 16;
  std::vector<double> wide;
  std::vector<emu::Code> codes;
  for (std::size_t first = 0; first < made.count(); first += at_once) {
    const std::size_t count = std::min(at_once, made.count() - first);
    if (made.is_real() && tensor.dtype.fits_float()) {
      tensor.source->read(first, std::span(made.reals).subspan(first, count));
    } else if (made.is_real()) {
      wide.resize(count);
      tensor.source->read(first, wide);
      std::ranges::transform(wide, made.reals.begin() + static_cast<std::ptrdiff_t>(first),
                             [](double x) { return static_cast<float>(x); });
    } else {
      codes.resize(count);
      tensor.source->read_codes(first, codes);
      const int above = 64 - tensor.dtype.integer_bits();
      const bool is_signed = tensor.dtype.name.starts_with("int");
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t left = codes[i] << above;
        made.wholes[first + i] =
            is_signed ? static_cast<std::int64_t>(left) >> above : static_cast<std::int64_t>(left >> above);
      }
    }
  }
  tensor.source->check();
  wrap(made);
  return made;
}

std::vector<std::size_t> strides_of(const Shape& shape, bool stretches) {
  std::vector<std::size_t> strides(shape.size());
  std::size_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stretches && shape[d] == 1 ? 0 : step;
    step *= shape[d];
  }
  return strides;
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (std::size_t d = 1; d <= out.size(); ++d) {
    const std::size_t x = d <= a.size() ? a[a.size() - d] : 1, y = d <= b.size() ? b[b.size() - d] : 1;
    if (x != y && x != 1 && y != 1) throw Error("shapes " + words_of(a) + " and " + words_of(b) + " do not fit each other");
    out[out.size() - d] = x == 1 ? y : x;
  }
  return out;
}

Value stretched(const Value& value, const Shape& shape) {
  if (value.shape == shape) return value;
  const std::vector<std::size_t> strides = strides_of(value.shape, true);
  const std::size_t before = shape.size() - value.shape.size();
  return moved(value, shape, [&](const std::vector<std::size_t>& at) {
    std::size_t index = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) index += at[before + d] * strides[d];
    return index;
  });
}

Value reshaped(Value value, Shape shape) {
  if (count_of(shape) != value.count()) throw Error(words_of(value.shape) + " cannot become " + words_of(shape));
  value.shape = std::move(shape);
  return value;
}

}  // namespace ulpscope::studies::onnx
