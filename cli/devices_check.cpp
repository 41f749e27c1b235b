// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "cli/devices.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "studies/devices/device_check.hpp"

namespace ulpscope::cli {
namespace {

struct Check {
  CommonOptions common;
  std::string device, instruction, model;
  std::optional<std::uint64_t> tests;
};

int run(const Check& check) {
  require_engine(check.model);
  ProgressLine progress;
  studies::DeviceCheckOptions options;
  options.seed = check.common.seed;
  options.instruction = check.instruction;
  options.engine = check.model;
  options.threads = check.common.threads;
  options.progress = progress.callback();
  if (check.tests) {
    options.device_tests = *check.tests;
    options.tests = std::min(*check.tests, options.tests);
  }
  std::vector<studies::DeviceRow> rows;
  for (const gpu::Device& device : devices_named(check.device)) {
    if (check.tests && device.emulator == nullptr) options.tests = *check.tests;
    auto own = studies::check_device(device, options);
    std::move(own.begin(), own.end(), std::back_inserter(rows));
  }
  return report(rows, "devices_check", check.common);
}

}  // namespace

void add_devices_check(Command& devices, int& exit_code) {
  auto check = std::make_shared<Check>();
  Command& command = *devices.add_subcommand(
      "check", "adversarial operands on the device and on the emulator, compared bit by bit; exit code 1 where they differ");
  command.add_option("--device", check->device, "one device; all real ones by default")->type_name("D");
  command
      .add_option("--tests", check->tests,
                  "inner products of each instruction; 100000 by default, 10000000 where the device compares by itself")
      ->whole({1, most_elements});
  command.add_option("--seed", check->common.seed, "of the operands")->whole()->capture_default_str();
  command.add_option("--instruction", check->instruction, "only instructions that have this in their name")->type_name("TEXT");
  command.add_option("--model", check->model, "compare inner products with this engine instead")->type_name("E");
  check->common.add_threads(command);
  check->common.add_output(command);
  command.footer("Example: ulpscope devices check --device emulated:sm_90 --instruction wgmma.f32.f16.f16 --tests 1000");
  command.callback([check, &exit_code] { exit_code = run(*check); });
}

}  // namespace ulpscope::cli
