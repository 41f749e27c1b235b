// SPDX-License-Identifier: Apache-2.0
// Parses distributions, and computes elements from the counter.
#include "tensors/synthetic.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/math.hpp"
#include "emu/philox.hpp"
#include "emu/stop.hpp"
#include "tensors/elements.hpp"

namespace ulpscope::tensors {
namespace {

/// The two uniform numbers of an element.
struct Uniforms {
  double u, v;
};

// Each law: the two parameters, and the value as a function of (u, v). The logarithm's argument is never subnormal.
struct Uniform {
  double a, b;
  ULPSCOPE_INLINE double operator()(Uniforms at) const { return a + (b - a) * at.u; }
};
ULPSCOPE_INLINE double standard_normal(Uniforms at) { return std::sqrt(-2 * emu::log_of_normal(at.u)) * emu::cos_two_pi(at.v); }
struct Normal {
  double mean, sd;
  ULPSCOPE_INLINE double operator()(Uniforms at) const { return mean + sd * standard_normal(at); }
};
struct LogNormal {
  double mu, sigma;
  ULPSCOPE_INLINE double operator()(Uniforms at) const { return emu::exp(mu + sigma * standard_normal(at)); }
};
struct Laplace {
  double mu, b;
  ULPSCOPE_INLINE double operator()(Uniforms at) const {
    const double size = b * emu::log_of_normal(2 * std::min(at.u, 1 - at.u));
    return mu + (at.u < 0.5 ? size : -size);
  }
};
struct Integers {
  double a, b;
  ULPSCOPE_INLINE double operator()(Uniforms at) const { return std::min(a + std::floor((b - a + 1) * at.u), b); }
};
struct StudentT {
  double dof, unused;
  ULPSCOPE_INLINE double operator()(Uniforms at) const {
    const double tail = emu::expm1(-2 * emu::log_of_normal(at.u) / dof);  // u^(-2/dof) - 1
    return std::sqrt(dof * tail) * emu::cos_two_pi(at.v);
  }
};

/// (k + 1/2) 2^-52 of the upper 52 bits k of `word`: written below the point of a number in [1, 2), then moved down.
ULPSCOPE_INLINE double uniform_of(std::uint64_t word) {
  return std::bit_cast<double>(word >> 12 | std::bit_cast<std::uint64_t>(1.0)) - (1 - 0x1p-53);
}

template <class Law>
class Generated final : public Source {
 public:
  Generated(Law law, std::uint64_t seed) : law_(law), seed_(seed) {}

  void read(std::uint64_t first, std::span<float> out) const override {
    fill(first, out, [](float x) { return x; });
  }
  void read(std::uint64_t first, std::span<double> out) const override {
    fill(first, out, [](float x) { return static_cast<double>(x); });
  }
  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override {
    fill(first, out, [](float x) { return emu::Code{std::bit_cast<std::uint32_t>(x)}; });
  }

 private:
  static constexpr std::size_t block = 256;
  /// The upper half of the counter. Stochastic rounding draws its bits with an upper half of 0: under one seed the values and
  /// their rounding must not come from the same bits.
  static constexpr std::uint64_t stream = 1;

  // Bits first, then values: two loops without branches, which compilers vectorise.
  template <class T, class Finish>
  void fill(std::uint64_t first, std::span<T> out, Finish finish) const {
    std::array<std::uint64_t, block> words_u, words_v;
    for (std::size_t start = 0; start < out.size(); start += block) {
      emu::stop_if_asked();
      const std::size_t count = std::min(block, out.size() - start);
      for (std::size_t i = 0; i < count; ++i) {
        const auto [word] = emu::philox4x32(seed_, first + start + i, stream);
        words_u[i] = std::uint64_t{word[1]} << 32 | word[0];
        words_v[i] = std::uint64_t{word[3]} << 32 | word[2];
      }
      const std::span<T> part = out.subspan(start, count);
      for (std::size_t i = 0; i < count; ++i)
        part[i] = finish(static_cast<float>(law_(Uniforms{uniform_of(words_u[i]), uniform_of(words_v[i])})));
    }
  }

