// SPDX-License-Identifier: Apache-2.0
// Rotates whole blocks, of which a reader may want a part.
#include "tensors/hadamard.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"
#include "emu/visible.hpp"

namespace ulpscope::tensors {
namespace {

constexpr std::size_t most = 4096;

/// What Transformer Engine multiplies the first operand of a weight's gradient by.
constexpr std::array<double, 16> transformer_engine{1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1};

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

class RotatedSource final : public Source {
 public:
  RotatedSource(Tensor tensor, Hadamard hadamard, bool back)
      : tensor_(std::move(tensor)), hadamard_(std::move(hadamard)), is_back_(back) {}

  void read(std::uint64_t first, std::span<float> out) const override { read_as(first, out); }
  void read(std::uint64_t first, std::span<double> out) const override { read_as(first, out); }
  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override {
    std::vector<double> values(out.size());
    read_as(first, std::span(values));
    std::ranges::transform(values, out.begin(), [&](double x) -> emu::Code {
      return tensor_.dtype.fits_float() ? std::bit_cast<std::uint32_t>(static_cast<float>(x)) : std::bit_cast<emu::Code>(x);
    });
  }
  void check() const override { tensor_.source->check(); }

 private:
  template <class Float>
  void read_as(std::uint64_t first, std::span<Float> out) const {
    const std::size_t size = hadamard_.size(), piece = std::max<std::size_t>(size, 1 << 13);
    const double factor = 1 / std::sqrt(static_cast<double>(size));
    const bool is_float = tensor_.dtype.fits_float();
    std::vector<double> x;
    for (std::size_t done = 0; done < out.size();) {
      const std::uint64_t index = first + done, begin = index / size * size, end = first + out.size();
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(end - index, piece - (index - begin)));
      x.resize((static_cast<std::size_t>(index - begin) + wanted + size - 1) / size * size);
      tensor_.source->read(begin, std::span(x));
      for (std::size_t i = 0; i < x.size(); i += size) rotate(std::span(x).subspan(i, size), factor);
      const auto from = x.begin() + static_cast<std::ptrdiff_t>(index - begin);
      std::transform(from, from + static_cast<std::ptrdiff_t>(wanted), out.begin() + static_cast<std::ptrdiff_t>(done),
                     [&](double y) { return static_cast<Float>(is_float ? static_cast<double>(static_cast<float>(y)) : y); });
      done += wanted;
    }
  }

  void rotate(std::span<double> x, double factor) const {
    const std::vector<double>& signs = hadamard_.signs;
    if (!is_back_)
      for (std::size_t i = 0; i < x.size(); ++i) x[i] *= signs[i];
    hadamard_transform(x);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= is_back_ ? factor * signs[i] : factor;
  }

  Tensor tensor_;
  Hadamard hadamard_;
  bool is_back_;
};

Tensor over(const Tensor& tensor, const Hadamard& hadamard, bool back) {
  Tensor made = tensor;
  const emu::Format format = tensor.dtype.fits_float() ? emu::float32 : emu::float64;
  made.dtype = {emu::format_name(format), format};
  made.source = std::make_shared<RotatedSource>(tensor, hadamard, back);
  return made;
}

}  // namespace

bool Hadamard::fits(const Tensor& tensor) const {
  return tensor.dtype.format && !tensor.opaque && tensor.count() != 0 && !tensor.shape.empty() &&
         tensor.shape.back() % size() == 0;
}

Hadamard parse_hadamard(const std::string& word, const std::string& what) {
  const std::string_view text = word;
  const std::size_t colon = text.find(':');
  const auto size = number_in<std::size_t>(text.substr(0, colon));
  const Error wrong(emu::visible(what + " '" + word + "'") + ": give SIZE, a power of two from 2 to " + std::to_string(most) +
                    ", SIZE:KEY with the key of random signs, or 16:te");
  if (!size || *size < 2 || *size > most || !std::has_single_bit(*size)) throw wrong;
  Hadamard hadamard{.signs = std::vector<double>(*size, 1), .word = word};
  if (colon == std::string_view::npos) return hadamard;
  const std::string_view signs = text.substr(colon + 1);
  if (signs == "te") {
    if (*size != transformer_engine.size()) throw wrong;
    hadamard.signs.assign(transformer_engine.begin(), transformer_engine.end());
    return hadamard;
  }
  const auto key = number_in<std::uint64_t>(signs);
  if (!key) throw wrong;
  for (std::size_t i = 0; i < *size; ++i) hadamard.signs[i] = (emu::rounding_bits(*key, i) & 1) != 0 ? -1 : 1;
  return hadamard;
}

Tensor rotated(const Tensor& tensor, const Hadamard& hadamard) { return over(tensor, hadamard, false); }
Tensor rotated_back(const Tensor& tensor, const Hadamard& hadamard) { return over(tensor, hadamard, true); }

}  // namespace ulpscope::tensors
