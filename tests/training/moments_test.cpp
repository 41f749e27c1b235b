// SPDX-License-Identifier: Apache-2.0
// Stored moments: bitsandbytes' tables against their definition in whole numbers and published entries, blocks against loops
// written apart, 8-bit Adam against Adam.
#include "training/state/moments.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "training/state/optimizer.hpp"

namespace ulpscope::training {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Numbers of many sizes.
std::vector<float> spread(std::size_t count, int binades, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& x : values) {
    const int size = -static_cast<int>(random() % static_cast<std::uint64_t>(binades));
    x = std::ldexp(static_cast<float>(random() >> 40) * 0x1p-23F - 1, size);
  }
  return values;
}

/// create_dynamic_map(signed, 7, 8) in long double: middles of equal pieces of [0.1, 1], times powers of ten.
std::vector<float> expected_map(bool has_signs) {
  std::vector<float> map{0, 1};
  long double unit = 1;
  for (int i = 6; i >= 0; --i, unit /= 10) {
    const int items = 1 << (has_signs ? i : i + 1);
    for (int k = 0; k < items; ++k) {
      const long double low = 0.1L + 0.9L * k / items, high = 0.1L + 0.9L * (k + 1) / items;
      const auto middle = static_cast<float>((low + high) / 2 * unit);
      map.push_back(middle);
      if (has_signs) map.push_back(-middle);
    }
  }
  std::sort(map.begin(), map.end());
  return map;
}

TEST_CASE("the tables of 8-bit states are those of bitsandbytes", "[training]") {
  for (const MapSigns signs : {MapSigns::both, MapSigns::positive}) {
    const DynamicMap& map = dynamic_map(signs);
    const std::vector<float> expected = expected_map(signs == MapSigns::both);
    REQUIRE(expected.size() == 256);
    CHECK(std::equal(map.begin(), map.end(), expected.begin()));
    CHECK(std::adjacent_find(map.begin(), map.end(), [](float a, float b) { return !(a < b); }) == map.end());
  }
  // As torch printed some of its own, on one processor: an ulp at most from these.
  const DynamicMap& both = dynamic_map(MapSigns::both);
  const auto ulps = [](float a, float b) {
    return std::abs(std::bit_cast<std::int32_t>(std::fabs(a)) - std::bit_cast<std::int32_t>(std::fabs(b)));
  };
  CHECK(ulps(both[0], -0.992968738079071F) <= 1);
  CHECK(ulps(both[126], -5.499999815583578e-07F) <= 1);
  CHECK(both[127] == 0);
  CHECK(ulps(both[128], 5.499999815583578e-07F) <= 1);
  CHECK(ulps(both[129], 3.2499999633728294e-06F) <= 1);
  CHECK(ulps(both[130], 7.749999895168003e-06F) <= 1);
  CHECK(ulps(both[190], 0.09859374910593033F) <= 1);
  CHECK(ulps(both[191], 0.10703125596046448F) <= 1);
  CHECK(ulps(both[254], 0.992968738079071F) <= 1);
  CHECK(both[255] == 1);
  const DynamicMap& positive = dynamic_map(MapSigns::positive);
  CHECK(positive[0] == 0);
  CHECK(ulps(positive[1], 3.25e-7F) <= 1);
  CHECK(ulps(positive[2], 7.75e-7F) <= 1);
  CHECK(ulps(positive[254], 0.996484375F) <= 1);
  CHECK(positive[255] == 1);
}

/// The nearest by looking at all; from the float32 number in the middle of two to the one at an even place.
std::size_t nearest_of_all(const DynamicMap& map, float x) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < map.size(); ++i) {
    const double here = std::fabs(static_cast<double>(map[i]) - static_cast<double>(x)),
                 there = std::fabs(static_cast<double>(map[best]) - static_cast<double>(x));
    const auto middle = static_cast<float>((static_cast<double>(map[i]) + static_cast<double>(map[i - 1])) / 2);
    if (best == i - 1 && x == middle)
      best = i % 2 == 0 ? i : best;
    else if (here < there)
      best = i;
  }
  return best;
}

