// SPDX-License-Identifier: Apache-2.0
// Opens inputs and runs census and sweep together for a report.
#include "cli/precision.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cli/cell_report.hpp"
#include "cli/kept_parts.hpp"
#include "cli/output.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "reports/build_info.hpp"
#include "reports/compare/compare.hpp"
#include "reports/directory.hpp"
#include "reports/page_html.hpp"
#include "reports/part_lines.hpp"
#include "reports/render.hpp"
#include "reports/sha256.hpp"
#include "studies/cast/dequantized.hpp"
#include "studies/census/census_report.hpp"
#include "studies/census/tensor_part.hpp"
#include "studies/shards/part_file.hpp"
#include "studies/shards/sample.hpp"
#include "tensors/checkpoint.hpp"
#include "tensors/only_dtypes.hpp"

namespace ulpscope::cli {
OpenedTensors opened(const studies::PrecisionRequest& request) {
  studies::PrecisionInputs inputs = request.open();
  std::vector<std::string> left_out = tensors::left_out(inputs);
  for (const std::string& line : left_out) remark(emu::visible(line));
  if (const auto codes = studies::codes_under_scales(request.inputs, inputs, request.reading.options()).codes; !codes.empty())
    remark(studies::codes_counted(codes));
  return {std::move(inputs.kept), std::move(left_out), std::move(inputs.nodes)};
}

std::vector<tensors::Tensor> open_all(const std::vector<std::string>& inputs, const tensors::OpenOptions& options) {
  std::vector<tensors::Tensor> all;
  for (const std::string& input : inputs) {
    tensors::Opened opened = tensors::open_listed(input, options);
    if (!opened.unlisted.empty()) remark(tensors::unlisted_words(opened.unlisted));
    std::ranges::move(opened.tensors, std::back_inserter(all));
  }
  return tensors::of_dtypes(std::move(all), options.only_dtype);
}

std::optional<studies::ScaleRange> swept_range(const ReportRequest& request) {
  return request.advise ? std::optional(request.range) : std::nullopt;
}

ReportRequest report_of(const studies::CensusRequest& request, std::uint64_t elements) {
  constexpr std::uint64_t most_swept = std::uint64_t{1} << 24;  // elements up to which a report also advises a scale
  ReportRequest report{};
  report.scaling = request.scaling();
  report.blocks = request.blocks;
  report.advise = !report.blocks && report.scaling.rule == studies::ScaleRule::none && elements <= most_swept;
  return report;
}

ReportRequest report_of(const studies::SweepRequest& request) {
  ReportRequest report{};
  report.range = request.range();
  report.advise = report.sweep_table = true;
  return report;
}

std::vector<std::string> undivided(const std::vector<std::string>& arguments) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--shard" || word == "--amax" || word == "-o")
      ++i;
    else if (!word.starts_with("--shard=") && !word.starts_with("--amax=") && !word.starts_with("-o"))
      kept.push_back(word);
  }
  return kept;
}

std::vector<std::string> reproducing(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--resume" || arguments[i].starts_with("--threads=")) continue;
    if (arguments[i] == "--threads")
      ++i;
    else
      words.push_back(arguments[i]);
  }
  return words;
}

studies::Shard shard_of(const std::string& word) {
  return studies::parse_shard(word, [](const char* name) -> const char* { return std::getenv(name); });
}

namespace {

/// Which part a folder holds, by its command line; `--shard auto` names the folder after it.
std::string name_of_part(const std::string& folder) {
  const std::vector<std::string> words = reports::read_manifest(folder).arguments;
  const std::string option = "--shard";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool joined = words[i].starts_with(option + "=");
    if (!joined && (words[i] != option || i + 1 == words.size())) continue;
    const std::string word = joined ? words[i].substr(option.size() + 1) : words[i + 1];
    return word == "auto" ? std::filesystem::path(folder).filename().string() : shard_of(word).name();
  }
  return "unknown";
}

/// The parts that a folder holds: itself, or the folders in it, by name.
std::vector<std::string> parts_in(const std::string& folder) {
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::path(folder) / part_name, ignored)) return {folder};
  std::vector<std::string> parts;
  for (std::filesystem::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored))
    if (std::filesystem::exists(entry->path() / part_name, ignored)) parts.push_back(entry->path().string());
  if (parts.empty()) throw Error(emu::visible(folder + ": holds no " + part_name + ", nor does a folder in it"));
  std::ranges::sort(parts);
  return parts;
}

