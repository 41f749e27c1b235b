// SPDX-License-Identifier: Apache-2.0
// Asks a device for sets of operands, and replays a recording on engines.
#include "studies/devices/device_record.hpp"

#include <mutex>
#include <utility>

#include "emu/encode.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "gpu/element_words.hpp"
#include "studies/devices/device_check.hpp"
#include "studies/devices/device_compare.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code, emu::Format;
using gpu::OperandClass, gpu::TestRandom, gpu::TestShape;

/// A number near N(0, 1): the sum of twelve uniform ones less six, exact in double precision, rounded.
Code random_number(TestRandom& random, Format format) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.word() >> 32) * 0x1p-32;
  return emu::encode(format, sum, {.policy = emu::Policy::saturating}) & format.code_mask();
}

/// A power of two near 1.
Code random_scale(TestRandom& random, Format format) {
  return emu::encode(format, emu::power_of_two(random.integer(-4, 4)));
}

gpu::TestProblems random_problems(const TestShape& shape, std::uint64_t seed, std::size_t count) {
  gpu::TestProblems all;
  all.products = shape.products;
  for (std::size_t i = 0; i < count; ++i) {
    TestRandom random(seed, i);
    for (std::size_t k = 0; k < shape.products; ++k) {
      all.a.push_back(random_number(random, shape.a));
      all.b.push_back(random_number(random, shape.b));
    }
    all.c.push_back(random_number(random, shape.c));
    for (std::size_t block = 0; block < shape.blocks(); ++block) {
      all.a_scales.push_back(random_scale(random, shape.scale_format));
      all.b_scales.push_back(random_scale(random, shape.scale_format));
    }
  }
  return all;
}

gpu::RecordedProducts record(const gpu::Unit& unit, const gpu::Operation& operation, OperandClass operands,
                             const DeviceRecordOptions& options) {
  const std::size_t length = operation.products * (operands == OperandClass::chain ? instructions_in_chain : 1);
  const TestShape shape(operation, length);
  gpu::RecordedProducts set{operation, operands, options.seed, {}, std::vector<Code>(options.tests)};
  set.problems = operands == OperandClass::random ? random_problems(shape, options.seed, options.tests)
                                                  : gpu::test_problems(shape, options.seed, 0, options.tests);
  unit.multiply(operation, set.problems.view(), set.d);
  return set;
}

gpu::TestOperands operands_of_test(const gpu::ElementModel& model, OperandClass operands, std::uint64_t seed,
                                   std::uint64_t test) {
  if (operands == OperandClass::every) return {test, 0, 0};
  if (operands == OperandClass::adversarial) return gpu::test_operands(model, seed, test);
  TestRandom random(seed, test);
  const Code a = random_number(random, model.from), b = random_number(random, model.from);
  return {a, b, random_number(random, model.to)};
}

gpu::RecordedElements record(const gpu::Elementwise& elementwise, const gpu::ElementOperation& operation, OperandClass operands,
                             std::uint64_t count, const DeviceRecordOptions& options) {
  if (const std::string model = gpu::model_words(operation.model); !gpu::parse_model(model))
    throw Error("'" + model + "' could not be replayed");
  gpu::RecordedElements set{operation, operands, options.seed, {}, {}, {}, std::vector<Code>(count)};
  const int taken = gpu::operands_of(operation.model.kind);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto test = operands_of_test(operation.model, operands, options.seed, i);
    set.a.push_back(test.a);
    if (taken > 1) set.b.push_back(test.b);
    if (taken > 2) set.c.push_back(test.c);
  }
  elementwise.apply(operation, set.view(), set.d);
  return set;
}

std::vector<gpu::RecordedProducts> all_sets(const gpu::Device& device, const gpu::Operation& operation,
                                            const DeviceRecordOptions& options) {
  std::vector<gpu::RecordedProducts> sets;
  for (const auto operands : {OperandClass::random, OperandClass::adversarial, OperandClass::chain})
    sets.push_back(record(*device.unit, operation, operands, options));
  return sets;
}

