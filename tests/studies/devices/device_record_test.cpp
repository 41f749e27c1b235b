// SPDX-License-Identifier: Apache-2.0
// Recordings of devices, made and replayed; and those that lie in tests/recordings, of real processors and GPUs.
#include "studies/devices/device_record.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "gpu/emulated/emulated_device.hpp"
#include "tests/studies/devices/fake_device.hpp"

namespace {

namespace fs = std::filesystem;
using namespace ulpscope;
using namespace ulpscope::testing;
using gpu::OperandClass;
using studies::DeviceRow;
using studies::DeviceVerdict;

std::uint64_t mismatches(const std::vector<DeviceRow>& rows) {
  std::uint64_t count = 0;
  for (const DeviceRow& row : rows) count += row.mismatches;
  return count;
}

std::vector<fs::path> recordings() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(ULPSCOPE_TEST_RECORDINGS))
    if (entry.path().extension() == ".recording") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::byte> bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto* const data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

bool is_refused(const std::vector<std::byte>& bytes) {
  try {
    gpu::parse_recording(bytes, "x");
    return false;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

TEST_CASE("recordings of real devices replay without a mismatch") {
  const auto files = recordings();
  REQUIRE(files.size() >= 6);
  for (const fs::path& file : files) {
    CAPTURE(file);
    const gpu::Recording recording = gpu::read_recording(file.string());
    const auto rows = studies::replay(recording, "");

    CHECK_FALSE(recording.device.id.starts_with("emulated:"));
    CHECK(studies::verdict_of(rows) == DeviceVerdict::holds);
    CHECK(std::ranges::all_of(rows, [](const DeviceRow& row) { return row.tests >= 13 && row.not_checked.empty(); }));
  }
}

TEST_CASE("recordings of real devices have operands of every class") {
  std::set<OperandClass> of_products, of_elements;
  for (const fs::path& file : recordings()) {
    const gpu::Recording recording = gpu::read_recording(file.string());
    std::set<OperandClass> own;
    for (const auto& set : recording.products) own.insert(set.operands);
    CHECK((own.empty() || own.size() == 3));
    of_products.insert(own.begin(), own.end());
    for (const auto& set : recording.elements) of_elements.insert(set.operands);
  }

  CHECK(of_products == std::set{OperandClass::random, OperandClass::adversarial, OperandClass::chain});
  CHECK(of_elements.contains(OperandClass::random));
  CHECK(of_elements.contains(OperandClass::adversarial));
}

TEST_CASE("recordings of real devices have every kind of number among their results") {
  for (const fs::path& file : recordings()) {
    CAPTURE(file);
    const gpu::Recording recording = gpu::read_recording(file.string());
    std::size_t nans = 0, infinities = 0, zeros = 0;
    const auto count = [&](emu::Format format, const std::vector<Code>& d) {
      for (const Code code : d) {
        nans += format.is_nan(code);
        infinities += format.is_infinite(code);
        zeros += format.is_zero(code);
      }
    };
    for (const auto& set : recording.products) count(set.operation.accumulator, set.d);
    for (const auto& set : recording.elements) count(set.operation.model.to, set.d);

    CHECK(nans > 0);
    CHECK(infinities > 0);
    CHECK(zeros > 0);
  }
}

TEST_CASE("a recording of a real device differs from other engines") {
  for (const fs::path& file : recordings()) {
    CAPTURE(file);
    const gpu::Recording recording = gpu::read_recording(file.string());
    if (recording.products.empty()) continue;

    CHECK(studies::verdict_of(studies::replay(recording, "pairwise")) == DeviceVerdict::violated);
  }
}

TEST_CASE("a flipped bit in the recording of a real device is refused, in its header and in its codes") {
  for (const fs::path& file : recordings()) {
    CAPTURE(file);
    std::vector<std::byte> bytes = bytes_of(file);
    REQUIRE_FALSE(is_refused(bytes));
    for (std::size_t share = 0; share < 40; ++share) {
      std::byte& one = bytes[share < 20 ? 30 + share : (bytes.size() - 1) * (share - 19) / 20];
      one ^= std::byte{4};
      CHECK(is_refused(bytes));
      one ^= std::byte{4};
    }
  }
}

TEST_CASE("one changed result of a recording is one mismatch") {
  for (const fs::path& file : recordings()) {
    CAPTURE(file);
    gpu::Recording recording = gpu::read_recording(file.string());
    if (!recording.products.empty()) recording.products.back().d.back() ^= 1;
    if (!recording.elements.empty()) recording.elements.front().d.front() ^= 1;
    const std::uint64_t changed = (recording.products.empty() ? 0u : 1u) + (recording.elements.empty() ? 0u : 1u);

    CHECK(mismatches(studies::replay(recording, "")) == changed);
  }
}

TEST_CASE("what is recorded of an emulated device replays, with every class of operands") {
  for (const char* const name : {"sm_70", "sm_90", "sm_120", "cdna3"}) {
    CAPTURE(name);
    const gpu::Device device = gpu::emulated_device(name);
    const auto recorded = studies::record_device(device, {.tests = 20, .seed = 3});
    const auto bytes = gpu::recording_bytes(recorded.recording);
    const gpu::Recording recording = gpu::parse_recording(bytes, "x");
    const auto rows = studies::replay(recording, "");

    CHECK(recorded.remarks.empty());
    CHECK(recording.products.size() == 3 * device.unit->operations().size());
    CHECK(studies::verdict_of(rows) == DeviceVerdict::holds);
    CHECK(studies::verdict_of(studies::replay(recording, "fma")) == DeviceVerdict::violated);
    CHECK(gpu::recording_bytes(studies::record_device(device, {.tests = 20, .seed = 3}).recording) == bytes);
    CHECK(gpu::recording_bytes(studies::record_device(device, {.tests = 20, .seed = 4}).recording) != bytes);
  }
}

TEST_CASE("conversions from few bits are recorded for all of their operands") {
  const auto recorded = studies::record_device(gpu::emulated_device("sm_89"), {.tests = 52, .instruction = "cvt.rn.f16.e4m3"});

  REQUIRE(recorded.recording.elements.size() == 1);
  CHECK(recorded.recording.elements[0].operands == OperandClass::every);
  CHECK(recorded.recording.elements[0].d.size() == 256);
  CHECK(recorded.recording.products.empty());
}

TEST_CASE("a whole H200 is recorded in less than 4 MiB") {
  const gpu::Recording all = studies::record_device(gpu::emulated_device("sm_90"), {}).recording;
  const auto bytes = [](const gpu::Recording& part) { return static_cast<double>(gpu::recording_bytes(part).size()); };
  const double products = bytes({all.device, all.products, {}}) / (static_cast<double>(all.products.size()) / 3);
  const double elements = bytes({all.device, {}, all.elements}) / (static_cast<double>(all.elements.size()) / 2);

  // It has about 60 instructions and 80 element operations, of which these are a sample.
  CHECK(60 * products + 80 * elements < 4 << 20);
}

TEST_CASE("an operation that fails is left out of a recording, and said to be") {
  const auto recorded = studies::record_device(fake_device(
                                                   [](const gpu::Operation& o, const gpu::InnerProducts&, std::span<Code>) {
                                                     if (o.instruction == "broken") throw Error("launch of broken");
                                                   },
                                                   {half_operation("broken", "sm_90"), half_operation("mma", "sm_90")}),
                                               {.tests = 5});

  REQUIRE(recorded.remarks.size() == 1);
  CHECK(recorded.remarks[0] == "fake:0 broken: launch of broken");
  CHECK(recorded.recording.products.size() == 3);
}

TEST_CASE("an operation that takes random bits is left out of a recording, and said to be") {
  gpu::ElementOperation stochastic = conversion(emu::float32, emu::float16);
  stochastic.model.options.rounding = emu::Rounding::stochastic;
  const auto recorded = studies::record_device(fake_device({stochastic}, nullptr), {.tests = 5});

  CHECK(recorded.recording.elements.empty());
  CHECK(recorded.remarks.size() == 1);
}

TEST_CASE("a device that differs from its engine is seen in its recording") {
  const auto recorded = studies::record_device(
      fake_device([](const gpu::Operation&, const gpu::InnerProducts&, std::span<Code> d) { d.back() ^= 1; }), {.tests = 5});

  CHECK(mismatches(studies::replay(recorded.recording, "")) == 3);
}

TEST_CASE("a long recording is replayed to its end") {
  gpu::Recording recording =
      studies::record_device(gpu::emulated_device("sm_70"), {.tests = 6000, .instruction = "f32.f16.f16"}).recording;
  CHECK(mismatches(studies::replay(recording, "")) == 0);

  recording.products[1].d[5999] ^= 1;
  const auto rows = studies::replay(recording, "");
  CHECK(mismatches(rows) == 1);
  REQUIRE(rows[1].first.size() == 1);
  CHECK(rows[1].first[0].test == 5999);
}

TEST_CASE("a recording whose engine nobody knows is not checked") {
  const auto recorded =
      studies::record_device(fake_device(nullptr, {half_operation("mma", "sm_91"), half_operation("mma2", "")}), {.tests = 5});

  CHECK(studies::verdict_of(studies::replay(recorded.recording, "")) == DeviceVerdict::vacuous);
  CHECK(studies::verdict_of(studies::replay(recorded.recording, "sm_90")) == DeviceVerdict::holds);
}