  Law law_;
  std::uint64_t seed_;
};

using Make = std::shared_ptr<const Source> (*)(double first, double second, std::uint64_t seed);
template <class Law>
std::shared_ptr<const Source> make(double first, double second, std::uint64_t seed) {
  return std::make_shared<Generated<Law>>(Law{first, second}, seed);
}

struct Distribution {
  std::string_view word, parameters, example;
  std::size_t parameter_count;
  Make make;
};
constexpr std::array<Distribution, 6> distributions{{{"normal", "MEAN,SD", "normal:0,1:4096x512", 2, make<Normal>},
                                                     {"uniform", "A,B", "uniform:-1,1:4096x512", 2, make<Uniform>},
                                                     {"lognormal", "MU,SIGMA", "lognormal:0,2:4096x512", 2, make<LogNormal>},
                                                     {"laplace", "MU,B", "laplace:0,1:4096x512", 2, make<Laplace>},
                                                     {"studentt", "DOF", "studentt:3:4096x512", 1, make<StudentT>},
                                                     {"integers", "A,B", "integers:-8,7:4096x512", 2, make<Integers>}}};

const Distribution* distribution_of(std::string_view input) {
  const std::size_t colon = input.find(':');
  const auto found = std::ranges::find(distributions, input.substr(0, colon), &Distribution::word);
  return colon == std::string_view::npos || found == distributions.end() ? nullptr : &*found;
}

constexpr std::size_t most_extents = 8;
constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;

std::vector<std::string_view> split(std::string_view words, char at) {
  std::vector<std::string_view> out;
  for (std::size_t end = words.find(at); end != std::string_view::npos; end = words.find(at)) {
    out.push_back(words.substr(0, end));
    words.remove_prefix(end + 1);
  }
  out.push_back(words);
  return out;
}

/// The whole of `word` as a number.
template <class T>
std::optional<T> number_of(std::string_view word) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc{} && end == word.data() + word.size() ? std::optional(value) : std::nullopt;
}

std::string quoted(std::string_view word) { return "'" + std::string(word) + "'"; }

/// Reads the parts of an input; every failure names the input, what is wrong and what would be right.
class Parser {
 public:
  Parser(const std::string& input, const Distribution& distribution) : input_(input), distribution_(distribution) {}

  Tensor parse(std::uint64_t seed) const {
    const std::vector<std::string_view> parts = split(input_, ':');
    if (parts.size() == 2) fail("the shape is missing");
    if (parts.size() > 3) fail("there are " + std::to_string(parts.size()) + " parts where 3 are needed");
    const std::vector<double> parameters = numbers(parts[1]);
    const double first = parameters[0], second = parameters.back();
    if (distribution_.word == "studentt") {
      if (!(first > 0)) fail("DOF must be above 0");
    } else if (distribution_.word == "uniform" || distribution_.word == "integers") {
      if (first > second) fail("A must not be above B");
      if (distribution_.word == "integers") check_whole(first), check_whole(second);
    } else if (second < 0) {
      fail(std::string(distribution_.parameters.substr(distribution_.parameters.find(',') + 1)) + " must not be negative");
    }
    return {input_, {}, {"float32", emu::float32}, extents(parts[2]), distribution_.make(first, second, seed)};
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(input_ + ": " + why + "; the form is " + std::string(distribution_.word) + ":" +
                std::string(distribution_.parameters) + ":SHAPE, for example " + std::string(distribution_.example));
  }

  /// Numbers that float32 holds with all whole numbers below them.
  void check_whole(double x) const {
    constexpr double most = 0x1p24;
    if (x != std::floor(x) || std::fabs(x) > most) fail("A and B are whole numbers of at most 2^24");
  }

  std::vector<double> numbers(std::string_view words) const {
    constexpr double largest = std::numeric_limits<float>::max();
    std::vector<double> out;
    for (const std::string_view word : split(words, ',')) {
      const auto value = number_of<double>(word);
      if (!value) fail(quoted(word) + " is not a number");
      if (!(std::fabs(*value) <= largest)) fail(quoted(word) + " is not in the range of float32");
      out.push_back(*value);
    }
    const std::size_t needed = distribution_.parameter_count;
    if (out.size() != needed)
      fail(std::to_string(out.size()) + (out.size() == 1 ? " parameter" : " parameters") + " where " + std::to_string(needed) +
           (needed == 1 ? " is" : " are") + " needed");
    return out;
  }

  std::vector<std::uint64_t> extents(std::string_view words) const {
    std::vector<std::uint64_t> out;
    for (const std::string_view word : split(words, 'x')) {
      const auto value = number_of<std::uint64_t>(word);
      const bool digits = !word.empty() && std::ranges::all_of(word, [](char c) { return '0' <= c && c <= '9'; });
      if (!digits || value == std::uint64_t{0}) fail(quoted(word) + " in the shape is not a positive whole number");
      out.push_back(value.value_or(most_elements + 1));  // digits, but more than 64 bits
    }
    if (out.size() > most_extents)
      fail("the shape has " + std::to_string(out.size()) + " extents, at most " + std::to_string(most_extents) +
           " are possible");
    const auto count = element_count(out);
    if (!count || *count > most_elements) fail("the shape holds more than 2^48 elements");
    return out;
  }

  const std::string& input_;
  const Distribution& distribution_;
};

}  // namespace

bool is_synthetic(const std::string& input) { return distribution_of(input) != nullptr; }

Tensor synthetic(const std::string& input, std::uint64_t seed) {
  const Distribution* const known = distribution_of(input);
  if (known == nullptr) throw Error(input + ": not a synthetic tensor; those are " + synthetic_forms());
  return Parser(input, *known).parse(seed);
}

std::string synthetic_forms() {
  std::string out;
  for (const Distribution& known : distributions)
    out += (out.empty() ? "" : ", ") + std::string(known.word) + ":" + std::string(known.parameters) + ":SHAPE";
  return out;
}

}  // namespace ulpscope::tensors
