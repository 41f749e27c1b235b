// SPDX-License-Identifier: Apache-2.0
// Tests of each operation, compared by the host, by the device, or by both for a share.
#include "studies/devices/device_check.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "gpu/adversarial.hpp"
#include "studies/devices/device_compare.hpp"
#include "studies/devices/device_portions.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code;
using gpu::ElementOperation, gpu::OperandClass, gpu::Operation, gpu::Tally;

constexpr std::uint64_t portion_codes = std::uint64_t{1} << 18;
constexpr std::uint64_t most_between_looks_at_the_clock = 10'000'000;  ///< tests of a device

/// Runs a check that fills a row; what it throws is the row's failure.
template <class Check>
DeviceRow guarded(DeviceRow row, const Check& check) {
  try {
    check(row);
  } catch (const Error& error) {
    row.failure = error.what();
  }
  return row;
}

class DeviceCheck {
 public:
  DeviceCheck(const gpu::Device& device, const DeviceCheckOptions& options)
      : device_(device), options_(options), work_(options.deadline, device.usable, options.log) {}

  std::vector<DeviceRow> run() {
    const auto wanted = [&](const auto& operation) {
      return operation.instruction.find(options_.instruction) != std::string::npos;
    };
    auto operations = device_.unit ? device_.unit->operations() : std::vector<Operation>{};
    auto elements = device_.elementwise ? device_.elementwise->operations() : std::vector<ElementOperation>{};
    std::erase_if(operations, std::not_fn(wanted));
    std::erase_if(elements, std::not_fn(wanted));
    const std::uint64_t total = operations.size() + elements.size();
    for (const Operation& operation : operations)
      take(operation, row_of(device_.description.id, operation, operation.products), total);
    for (const ElementOperation& operation : elements) take(operation, row_of(device_.description.id, operation), total);
    return std::move(rows_);
  }

 private:
  /// One operation; `blank` is its row where it is left out.
  template <class Any>
  void take(const Any& operation, DeviceRow blank, std::uint64_t total) {
    const std::size_t begin = rows_.size();
    const auto work = [&] {
      check(operation);
      return std::all_of(rows_.begin() + static_cast<std::ptrdiff_t>(begin), rows_.end(),
                         [](const DeviceRow& row) { return row.failure.empty(); });
    };
    const auto leave_out = [&](const std::string& reason) {
      if (reason.empty()) return;
      (reason == process_ended ? blank.failure : blank.not_checked) = reason;
      rows_.push_back(blank);
    };
    work_.piece(done_++, operation.instruction, work, leave_out);
    for (std::size_t i = begin; options_.on_row && i < rows_.size(); ++i) options_.on_row(rows_[i]);
    if (options_.progress) options_.progress(done_, total);
  }

  void check(const Operation& operation) {
    DeviceRow row = row_of(device_.description.id, operation, operation.products);
    row.seed = options_.seed;
    if (!options_.engine.empty()) row.engine = options_.engine;
    if (row.engine.empty()) {
      row.not_checked = "no engine claims to compute the same";
      rows_.push_back(std::move(row));
      return;
    }
    emu::Engine engine;
    try {
      engine = emu::parse_engine(row.engine,
                                 {operation.a, operation.b, operation.accumulator, operation.scales, operation.scale_format});
    } catch (const Error& error) {
      row.not_checked = error.what();
      rows_.push_back(std::move(row));
      return;
    }
    rows_.push_back(guarded(row, [&](DeviceRow& r) { check_instruction(r, operation, engine); }));
    if (!rows_.back().failure.empty()) return;
    row.operands = OperandClass::chain;
    row.products *= instructions_in_chain;
    const std::uint64_t chains = (options_.tests + tests_per_chain - 1) / tests_per_chain;
    rows_.push_back(guarded(row, [&](DeviceRow& r) { compare_on_host(r, operation, engine, chains); }));
  }

  /// By the host, and the rest by the device where it can; the host's share by both.
  void check_instruction(DeviceRow& row, const Operation& operation, const emu::Engine& engine) {
    compare_on_host(row, operation, engine, options_.tests);
    if (device_.emulator == nullptr) return;
    const Tally both = device_.emulator->check(operation, engine, {options_.seed, 0, options_.tests});
    if (both.tests != row.tests || both.mismatches != row.mismatches)
      throw Error("the device counts " + std::to_string(both.mismatches) + " mismatches in " + std::to_string(both.tests) +
                  " tests, the host " + std::to_string(row.mismatches) + " in " + std::to_string(row.tests));
    for (std::uint64_t begin = options_.tests; begin < options_.device_tests && !options_.deadline.passed();
         begin += most_between_looks_at_the_clock) {
      const std::uint64_t count = std::min(most_between_looks_at_the_clock, options_.device_tests - begin);
      const Tally alone = device_.emulator->check(operation, engine, {options_.seed, begin, count});
      row.tests += alone.tests;
      row.mismatches += alone.mismatches;
      spell_out(row, alone, [&](DeviceRow& part, std::uint64_t test) { compare_tests(part, operation, engine, {test, 1}); });
    }
  }