std::vector<gpu::RecordedElements> all_sets(const gpu::Device& device, const gpu::ElementOperation& operation,
                                            const DeviceRecordOptions& options) {
  const std::uint64_t count = options.tests * DeviceRecordOptions::element_tests;
  const int bits = operation.model.from.bits();
  const bool single = gpu::operands_of(operation.model.kind) == 1;
  std::vector<gpu::RecordedElements> sets;
  if (single && bits < 64 && std::uint64_t{1} << bits <= count) {
    sets.push_back(record(*device.elementwise, operation, OperandClass::every, std::uint64_t{1} << bits, options));
    return sets;
  }
  sets.push_back(record(*device.elementwise, operation, OperandClass::random, (count + 3) / 4, options));
  sets.push_back(record(*device.elementwise, operation, OperandClass::adversarial, count, options));
  return sets;
}

template <class Set, class Compare>
void replay_set(DeviceRow& row, const Set& set, int threads, const Compare& compare_portion) {
  constexpr std::uint64_t portion_tests = 1 << 12;
  std::mutex mutex;
  for_each_portion(set.d.size(), portion_tests, threads, [&](const Portion& portion) {
    DeviceRow part;
    compare_portion(part, portion, std::span(set.d).subspan(portion.begin, portion.count));
    const std::lock_guard lock(mutex);
    add_counts(row, std::move(part));
  });
}

DeviceRow replay_products(const std::string& device, const gpu::RecordedProducts& set, const std::string& engine, int threads) {
  const gpu::Operation& o = set.operation;
  DeviceRow row = row_of(device, o, set.problems.products);
  row.operands = set.operands;
  row.seed = set.seed;
  if (!engine.empty()) row.engine = engine;
  if (row.engine.empty()) {
    row.not_checked = "no engine claims to compute the same";
    return row;
  }
  try {
    const emu::Engine model = emu::parse_engine(row.engine, {o.a, o.b, o.accumulator, o.scales, o.scale_format});
    const gpu::InnerProducts problem = set.problems.view();
    replay_set(row, set, threads, [&](DeviceRow& part, const Portion& portion, std::span<const Code> d) {
      compare(part, o, model, part_of(o, problem, portion), d, portion.begin);
    });
  } catch (const Error& error) {
    row.not_checked = error.what();
  }
  return row;
}

DeviceRow replay_elements(const std::string& device, const gpu::RecordedElements& set, int threads) {
  DeviceRow row = row_of(device, set.operation);
  row.operands = set.operands;
  row.seed = set.seed;
  replay_set(row, set, threads, [&](DeviceRow& part, const Portion& portion, std::span<const Code> d) {
    compare(part, set.operation, part_of(set.view(), portion), d, portion.begin);
  });
  return row;
}

}  // namespace

RecordedDevice record_device(const gpu::Device& device, const DeviceRecordOptions& options) {
  const auto operations = device.unit ? device.unit->operations() : std::vector<gpu::Operation>{};
  const auto elements = device.elementwise ? device.elementwise->operations() : std::vector<gpu::ElementOperation>{};
  RecordedDevice recorded;
  recorded.recording.device = device.description;
  DeviceWork work(options.deadline, device.usable, options.log);
  std::size_t done = 0;
  const auto add = [&](const auto& operation, auto& sets) {
    const std::size_t piece = done++;
    if (options.progress) options.progress(done, operations.size() + elements.size());
    if (operation.instruction.find(options.instruction) == std::string::npos) return;
    const std::string subject = device.description.id + " " + operation.instruction + ": ";
    const auto record_sets = [&]() -> bool {
      try {
        for (auto& set : all_sets(device, operation, options)) sets.push_back(std::move(set));
        if (options.so_far) options.so_far(recorded.recording);
        return true;
      } catch (const Error& error) {
        recorded.remarks.push_back(subject + error.what());
        return false;
      }
    };
    work.piece(piece, operation.instruction, record_sets, [&](const std::string& reason) {
      if (!reason.empty())
        (reason == process_ended ? recorded.remarks : recorded.left_out).push_back(subject + "not recorded: " + reason);
    });
  };
  for (const gpu::Operation& operation : operations) add(operation, recorded.recording.products);
  for (const gpu::ElementOperation& operation : elements) add(operation, recorded.recording.elements);
  return recorded;
}

std::vector<DeviceRow> replay(const gpu::Recording& recording, const std::string& engine, int threads) {
  std::vector<DeviceRow> rows;
  for (const gpu::RecordedProducts& set : recording.products)
    rows.push_back(replay_products(recording.device.id, set, engine, threads));
  for (const gpu::RecordedElements& set : recording.elements)
    rows.push_back(replay_elements(recording.device.id, set, threads));
  return rows;
}

}  // namespace ulpscope::studies
