// SPDX-License-Identifier: Apache-2.0
// The check of devices: what is right passes, each kind of wrong is seen and named.
#include "studies/devices/device_check.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/emulated/emulated_device.hpp"
#include "studies/devices/device_portions.hpp"
#include "tests/studies/devices/fake_device.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::testing;
using Catch::Matchers::ContainsSubstring;
using gpu::OperandClass;
using studies::DeviceRow;
using studies::DeviceVerdict;

std::vector<DeviceRow> check(const gpu::Device& device, studies::DeviceCheckOptions options = {}) {
  if (options.tests == studies::DeviceCheckOptions{}.tests) options.tests = 4000;
  if (options.device_tests == studies::DeviceCheckOptions{}.device_tests) options.device_tests = options.tests;
  return studies::check_device(device, options);
}

std::string cell(const std::vector<DeviceRow>& rows, std::size_t row, const std::string& column) {
  const auto table = studies::tables_of(rows, "t").table;
  const auto place = std::find(table.columns.begin(), table.columns.end(), column) - table.columns.begin();
  return std::get<std::string>(table.rows.at(row).at(static_cast<std::size_t>(place)));
}

}  // namespace

TEST_CASE("every emulated device holds what its operations claim") {
  for (const std::string& name : gpu::emulated_names()) {
    CAPTURE(name);
    const gpu::Device device = gpu::emulated_device(name);
    const auto rows = check(device, {.tests = 40, .seed = 5});
    const std::size_t elements = device.elementwise ? device.elementwise->operations().size() : 0;

    CHECK(rows.size() == 2 * device.unit->operations().size() + elements);
    CHECK(studies::verdict_of(rows) == DeviceVerdict::holds);
    CHECK(std::ranges::all_of(rows, [](const DeviceRow& row) { return row.tests >= 10; }));
  }
}

TEST_CASE("another engine than the one that a device claims is seen") {
  const auto rows = check(fake_device(nullptr), {.engine = "sm_80"});

  CHECK(studies::verdict_of(rows) == DeviceVerdict::violated);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].mismatches > 0);
  CHECK(rows[1].mismatches > 0);
  CHECK(rows[0].engine == "sm_80");
  CHECK(cell(rows, 0, "verdict") == "different");
}

TEST_CASE("an operation that fails is a row, and the next ones are checked") {
  const auto rows = check(fake_device(
      [](const gpu::Operation& o, const gpu::InnerProducts&, std::span<Code>) {
        if (o.instruction == "broken") throw Error("launch of broken: cudaErrorIllegalInstruction");
      },
      {half_operation("broken", "sm_90"), half_operation("mma", "sm_90")}));

  REQUIRE(rows.size() == 3);
  CHECK(rows[0].tests == 0);
  CHECK(cell(rows, 0, "verdict") == "failed");
  CHECK_THAT(cell(rows, 0, "remark"), ContainsSubstring("cudaErrorIllegalInstruction"));
  CHECK(cell(rows, 1, "verdict") == "same");
  CHECK(studies::verdict_of(rows) == DeviceVerdict::violated);
}

TEST_CASE("what nothing claims to emulate is not checked, and alone proves nothing") {
  const auto rows = check(fake_device(nullptr, {half_operation("mma", ""), half_operation("mma2", "sm_91")}));

  REQUIRE(rows.size() == 2);
  CHECK(cell(rows, 0, "verdict") == "not checked");
  CHECK(cell(rows, 0, "remark") == "no engine claims to compute the same");
  CHECK_THAT(cell(rows, 1, "remark"), ContainsSubstring("sm_91"));
  CHECK(studies::verdict_of(rows) == DeviceVerdict::vacuous);
  CHECK(studies::verdict_of({}) == DeviceVerdict::vacuous);
}

TEST_CASE("differences in codes of NaNs and signs of zeros alone are named") {
  const auto negated = [](bool (emu::Format::*is)(Code) const noexcept) {
    return [is](const gpu::Operation& o, const gpu::InnerProducts&, std::span<Code> d) {
      for (Code& code : d)
        if ((o.accumulator.*is)(code)) code ^= o.accumulator.sign_mask();
    };
  };
  const auto nans = check(fake_device(negated(&emu::Format::is_nan)));
  const auto zeros = check(fake_device(negated(&emu::Format::is_zero)));
  const auto infinities = check(fake_device(negated(&emu::Format::is_infinite)));

  CHECK(nans[0].mismatches > 0);
  CHECK(nans[0].nan_codes == nans[0].mismatches);
  CHECK(cell(nans, 0, "remark") == "only codes of NaNs differ");
  CHECK(zeros[0].zero_signs == zeros[0].mismatches);
  CHECK(cell(zeros, 0, "remark") == "only signs of zeros differ");
  CHECK(studies::verdict_of(nans) == DeviceVerdict::violated);
  CHECK(infinities[0].mismatches > 0);
  CHECK(infinities[0].nan_codes + infinities[0].zero_signs == 0);
  CHECK(cell(infinities, 0, "remark").empty());
}

