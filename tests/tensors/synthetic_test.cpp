// SPDX-License-Identifier: Apache-2.0
// Synthetic tensors against the theory of their distributions, against MPFR, and against the bits that every machine must give.
#include "tensors/synthetic.hpp"

#include <mpfr.h>

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "emu/error.hpp"
#include "emu/philox.hpp"

using namespace ulpscope;

namespace {

std::vector<float> values(const std::string& input, std::uint64_t seed = 0) {
  const auto tensor = tensors::synthetic(input, seed);
  std::vector<float> out(tensor.count());
  tensor.source->read(0, std::span<float>(out));
  return out;
}

std::string shortest(double x) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr};
}

std::string error_of(const std::string& input) {
  try {
    tensors::synthetic(input, 0);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// A distribution by its function and its first two moments.
struct Law {
  std::string words;
  std::function<double(double)> distribution;
  double mean, variance, fourth_central;
};

double e(double x) { return std::exp(x); }
double normal_distribution(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

std::vector<Law> laws() {
  const double s2 = 0.25, w = e(s2);  // lognormal:1,0.5
  return {
      {"uniform:-1,3", [](double x) { return (x + 1) / 4; }, 1, 16.0 / 12, 256.0 / 80},
      {"normal:2,3", [](double x) { return normal_distribution((x - 2) / 3); }, 2, 9, 3 * 81},
      {"lognormal:1,0.5", [](double x) { return normal_distribution((std::log(x) - 1) / 0.5); }, e(1 + s2 / 2),
       (w - 1) * e(2 + s2), (w - 1) * (w - 1) * e(4 + 2 * s2) * (w * w * w * w + 2 * w * w * w + 3 * w * w - 3)},
      {"laplace:-1,2", [](double x) { return x < -1 ? e((x + 1) / 2) / 2 : 1 - e(-(x + 1) / 2) / 2; }, -1, 8, 24 * 16},
      // F of 10 degrees of freedom: 1/2 + sin a (1 + cos^2 a/2 (1 + 3/4 cos^2 a (1 + 5/6 cos^2 a (1 + 7/8 cos^2 a)))) / 2,
      // a = atan(x / sqrt 10) (Abramowitz and Stegun 26.7.4).
      {"studentt:10",
       [](double x) {
         const double a = std::atan(x / std::sqrt(10.0)), c = std::cos(a) * std::cos(a);
         return 0.5 + std::sin(a) * (1 + c / 2 * (1 + 3 * c / 4 * (1 + 5 * c / 6 * (1 + 7 * c / 8)))) / 2;
       },
       0, 10.0 / 8, 3 * 100.0 / (8 * 6)},
  };
}

/// The same formulas once more, with 200 bits, from the numbers that Philox gives.
class Recomputed {
 public:
  Recomputed() {
    for (auto* number : {u, v, x}) mpfr_init2(number, 200);
  }
  Recomputed(const Recomputed&) = delete;
  Recomputed& operator=(const Recomputed&) = delete;
  ~Recomputed() {
    for (auto* number : {u, v, x}) mpfr_clear(number);
  }

  float operator()(const std::string& word, double a, double b, std::uint64_t seed, std::uint64_t index) {
    const auto [w] = emu::philox4x32(seed, index, 1);
    set_uniform(u, w[0], w[1]);
    set_uniform(v, w[2], w[3]);
    if (word == "uniform") {
      mpfr_set_d(x, b, MPFR_RNDN);
      mpfr_sub_d(x, x, a, MPFR_RNDN);
      mpfr_mul(x, x, u, MPFR_RNDN);
      mpfr_add_d(x, x, a, MPFR_RNDN);
    } else if (word == "laplace") {
      const bool below = mpfr_cmp_d(u, 0.5) < 0;
      if (!below) mpfr_ui_sub(u, 1, u, MPFR_RNDN);
      mpfr_mul_ui(u, u, 2, MPFR_RNDN);
      mpfr_log(x, u, MPFR_RNDN);
      mpfr_mul_d(x, x, below ? b : -b, MPFR_RNDN);
      mpfr_add_d(x, x, a, MPFR_RNDN);
    } else if (word == "studentt") {
      mpfr_set_d(x, -2, MPFR_RNDN);
      mpfr_div_d(x, x, a, MPFR_RNDN);
      mpfr_pow(u, u, x, MPFR_RNDN);
      mpfr_sub_ui(u, u, 1, MPFR_RNDN);
      mpfr_mul_d(u, u, a, MPFR_RNDN);
      radius_times_cosine();
    } else {
      mpfr_log(u, u, MPFR_RNDN);
      mpfr_mul_si(u, u, -2, MPFR_RNDN);
      radius_times_cosine();
      mpfr_mul_d(x, x, b, MPFR_RNDN);
      mpfr_add_d(x, x, a, MPFR_RNDN);
      if (word == "lognormal") mpfr_exp(x, x, MPFR_RNDN);
    }
    return mpfr_get_flt(x, MPFR_RNDN);
  }

 private:
  static void set_uniform(mpfr_t out, std::uint32_t low, std::uint32_t high) {
    mpfr_set_ui(out, (std::uint64_t{high} << 32 | low) / 4096, MPFR_RNDN);
    mpfr_add_d(out, out, 0.5, MPFR_RNDN);
    mpfr_div_2ui(out, out, 52, MPFR_RNDN);
  }
  void radius_times_cosine() {  // x = sqrt(u) cos(2 pi v)
    mpfr_const_pi(x, MPFR_RNDN);
    mpfr_mul(x, x, v, MPFR_RNDN);
    mpfr_mul_ui(x, x, 2, MPFR_RNDN);
    mpfr_cos(x, x, MPFR_RNDN);
    mpfr_sqrt(u, u, MPFR_RNDN);
    mpfr_mul(x, x, u, MPFR_RNDN);
  }

  mpfr_t u, v, x;
};

}  // namespace

TEST_CASE("moments of a million elements are within five standard errors of the theory", "[tensors][synthetic]") {
  constexpr double count = 1e6;
  for (const Law& law : laws()) {
    CAPTURE(law.words);
    const auto sample = values(law.words + ":1000000", 7);

    double sum = 0, squares = 0;
    for (const float x : sample) {
      sum += x;
      squares += (x - law.mean) * (x - law.mean);
    }

    CHECK(std::fabs(sum / count - law.mean) < 5 * std::sqrt(law.variance / count));
    const double variance_of_square = law.fourth_central - law.variance * law.variance;
    CHECK(std::fabs(squares / count - law.variance) < 5 * std::sqrt(variance_of_square / count));
  }
}

TEST_CASE("the empirical distribution of a million elements follows the theory", "[tensors][synthetic]") {
  for (const Law& law : laws()) {
    CAPTURE(law.words);
    auto sample = values(law.words + ":1000000", 11);
    std::ranges::sort(sample);

    double distance = 0;
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const double theory = law.distribution(sample[i]), below = static_cast<double>(i) * 1e-6;
      distance = std::max({distance, std::fabs(theory - below), std::fabs(theory - below - 1e-6)});
    }

    CHECK(distance < 2.3e-3);  // Kolmogorov: P(sqrt(n) D > 2.3) = 2 exp(-2 2.3^2) = 5e-5
  }
}

TEST_CASE("integers are each whole number from A to B, as often", "[tensors][synthetic]") {
  for (const auto& [words, low, high] : {std::tuple{"integers:-3,2", -3, 2}, {"integers:7,7", 7, 7}, {"integers:0,1", 0, 1}}) {
    CAPTURE(words);
    const auto sample = values(std::string(words) + ":600000", 5);
    std::vector<double> counts(static_cast<std::size_t>(high - low + 1));
    for (const float x : sample) {
      REQUIRE((x >= static_cast<float>(low) && x <= static_cast<float>(high) && x == std::floor(x)));
      ++counts[static_cast<std::size_t>(static_cast<int>(x) - low)];
    }

    const double share = 1 / static_cast<double>(counts.size()), expected = 600000 * share;
    for (const double count : counts) CHECK(std::fabs(count - expected) <= 5 * std::sqrt(expected * (1 - share)));
  }
  const auto wide = values("integers:-16777216,16777216:100000", 5);
  CHECK(std::ranges::all_of(wide, [](float x) { return x == std::floor(x) && std::fabs(x) <= 0x1p24F; }));
  CHECK(*std::ranges::max_element(wide) > 0x1.ffp23F);
}

TEST_CASE("neighbouring elements and seeds are uncorrelated", "[tensors][synthetic]") {
  const auto a = values("normal:0,1:1000000", 1), b = values("normal:0,1:1000000", 2);

  double lagged = 0, across = 0;
  for (std::size_t i = 0; i + 1 < a.size(); ++i) {
    lagged += static_cast<double>(a[i]) * a[i + 1];
    across += static_cast<double>(a[i]) * b[i];
  }

  CHECK(std::fabs(lagged) < 5e3);  // five standard deviations of a sum of 10^6 products
  CHECK(std::fabs(across) < 5e3);
}

TEST_CASE("values do not come from the bits that stochastic rounding uses under the same seed", "[tensors][synthetic]") {
  const auto sample = values("uniform:-0.5,0.5:1000000", 0);

  double product = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) product += sample[i] * (emu::random_word(0, i) * 0x1p-32 - 0.5);

  CHECK(std::fabs(product) < 5 * 1e3 / 12);
}

