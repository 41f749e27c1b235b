// SPDX-License-Identifier: Apache-2.0
// What `census` and `sweep` share: opening the inputs, running the studies, and the report directory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reports/directory.hpp"
#include "studies/census/all_tensors.hpp"
#include "studies/census/block_statistics.hpp"
#include "studies/census/census.hpp"
#include "studies/census/census_page.hpp"
#include "studies/census/census_request.hpp"
#include "studies/census/sweep.hpp"
#include "studies/shards/part_file.hpp"
#include "studies/shards/shard.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::cli {

using studies::Progress;

/// The tensors of a request, what it leaves out, in words, which is said on standard error, and the nodes of its models.
struct OpenedTensors {
  std::vector<tensors::Tensor> tensors;
  std::vector<std::string> left_out;
  std::shared_ptr<const studies::ValueNodes> nodes;
};
OpenedTensors opened(const studies::PrecisionRequest& request);

/// Opens every input; a name that stands for several tensors gives them all.
std::vector<tensors::Tensor> open_all(const std::vector<std::string>& inputs, const tensors::OpenOptions& options);

struct ReportRequest {
  std::string directory;
  std::vector<std::string> arguments;  ///< the command line, for the manifest and the page
  studies::Scaling scaling;
  studies::ScaleRange range;
  std::vector<studies::Group> groups;  ///< rows of the tables, beside the tensors of the page
  bool advise;                         ///< sweep, and say on the page which scale to use
  bool sweep_table;                    ///< write sweep.csv and loss_scales.csv as well
  bool resume;                         ///< keep what is measured until it is written, and go on with what is kept
  bool blocks;                         ///< of the blocks of tensors, instead of their elements
  std::vector<std::string> remarks;    ///< what a report of blocks says of the inputs
  std::shared_ptr<const studies::ValueNodes> nodes;  ///< of models that are computed; null where none is
};

/// What a report of these tensors measures.
std::optional<studies::ScaleRange> swept_range(const ReportRequest& request);

/// Measures tensors one after the other and gives away what was found.
using EachResult = std::function<void(const std::function<void(studies::TensorResults)>& take)>;
/// Writes census.csv, exponents.csv, sweep.csv and loss_scales.csv if asked for, findings.csv, index.html, its figures and
/// manifest.json. `each` is called once; what one tensor after the other gives need not all be held.
void write_precision_report(const ReportRequest& request, const EachResult& each, const studies::CensusConfig& config);
/// The help of --shard.
inline constexpr const char* shard_help =
    "measure the I-th of N parts, I from 0, and write it to -o PART for `ulpscope merge`; auto: the place that Slurm, Open MPI "
    "or PMI "
    "gives, in a folder of PART";
using reports::part_name;
/// Which part is measured, and where its file goes.
struct PartPlace {
  studies::Shard shard;
  std::string folder;
};
/// The words without those that change no byte: the command of an undisturbed run.
std::vector<std::string> reproducing(const std::vector<std::string>& arguments);

/// The files of the parts in these folders, or in the folders in them. @throws ulpscope::Error where there is none
std::vector<std::string> part_files(const std::vector<std::string>& folders);
/// The parts of a census or sweep. @throws ulpscope::Error where one is damaged, holds something else, or is of another program
std::vector<studies::PartReader> open_parts(const std::vector<std::string>& names);

/// Of `--shard WORD`; `auto` asks the environment. @throws ulpscope::Error
studies::Shard shard_of(const std::string& word);

/// Of `--shard WORD -o DIRECTORY` in the command line; nothing without a word. @throws ulpscope::Error, before inputs are
/// opened
std::optional<PartPlace> part_place(const std::string& word, const std::string& directory,
                                    const std::vector<std::string>& arguments);
/// The command line of the undivided run, without where its report goes.
std::vector<std::string> undivided(const std::vector<std::string>& arguments);
/// What is measured.
struct PartWork {
  std::string command;               ///< `census` or `sweep`, or `amax` for the largest magnitudes alone
  std::vector<std::string> request;  ///< the words that ask for the numbers
  std::vector<double> amax = {};     ///< of each tensor, where a pass before this one has found it
};
/// Measures tensors, and writes the report of them.
void write_precision_report(const ReportRequest& request, const PartWork& work, const std::vector<tensors::Tensor>& tensors,
                            const studies::CensusConfig& config, const Progress& progress);
/// Measures the blocks of tensors, and writes the report of them.
void write_block_report(const ReportRequest& report, const PartWork& work, const studies::CensusRequest& request,
                        const std::vector<tensors::Tensor>& tensors, const Progress& progress);
/// The report of the rows of these, all of which were added.
void write_block_report(const ReportRequest& report, const studies::CensusRequest& request, studies::BlockRows rows);
/// Measures a part of the tensors and writes it.
void write_part(const PartPlace& place, const ReportRequest& report, const PartWork& work,
                const std::vector<tensors::Tensor>& tensors, const studies::CensusConfig& config, const Progress& progress);

/// The report that a census or sweep writes, but for where it goes; `elements` are those of all tensors.
///@{
ReportRequest report_of(const studies::CensusRequest& request, std::uint64_t elements);
ReportRequest report_of(const studies::SweepRequest& request);
///@}

}  // namespace ulpscope::cli
