// SPDX-License-Identifier: Apache-2.0
// Rounding, codes, and products of arrays.
#include <algorithm>
#include <span>
#include <type_traits>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "products/request.hpp"
#include "python/bindings.hpp"
#include "python/requests.hpp"
#include "requests/parts.hpp"
#include "studies/cast/cast.hpp"
#include "studies/quantization/quantized.hpp"
#include "tensors/caster.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::python {
namespace {

constexpr std::size_t piece = 1 << 16;
constexpr std::size_t few = 1 << 18;  // elements that are not worth a second thread

/// act(first, count) on pieces of so many elements.
template <class Act>
void in_pieces(std::size_t count, const Act& act) {
  const std::size_t pieces = (count + piece - 1) / piece;
  tensors::for_each_index(pieces, count <= few ? 1 : 0,
                          [&](std::size_t i) { act(i * piece, std::min(piece, count - i * piece)); });
}

std::size_t size_of(const tensors::Tensor& tensor) { return static_cast<std::size_t>(tensor.count()); }

/// Elements of a tensor, each piece made by a Caster of its own.
template <class T, class Make>
std::vector<T> made(const tensors::Tensor& tensor, const Make& make) {
  std::vector<T> out(size_of(tensor));
  in_pieces(out.size(), [&](std::size_t first, std::size_t count) { make(first, std::span(out).subspan(first, count)); });
  return out;
}

struct Casting {
  explicit Casting(const Values& values)
      : request(request_of<studies::CastRequest>(values)),
        format(requests::parse_format_or_integer(request.to)),
        options(request.rounding.options()),
        tensor(tensors::open_one(request.input, request.reading.options())) {}
  tensors::Caster caster() const { return {tensor, format, options, {request.reading.seed}}; }
  std::size_t count() const { return size_of(tensor); }

  studies::CastRequest request;
  emu::Format format;
  emu::RoundingOptions options;
  tensors::Tensor tensor;
};

/// With its input opened while others have the interpreter.
Casting opened(const Values& values) {
  const nb::gil_scoped_release released;
  return Casting(values);
}

/// float64 where the input or the format needs it.
nb::object round(const Values& values) {
  const auto rounded = [&]<class Float>(const Casting& casting, Float) {
    return made<Float>(casting.tensor, [&](std::size_t first, std::span<Float> out) { casting.caster().values(first, out); });
  };
  const Casting casting = opened(values);
  const std::vector<std::uint64_t>& shape = casting.tensor.shape;
  const bool wide = !casting.tensor.dtype.fits_float() || !emu::fits_float(casting.format);
  std::vector<float> floats;
  std::vector<double> doubles;
  work_on(casting.count(), [&] {
    if (wide)
      doubles = rounded(casting, double{});
    else
      floats = rounded(casting, float{});
  });
  return wide ? nb::cast(new_array(std::move(doubles), shape)) : nb::cast(new_array(std::move(floats), shape));
}

/// Codes in the least unsigned integers that have their bits.
nb::object as_integers(const std::vector<emu::Code>& codes, emu::Format format, const std::vector<std::uint64_t>& shape) {
  const auto narrowed = [&]<class Word>(Word) {
    std::vector<Word> out(codes.size());
    std::transform(codes.begin(), codes.end(), out.begin(), [](emu::Code code) { return static_cast<Word>(code); });
    return nb::cast(new_array(std::move(out), shape));
  };
  if (format.bits() <= 8) return narrowed(std::uint8_t{});
  if (format.bits() <= 16) return narrowed(std::uint16_t{});
  if (format.bits() <= 32) return narrowed(std::uint32_t{});
  return narrowed(std::uint64_t{});
}

nb::object encode(const Values& values) {
  const Casting casting = opened(values);
  std::vector<emu::Code> codes;
  work_on(casting.count(), [&] {
    codes = made<emu::Code>(casting.tensor,
                            [&](std::size_t first, std::span<emu::Code> out) { casting.caster().codes(first, out); });
  });
  return as_integers(codes, casting.format, casting.tensor.shape);
}

/// Values of all elements: float32 where they fit, else float64.
nb::object values_of(const tensors::Tensor& tensor) {
  const auto read = [&]<class Float>(Float) {
    std::vector<Float> values;
    work_on(size_of(tensor), [&] {
      values = made<Float>(tensor, [&](std::size_t first, std::span<Float> out) { tensor.source->read(first, out); });
    });
    return nb::cast(new_array(std::move(values), tensor.shape));
  };
  return tensor.dtype.fits_float() ? read(float{}) : read(double{});
}

nb::object decode(const std::string& word) { return values_of(tensors::open_one(word)); }

nb::object quantize(const Values& values, const std::string& scale) {
  const Casting casting = opened(values);
  const studies::Scaling scaling = studies::parse_scaling(scale);
  emu::RoundingOptions options = casting.options;
  if (casting.request.rounding.policy.empty() && studies::clamps(scaling.rule)) options.policy = emu::Policy::saturating;
  studies::QuantizedTensor quantized;
  work_on(casting.count(), [&] {
    quantized = studies::quantize(casting.tensor, casting.format, options, scaling, casting.request.reading.seed);
  });
  nb::dict out;
  out["format"] = emu::format_name(quantized.format);
  out["codes"] = as_integers(quantized.codes, quantized.format, quantized.shape);
  out["values"] = nb::cast(new_array(std::move(quantized.values), quantized.shape));
  out["scale_format"] = quantized.scale_format;
  out["tensor_scale"] = quantized.tensor_scale;
  const bool none = quantized.scales.empty();
  out["scales"] = none ? nb::none() : nb::cast(new_array(std::move(quantized.scales), quantized.scale_shape));
  return out;
}

nb::object matmul(const Values& values) {
  tensors::Tensor d;
  work_apart(nb::none(), [&](const Told&) {
    const auto request = request_of<EngineProductRequest>(values);
    d = products::multiply(products::resolve(request.product, products::open(request.product), request.engine));
  });
  return values_of(d);
}

}  // namespace

void add_numbers(nb::module_& m) {
  m.def("round", &round);
  m.def("encode", &encode);
  m.def("decode", &decode);
  m.def("quantize", &quantize);
  m.def("matmul", &matmul);
}

}  // namespace ulpscope::python
