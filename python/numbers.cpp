// SPDX-License-Identifier: Apache-2.0
// Rounding, codes, and products of arrays.
#include <algorithm>
#include <optional>
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

/// Elements of a tensor, each piece made by itself.
template <class T, class Make>
NewNumbers<T> made(std::size_t count, const Make& make) {
  NewNumbers<T> out(count);
  in_pieces(count, [&](std::size_t first, std::size_t size) { make(first, out.piece(first, size)); });
  return out;
}

struct Casting {
  explicit Casting(const Values& values)
      : request(request_of<studies::CastRequest>(values)),
        format(requests::parse_format_or_integer(request.to)),
        options(request.rounding.options()),
        tensor(tensors::open_one(request.input, request.reading.options())) {
    const auto codes = request.reading.options().dtype;
    if (codes && tensor.dtype.format != codes) requests::refuse_dtype(request.reading.dtype, tensor);
  }
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

/// act(T{}) apart from the interpreter's thread, where T is the type that is wanted; numpy gets what it makes.
template <class T, class Act>
nb::object made_apart(std::size_t count, const std::vector<std::uint64_t>& shape, const Act& act) {
  std::optional<NewNumbers<T>> numbers;
  work_on(count, [&] { numbers.emplace(act()); });
  return nb::cast(new_array(std::move(*numbers), shape));
}

/// act(T{}) with the least unsigned type that has the bits of a format; the least signed one for integers.
template <class Act>
nb::object with_word(emu::Format format, const Act& act) {
  if (format.is_integer()) {
    if (format.bits() <= 8) return act(std::int8_t{});
    if (format.bits() <= 16) return act(std::int16_t{});
    return act(std::int32_t{});
  }
  if (format.bits() <= 8) return act(std::uint8_t{});
  if (format.bits() <= 16) return act(std::uint16_t{});
  if (format.bits() <= 32) return act(std::uint32_t{});
  return act(std::uint64_t{});
}

template <class Word>
void narrow(emu::Format format, std::span<const emu::Code> codes, std::span<Word> out) {
  std::transform(codes.begin(), codes.end(), out.begin(), [format](emu::Code code) {
    if constexpr (std::is_signed_v<Word>) return static_cast<Word>(emu::decode(format, code));
    return static_cast<Word>(code);
  });
}

/// float64 where the input or the format needs it.
nb::object round(const Values& values) {
  const Casting casting = opened(values);
  const auto rounded = [&]<class Float>(Float) {
    return made_apart<Float>(casting.count(), casting.tensor.shape, [&] {
      return made<Float>(casting.count(),
                         [&](std::size_t first, std::span<Float> out) { casting.caster().values(first, out); });
    });
  };
  return !casting.tensor.dtype.fits_float() || !emu::fits_float(casting.format) ? rounded(double{}) : rounded(float{});
}

nb::object encode(const Values& values) {
  const Casting casting = opened(values);
  return with_word(casting.format, [&]<class Word>(Word) {
    return made_apart<Word>(casting.count(), casting.tensor.shape, [&] {
      return made<Word>(casting.count(), [&](std::size_t first, std::span<Word> out) {
        std::vector<emu::Code> codes(out.size());
        casting.caster().codes(first, codes);
        narrow<Word>(casting.format, codes, out);
      });
    });
  });
}

/// Values of all elements: float32 where they fit, else float64.
nb::object values_of(const tensors::Tensor& tensor) {
  const auto read = [&]<class Float>(Float) {
    return made_apart<Float>(size_of(tensor), tensor.shape, [&] {
      return made<Float>(size_of(tensor), [&](std::size_t first, std::span<Float> out) { tensor.source->read(first, out); });
    });
  };
  return tensor.dtype.fits_float() ? read(float{}) : read(double{});
}

nb::object decode(const std::string& word) { return values_of(tensors::open_one(word)); }

nb::object quantize(const Values& values, const std::string& scale) {
  const Casting casting = opened(values);
  const studies::Scaling scaling = studies::parse_scaling(scale);
  emu::RoundingOptions options = casting.options;
  if (casting.request.rounding.policy.empty() && studies::clamps(scaling.rule)) options.policy = emu::Policy::saturating;
  std::optional<studies::QuantizedTensor> quantized;
  NewNumbers<double> of_codes(casting.count());
  nb::dict out;
  out["codes"] = with_word(casting.format, [&]<class Word>(Word) {
    return made_apart<Word>(casting.count(), casting.tensor.shape, [&] {
      quantized.emplace(casting.tensor, casting.format, options, scaling, casting.request.reading.seed);
      return made<Word>(casting.count(), [&](std::size_t first, std::span<Word> narrowed) {
        std::vector<emu::Code> codes(narrowed.size());
        quantized->read(first, of_codes.piece(first, narrowed.size()), codes);
        if (quantized->zero_points().empty())
          narrow<Word>(casting.format, codes, narrowed);
        else
          std::ranges::transform(codes, narrowed.begin(),
                                 [](emu::Code code) { return static_cast<Word>(static_cast<std::int8_t>(code)); });
      });
    });
  });
  out["format"] = emu::format_name(casting.format);
  out["outside_rule"] = studies::outside_rule(scaling, std::vector{casting.format});
  out["values"] = nb::cast(new_array(std::move(of_codes), casting.tensor.shape));
  out["scale_format"] = quantized->scale_format();
  out["tensor_scale"] = quantized->tensor_scale();
  const bool none = quantized->scale_format().empty();
  const std::vector<std::int8_t>& zero_points = quantized->zero_points();
  out["zero_points"] =
      zero_points.empty() ? nb::none() : nb::cast(new_array(std::vector(zero_points), quantized->scale_shape()));
  out["scales"] = none ? nb::none() : nb::cast(new_array(std::vector(quantized->scales()), quantized->scale_shape()));
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
