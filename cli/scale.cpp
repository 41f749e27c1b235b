// SPDX-License-Identifier: Apache-2.0
// The commands `scalers` and `scale`: loss scalers, and what they do on a recorded run.
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "emu/visible.hpp"
#include "reports/page_html.hpp"
#include "training/scale/scale_study.hpp"

namespace ulpscope::cli {
namespace {

struct Scale {
  training::ScaleRequest request;
  CommonOptions common;
  std::string directory;
};

void run(const Scale& scale, const Arguments& arguments) {
  if (!scale.directory.empty()) refuse_choice(scale.common, "-o " + scale.directory + ": a report holds");
  ProgressLine progress("steps");
  const training::ScaleResult result = training::replay(scale.request, progress.callback());
  if (!result.remark.empty()) remark(emu::visible(result.remark));
  std::vector<reports::Table> tables = training::scale_tables(result);
  const std::vector<reports::Finding> findings = training::scale_findings(result);
  if (!scale.directory.empty()) {
    reports::Page page = training::scale_page(result, scale.request);
    page.command = command_line(arguments);
    tables.push_back(reports::findings_table(findings));
    reports::write_page_report(scale.directory, tables, page, {.arguments = arguments, .texts = {}});
    return remark_report(scale.directory);
  }
  print(tables.front(), scale.common, 2);
  const bool text = rendering_of(scale.common) == Rendering::text;
  if (text) print("\n");
  for (const reports::Finding& finding : findings) {
    const std::string line = emu::visible(finding.sentence);
    if (text)
      print(line + "\n");
    else if (finding.severity == reports::Severity::bad)
      remark(line);
  }
}

}  // namespace

void add_scalers(Command& app) {
  struct Scalers {
    CommonOptions common;
    std::string name;
  };
  auto scalers = std::make_shared<Scalers>();
  Command& command = *app.add_subcommand("scalers", "the loss scalers, their parameters, and where they come from");
  command.add_option("SCALER", scalers->name, "one whose parameters are to be explained");
  scalers->common.add_output(command);
  command.footer("Example: ulpscope scalers megatron");
  command.callback([scalers] { print(training::scalers_table(scalers->name), scalers->common, 1); });
}

void add_scale(Command& app, const Arguments& arguments, int&) {
  auto scale = std::make_shared<Scale>();
  Command& command = *app.add_subcommand("scale", "loss scalers on a recorded run: scales, skipped steps, gradients lost");
  command.add_request(scale->request);
  scale->common.add_output(command);
  command.add_written("-o", scale->directory,
                      "write a report: scale.csv, scale_windows.csv, findings.csv, index.html, the figure, manifest.json",
                      "DIR");
  command.footer("Example: ulpscope scale studies/data/digits-amax.csv --scaler pytorch:growth_interval=100,megatron");
  command.callback([scale, &arguments] { run(*scale, arguments); });
}

}  // namespace ulpscope::cli