TEST_CASE("an instruction that is right alone and wrong in chains is seen") {
  const auto rows = check(fake_device([](const gpu::Operation& o, const gpu::InnerProducts& p, std::span<Code> d) {
    if (p.products > o.products)
      for (Code& code : d) code ^= 1;
  }));

  REQUIRE(rows.size() == 2);
  CHECK(rows[0].operands == OperandClass::adversarial);
  CHECK(rows[0].mismatches == 0);
  CHECK(rows[1].operands == OperandClass::chain);
  CHECK(rows[1].products == 48);
  CHECK(rows[1].mismatches == rows[1].tests);
}

TEST_CASE("a mismatch is spelled out so that it can be made again") {
  constexpr std::uint64_t wrong = 1234, seed = 9;
  const auto marked = gpu::test_problems(gpu::TestShape(half_operation("mma", "")), seed, wrong, 1);
  const auto rows = check(fake_device([&](const gpu::Operation& o, const gpu::InnerProducts& p, std::span<Code> d) {
                            for (std::size_t i = 0; i < d.size(); ++i) {
                              const auto a = p.a.subspan(i * p.products, p.products);
                              if (p.products == o.products && std::ranges::equal(a, marked.a)) d[i] = 0x3fc00000;
                            }
                          }),
                          {.seed = seed});
  const auto remarks = studies::tables_of(rows, "t").remarks;

  REQUIRE(rows[0].mismatches == 1);
  REQUIRE(remarks.size() == 1);
  CHECK_THAT(remarks[0], ContainsSubstring("fake:0 mma, adversarial test 1234 of seed 9: expected "));
  CHECK_THAT(remarks[0], ContainsSubstring("got 3fc00000 (1.5); c "));
}

TEST_CASE("the same rows come of any number of threads") {
  const auto tables = [&](int threads) {
    const auto rows = check(gpu::emulated_device("sm_80"),
                            {.tests = 20000, .instruction = "f16.f16.f16", .engine = "fma", .threads = threads});
    return studies::tables_of(rows, "t");
  };
  const auto one = tables(1), four = tables(4);

  CHECK(one.table.rows == four.table.rows);
  CHECK(one.remarks == four.remarks);
  CHECK(one.remarks.size() == 2 * DeviceRow::most_spelled_out);
}

TEST_CASE("where a device compares by itself the host compares its share too") {
  gpu::Device device = fake_device(nullptr);
  const auto honest =
      std::make_shared<FakeEmulator>([](const gpu::TestRange& tests) { return gpu::Tally{tests.count, 0, {}}; });
  device.emulator = honest;
  const auto rows = check(device, {.tests = 1000, .device_tests = 5000});

  REQUIRE(rows.size() == 2);
  CHECK(rows[0].tests == 5000);
  REQUIRE(honest->asked.size() == 2);
  CHECK(honest->asked[0].begin == 0);
  CHECK(honest->asked[0].count == 1000);
  CHECK(honest->asked[1].begin == 1000);
  CHECK(honest->asked[1].count == 4000);
}

TEST_CASE("a device that miscounts its own mismatches is seen") {
  gpu::Device device = fake_device([](const gpu::Operation&, const gpu::InnerProducts&, std::span<Code> d) { d[0] ^= 1; });
  device.emulator = std::make_shared<FakeEmulator>([](const gpu::TestRange& tests) { return gpu::Tally{tests.count, 0, {}}; });
  const auto blind = check(device);
  CHECK_THAT(cell(blind, 0, "remark"), ContainsSubstring("the device counts 0 mismatches"));
  CHECK(studies::verdict_of(blind) == DeviceVerdict::violated);

  device = fake_device(nullptr);
  device.emulator = std::make_shared<FakeEmulator>([](const gpu::TestRange&) { return gpu::Tally{}; });
  CHECK_THAT(cell(check(device), 0, "remark"), ContainsSubstring("in 0 tests"));
}