TEST_CASE("values do not depend on how they are read", "[tensors][synthetic]") {
  const std::uint64_t far = (std::uint64_t{1} << 47) + 12345;
  for (const char* words : {"uniform:-1,1", "normal:0,1", "lognormal:0,2", "laplace:0,1", "studentt:3", "integers:-3,9"}) {
    CAPTURE(words);
    const auto tensor = tensors::synthetic(std::string(words) + ":281474976710656", 5);
    constexpr std::size_t count = 10'000;
    std::vector<float> whole(count), pieces(count), threads(count);
    tensor.source->read(far, std::span<float>(whole));

    for (std::size_t start = 0, size = 1; start < count; start += size, size = size * 3 % 701 + 1)
      tensor.source->read(far + start, std::span(pieces).subspan(start, std::min(size, count - start)));
    std::vector<std::jthread> workers;
    for (std::size_t t = 0; t < 7; ++t)
      workers.emplace_back([&, t] {
        const std::size_t from = t * count / 7, to = (t + 1) * count / 7;
        tensor.source->read(far + from, std::span(threads).subspan(from, to - from));
      });
    workers.clear();
    std::vector<double> doubles(count);
    std::vector<emu::Code> codes(count);
    tensor.source->read(far, std::span<double>(doubles));
    tensor.source->read_codes(far, codes);

    CHECK(whole == pieces);
    CHECK(whole == threads);
    CHECK(std::ranges::equal(whole, doubles));
    CHECK(std::ranges::equal(whole, codes, [](float x, emu::Code code) { return std::bit_cast<std::uint32_t>(x) == code; }));
  }
}

