// SPDX-License-Identifier: Apache-2.0
// Algorithms of an emulated library explained, and noise left unexplained.
#include "studies/devices/library_products.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "gpu/emulated/emulated_library.hpp"
#include "studies/devices/product_models.hpp"
#include "tests/studies/devices/named_cells.hpp"
#include "tests/studies/devices/wrapped_library.hpp"

namespace {

using namespace ulpscope;

const gpu::EmulatedLibrary library("sm_90");

gpu::LibraryCall call_of(const std::string& compute, emu::Format a, emu::Format b, emu::Format d, bool fast = false) {
  for (const gpu::LibraryCall& call : library.calls())
    if (call.compute == compute && call.a == a && call.b == b && call.d == d && call.fast_accumulation == fast &&
        call.scale_mode_a == gpu::ScaleMode::scalar_32f)
      return call;
  FAIL("the emulated library has no such call");
  return {};
}

studies::LibraryProductsConfig config_for(std::size_t k) {
  studies::LibraryProductsConfig config;
  config.engine = "sm_90";
  config.shapes = {{36, 20, k}};
  return config;
}

struct Rows : testing::NamedCells {
  std::size_t of(const std::string& algorithm) const {
    for (std::size_t row = 0; row < table.rows.size(); ++row)
      if (text(row, "algorithm") == algorithm) return row;
    FAIL("no row of " << algorithm);
    return 0;
  }
};

}  // namespace

namespace {

/// A library that does something to what another one computes.
class Spoiled final : public testing::WrappedLibrary {
 public:
  enum class How : std::uint8_t { one_bit_of_one_output, refuses };

  explicit Spoiled(How how) : how_(how) {}
  void multiply(const gpu::LibraryCall& call, const gpu::LibraryAlgorithm& algorithm, const gpu::LibraryProduct& product,
                std::span<std::byte> d) const override {
    if (how_ == How::refuses) throw Error("cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED");
    WrappedLibrary::multiply(call, algorithm, product, d);
    d[d.size() / 2 / 4 * 4] ^= std::byte{1};
  }

 private:
  How how_;
};

constexpr std::size_t depth = 320;

void check_explained(const Rows& rows, const std::string& algorithm, const std::string& explanation) {
  CAPTURE(algorithm);
  const std::size_t row = rows.of(algorithm);
  CHECK(rows.text(row, "explained") == "yes");
  CHECK(rows.text(row, "explanation") == explanation);
  CHECK(rows.count(row, "mismatches") == 0);
  CHECK(rows.number(row, "equal_share") == 1);
}

std::string split_words(const std::string& parts, const std::string& rule, const std::string& join) {
  return "sm_90 chains; K in " + parts + " parts of units of 64" + rule + "; " + join;
}

void check_chains(const Rows& rows, const std::string& other_engine) {
  check_explained(rows, "kind=chain", "sm_90 chain");
  check_explained(rows, "kind=promote every=32", "sm_90 chain; promoted to float32 every 32");
  check_explained(rows, "kind=promote every=64", "sm_90 chain; promoted to float32 every 64");
  check_explained(rows, "kind=promote every=128", "sm_90 chain; promoted to float32 every 128");
  check_explained(rows, "kind=promote every=512", "sm_90 chain");  // K is shorter
  check_explained(rows, "kind=other_engine", other_engine + " chain");
}

void check_splits(const Rows& rows, const std::string& reduction, const std::string& join) {
  const std::string split = "kind=split_k split_k=";
  check_explained(rows, split + "2 reduction=" + reduction, split_words("2", ", the last one shorter", join));
  check_explained(rows, split + "3 reduction=" + reduction, split_words("3", ", the last one shorter", join));
}

}  // namespace

TEST_CASE("each known algorithm is explained, and noise is not", "[studies]") {
  const auto call = call_of("CUBLAS_COMPUTE_32F", emu::float16, emu::float16, emu::float32);

  const Rows rows{{studies::library_products(library, call, config_for(depth))}};

  REQUIRE(rows.table.rows.size() == 14);
  check_chains(rows, "sm_75");  // named before sm_80, which computes the same
  check_splits(rows, "COMPUTE_TYPE", "joined in float32");
  for (std::size_t row = 0; row + 1 < rows.table.rows.size(); ++row) CHECK(rows.count(row, "alternatives") == 0);
  const std::size_t noise = rows.of("kind=noise");
  CHECK(rows.text(noise, "explained") == "no");
  CHECK(rows.text(noise, "explanation") == "sm_90 chain");  // the nearest
  CHECK(rows.count(noise, "mismatches") > rows.count(noise, "outputs") / 5);
  CHECK(rows.number(noise, "max_ulp_difference") == 1);
  CHECK(rows.number(noise, "equal_share") < 0.8);
}