studies::TensorPart magnitude_of(const tensors::Tensor& tensor, const studies::CensusConfig& config,
                                 const studies::ElementRange& range) {
  studies::TensorPart part;
  part.amax = studies::amax_of(tensor, range, config.threads);
  if (config.progress) config.progress(range.count);
  return part;
}

/// Throws where a part has met a greater magnitude than that of all parts.
void check_magnitude(const tensors::Tensor& tensor, const studies::TensorPart& part, double amax) {
  const double met = studies::magnitude_met(part);
  if (met > amax)
    throw Error(emu::visible("--amax: " + reports::shortest(amax) + " is said of " + tensor.label + ", which holds " +
                             reports::shortest(met) + ": the first pass read other numbers"));
}

/// What is kept for a report or part, where that is asked for. `shard` is empty for all of the tensors.
std::unique_ptr<KeptParts> kept_of(const ReportRequest& report, const std::string& folder, const std::string& shard,
                                   const PartWork& work, const std::vector<tensors::Tensor>& tensors, int threads) {
  if (!report.resume) return nullptr;
  std::vector<std::string> words{work.command};
  words.insert(words.end(), work.request.begin(), work.request.end());
  if (!shard.empty()) words.insert(words.end(), {"--shard", shard});
  std::string magnitudes;
  for (const double amax : work.amax) magnitudes += reports::shortest(amax) + " ";
  if (!magnitudes.empty()) words.insert(words.end(), {"--amax", reports::sha256(magnitudes)});
  return std::make_unique<KeptParts>(folder, request_lines(words, tensors, threads), tensors.size());
}

/// The line of what is kept of a tensor, whose elements are told of then.
std::optional<std::string> kept_line(const KeptParts* kept, std::size_t at, std::uint64_t elements,
                                     const studies::CensusConfig& told) {
  std::optional<std::string> line = kept != nullptr ? kept->find(at) : std::nullopt;
  if (line && told.progress) told.progress(elements);
  return line;
}

/// Whose lines are held until those before them are written.
std::size_t tensors_at_a_time(const ReportRequest& report) {
  constexpr std::size_t most = 256;
  return report.blocks ? studies::block_tensors_at_a_time : most;
}

/// A part is replaced by none but itself: of a command line that asks for the same.
void check_part_folder(const PartPlace& place, const std::vector<std::string>& arguments) {
  const std::filesystem::path folder = place.folder;
  std::error_code ignored;
  if (!std::filesystem::exists(folder / part_name, ignored)) return reports::check_report_folder(place.folder);
  if (!std::filesystem::exists(folder / reports::manifest_name, ignored))  // one that replaced it was killed
    return reports::check_part_folder(place.folder);
  const std::string there = name_of_part(place.folder);
  if (there != place.shard.name())
    throw Error(place.folder + ": holds part " + there + ", not " + place.shard.name() + "; choose another folder");
  const std::vector<std::string> made_by = undivided(reproducing(reports::read_manifest(place.folder).arguments));
  if (made_by != undivided(reproducing(arguments)))
    throw Error(emu::visible(place.folder + ": holds a part of `" + command_line(made_by) + "`; choose another folder"));
}

/// Parts of `folder` that `--shard auto` has named are of as many as this one.
void check_parts_beside(const std::string& folder, const studies::Shard& shard) {
  std::error_code ignored;
  std::set<std::string> others;
  const std::string all = "-of-" + std::to_string(shard.count);
  for (std::filesystem::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    const std::size_t digits = name.find_first_not_of("0123456789");
    if (digits == 0 || digits == name.npos || !name.substr(digits).starts_with("-of-") || name.ends_with(all)) continue;
    if (std::filesystem::exists(entry->path() / part_name, ignored)) others.insert(name);
  }
  if (others.empty()) return;
  const std::string& other = *others.begin();
  throw Error(emu::visible(folder + ": holds " + other + ", and this would be " + shard.name() +
                           "; to run one part of those again, give --shard I/N -o " + folder + "/I-of-N, else another folder"));
}

}  // namespace

std::optional<PartPlace> part_place(const std::string& word, const std::string& directory,
                                    const std::vector<std::string>& arguments) {
  if (word.empty()) return std::nullopt;
  if (directory.empty()) throw Error("--shard " + word + ": -o PART is missing, the folder that the part is written to");
  PartPlace place{shard_of(word), directory};
  if (word == "auto") {
    check_parts_beside(directory, place.shard);
    place.folder += "/" + place.shard.name();
  }
  check_part_folder(place, arguments);
  return place;
}

