// SPDX-License-Identifier: Apache-2.0
// Products of all calls, on an emulated library.
#include "studies/devices/all_products.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "gpu/emulated/emulated_device.hpp"
#include "studies/devices/product_models.hpp"
#include "tests/studies/devices/named_cells.hpp"
#include "tests/studies/devices/wrapped_library.hpp"

namespace {

using namespace ulpscope;

/// The emulated library; counts products, and loses its context at one call if it is told so.
class CountingLibrary final : public testing::WrappedLibrary {
 public:
  void multiply(const gpu::LibraryCall& call, const gpu::LibraryAlgorithm& algorithm, const gpu::LibraryProduct& product,
                std::span<std::byte> d) const override {
    ++products;
    if (call.a == fatal) lost = true;
    if (lost) throw Error("cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED");
    WrappedLibrary::multiply(call, algorithm, product, d);
  }

  mutable std::atomic<int> products = 0;
  mutable std::atomic<bool> lost = false;
  emu::Format fatal = {};
};

using Libraries = std::vector<std::shared_ptr<const gpu::Library>>;

studies::AllProductsConfig small_config() {
  studies::AllProductsConfig config;
  config.each.engine = "sm_90";
  config.each.most_algorithms = 1;
  return config;
}

const std::vector<studies::ProductShape> shapes{{4, 4, 64}, {8, 4, 64}};

std::string operands_of(const gpu::LibraryCall& call) { return emu::format_name(call.a) + "," + emu::format_name(call.b); }

}  // namespace

TEST_CASE("the formats take turns, and the first shape comes first", "[studies]") {
  const Libraries libraries{std::make_shared<CountingLibrary>()};
  std::set<std::string> formats;
  for (const gpu::LibraryCall& call : libraries.front()->calls()) formats.insert(operands_of(call));

  const auto pieces = studies::library_pieces(libraries, shapes);

  REQUIRE(formats.size() > 3);
  REQUIRE(pieces.size() == 2 * libraries.front()->calls().size());
  std::set<std::string> first;
  for (std::size_t i = 0; i < formats.size(); ++i) first.insert(operands_of(pieces[i].call));
  CHECK(first == formats);
  for (std::size_t i = 0; i < pieces.size(); ++i) CHECK(pieces[i].shape.m == (2 * i < pieces.size() ? 4 : 8));
}

TEST_CASE("products are the same on one thread and on many, and are told as they come", "[studies]") {
  const Libraries libraries{std::make_shared<CountingLibrary>()};
  const auto pieces = studies::library_pieces(libraries, {shapes.front()});
  auto config = small_config();
  std::size_t told = 0, most_rows = 0;
  config.so_far = [&](const reports::Table& table) {
    ++told;
    most_rows = std::max(most_rows, table.rows.size());
  };

  config.threads = 1;
  const auto one = studies::all_library_products(pieces, config);
  config.threads = 4;
  const auto many = studies::all_library_products(pieces, config);

  CHECK(one.rows == many.rows);
  CHECK(one.rows.size() == pieces.size());
  CHECK(told == 2 * pieces.size());
  CHECK(most_rows == one.rows.size());
}

TEST_CASE("products end when their time is up", "[studies]") {
  const auto library = std::make_shared<CountingLibrary>();
  const auto pieces = studies::library_pieces(Libraries{library}, {shapes.front()});
  auto config = small_config();
  config.threads = 1;
  constexpr int most = 7;
  config.deadline = studies::Deadline([&] { return library->products >= most; });

  const testing::NamedCells rows{studies::all_library_products(pieces, config)};

  CHECK(library->products == most);
  REQUIRE(rows.table.rows.size() == pieces.size());
  CHECK(rows.text(0, "explained") == "yes");
  CHECK(rows.text(pieces.size() - 1, "explained") == "not checked");
  CHECK(rows.text(pieces.size() - 1, "explanation") == "time ran out");
}

TEST_CASE("products after the call that took the context are not checked", "[studies]") {
  const auto library = std::make_shared<CountingLibrary>();
  library->fatal = emu::bfloat16;
  const auto pieces = studies::library_pieces(Libraries{library}, {shapes.front()});
  auto config = small_config();
  config.usable = [&] { return !library->lost; };
  config.threads = 1;

  const testing::NamedCells rows{studies::all_library_products(pieces, config)};

  std::size_t fatal = 0;
  while (fatal < pieces.size() && pieces[fatal].call.a != emu::bfloat16) ++fatal;
  REQUIRE(fatal + 1 < pieces.size());
  CHECK(rows.text(fatal, "explained") == "error");
  for (std::size_t row = fatal + 1; row < pieces.size(); ++row) {
    CHECK(rows.text(row, "explained") == "not checked");
    CHECK(rows.text(row, "explanation").starts_with("context lost after "));
  }
}

TEST_CASE("GPUs without an engine of their own are explained by the nearest of their generation", "[studies]") {
  gpu::Device device = gpu::emulated_device("sm_90");
  const auto engine = [&](const std::string& architecture) {
    device.description.architecture = architecture;
    return studies::engine_of_device(device);
  };

  CHECK(engine("sm_87") == "sm_86");
  CHECK(engine("sm_88") == "sm_86");
  CHECK(engine("sm_90") == "sm_90");
  CHECK(engine("sm_103") == "sm_100");
  CHECK(engine("sm_110") == "sm_100");
  CHECK(engine("sm_120") == "sm_120");
  CHECK(engine("sm_121") == "sm_120");
  CHECK_THROWS_AS(engine("sm_61"), Error);
  for (const char* const architecture : {"sm_87", "sm_103", "sm_110", "sm_121"})
    CHECK_FALSE(studies::product_models(gpu::EmulatedLibrary("sm_90").calls().front(), {engine(architecture), 64}).empty());
}
