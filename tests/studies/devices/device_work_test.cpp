// SPDX-License-Identifier: Apache-2.0
// A kernel that faults takes the context of its process with it: what is not asked for then says so, and another process goes
// on after the operation whose kernel it was. And work ends when its time is up.
#include "studies/devices/device_work.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "studies/devices/device_check.hpp"
#include "studies/devices/device_record.hpp"
#include "studies/devices/worked_library.hpp"
#include "studies/probe/probe_table.hpp"
#include "tests/studies/devices/fake_device.hpp"
#include "tests/studies/devices/wrapped_library.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::testing;
using studies::DeviceRow;

/// A device of four instructions; the kernel of `fatal` faults, and every call after it fails.
struct FragileDevice {
  std::string fatal;
  std::shared_ptr<std::atomic<bool>> lost = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);

  gpu::Device device() const {
    const auto multiply = [*this](const gpu::Operation& o, const gpu::InnerProducts&, std::span<Code>) {
      ++*calls;
      if (o.instruction == fatal) *lost = true;
      if (*lost) throw Error(o.instruction + ": cudaErrorIllegalAddress (as told)");
    };
    std::vector<gpu::Operation> operations;
    for (const char* const name : {"mma0", "mma1", "mma2", "mma3"}) operations.push_back(half_operation(name, "sm_90"));
    gpu::Device device = fake_device(multiply, operations);
    device.usable = [lost = lost] { return !*lost; };
    return device;
  }
};

/// In memory what a process leaves to the next.
class Log final : public studies::WorkLog {
 public:
  bool has_ended(std::size_t piece) const override { return ended_before_.contains(piece); }
  bool was_begun(std::size_t piece) const override { return begun_before_.contains(piece); }
  void begin(std::size_t piece) override { begun.insert(piece); }
  void end(std::size_t piece) override {
    begun.erase(piece);
    ended.insert(piece);
  }
  void take_back(std::size_t piece) override { begun.erase(piece); }

  Log next() const {
    Log log;
    log.ended = log.ended_before_ = ended;
    log.begun_before_ = begun;
    return log;
  }
  std::set<std::size_t> begun, ended;

 private:
  std::set<std::size_t> begun_before_, ended_before_;
};

/// `mma1 failed`, one for each row of one instruction.
std::vector<std::string> verdicts(const std::vector<DeviceRow>& rows) {
  std::vector<std::string> words;
  for (const DeviceRow& row : rows)
    if (row.operands != gpu::OperandClass::chain)
      words.push_back(row.instruction + (row.failure.empty() ? "" : " failed") +
                      (row.not_checked.empty() ? "" : " not checked: " + row.not_checked));
  return words;
}

using Words = std::vector<std::string>;

studies::DeviceCheckOptions few_tests() {
  studies::DeviceCheckOptions options;
  options.tests = options.device_tests = 20;
  return options;
}

}  // namespace

TEST_CASE("what comes after the kernel that took the context is not checked, and is not asked") {
  const FragileDevice fragile{"mma1"};

  const auto rows = studies::check_device(fragile.device(), few_tests());

  CHECK(verdicts(rows) ==
        Words{"mma0", "mma1 failed", "mma2 not checked: context lost after mma1", "mma3 not checked: context lost after mma1"});
  CHECK(*fragile.calls == 3);  // mma0 alone and in chains, mma1
}

TEST_CASE("an instruction that fails and leaves the context leaves the others") {
  const auto fails = [](const gpu::Operation& o, const gpu::InnerProducts&, std::span<Code>) {
    if (o.instruction == "mma1") throw Error("launch of mma1: cudaErrorInvalidConfiguration");
  };
  gpu::Device device = fake_device(fails, {half_operation("mma1", "sm_90"), half_operation("mma2", "sm_90")});
  device.usable = [] { return true; };

  CHECK(verdicts(studies::check_device(device, few_tests())) == Words{"mma1 failed", "mma2"});
}

TEST_CASE("another process goes on after the kernel that took the context") {
  Log first;
  auto options = few_tests();
  options.log = &first;
  const auto before = studies::check_device(FragileDevice{"mma1"}.device(), options);
  Log second = first.next();
  options.log = &second;
  const auto after = studies::check_device(FragileDevice{"mma1"}.device(), options);

  CHECK(verdicts(before) == Words{"mma0", "mma1 failed"});
  CHECK(verdicts(after) == Words{"mma2", "mma3"});
  CHECK(second.ended.size() == 4);
}

TEST_CASE("a piece that ended the process is a failure, and the others are done") {
  Log crashed;
  crashed.ended = {0};
  crashed.begun = {1};
  Log next = crashed.next();
  auto options = few_tests();
  options.log = &next;

  CHECK(verdicts(studies::check_device(FragileDevice{"none"}.device(), options)) == Words{"mma1 failed", "mma2", "mma3"});
}

TEST_CASE("rows are told as they come") {
  const FragileDevice fragile{"none"};
  auto options = few_tests();
  std::vector<int> calls_at_row;
  options.on_row = [&](const DeviceRow&) { calls_at_row.push_back(*fragile.calls); };

  const auto rows = studies::check_device(fragile.device(), options);

  REQUIRE(calls_at_row.size() == rows.size());
  CHECK(calls_at_row.front() < calls_at_row.back());
}