TEST_CASE("every bit of the uniform number is there, the half too", "[tensors][synthetic]") {
  for (std::uint64_t index = 0; index < 100; ++index) {
    const auto [w] = emu::philox4x32(3, index, 1);
    const std::uint64_t k = (std::uint64_t{w[1]} << 32 | w[0]) >> 12, upper = k >> 22, lower = k % (1 << 22);
    // u less its upper 30 bits: 22 bits and the half, which a float32 holds.
    const double a = -std::ldexp(static_cast<double>(upper), -30);
    const auto tensor = tensors::synthetic("uniform:" + shortest(a) + "," + shortest(a + 1) + ":100", 3);

    std::vector<float> value(1);
    tensor.source->read(index, std::span<float>(value));

    CHECK(value[0] == std::ldexp(static_cast<double>(lower) + 0.5, -52));
  }
}

TEST_CASE("a computation with 200 bits rounds to the same float32 values", "[tensors][synthetic][long]") {
  // The double value errs by a few 2^-53 and a float32 midpoint is within reach of that for one element in some 10^8.
  struct Row {
    std::string word, parameters;
    double a, b;
  };
  const std::vector<Row> rows{{"uniform", "-0.3,0.7", -0.3, 0.7}, {"normal", "0,1", 0, 1},
                              {"normal", "0.1,0.02", 0.1, 0.02},  {"lognormal", "-3,2.5", -3, 2.5},
                              {"laplace", "0.25,2", 0.25, 2},     {"studentt", "3", 3, 0},
                              {"studentt", "1000000", 1e6, 0},    {"studentt", "0.5", 0.5, 0}};
  Recomputed recomputed;
  for (const Row& row : rows) {
    const auto sample = values(row.word + ":" + row.parameters + ":100000", 42);

    int different = 0;
    for (std::size_t i = 0; i < sample.size(); ++i) different += sample[i] != recomputed(row.word, row.a, row.b, 42, i);

    CAPTURE(row.word, row.parameters);
    CHECK(different == 0);
  }
}

