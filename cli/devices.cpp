// SPDX-License-Identifier: Apache-2.0
// The command `devices`: the list of what is here, and the subcommands.
#include "cli/devices.hpp"

#include <memory>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "studies/devices/device_list.hpp"

namespace ulpscope::cli {
namespace {

struct Listing {
  CommonOptions common;
  std::string device;
};

void list(const Listing& listing) { print(studies::device_list(devices_named(listing.device)), listing.common, 6); }

}  // namespace

std::vector<gpu::Device> devices_named(const std::string& id) {
  gpu::DeviceSearch search = studies::devices_named(id);
  for (const std::string& line : search.remarks) remark(line);
  return std::move(search.devices);
}

int report(const studies::StudyResult& result, const CommonOptions& options) {
  for (const std::string& line : result.remarks) remark(line);
  print(result.tables.front(), options, 8);
  if (result.outcome == studies::StudyOutcome::vacuous) remark("ulpscope: nothing was compared");
  return exit_code_of(result.outcome);
}

void add_devices(Command& app, int& exit_code) {
  auto listing = std::make_shared<Listing>();
  Command& command =
      *app.add_subcommand("devices", "the real engines on this machine; check, record and replay what they compute");
  command.require_subcommand(0, 1);
  command.add_option("--device", listing->device, "one device: cuda:0, cpu:amx_bf16, emulated:sm_90; all real ones by default")
      ->type_name("D");
  listing->common.add_output(command);
  add_devices_check(command, exit_code);
  add_devices_record(command, exit_code);
  add_devices_replay(command, exit_code);
  add_devices_products(command, exit_code);
  add_devices_cost(command, exit_code);
  command.footer("Example: ulpscope devices --device emulated:sm_90");
  command.callback([listing, &command] {
    if (!command.has_chosen_subcommand()) list(*listing);
  });
}

}  // namespace ulpscope::cli