  /// Asks again on the host for the first mismatches that a device counted.
  template <class Again>
  void spell_out(DeviceRow& row, const Tally& tally, const Again& again) {
    for (const std::uint64_t test : tally.first) {
      DeviceRow part = row_like(row);
      again(part, test);
      part.tests = part.mismatches = 0;  // counted already
      add_counts(row, std::move(part));
    }
  }

  static DeviceRow row_like(const DeviceRow& row) {
    DeviceRow part;
    part.products = row.products;
    part.operands = row.operands;
    return part;
  }

  void compare_on_host(DeviceRow& row, const Operation& operation, const emu::Engine& engine, std::uint64_t tests) {
    in_portions(row, tests, std::max<std::uint64_t>(1, portion_codes / row.products),
                [&](DeviceRow& part, const Portion& portion) { compare_tests(part, operation, engine, portion); });
  }

  void compare_tests(DeviceRow& part, const Operation& operation, const emu::Engine& engine, const Portion& portion) {
    const auto problems =
        gpu::test_problems(gpu::TestShape(operation, part.products), options_.seed, portion.begin, portion.count);
    std::vector<Code> d(portion.count);
    {
      const std::lock_guard lock(device_mutex_);
      device_.unit->multiply(operation, problems.view(), d);
    }
    compare(part, operation, engine, problems.view(), d, portion.begin);
  }

  void check(const ElementOperation& operation) {
    const gpu::ElementModel& model = operation.model;
    const bool single = gpu::operands_of(model.kind) == 1;
    const int bits = model.from.bits();
    const bool visited = single && bits <= most_visited_bits,
               swept = single && bits <= options_.most_swept_bits && device_.emulator;
    DeviceRow row = row_of(device_.description.id, operation);
    row.seed = options_.seed;
    if (visited || swept) {
      DeviceRow every = row;
      every.operands = OperandClass::every;
      rows_.push_back(guarded(every, [&](DeviceRow& r) { check_every(r, operation, std::uint64_t{1} << bits, visited); }));
    }
    if (!visited)
      rows_.push_back(guarded(row, [&](DeviceRow& r) {
        in_portions(r, options_.tests, portion_codes / 4,
                    [&](DeviceRow& part, const Portion& portion) { compare_tests(part, operation, portion); });
      }));
  }

  void check_every(DeviceRow& row, const ElementOperation& operation, std::uint64_t codes, bool visited) {
    const auto again = [&](DeviceRow& part, const Portion& portion) { compare_tests(part, operation, portion); };
    if (visited) return in_portions(row, codes, portion_codes / 4, again);
    const Tally tally = device_.emulator->sweep(operation, {options_.seed, 0, codes});
    row.tests += tally.tests;
    row.mismatches += tally.mismatches;
    spell_out(row, tally, [&](DeviceRow& part, std::uint64_t test) { again(part, {test, 1}); });
  }

  void compare_tests(DeviceRow& part, const ElementOperation& operation, const Portion& portion) {
    const int operands = gpu::operands_of(operation.model.kind);
    const std::size_t n = portion.count;
    std::vector<Code> a(n), b(operands > 1 ? n : 0), c(operands > 2 ? n : 0), d(n);
    for (std::size_t i = 0; i < n; ++i) {
      const bool every = part.operands == OperandClass::every;
      const auto test = every ? gpu::TestOperands{portion.begin + i, 0, 0}
                              : gpu::test_operands(operation.model, options_.seed, portion.begin + i);
      a[i] = test.a;
      if (operands > 1) b[i] = test.b;
      if (operands > 2) c[i] = test.c;
    }
    {
      const std::lock_guard lock(device_mutex_);
      device_.elementwise->apply(operation, {a, b, c}, d);
    }
    compare(part, operation, {a, b, c}, d, portion.begin);
  }

  /// Compares portions side by side, the device being asked by one of them at a time.
  void in_portions(DeviceRow& row, std::uint64_t tests, std::uint64_t most,
                   const std::function<void(DeviceRow&, const Portion&)>& compare_portion) {
    std::mutex mutex;
    for_each_portion(tests, most, options_.threads, [&](const Portion& portion) {
      DeviceRow part = row_like(row);
      compare_portion(part, portion);
      const std::lock_guard lock(mutex);
      add_counts(row, std::move(part));
    });
  }

  const gpu::Device& device_;
  const DeviceCheckOptions& options_;
  DeviceWork work_;
  std::size_t done_ = 0;
  std::mutex device_mutex_;
  std::vector<DeviceRow> rows_;
};

}  // namespace

std::vector<DeviceRow> check_device(const gpu::Device& device, const DeviceCheckOptions& options) {
  return DeviceCheck(device, options).run();
}

}  // namespace ulpscope::studies