TEST_CASE("the first values under seed 0 are these on every machine", "[tensors][synthetic]") {
  CHECK(values("uniform:-1,1:6") ==
        std::vector<float>{0x1.c235bap-1F, 0x1.671df8p-1F, 0x1.f25decp-2F, 0x1.001d0ep-2F, -0x1.0a5a2ep-1F, -0x1.791e02p-2F});
  CHECK(values("normal:0,1:6") ==
        std::vector<float>{-0x1.679182p-2F, -0x1.0555b4p-1F, -0x1.9a38d2p-2F, 0x1.25ae78p-2F, 0x1.7e37dap+0F, 0x1.763ep+0F});
  CHECK(values("lognormal:0,2:6") ==
        std::vector<float>{0x1.fb5822p-2F, 0x1.70f088p-2F, 0x1.cb8de6p-2F, 0x1.c64eb4p+0F, 0x1.3ced0cp+4F, 0x1.29c7cp+4F});
  CHECK(values("laplace:0,1:6") ==
        std::vector<float>{0x1.0eaa98p+1F, 0x1.356a3ap+0F, 0x1.556fc4p-1F, 0x1.26bcep-2F, -0x1.7806b4p-1F, -0x1.d6548p-2F});
  CHECK(values("studentt:3:6") ==
        std::vector<float>{-0x1.6b54a8p-2F, -0x1.0c89cep-1F, -0x1.af5c7p-2F, 0x1.3e41bp-2F, 0x1.ee0e7ep+0F, 0x1.cb138cp+0F});
}

TEST_CASE("extremes stay what float32 can say", "[tensors][synthetic]") {
  const float infinite = std::numeric_limits<float>::infinity();
  for (const float x : values("uniform:2,3:100000")) REQUIRE((x >= 2 && x <= 3));
  for (const float x : values("normal:5,0:1000")) REQUIRE(x == 5);
  for (const float x : values("uniform:1,1:1000")) REQUIRE(x == 1);
  for (const float x : values("lognormal:0,1000:1000")) REQUIRE((x >= 0 && x <= infinite));
  for (const float x : values("studentt:1e-3:1000")) REQUIRE(!std::isnan(x));
  for (const float x : values("studentt:1e30:1000")) REQUIRE(std::fabs(x) < 6);
}