TEST_CASE("a tile's own cut of K is found", "[studies]") {
  const auto call = call_of("CUBLAS_COMPUTE_32F", emu::bfloat16, emu::bfloat16, emu::float32);
  auto config = config_for(depth);
  config.most_on_host = 0;

  const Rows rows{{studies::library_products(library, call, config)}};

  // Of the 6 tiles of 16 by 16, each third one is not cut; the others at 32 * (1 + (7 t + 3) % 9).
  const std::string words = rows.text(rows.of("kind=stream_k"), "explanation");
  CAPTURE(words);
  CHECK(rows.text(rows.of("kind=stream_k"), "explained") == "yes");
  CHECK(words.find("sm_90 chain; each tile cut in K where it pleases, joined in float32") == 0);
  for (const char* cut : {"128", "nowhere", "224", "160"}) CHECK(words.find(std::string(" ") + cut) != std::string::npos);
  for (const char* cut : {" 32", " 96", " 192", " 256", " 288"}) CHECK(words.find(cut) == std::string::npos);
}

TEST_CASE("rounding hides orders of summation only where nothing is left to tell", "[studies]") {
  const auto call = call_of("CUBLAS_COMPUTE_32F", emu::bfloat16, emu::bfloat16, emu::bfloat16);
  auto config = config_for(depth);
  config.most_on_host = 0;

  const Rows rows{{studies::library_products(library, call, config)}};

  check_chains(rows, "sm_80");
  check_splits(rows, "COMPUTE_TYPE", "joined in float32");
  check_splits(rows, "OUTPUT_TYPE", "stored in bfloat16, joined in float32");
  CHECK(rows.count(rows.of("kind=chain"), "alternatives") == 0);
  // Parts of 8 bits: what is added up in float32 is exact, and the order cannot show.
  CHECK(rows.count(rows.of("kind=split_k split_k=3 reduction=OUTPUT_TYPE"), "alternatives") > 0);
  CHECK(!rows.text(rows.of("kind=split_k split_k=3 reduction=OUTPUT_TYPE"), "also").empty());
  CHECK(rows.text(rows.of("kind=noise"), "explained") == "no");
}

TEST_CASE("fp8, float16 accumulators, float32, tf32 and float64 are explained", "[studies]") {
  const emu::Format e4m3 = emu::float8_e4m3fn, f32 = emu::float32, f64 = emu::float64, f16 = emu::float16;
  auto config = config_for(160);
  config.most_algorithms = 1;
  const auto explanation = [&](const gpu::LibraryCall& call) {
    const Rows rows{{studies::library_products(library, call, config)}};
    CHECK(rows.text(0, "explained") == "yes");
    return rows.text(0, "explanation");
  };

  CHECK(explanation(call_of("CUBLAS_COMPUTE_32F", e4m3, e4m3, f32, true)) == "sm_90 chain");
  CHECK(explanation(call_of("CUBLAS_COMPUTE_32F", e4m3, emu::float8_e5m2, f16)) ==
        "sm_90 chain; promoted to float32 every 128");
  CHECK(explanation(call_of("CUBLAS_COMPUTE_16F", f16, f16, f16)) == "sm_90 chain");
  CHECK(explanation(call_of("CUBLAS_COMPUTE_32F", f32, f32, f32)) == "fma chain");
  CHECK(explanation(call_of("CUBLAS_COMPUTE_32F_FAST_TF32", f32, f32, f32)) ==
        "operands rounded to tf32 toward_zero; sm_90 chain");
  CHECK(explanation(call_of("CUBLAS_COMPUTE_32F_FAST_16BF", f32, f32, f32)) ==
        "operands rounded to bfloat16 nearest_even; sm_90 chain");
  CHECK(explanation(call_of("CUBLAS_COMPUTE_64F", f64, f64, f64)) == "sm_90 chain");
}

