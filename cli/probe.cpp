// SPDX-License-Identifier: Apache-2.0
// The command `probe`.
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "studies/probe/probe_request.hpp"

namespace ulpscope::cli {
namespace {

struct Probe {
  studies::ProbeRequest request;
  CommonOptions common;
};

void run(const Probe& probe) {
  ProgressLine progress;
  const studies::StudyResult result = studies::run(probe.request, progress.callback());
  for (const std::string& line : result.remarks) remark(line);
  print(result.tables.front(), probe.common, 6);
}

}  // namespace

void add_probe(Command& app, int&) {
  auto probe = std::make_shared<Probe>();
  Command& command = *app.add_subcommand("probe", "the numerical features of an engine, found by experiment");
  command.add_request(probe->request);
  probe->common.add_output(command);
  command.footer(
      "Beside a device the engine that claims to compute the same is probed too, column `model`.\n"
      "Example: ulpscope probe --engine sm_90 --in fp16 --acc float32");
  command.callback([probe] { run(*probe); });
}

}  // namespace ulpscope::cli