TEST_CASE("a check begins nothing when its time is up") {
  const FragileDevice fragile{"none"};
  auto options = few_tests();
  options.deadline = studies::Deadline([&] { return *fragile.calls >= 3; });

  const auto rows = studies::check_device(fragile.device(), options);

  CHECK(verdicts(rows) == Words{"mma0", "mma1", "mma2 not checked: time ran out", "mma3 not checked: time ran out"});
}

TEST_CASE("a device that compares by itself is asked for no more when the time is up") {
  std::uint64_t asked = 0;
  gpu::Device device = fake_device(nullptr);
  device.emulator = std::make_shared<FakeEmulator>([&](const gpu::TestRange& tests) {
    asked += tests.count;
    return gpu::Tally{tests.count, 0, {}};
  });
  studies::DeviceCheckOptions options;
  options.tests = 20;
  options.device_tests = 1'000'000'000;
  options.deadline = studies::Deadline([&] { return asked > 30'000'000; });

  const auto rows = studies::check_device(device, options);

  CHECK(asked < 50'000'000);
  CHECK(rows.front().tests == asked);
  CHECK(rows.front().holds());
}

TEST_CASE("what a recording could not ask for is said") {
  const auto recorded = studies::record_device(FragileDevice{"mma2"}.device(), {.tests = 5});

  CHECK(recorded.recording.products.size() == 6);
  REQUIRE(recorded.remarks.size() == 1);
  CHECK(recorded.left_out == Words{"fake:0 mma3: not recorded: context lost after mma2"});
}

TEST_CASE("probes side by side lose the context to the one whose kernel faulted") {
  const FragileDevice fragile{"mma1"};
  const gpu::Device device = fragile.device();
  const auto operations = device.unit->operations();
  Log log;
  studies::ProbeWork work;
  work.usable = device.usable;
  std::size_t told = 0;
  work.so_far = [&](const reports::Table&) { ++told; };
  const auto feature_of = [](const reports::Table& table, const std::string& instruction) {
    std::string words;
    for (const auto& row : table.rows)
      if (row[8] == reports::Cell(instruction)) words = std::get<std::string>(row[5]) + ": " + std::get<std::string>(row[6]);
    return words;
  };

  const auto alone = studies::probe_table(*device.unit, operations, 0, studies::ProbeModel::beside, {}, work);
  *fragile.lost = false;
  work.log = &log;
  const auto logged = studies::probe_table(*device.unit, operations, 0, studies::ProbeModel::beside, {}, work);

  CHECK(told >= 2 * operations.size());
  CHECK(feature_of(alone, "mma1") == "failure: mma1: cudaErrorIllegalAddress (as told)");
  CHECK(feature_of(logged, "mma1") == "failure: mma1: cudaErrorIllegalAddress (as told)");
  for (const char* const other : {"mma2", "mma3"}) {
    const std::string words = feature_of(alone, other);
    CHECK((words == "not checked: context lost after mma1" || words.starts_with("disagreements: 0")));
    CHECK((feature_of(logged, other).empty() || feature_of(logged, other).starts_with("disagreements: 0")));
  }
  CHECK(log.begun.empty());
  CHECK(log.ended.contains(1));
}

TEST_CASE("the rows of a probe are told before the log has its end") {
  // A process that another instruction takes with it right then has left both or none.
  class Watching final : public studies::WorkLog {
   public:
    bool has_ended(std::size_t) const override { return false; }
    bool was_begun(std::size_t) const override { return false; }
    void begin(std::size_t) override {}
    void end(std::size_t piece) override { too_early += told.contains("mma" + std::to_string(piece)) ? 0 : 1; }
    void take_back(std::size_t) override {}
    std::set<std::string> told;
    int too_early = 0;
  } log;
  const FragileDevice sound{"none"};
  const gpu::Device device = sound.device();
  studies::ProbeWork work;
  work.log = &log;
  work.so_far = [&](const reports::Table& table) {
    for (const auto& row : table.rows) log.told.insert(std::get<std::string>(row[8]));
  };
  studies::probe_table(*device.unit, std::vector{device.unit->operations().front()}, 0, studies::ProbeModel::beside, {}, work);
  CHECK(log.told.contains("mma0"));
  CHECK(log.too_early == 0);
}

TEST_CASE("a library's random numbers are the device's, and none come from a lost context", "[studies]") {
  class Ones final : public WrappedLibrary {
   public:
    void draw_normal(emu::Format, std::uint64_t, std::uint64_t, std::span<std::byte> codes) const override {
      std::fill(codes.begin(), codes.end(), std::byte{1});
    }
  };
  const Ones library;
  bool usable = true;
  studies::DeviceWork work({}, [&] { return usable; });
  const studies::WorkedLibrary worked(library, work, 0);
  std::vector<std::byte> codes(4);

  worked.draw_normal(emu::float16, 0, 0, codes);
  usable = false;
  work.piece(
      0, "a product", [] { return false; }, [](const std::string&) {});

  CHECK(codes == std::vector<std::byte>(4, std::byte{1}));
  CHECK_THROWS_AS(worked.draw_normal(emu::float16, 0, 0, codes), Error);
}