TEST_CASE("each scaling mode is explained, and which scale comes first shows", "[studies]") {
  using gpu::ScaleMode;
  struct Mode {
    const char* engine;
    ScaleMode a, b;
    std::string words;
  };
  const std::string chunks = "sm_90 chain; promoted to float32 every 128; scaled by the product of both scales (fma)";
  const auto modes = {Mode{"sm_90", ScaleMode::outer_vec_32f, ScaleMode::outer_vec_32f,
                           "sm_90 chain; promoted to float32 every 128; scaled by the product of both scales"},
                      Mode{"sm_90", ScaleMode::vec128_32f, ScaleMode::vec128_32f, chunks},
                      Mode{"sm_90", ScaleMode::vec128_32f, ScaleMode::blk128x128_32f, chunks},
                      Mode{"sm_90", ScaleMode::blk128x128_32f, ScaleMode::vec128_32f, chunks},
                      Mode{"sm_100", ScaleMode::vec32_ue8m0, ScaleMode::vec32_ue8m0, "sm_100 chain"},
                      Mode{"sm_100", ScaleMode::vec16_ue4m3, ScaleMode::vec16_ue4m3, "sm_100 chain"}};
  for (const Mode& mode : modes) {
    const gpu::EmulatedLibrary scaled(mode.engine);
    auto config = config_for(320);
    config.engine = mode.engine;
    config.most_algorithms = 3;
    config.most_on_host = 0;
    for (const gpu::LibraryCall& call : scaled.calls()) {
      if (call.scale_mode_a != mode.a || call.scale_mode_b != mode.b || call.fast_accumulation || call.d != emu::float32)
        continue;
      const Rows rows{{studies::library_products(scaled, call, config)}};
      CAPTURE(mode.engine, rows.text(0, "scale_mode_a"), rows.text(0, "scale_mode_b"), rows.text(0, "also"));
      check_explained(rows, "kind=chain", mode.words);
      // Sums of 14 bits, and sums of products of e2m1, are added exactly in float32: there the order in which promoted sums are
      // added does not show. That of the scales does.
      CHECK((rows.count(0, "alternatives") == 0 || studies::scaled_block(call) == 0));
      for (const char* other : {"A's scale", "B's scale"}) CHECK(rows.text(0, "also").find(other) == std::string::npos);
      CHECK(rows.text(1, "explained") == "yes");
      CHECK(rows.text(2, "explained") == "yes");
      CHECK(rows.text(0, "scale_mode_a") == gpu::facts_of(mode.a).name);
    }
  }
}

TEST_CASE("fp8 results are explained", "[studies]") {
  auto config = config_for(160);
  config.most_algorithms = 1;
  for (const gpu::LibraryCall& call : library.calls()) {
    if (call.d.bits() != 8) continue;
    const Rows rows{{studies::library_products(library, call, config)}};
    CHECK(rows.text(0, "explained") == "yes");
    CHECK(rows.text(0, "c") == "bfloat16");
  }
}

TEST_CASE("one wrong bit of one output is not explained", "[studies]") {
  const auto call = call_of("CUBLAS_COMPUTE_32F", emu::float16, emu::float16, emu::float32);
  auto config = config_for(64);
  config.most_algorithms = 1;

  const Rows rows{{studies::library_products(Spoiled(Spoiled::How::one_bit_of_one_output), call, config)}};

  CHECK(rows.text(0, "explained") == "no");
  CHECK(rows.count(0, "mismatches") == 3);  // one in each product
  CHECK(rows.number(0, "max_ulp_difference") == 1);
}

TEST_CASE("what a library refuses is told in its row", "[studies]") {
  const auto call = call_of("CUBLAS_COMPUTE_32F", emu::float16, emu::float16, emu::float32);
  auto config = config_for(64);
  config.most_algorithms = 2;

  const Rows rows{{studies::library_products(Spoiled(Spoiled::How::refuses), call, config)}};

  REQUIRE(rows.table.rows.size() == 2);
  CHECK(rows.text(1, "explained") == "error");
  CHECK(rows.text(1, "explanation") == "cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED");
  CHECK(rows.count(1, "outputs") == 0);
}

TEST_CASE("whole products are compared by the device's emulator, samples without it", "[studies]") {
  /// Says what it is asked, and is right.
  class Emulator final : public gpu::DeviceEmulator {
   public:
    gpu::Tally check(const gpu::Operation&, const emu::Engine&, const gpu::TestRange&) const override { return {}; }
    gpu::Tally sweep(const gpu::ElementOperation&, const gpu::TestRange&) const override { return {}; }
    void inner_products(const emu::Engine&, const gpu::Operation&, const gpu::InnerProducts&,
                        std::span<emu::Code>) const override {}
    void multiply(const gpu::EmulatedProduct& product, std::span<std::byte> d) const override {
      ++asked;
      const std::string words = product.promote == 0 ? "kind=chain" : "kind=promote every=" + std::to_string(product.promote);
      library.multiply({"emulated", "CUBLAS_COMPUTE_32F", emu::float16, emu::float16, emu::float32, emu::float32},
                       {words, 1, "", {}}, {product.product, 1, 0, {}, {}}, d);
    }
    double last_seconds() const override { return 0; }
    mutable int asked = 0;
  };
  const auto call = call_of("CUBLAS_COMPUTE_32F", emu::float16, emu::float16, emu::float32);
  auto config = config_for(64);
  config.shapes = {{50, 30, 64}};
  config.most_algorithms = 1;
  config.most_on_host = 0;
  const Emulator emulator;

  const Rows sampled{{studies::library_products(library, call, config)}};
  config.emulator = &emulator;
  const Rows whole{{studies::library_products(library, call, config)}};

  CHECK(sampled.count(0, "outputs") < 3 * 12 * 16 + 1);
  CHECK(whole.count(0, "outputs") == std::int64_t{3} * 50 * 30);
  CHECK(whole.text(0, "explained") == "yes");
  CHECK(emulator.asked == 3);
}