std::vector<std::string> part_files(const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const std::string& folder : folders)
    for (const std::string& part : parts_in(folder)) names.push_back((std::filesystem::path(part) / part_name).string());
  return names;
}

std::vector<studies::PartReader> open_parts(const std::vector<std::string>& names) {
  std::vector<studies::PartReader> parts;
  for (const std::string& name : names) {
    const auto lines = std::make_shared<reports::PartLines>(name);
    const studies::PartHead& head =
        parts.emplace_back([lines] { return lines->next(); }, name, parts.empty() ? nullptr : &parts.front()).head();
    if (const std::string why = reports::unlike_this_program(head.version, head.commit); !why.empty())
      throw Error(emu::visible(name + ": " + why));
  }
  return parts;
}

void write_part(const PartPlace& place, const ReportRequest& report, const PartWork& work,
                const std::vector<tensors::Tensor>& tensors, const studies::CensusConfig& config, const Progress& progress) {
  const std::vector<studies::ElementRange> ranges = studies::ranges_of(tensors, place.shard);
  studies::PartHead head{.version = reports::version(),
                         .commit = reports::commit(),
                         .command = work.command,
                         .request = work.request,
                         .arguments = undivided(report.arguments),
                         .remarks = report.remarks,
                         .all = std::make_shared<studies::PartTensors>(
                             studies::PartTensors{tensors, studies::samples_of(tensors, config.threads), report.nodes}),
                         .pieces = {}};
  for (std::size_t i = 0; i < ranges.size(); ++i)
    if (ranges[i].count != 0) head.pieces.push_back({i, ranges[i]});
  const std::unique_ptr<KeptParts> kept = kept_of(report, place.folder, place.shard.name(), work, tensors, config.threads);
  const auto measured = [&](std::size_t at, const studies::CensusConfig& told) {
    const tensors::Tensor& tensor = tensors[at];
    const studies::ElementRange& range = ranges[at];
    if (work.command == "amax") return studies::piece_line(magnitude_of(tensor, told, range));
    studies::Scaling known = report.scaling;
    if (!work.amax.empty()) known.shared_amax = work.amax[at];
    const studies::TensorPart found = report.blocks ? studies::measure_blocks(tensor, known, told, range)
                                                    : studies::measure(tensor, known, swept_range(report), told, range);
    if (!work.amax.empty()) check_magnitude(tensor, found, work.amax[at]);
    return studies::piece_line(found);
  };
  const auto line = [&](const tensors::Tensor& tensor, const studies::CensusConfig& told) {
    const auto at = static_cast<std::size_t>(&tensor - tensors.data());
    if (ranges[at].count == 0) return std::string();
    if (std::optional<std::string> known = kept_line(kept.get(), at, ranges[at].count, told)) {
      static_cast<void>(
          studies::piece_of(*known, kept->name(), tensor.label, ranges[at]));  // a part holds none that is damaged
      return *std::move(known);
    }
    std::string found = measured(at, told);
    if (kept) kept->keep(at, found);
    return found;
  };
  const auto write_all = [&](const reports::WriteBytes& write) {
    studies::PartWriter writer(head, write);
    const auto add = [&](std::size_t, const std::string& of_tensor) {
      if (!of_tensor.empty()) writer.add(of_tensor);
      return true;
    };
    studies::for_each_tensor(tensors, config, progress, line, add, tensors_at_a_time(report));
    writer.finish();
  };
  reports::write_part(place.folder, write_all, {.arguments = report.arguments, .seed = config.seed});
  if (kept) kept->remove();
  const char* const use =
      work.command == "amax" ? "`ulpscope census --amax` reads all parts" : "`ulpscope merge` makes a report of all parts";
  remark_part(place.folder, use);
}

