// SPDX-License-Identifier: Apache-2.0
// `train`: a study under recipes and seeds, as it is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "requests/field.hpp"
#include "studies/study.hpp"
#include "training/train/device_products.hpp"
#include "training/train/train_study.hpp"

namespace ulpscope::training {

/// The members mean what their fields' help says.
struct TrainRequest {
  /// What the fields of these names say in the help of `ulpscope train`.
  ///@{
  std::string study;
  std::vector<std::string> recipe;
  std::vector<std::uint64_t> seed;
  std::optional<std::uint64_t> steps;
  std::string engine, product_times;
  std::vector<std::string> device;
  std::string instruction;
  bool check = false, emulate_rest = false;
  int threads = 0;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// The study, with what the request changes of it. @throws ulpscope::Error
TrainStudy resolve(const TrainRequest& request);

/// Sentences of what in a study has no effect: keys, rules of its recipes, tensors of `init`. @throws ulpscope::Error
std::vector<std::string> remarks_of(const TrainStudy& study);

/// The devices of the request; null where it names none. @throws ulpscope::Error, gpu::NoDevice where there is no such device
std::unique_ptr<DeviceProducts> devices_of(const TrainRequest& request);

/// What a request asks beside a study, by lines, but for the number of threads and which recipes and seeds: the program's
/// version and commit, and the other options.
std::string option_lines(const TrainRequest& request);
/// The same, and the study's text. A saved run goes on under the same one alone. @throws ulpscope::Error
std::string identity_of(const TrainRequest& request);

/// curves.csv, summary.csv, tensors.csv. @throws ulpscope::Error
studies::StudyResult run(const TrainRequest& request, const studies::Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
studies::Work work_of(const TrainRequest& request);

}  // namespace ulpscope::training