TEST_CASE("a distribution's word and a colon make an input synthetic", "[tensors][synthetic]") {
  for (const char* input : {"normal:0,1:4", "uniform:", "studentt:x", "lognormal::", "laplace:0,1:2x2"})
    CHECK(tensors::is_synthetic(input));
  for (const char* input :
       {"normal", "normals:0,1:4", "weights.safetensors:normal:0", "", ":", "gamma:1,2:3", "./normal:0,1:4"})
    CHECK_FALSE(tensors::is_synthetic(input));
}

TEST_CASE("a synthetic tensor says what it is", "[tensors][synthetic]") {
  const auto tensor = tensors::synthetic("normal:-1.5,2e-3:2x3x4", 9);

  CHECK(tensor.label == "normal:-1.5,2e-3:2x3x4");
  CHECK(tensor.name.empty());
  CHECK(tensor.dtype.name == "float32");
  CHECK(tensor.shape == std::vector<std::uint64_t>{2, 3, 4});
  CHECK(tensors::synthetic("studentt:3:5", 0).shape == std::vector<std::uint64_t>{5});
}

TEST_CASE("errors name the input, what is wrong and what would be right", "[tensors][synthetic]") {
  const std::string normal = "; the form is normal:MEAN,SD:SHAPE, for example normal:0,1:4096x512";
  const std::string student = "; the form is studentt:DOF:SHAPE, for example studentt:3:4096x512";
  const std::string integers = "; the form is integers:A,B:SHAPE, for example integers:-8,7:4096x512";
  const std::string uniform = "; the form is uniform:A,B:SHAPE, for example uniform:-1,1:4096x512";
  const std::vector<std::pair<std::string, std::string>> rows{
      {"normal:0,1", "the shape is missing" + normal},
      {"normal:0,1:4:4", "there are 4 parts where 3 are needed" + normal},
      {"normal:0,-1:4", "SD must not be negative" + normal},
      {"normal:zero,1:4", "'zero' is not a number" + normal},
      {"normal:,1:4", "'' is not a number" + normal},
      {"normal:0,1e39:4", "'1e39' is not in the range of float32" + normal},
      {"normal:nan,1:4", "'nan' is not in the range of float32" + normal},
      {"normal:0:4", "1 parameter where 2 are needed" + normal},
      {"studentt:1,2:4", "2 parameters where 1 is needed" + student},
      {"studentt:0:4", "DOF must be above 0" + student},
      {"uniform:2,1:4", "A must not be above B" + uniform},
      {"integers:2,1:4", "A must not be above B" + integers},
      {"integers:0.5,1:4", "A and B are whole numbers of at most 2^24" + integers},
      {"integers:0,16777217:4", "A and B are whole numbers of at most 2^24" + integers},
      {"normal:0,1:", "'' in the shape is not a positive whole number" + normal},
      {"normal:0,1:4x0", "'0' in the shape is not a positive whole number" + normal},
      {"normal:0,1:4x-1", "'-1' in the shape is not a positive whole number" + normal},
      {"normal:0,1:4x4q", "'4q' in the shape is not a positive whole number" + normal},
      {"normal:0,1:1x1x1x1x1x1x1x1x1", "the shape has 9 extents, at most 8 are possible" + normal},
      {"normal:0,1:16777216x16777217", "the shape holds more than 2^48 elements" + normal},
      {"normal:0,1:99999999999999999999", "the shape holds more than 2^48 elements" + normal},
      {"normal:0,1:4294967296x4294967296", "the shape holds more than 2^48 elements" + normal},
  };

  for (const auto& [input, message] : rows) CHECK(error_of(input) == input + ": " + message);
  CHECK(error_of("lognormal:0,-2:4").find("SIGMA must not be negative") != std::string::npos);
  CHECK(error_of("laplace:0,-2:4").find("B must not be negative") != std::string::npos);
  CHECK(error_of("gamma:1:4").starts_with("gamma:1:4: not a synthetic tensor; those are normal:MEAN,SD:SHAPE, uniform:"));
}