/// As the kernel has it (csrc/kernels.cu, quantize_2D): seven halvings, then the middle of what is left.
std::size_t kernels_choice(const DynamicMap& map, float x, float lowest) {
  int pivot = 127, upper_pivot = 255, lower_pivot = 0;
  float lower = lowest, upper = 1, value = map[127];
  for (int i = 64; i > 0; i /= 2) {
    if (x > value)
      lower_pivot = pivot, lower = value, pivot += i;
    else
      upper_pivot = pivot, upper = value, pivot -= i;
    value = map[static_cast<std::size_t>(pivot)];
  }
  if (x > value) return static_cast<std::size_t>(x > (upper + value) * 0.5F ? upper_pivot : pivot);
  return static_cast<std::size_t>(x < (lower + value) * 0.5F ? lower_pivot : pivot);
}

TEST_CASE("the nearest number of a table, for every bfloat16 number and beside every middle", "[training][exhaustive]") {
  const MapSigns signs = GENERATE(MapSigns::both, MapSigns::positive);
  const DynamicMap& map = dynamic_map(signs);
  const float lowest = signs == MapSigns::both ? -1.0F : 0.0F;
  std::vector<float> inputs{lowest, 1};
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto x = std::bit_cast<float>(code << 16);
    if (x >= lowest && x <= 1) inputs.push_back(x);
  }
  for (std::size_t i = 0; i + 1 < map.size(); ++i) {
    const float middle = (map[i] + map[i + 1]) * 0.5F;
    for (const float x : {map[i], middle}) {
      float below = x, above = x;
      for (int k = 0; k < 3; ++k) {
        inputs.insert(inputs.end(), {below, above});
        below = std::nextafter(below, lowest), above = std::nextafter(above, 1.0F);
      }
    }
  }
  std::size_t wrong = 0;
  for (const float x : inputs) {
    const std::size_t place = nearest_in(map, x);
    wrong += place != nearest_of_all(map, x) || place != kernels_choice(map, x, lowest) ? 1 : 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("8-bit moments are stored by block, with the sign kept", "[training]") {
  const MomentStorage storage = parse_moment_storage("dynamic8", "none", 0);
  const std::vector<float> before = spread(600, 30, 7);  // two blocks and a part of one
  std::vector<float> m = before;
  m[300] = -1e-30F;  // nearest to 0, and negative
  store_moment(m, storage, MapSigns::both);
  const DynamicMap& map = dynamic_map(MapSigns::both);
  for (std::size_t first = 0; first < m.size(); first += 256) {
    float amax = 0;
    for (std::size_t i = first; i < std::min<std::size_t>(first + 256, m.size()); ++i)
      if (i != 300) amax = std::max(amax, std::fabs(before[i]));
    for (std::size_t i = first; i < std::min<std::size_t>(first + 256, m.size()); ++i) {
      const float x = i == 300 ? -1e-30F : before[i];
      std::size_t place = nearest_of_all(map, x / amax);
      if (x < 0 && place == 127) place = 126;
      CHECK(m[i] == map[place] * amax);
    }
  }
  CHECK(m[300] < 0);

  std::vector<float> v(256, 0.25F);
  v[3] = 1e-10F;
  store_moment(v, storage, MapSigns::positive);
  CHECK(v[0] == 0.25F);  // the greatest of a block is kept
  CHECK(v[3] == 0);

  std::vector<float> zeros(256, 0.0F);
  store_moment(zeros, storage, MapSigns::both);
  CHECK(std::all_of(zeros.begin(), zeros.end(), [](float x) { return x == 0 && !std::signbit(x); }));
  std::vector<float> bad(512, 1.0F);
  bad[5] = infinity;
  store_moment(bad, storage, MapSigns::both);
  CHECK(std::all_of(bad.begin(), bad.begin() + 256, [](float x) { return std::isnan(x); }));
  CHECK(bad[256] == 1);
  std::vector<double> wide{-1, 0.5, 1e-300};
  store_moment(wide, storage, MapSigns::both);
  CHECK(wide[0] == static_cast<double>(map[0]));
}

TEST_CASE("moments in E4M3 by block of 256, as torchao has them", "[training]") {
  const MomentStorage storage = parse_moment_storage("e4m3", "blocks256", 0);
  for (const float size : {1.0F, 1e-14F}) {  // torchao's scale does not go below 1e-12 / 448
    std::vector<float> before = spread(512, 12, 3);
    for (float& x : before) x *= size;
    std::vector<float> values = before;
    store_moment(values, storage, MapSigns::both);
    for (std::size_t first = 0; first < 512; first += 256) {
      float amax = 0;
      for (std::size_t i = first; i < first + 256; ++i) amax = std::max(amax, std::fabs(before[i]));
      const float scale = std::max(amax, 1e-12F) / 448.0F;
      for (std::size_t i = first; i < first + 256; ++i) {
        const auto code = static_cast<float>(emu::round_to(emu::e4m3, static_cast<double>(before[i] / scale)).value);
        CHECK(values[i] == code * scale);
      }
    }
  }
  // What 256 does not divide, and what is small, stays.
  const std::vector<float> some = spread(255, 4, 1);
  std::vector<float> values = some;
  store_moment(values, storage, MapSigns::both);
  CHECK(values == some);
  std::vector<float> small = spread(256, 4, 1);
  const std::vector<float> as_it_was = small;
  store_moment(small, parse_moment_storage("e4m3", "blocks256", 257), MapSigns::both);
  CHECK(small == as_it_was);
  store_moment(small, parse_moment_storage("e4m3", "blocks256", 256), MapSigns::both);
  CHECK(small != as_it_was);
  std::vector<float> bad(256, 1.0F);
  bad[9] = std::numeric_limits<float>::quiet_NaN();
  store_moment(bad, storage, MapSigns::both);
  CHECK(std::all_of(bad.begin(), bad.end(), [](float x) { return std::isnan(x); }));
}

TEST_CASE("moments under the rules of scales, over the tensor as one row", "[training]") {
  const std::vector<float> before = spread(300, 10, 5);
  const auto stored = [&](const char* format, const char* scaling) {
    std::vector<float> values = before;
    store_moment(values, parse_moment_storage(format, scaling, 0), MapSigns::both);
    return values;
  };
  const auto amax_of = [&](std::size_t first, std::size_t size) {
    float amax = 0;
    for (std::size_t i = first; i < std::min(first + size, before.size()); ++i) amax = std::max(amax, std::fabs(before[i]));
    return amax;
  };
  const auto rounded = [](emu::Format format, float x) { return static_cast<float>(emu::round_to(format, x).value); };
  const std::vector<float> tiles = stored("e4m3", "1x128"), whole = stored("e4m3", "amax"), pow2 = stored("e5m2", "0x1p3"),
                           plain = stored("e4m3", "none"), mx = stored("e4m3", "mx:rceil");
  for (std::size_t i = 0; i < before.size(); ++i) {
    const float tile = 448.0F / amax_of(i / 128 * 128, 128), all = 448.0F / amax_of(0, 300);
    CHECK(tiles[i] == rounded(emu::e4m3, before[i] * tile) / tile);
    CHECK(whole[i] == rounded(emu::e4m3, before[i] * all) / all);
    CHECK(pow2[i] == rounded(emu::e5m2, before[i] * 8) / 8);
    CHECK(plain[i] == rounded(emu::e4m3, before[i]));
    const float block = amax_of(i / 32 * 32, 32), unit = std::exp2(std::ceil(std::log2(block / 448.0F)));
    CHECK(mx[i] == rounded(emu::e4m3, before[i] / unit) * unit);
  }
  // MX clamps: 1.9999 2^127 is beyond bfloat16. A block of NVFP4 whose scale rounds to 0 becomes 0.
  std::vector<float> clamped(32, 0x1.fffp0F);
  store_moment(clamped, parse_moment_storage("bf16", "mx:floor", 0), MapSigns::both);
  CHECK(clamped == std::vector<float>(32, 0x1.fep0F));
  std::vector<float> faint(32, 6);
  std::fill(faint.begin() + 16, faint.end(), 1e-6F);
  store_moment(faint, parse_moment_storage("e2m1", "nvfp4", 0), MapSigns::both);
  CHECK(faint[0] == 6);
  CHECK(std::all_of(faint.begin() + 16, faint.end(), [](float x) { return x == 0; }));
  // Without a scale 8 bits saturate; m and v as small as most are become 0.
  std::vector<float> large{1000, -1000, 1e-4F};
  store_moment(large, parse_moment_storage("e4m3", "none", 0), MapSigns::both);
  CHECK(large == std::vector<float>{448, -448, 0});
}

constexpr int few_steps = 20;

/// How far apart the weights of Adam are after some steps whose gradients, between 1/2 and 1 in magnitude, do not change, with
/// moments stored and with moments in float32.
double distance_from_float32(const MomentStorage& first, const MomentStorage& second) {
  std::vector<float> gradient = spread(512, 1, 11), w(512), exact(512);
  for (float& g : gradient) g = std::copysign((1 + std::fabs(g)) / 2, g);
  gradient[0] = 1, gradient[300] = -1;
  OptimizerState<float> state, plain;
  const OptimizerSettings settings{.kind = OptimizerKind::adam, .eps = 0};
  for (int step = 0; step < few_steps; ++step) {
    optimizer_step<float>(settings, {}, 1e-3, exact, gradient, plain, 0, 0);
    optimizer_step<float>(settings, {.first = first, .second = second}, 1e-3, w, gradient, state, 0, 0);
  }
  double apart = 0;
  for (std::size_t i = 0; i < w.size(); ++i)
    apart = std::max(apart, std::fabs(static_cast<double>(w[i]) - static_cast<double>(exact[i])));
  return apart;
}

/// A number of a block is stored within `half_piece` of the block's amax. With m = beta m + (1 - beta) g the error e of m grows
/// as e = beta (e + half_piece (m + e)), where m is that of the greatest gradient, 1; v's likewise. The smallest gradient,
/// 1/2, is where they count most: a step is off by at most lr / c1 sqrt(c2) ((m + e) / sqrt(v - f) - m / sqrt(v)).
double bound_of_distance(double half_piece_m, double half_piece_v) {
  double e = 0, f = 0, m = 0, v = 0, sum = 0;
  for (int step = 0; step < few_steps; ++step) {
    e = 0.9 * (e + half_piece_m * (m + e)), f = 0.999 * (f + half_piece_v * (v + f));
    m = 0.9 * m + 0.1, v = 0.999 * v + 0.001;  // which are c1 and c2
    const double least_m = m / 2, least_v = v / 4;
    sum += 1e-3 / m * std::sqrt(v) * ((least_m + e) / std::sqrt(least_v - f) - least_m / std::sqrt(least_v));
  }
  return sum;
}

TEST_CASE("Adam with stored moments follows Adam as far as its moments are exact", "[training]") {
  const auto same_of = [](const char* format, const char* scaling) {
    const MomentStorage storage = parse_moment_storage(format, scaling, 0);
    return distance_from_float32(storage, storage);
  };
  // Of dynamic8 the widest pieces are 0.9 / 64, of v 0.9 / 128; of E4M3 the widest spacing is 32 of 448.
  const double eight = bound_of_distance(0.45 / 64, 0.45 / 128);
  const double rounding = few_steps * 0x1p-24;  // of the weights, which are below 1/32
  CHECK(same_of("dynamic8", "none") > 0);
  CHECK(same_of("dynamic8", "none") < eight + rounding);
  CHECK(same_of("e4m3", "none") > eight + rounding);  // as it is: v is of the size of E4M3's least number
  CHECK(eight < 2e-3);                                // of 2e-2 that the weights go
  // By block torchao's states are bound as well, by more.
  const MomentStorage blocks = parse_moment_storage("e4m3", "blocks256", 0);
  CHECK(distance_from_float32(blocks, {}) < bound_of_distance(16.0 / 448, 0) + rounding);
  // float32 itself, said with every word, is the same.
  CHECK(same_of("float32", "none") == 0);
}

TEST_CASE("m has the table with signs, v the one without", "[training]") {
  const MomentStorage storage = parse_moment_storage("dynamic8", "none", 0);
  const std::vector<float> gradient = spread(256, 3, 2);
  std::vector<float> w(256);
  OptimizerState<float> state;
  optimizer_step<float>({.kind = OptimizerKind::adam}, {.first = storage, .second = storage}, 1e-3, w, gradient, state, 0, 0);
  std::vector<float> m, v;
  for (const float g : gradient) m.push_back(0.1F * g), v.push_back(0.001F * g * g);
  store_moment(m, storage, MapSigns::both), store_moment(v, storage, MapSigns::positive);
  CHECK(state.first == m);
  CHECK(state.second == v);
}

TEST_CASE("bits that moments take, with their scales", "[training]") {
  const auto bits = [](const char* format, const char* scaling, std::size_t elements, std::size_t least = 0) {
    return stored_bits(parse_moment_storage(format, scaling, least), elements);
  };
  CHECK(bits("float32", "none", 1000) == 32000);
  CHECK(bits("bf16", "none", 1000) == 16000);
  CHECK(bits("dynamic8", "none", 8192, 4096) == 8192 * 8 + 32 * 32);
  CHECK(bits("dynamic8", "none", 8193) == 8193 * 8 + 33 * 32);
  CHECK(bits("dynamic8", "none", 4095, 4096) == std::uint64_t{4095} * 32);
  CHECK(bits("e4m3", "blocks256", 512) == 512 * 8 + 2 * 32);
  CHECK(bits("e4m3", "blocks256", 511) == std::uint64_t{511} * 32);
  CHECK(bits("e4m3", "amax", 300) == 300 * 8 + 32);
  CHECK(bits("e4m3", "1x128", 300) == 300 * 8 + 3 * 32);
  CHECK(bits("e4m3", "mx:rceil", 300) == 300 * 8 + 10 * 8);
  CHECK(bits("e2m1", "nvfp4", 300) == 300 * 4 + 19 * 8 + 32);
}

TEST_CASE("bits of a matrix: a scale for each row, part of a row or tile that is begun", "[training]") {
  const auto scales = [](const char* format, const char* scaling) {  // of 130 rows of 40
    const MomentStorage storage = parse_moment_storage(format, scaling, 0);
    return stored_bits(storage, 130, 40) - std::uint64_t{130} * 40 * static_cast<std::uint64_t>(storage.format.bits());
  };
  CHECK(scales("e4m3", "amax") == 32);
  CHECK(scales("e4m3", "row") == std::uint64_t{130} * 32);
  CHECK(scales("e4m3", "1x128") == std::uint64_t{130} * 32);
  CHECK(scales("e4m3", "128x128") == std::uint64_t{2} * 32);
  CHECK(scales("e4m3", "mx:rceil") == std::uint64_t{130} * 2 * 8);
  CHECK(scales("e2m1", "nvfp4") == std::uint64_t{130} * 3 * 8 + 32);
  CHECK(scales("e2m1", "nvfp4:16x16") == std::uint64_t{9} * 3 * 8 + 32);
}

TEST_CASE("words of moments, and words that are none", "[training]") {
  CHECK(parse_moment_storage("dynamic8", "none", 4096).codes == MomentCodes::dynamic8);
  CHECK(parse_moment_storage("bf16", "none", 0).format == emu::bfloat16);
  const auto message = [](const std::string& format, const std::string& scaling) -> std::string {
    try {
      parse_moment_storage(format, scaling, 0);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message("dynamic8", "1x128") == "scaling '1x128': dynamic8 has scales of its own; give none");
  CHECK(message("e4m3", "1x256").starts_with("scaling '1x256': give a positive number, blocks256 or one of none, amax"));
  CHECK_FALSE(message("dynamic9", "none").empty());
}

}  // namespace
}  // namespace ulpscope::training