TEST_CASE("mismatches that a device counted by itself are spelled out by the host") {
  constexpr std::uint64_t wrong = 2500;
  const auto marked = gpu::test_problems(gpu::TestShape(half_operation("mma", "")), 0, wrong, 1);
  gpu::Device device = fake_device([&](const gpu::Operation&, const gpu::InnerProducts& p, std::span<Code> d) {
    for (std::size_t i = 0; i < d.size(); ++i)
      if (std::ranges::equal(p.a.subspan(i * p.products, p.products), marked.a)) d[i] ^= 1;
  });
  device.emulator = std::make_shared<FakeEmulator>([](const gpu::TestRange& tests) {
    return tests.begin == 0 ? gpu::Tally{tests.count, 0, {}} : gpu::Tally{tests.count, 900, {wrong}};
  });
  const auto rows = check(device, {.tests = 1000, .device_tests = 5000});

  CHECK(rows[0].tests == 5000);
  CHECK(rows[0].mismatches == 900);
  CHECK(rows[0].examined == 1);
  REQUIRE(rows[0].first.size() == 1);
  CHECK(rows[0].first[0].test == wrong);
}

TEST_CASE("a conversion of 16 bits is checked for all its operands") {
  const auto rows = check(fake_device({conversion(emu::float16, emu::float32)},
                                      [](const gpu::ElementOperation&, const gpu::ElementOperands& x, std::span<Code> d) {
                                        for (std::size_t i = 0; i < d.size(); ++i) d[i] ^= x.a[i] == 0xfbff ? 1 : 0;
                                      }));

  REQUIRE(rows.size() == 1);
  CHECK(rows[0].operands == OperandClass::every);
  CHECK(rows[0].tests == 65536);
  CHECK(rows[0].mismatches == 1);
  CHECK(rows[0].first[0].test == 0xfbff);
  CHECK_THAT(rows[0].first[0].words, ContainsSubstring("a fbff (-65504)"));
}

TEST_CASE("a conversion of 32 bits is swept by a device that can, and sampled by the host") {
  gpu::Device device = fake_device({conversion(emu::float32, emu::float16)}, nullptr);
  CHECK(check(device).size() == 1);

  const auto emulator =
      std::make_shared<FakeEmulator>([](const gpu::TestRange& tests) { return gpu::Tally{tests.count, 0, {}}; });
  device.emulator = emulator;
  const auto rows = check(device);

  REQUIRE(rows.size() == 2);
  CHECK(rows[0].operands == OperandClass::every);
  CHECK(rows[0].tests == std::uint64_t{1} << 32);
  CHECK(rows[1].operands == OperandClass::adversarial);
  CHECK(rows[1].tests == 4000);
  CHECK(emulator->asked.at(0).count == std::uint64_t{1} << 32);
}

TEST_CASE("an operand that a device found in a sweep is asked for again by the host") {
  constexpr Code wrong = 0x3f801001;
  gpu::Device device = fake_device({conversion(emu::float32, emu::float16)},
                                   [](const gpu::ElementOperation&, const gpu::ElementOperands& x, std::span<Code> d) {
                                     for (std::size_t i = 0; i < d.size(); ++i) d[i] ^= x.a[i] == wrong ? 1 : 0;
                                   });
  device.emulator =
      std::make_shared<FakeEmulator>([](const gpu::TestRange& tests) { return gpu::Tally{tests.count, 1, {wrong}}; });
  const auto rows = check(device);

  CHECK(rows[0].examined == 1);
  REQUIRE(rows[0].first.size() == 1);
  CHECK_THAT(rows[0].first[0].words, ContainsSubstring("expected 3c01 "));
  CHECK_THAT(rows[0].first[0].words, ContainsSubstring("a 3f801001 "));
}

TEST_CASE("arithmetic that takes its operands the wrong way round is seen") {
  const gpu::ElementOperation subtraction{"sub",
                                          {.kind = gpu::ElementKind::subtract, .from = emu::float32, .to = emu::float32}};
  const auto rows =
      check(fake_device({subtraction}, [](const gpu::ElementOperation& o, const gpu::ElementOperands& x, std::span<Code> d) {
        for (std::size_t i = 0; i < d.size(); ++i) d[i] = gpu::element_result(o.model, x.b[i], x.a[i], 0);
      }));

  REQUIRE(rows.size() == 1);
  CHECK(rows[0].tests == 4000);
  CHECK(rows[0].mismatches > 1000);
}

TEST_CASE("only what was named is checked") {
  const auto rows = check(gpu::emulated_device("sm_90"), {.tests = 10, .instruction = "e5m2.e4m3"});

  CHECK(rows.size() == 8);
  CHECK(std::ranges::all_of(rows, [](const DeviceRow& row) { return row.a == "float8_e5m2" && row.b == "float8_e4m3fn"; }));
}

TEST_CASE("what a portion throws ends the others, and is thrown") {
  for (const int threads : {1, 3})
    CHECK_THROWS_AS(studies::for_each_portion(100, 1, threads,
                                              [](const studies::Portion& portion) {
                                                if (portion.begin == 50) throw std::runtime_error("50");
                                              }),
                    std::runtime_error);
}
