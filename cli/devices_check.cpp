// SPDX-License-Identifier: Apache-2.0
// The command `devices check`: rows, remarks, and an exit code from the verdict.
#include <memory>

#include "cli/devices.hpp"
#include "cli/output.hpp"
#include "studies/devices/device_check_request.hpp"

namespace ulpscope::cli {
namespace {

struct Check {
  studies::DeviceCheckRequest request;
  CommonOptions common;
};

int run(const Check& check) {
  ProgressLine progress;
  return report(studies::run(check.request, progress.callback()), check.common);
}

}  // namespace

void add_devices_check(Command& devices, int& exit_code) {
  auto check = std::make_shared<Check>();
  Command& command = *devices.add_subcommand(
      "check", "adversarial operands on the device and on the emulator, compared bit by bit; exit code 1 where they differ");
  command.add_request(check->request);
  check->common.add_output(command);
  command.footer("Example: ulpscope devices check --device emulated:sm_90 --instruction wgmma.f32.f16.f16 --tests 1000");
  command.callback([check, &exit_code] { exit_code = run(*check); });
}

}  // namespace ulpscope::cli
