// SPDX-License-Identifier: Apache-2.0
// A training study: a model, data, a loss, an optimizer and a scaler, trained under recipes and seeds. Read from TOML.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/error.hpp"
#include "requests/field.hpp"
#include "training/state/optimizer.hpp"
#include "training/tape/array.hpp"

namespace ulpscope::training {

/// One module of torch's nn.Sequential, whose place in the list is its name.
struct Layer {
  std::string kind;                ///< `linear`, `conv`, `layer_norm`, `relu`, ...
  std::vector<std::size_t> sizes;  ///< linear: in, out; conv: in, out, kernel, padding (0); layer_norm: extent; max_pool: size
};

/// The members mean what their fields' help says.
struct ModelSpec {
  /// What the fields of these names say.
  ///@{
  std::string kind = "layers", init = "kaiming_uniform";
  std::vector<std::uint64_t> widths{64, 128, 10};
  std::string activation = "relu";
  std::uint64_t vocabulary = 16, context = 32, width = 64, heads = 4, blocks = 2;
  std::vector<std::uint64_t> discriminator_widths{2, 32, 32, 1};
  ///@}
  std::vector<Layer> layers = {};         ///< of kind `layers`; of the others what the kind is made of; of gan the generator's
  std::vector<Layer> discriminator = {};  ///< of gan
  bool checkpoint = false;                ///< of [run] checkpoint_activations

  /// Names the members.
  void describe(requests::Fields& fields);
};

/// The same of the data.
struct DataSpec {
  /// What the fields of these names say.
  ///@{
  std::string inputs = {}, targets = {}, table = {}, text = {}, order = "fixed";
  std::uint64_t batch = 0, held_back = 0, samples = 4096;
  ///@}

  /// Names the members.
  void describe(requests::Fields& fields);
};

/// The same of the optimizer.
struct OptimizerSpec {
  /// What the fields of these names say.
  ///@{
  std::string kind = "sgd", eps_placement = "torch", adjust_lr = "original";
  double lr = 0.01, momentum = 0, dampening = 0, weight_decay = 0, eps = 1e-8;
  bool nesterov = false;
  std::uint64_t ns_steps = 5;
  std::vector<std::string> betas{"0.9", "0.999"};
  ///@}

  /// Names the members.
  void describe(requests::Fields& fields);
  /// @throws ulpscope::Error
  OptimizerSettings settings() const;
};

/// The same of the loss.
struct LossSpec {
  std::string kind = "cross_entropy";  ///< what its field says

  /// Names the members.
  void describe(requests::Fields& fields);
};

/// The same of the scaler.
struct ScalerSpec {
  std::string kind = {};  ///< what its field says

  /// Names the members.
  void describe(requests::Fields& fields);
};

/// The same of the runs.
struct RunSpec {
  /// What the fields of these names say.
  ///@{
  std::uint64_t steps = 0, epochs = 0, accumulate = 1, warmup = 0, workers = 1;
  std::vector<std::uint64_t> seeds{0};
  std::vector<std::string> recipes{"float32"}, evaluate{}, reload_loses{};
  std::optional<double> clip_norm, clip_value, average;
  std::optional<std::uint64_t> reload_at;
  std::string schedule = "constant", clip = "after_unscale", unscale = "before_step", on_overflow = "skip", all_reduce = "ring",
              engine = {}, product_times = {};
  bool checkpoint_activations = false;
  ///@}

  /// Names the members.
  void describe(requests::Fields& fields);
};

/// All of it.
struct TrainStudy {
  ModelSpec model;                         ///< `[model]`
  DataSpec data;                           ///< `[data]`
  std::string loss;                        ///< kind of `[loss]`
  OptimizerSpec optimizer;                 ///< `[optimizer]`
  OptimizerSpec generator, discriminator;  ///< of gan `[optimizer.generator]` and `[optimizer.discriminator]`
  std::string scaler;                      ///< kind of `[scaler]`; empty: none
  RunSpec run;                             ///< `[run]`
  std::string expect;                      ///< `diverges`, where a run that does is none that failed
  std::vector<std::string> idle;           ///< a sentence for each key of the file that has no effect here
  /// Where these stand, for errors: `study.toml:12: [run] recipes`, or the option that took their place.
  ///@{
  std::string recipes_place = "recipes", seeds_place = "seeds";
  ///@}
  std::map<std::string, std::string> places =
      {};  ///< of keys that only the data can refute: `[data] batch` with file and line before it
};

/// An error about a key, with its place in the file; of any other error nothing.
std::optional<Error> with_place(const TrainStudy& study, const Error& error);

/// Its recipes are not opened: a command may put others in their place. @throws ulpscope::Error with file and line
TrainStudy parse_train_study(std::string_view text, const std::string& name);
/// Whether there are runs, their recipes can be read, and each has a name of its own: its files have it. @throws
/// ulpscope::Error
void check_runs(const TrainStudy& study);
/// parse_train_study() of a file, or of one that comes with the program.
TrainStudy read_train_study(const std::string& path);

}  // namespace ulpscope::training