void write_precision_report(const ReportRequest& request, const PartWork& work, const std::vector<tensors::Tensor>& tensors,
                            const studies::CensusConfig& config, const Progress& progress) {
  const std::optional<studies::ScaleRange> range = swept_range(request);
  const std::unique_ptr<KeptParts> kept = kept_of(request, request.directory, {}, work, tensors, config.threads);
  const auto measured = [&](const tensors::Tensor& tensor, const studies::CensusConfig& told) {
    const auto at = static_cast<std::size_t>(&tensor - tensors.data());
    const studies::ElementRange all{0, tensor.count()};
    if (const std::optional<std::string> line = kept_line(kept.get(), at, all.count, told))
      return studies::results_of(tensor, studies::piece_of(*line, kept->name(), tensor.label, all), config.formats, range);
    const studies::TensorPart found = studies::measure(tensor, request.scaling, range, told, all);
    if (kept) kept->keep(at, studies::piece_line(found));
    return studies::results_of(tensor, found, config.formats, range);
  };
  const EachResult each = [&](const std::function<void(studies::TensorResults)>& take) {
    studies::for_each_tensor(tensors, config, progress, measured, [&](std::size_t, studies::TensorResults found) {
      take(std::move(found));
      return true;
    });
  };
  write_precision_report(request, each, config);
  if (kept) kept->remove();
}

void write_block_report(const ReportRequest& report, const PartWork& work, const studies::CensusRequest& request,
                        const std::vector<tensors::Tensor>& tensors, const Progress& progress) {
  const studies::CensusConfig config = request.config();
  const std::unique_ptr<KeptParts> kept = kept_of(report, report.directory, {}, work, tensors, config.threads);
  const auto measured = [&](const tensors::Tensor& tensor, const studies::CensusConfig& told) {
    const auto at = static_cast<std::size_t>(&tensor - tensors.data());
    const studies::ElementRange all{0, tensor.count()};
    if (const std::optional<std::string> line = kept_line(kept.get(), at, all.count, told))
      return studies::piece_of(*line, kept->name(), tensor.label, all).blocks;
    studies::TensorPart found = studies::measure_blocks(tensor, report.scaling, told, all);
    if (kept) kept->keep(at, studies::piece_line(found));
    return std::move(found.blocks);
  };
  studies::BlockRows rows(report.scaling, config.formats, report.groups);
  const auto add = [&](std::size_t tensor, const std::vector<studies::BlockSums>& sums) {
    rows.add(tensors[tensor], sums);
    return true;
  };
  studies::for_each_tensor(tensors, config, progress, measured, add, tensors_at_a_time(report));
  write_block_report(report, request, std::move(rows));
  if (kept) kept->remove();
}

void write_block_report(const ReportRequest& report, const studies::CensusRequest& request, studies::BlockRows rows) {
  write_cell_report({.directory = report.directory,
                     .title = "What becomes of blocks",
                     .name = "blocks",
                     .kind = "census",
                     .request = toml_of(request),
                     .seed = request.reading.seed},
                    studies::blocks_result(rows.finish(), report.scaling, request.config().options, report.remarks),
                    report.arguments);
}

void write_precision_report(const ReportRequest& request, const EachResult& each, const studies::CensusConfig& config) {
  std::map<std::string, std::string> csv;  // by table
  studies::CensusReport report({request.scaling, config.options, request.nodes}, request.groups,
                               [&](const reports::Table& rows) {
                                 std::string& text = csv[rows.name];
                                 text += text.empty() ? reports::to_csv(rows) : reports::csv_rows(rows);
                               });
  std::optional<reports::ReportFolder> folder;
  if (request.sweep_table) {
    // The rows of all scales are written while tensors are measured: they are too many to be held.
    folder.emplace(request.directory).add("sweep.csv", [&](const reports::WriteBytes& write) {
      const auto add_rows = [&](const std::vector<studies::SweepRow>& rows) {
        write(reports::csv_rows(studies::sweep_table(rows, config.options)));
      };
      write(reports::to_csv(studies::sweep_table({}, config.options)));
      each([&](studies::TensorResults found) {
        add_rows(found.sweep);
        report.add(std::move(found));
      });
      for (const std::vector<studies::SweepRow>& group : report.sweeps_of_groups()) add_rows(group);
    });
  } else {
    each([&](studies::TensorResults found) { report.add(std::move(found)); });
    folder.emplace(request.directory);
  }
  report.add_groups();
  if (!request.sweep_table) csv.erase("loss_scales");
  for (const auto& [name, text] : csv) folder->add(name + ".csv", text);
  reports::Page page = report.page();
  page.command = command_line(request.arguments);
  folder->commit(reports::to_html(page), {request.arguments, config.seed, {}, "none", reports::figure_files(page)});
}

}  // namespace ulpscope::cli
