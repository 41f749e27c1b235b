// SPDX-License-Identifier: Apache-2.0
// Training on devices: the weights are those of the emulated run to the last bit, what a device cannot do is refused, and one
// wrong bit is found.
#include "training/train/device_products.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/error.hpp"
#include "gpu/device.hpp"
#include "recipes/recipe.hpp"
#include "reports/sha256.hpp"
#include "small_runs.hpp"
#include "training/train/train_request.hpp"

namespace ulpscope::training {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

/// Twelve samples of 5 numbers, 7 hidden units, 3 results: no extent fills an instruction.
std::string small_network(TemporaryDirectory& folder, std::uint64_t steps, const std::string& more = "") {
  const Network network{&folder};
  return network.study("steps = " + std::to_string(steps) + "\n" + more, "[optimizer]\nlr = 0.5\nmomentum = 0.9\n");
}

std::vector<gpu::Device> opened(const std::vector<std::string>& ids) {
  std::vector<gpu::Device> devices;
  for (const std::string& id : ids) devices.push_back(gpu::open_device(id));
  return devices;
}

std::vector<RunResult> trained(const std::string& text, const std::string& recipe, DeviceProducts* devices,
                               RunOptions options = {}) {
  TrainStudy study = parse_train_study(text, "study.toml");
  study.run.recipes = {recipe};
  options.devices = devices;
  return train_all(study, {.run = options});
}

/// SHA-256 of the weights that the run leaves, as they are written.
std::string weights_of(TemporaryDirectory& folder, const std::vector<RunResult>& runs) {
  write_recorded(folder.file("out"), runs);
  std::string sums;
  for (const auto& file : std::filesystem::directory_iterator(folder.file("out") + "/weights")) {
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    sums += file.path().filename().string() + " " + reports::sha256(bytes) + "\n";
  }
  return sums;
}

std::uint64_t count_of(const ProductCounts& counts) {
  std::uint64_t sum = 0;
  for (const auto& [what, count] : counts) sum += count;
  return sum;
}

/// A unit whose answer number `wrong` has a bit of its last element flipped.
class OneBitOff final : public gpu::Unit {
 public:
  OneBitOff(std::shared_ptr<const gpu::Unit> unit, std::uint64_t wrong, emu::Code bit)
      : unit_(std::move(unit)), wrong_(wrong), bit_(bit) {}

  std::string name() const override { return unit_->name(); }
  std::vector<gpu::Operation> operations() const override { return unit_->operations(); }
  void multiply(const gpu::Operation& operation, const gpu::InnerProducts& problem, std::span<emu::Code> d) const override {
    unit_->multiply(operation, problem, d);
    if (asked_++ == wrong_) d.back() ^= bit_;
  }

 private:
  std::shared_ptr<const gpu::Unit> unit_;
  std::uint64_t wrong_;
  emu::Code bit_;
  mutable std::uint64_t asked_ = 0;
};

/// A unit that fails.
class Failing final : public gpu::Unit {
 public:
  explicit Failing(std::shared_ptr<const gpu::Unit> unit) : unit_(std::move(unit)) {}

  std::string name() const override { return unit_->name(); }
  std::vector<gpu::Operation> operations() const override { return unit_->operations(); }
  void multiply(const gpu::Operation&, const gpu::InnerProducts&, std::span<emu::Code>) const override {
    throw Error("launch: cudaErrorIllegalInstruction");
  }

 private:
  std::shared_ptr<const gpu::Unit> unit_;
};

template <class Unit, class... Rest>
std::vector<gpu::Device> with_fault(const std::string& id, Rest... rest) {
  gpu::Device device = gpu::open_device(id);
  device.unit = std::make_shared<Unit>(device.unit, rest...);
  return {device};
}

struct OnEmulated {
  std::string recipe;
  std::string engine;  ///< in the recipe's place; empty: the recipe's
  std::vector<std::string> devices;
};

void check_weights(const OnEmulated& c, std::uint64_t steps) {
  CAPTURE(c.recipe, c.devices);
  TemporaryDirectory folder, of_device;
  const std::string engine = c.engine.empty() ? "" : "engine = \"" + c.engine + "\"\n";
  const std::string text = small_network(folder, steps, engine);

  DeviceProducts devices(opened(c.devices), {});
  const std::vector<RunResult> on_device = trained(text, c.recipe, &devices), here = trained(text, c.recipe, nullptr);

  CHECK(weights_of(of_device, on_device) == weights_of(folder, here));
  CHECK(same_bits(on_device[0], here[0]));
  CHECK(on_device[0].steps.size() == steps);
  // Forward and the gradient of the weights in both layers, that of the input in the second.
  CHECK(count_of(on_device[0].products) == 5 * steps);
  CHECK(on_device[0].products.count("emulated") == 0);
  CHECK(here[0].products.empty());
}

}  // namespace

TEST_CASE("weights after 1000 steps on an emulated device are those of the emulated run", "[training][long]") {
  const OnEmulated c =
      GENERATE(OnEmulated{"bf16_amp", "", {"emulated:sm_80"}}, OnEmulated{"bf16_amp", "sm_90", {"emulated:sm_90"}},
               OnEmulated{"fp16_amp", "sm_70", {"emulated:sm_70"}}, OnEmulated{"tf32", "", {"emulated:sm_80"}},
               OnEmulated{"float64", "", {"emulated:sm_90"}}, OnEmulated{"bf16_amp", "cdna3", {"emulated:cdna3"}},
               OnEmulated{"fp8_current", "", {"emulated:sm_90", "emulated:sm_80"}},
               OnEmulated{"fp8_delayed", "", {"emulated:sm_90", "emulated:sm_80"}});
  check_weights(c, 1000);
}

TEST_CASE("scales of tiles on an emulated device keep the bits of the emulated run", "[training][long]") {
  check_weights({"fp8_deepseek", "", {"emulated:sm_90"}}, 100);

  // Tiles of 1x128 for weights too, which are not filled up to 128 lines: ten times as fast.
  const auto& presets = recipes::recipe_presets();
  const auto deepseek =
      std::find_if(presets.begin(), presets.end(), [](const auto& file) { return file.name == "fp8_deepseek"; });
  TemporaryDirectory folder;
  std::ofstream(folder.file("tiles.toml")) << deepseek->text
                                           << "\n[[rule]]\noperations = [\"linear\"]\nweight_scaling = \"1x128\"\n";
  check_weights({folder.file("tiles.toml"), "", {"emulated:sm_90"}}, 1000);
}

TEST_CASE("weights after 1000 steps on the units of this machine are those of the emulated run", "[training][long]") {
  TemporaryDirectory folder;
  std::size_t found = 0;
  for (const gpu::Device& device : gpu::find_devices().devices) {
    if (!device.unit) continue;
    for (const gpu::Operation& o : device.unit->operations()) {
      const bool of_bfloat16 = o.a == emu::bfloat16 && o.accumulator == emu::float32;
      const bool of_float32 = o.a == emu::float32, of_float64 = o.a == emu::float64;
      if (o.engine.empty() || o.a != o.b || o.scales != emu::EngineScales::none) continue;
      if (!of_bfloat16 && !of_float32 && !of_float64) continue;
      CAPTURE(device.description.id, o.instruction);
      const std::string recipe = of_bfloat16 ? "bf16_amp" : of_float32 ? "float32" : "float64";
      const std::string text = small_network(folder, 1000, "engine = \"" + o.engine + "\"\n");
      DeviceProducts devices({device}, {.instruction = o.instruction});
      const std::vector<RunResult> on_device = trained(text, recipe, &devices), here = trained(text, recipe, nullptr);
      TemporaryDirectory first, second;
      CHECK(weights_of(first, on_device) == weights_of(second, here));
      CHECK(same_bits(on_device[0], here[0]));
      CHECK(on_device[0].products == ProductCounts{{device.description.id + " " + o.instruction, 5000}});
      ++found;
    }
  }
  if (found == 0) SKIP("this machine has no matrix unit: no AVX-512, AMX, NEON or GPU");
}

TEST_CASE("a convolution and attention on a device keep their bits", "[training]") {
  TemporaryDirectory folder;
  Numbers classes = numbers(40, 9);
  for (double& x : classes) x = std::floor((x + 1) * 4.999);
  write_npy(folder.file("x.npy"), {40, 64}, numbers(2560, 8));
  write_npy(folder.file("t.npy"), {40}, classes);
  const std::string convolutions = "[model]\nkind = \"cnn\"\n[data]\ninputs = \"" + folder.file("x.npy") + "\"\ntargets = \"" +
                                   folder.file("t.npy") + "\"\nbatch = 8\nheld_back = 8\n[run]\nsteps = 3\n";
  const std::string attention =
      "[model]\nkind = \"gpt\"\nvocabulary = 5\ncontext = 6\nwidth = 8\nheads = 2\nblocks = 1\n[data]\ntable = \"markov\"\n"
      "samples = 16\nbatch = 4\n[run]\nsteps = 3\n";
  for (const std::string& text : {convolutions, attention}) {
    DeviceProducts devices(opened({"emulated:sm_80"}), {.checked = true});
    const std::vector<RunResult> on_device = trained(text, "bf16_amp", &devices), here = trained(text, "bf16_amp", nullptr);
    CHECK(same_bits(on_device[0], here[0]));
    CHECK(on_device[0].accuracy == here[0].accuracy);
    CHECK(on_device[0].products.size() == 1);
  }
}

TEST_CASE("what is computed again for the backward pass runs on the device, too", "[training]") {
  TemporaryDirectory folder;
  const std::string text = small_network(folder, 4, "checkpoint_activations = true\n");
  DeviceProducts devices(opened({"emulated:sm_80"}), {.checked = true});
  const std::vector<RunResult> on_device = trained(text, "bf16_amp", &devices), here = trained(text, "bf16_amp", nullptr);
  CHECK(same_bits(on_device[0], here[0]));
  // Five products, and two forward once more.
  CHECK(on_device[0].products == ProductCounts{{"emulated:sm_80 mma.sync.m16n8k16.f32.bf16.bf16", 28}});
}

TEST_CASE("a run that was interrupted goes on with its count of products", "[training]") {
  TemporaryDirectory folder;
  const std::string text = small_network(folder, 6);
  DeviceProducts devices(opened({"emulated:sm_80"}), {});
  RunOptions options{.devices = &devices, .saved = folder.file("run.safetensors"), .save_now = [] { return true; }};
  options.progress = [](const TrainStep& step) {
    if (step.step == 3) throw Error("interrupted");
  };
  CHECK_THROWS_AS(run_of(text, "bf16_amp", options), Error);
  options.progress = {}, options.resume = true;
  devices.take_counts();
  const RunResult resumed = run_of(text, "bf16_amp", options);
  CHECK(resumed.products == ProductCounts{{"emulated:sm_80 mma.sync.m16n8k16.f32.bf16.bf16", 30}});
  CHECK(same_bits(resumed, run_of(text, "bf16_amp")));
}

TEST_CASE("evaluations under other recipes take the engine that is asked for", "[training]") {
  TemporaryDirectory folder;
  const std::string text = small_network(folder, 2, "engine = \"sm_90\"\nevaluate = [\"fp16_amp\", \"fp8_current\"]\n");
  DeviceProducts devices(opened({"emulated:sm_90"}), {.checked = true});
  const std::vector<RunResult> on_device = trained(text, "bf16_amp", &devices), here = trained(text, "bf16_amp", nullptr);
  CHECK(on_device[0].products.size() == 3);
  CHECK(on_device[0].evaluations.size() == 3);
  for (std::size_t i = 0; i < here[0].evaluations.size(); ++i)
    CHECK(on_device[0].evaluations[i].loss == here[0].evaluations[i].loss);
}

TEST_CASE("a run that diverges on a device leaves what the emulated one leaves", "[training]") {
  TemporaryDirectory folder, of_device;
  std::string text = small_network(folder, 20, "engine = \"sm_80\"\n");
  text.replace(text.find("lr = 0.5"), 8, "lr = 1e5");
  DeviceProducts devices(opened({"emulated:sm_80"}), {.checked = true});
  const std::vector<RunResult> on_device = trained(text, "fp16_pure", &devices, {.record_every = 1});
  const std::vector<RunResult> here = trained(text, "fp16_pure", nullptr, {.record_every = 1});
  CHECK(on_device[0].diverged);
  CHECK(here[0].diverged);
  CHECK(here[0].recorded.size() > 1);
  CHECK(weights_of(of_device, on_device) == weights_of(folder, here));
}

TEST_CASE("a device that answers wrongly in one bit is found by the check, and by nothing else", "[training]") {
  TemporaryDirectory folder;
  const std::string text = small_network(folder, 20);
  // Five products a step, each one call of the unit: product 32 is the third of step 6.
  DeviceProducts checked(with_fault<OneBitOff>("emulated:sm_80", std::uint64_t{32}, emu::Code{1}), {.checked = true});
  CHECK_THROWS_MATCHES(
      trained(text, "bf16_amp", &checked), ProductDiffers,
      MessageMatches(ContainsSubstring("bf16_amp, seed 0, step 6, layer 2, linear grad_input: element (11, 6) is ") &&
                     ContainsSubstring(" on emulated:sm_80 mma.sync.m16n8k16.f32.bf16.bf16 and ") &&
                     ContainsSubstring(" on the model sm_80; 1 of 84 elements differ")));

  // Backward: the input and the weights of the second layer, the weights of the first.
  for (const auto& [wrong, place] : {std::pair{33, "step 6, layer 2, linear grad_weight: element (2, 6)"},
                                     {34, "step 6, layer 0, linear grad_weight: element (6, 4)"},
                                     {35, "step 7, layer 0, linear output: element (11, 6)"}}) {
    DeviceProducts other(with_fault<OneBitOff>("emulated:sm_80", static_cast<std::uint64_t>(wrong), emu::Code{1}),
                         {.checked = true});
    CHECK_THROWS_MATCHES(trained(text, "bf16_amp", &other), ProductDiffers, MessageMatches(ContainsSubstring(place)));
  }

  DeviceProducts unchecked(with_fault<OneBitOff>("emulated:sm_80", std::uint64_t{32}, emu::Code{1}), {});
  CHECK(trained(text, "bf16_amp", &unchecked)[0].products ==
        ProductCounts{{"emulated:sm_80 mma.sync.m16n8k16.f32.bf16.bf16", 100}});

  DeviceProducts right(opened({"emulated:sm_80"}), {.checked = true});
  CHECK(trained(text, "bf16_amp", &right)[0].steps.size() == 20);
}

TEST_CASE("the check tells zeros of different signs apart", "[training]") {
  TemporaryDirectory folder;
  Network network{&folder};
  std::fill(network.x.begin(), network.x.end(), 0);
  DeviceProducts devices(with_fault<OneBitOff>("emulated:sm_80", std::uint64_t{0}, emu::float32.sign_mask()),
                         {.checked = true});
  CHECK_THROWS_MATCHES(trained(network.study("steps = 2\n"), "bf16_amp", &devices), ProductDiffers,
                       MessageMatches(ContainsSubstring("element (11, 6) is 80000000 (-0) on emulated:sm_80") &&
                                      ContainsSubstring("and 00000000 (0) on the model sm_80; 1 of 84 elements differ")));
}

TEST_CASE("an instruction that is named need not be the recipe's engine, and the check tells", "[training]") {
  TemporaryDirectory folder;
  const std::string text = small_network(folder, 20);
  DeviceProducts named(opened({"emulated:sm_90"}), {.instruction = "wgmma"});
  CHECK(trained(text, "bf16_amp", &named)[0].products == ProductCounts{{"emulated:sm_90 wgmma.f32.bf16.bf16", 100}});
  DeviceProducts checked(opened({"emulated:sm_90"}), {.instruction = "wgmma", .checked = true});
  CHECK_THROWS_AS(trained(text, "bf16_amp", &checked), ProductDiffers);
}

TEST_CASE("what no device can form is refused before the first run", "[training]") {
  TemporaryDirectory folder;
  TrainStudy study = parse_train_study(small_network(folder, 20), "study.toml");
  const auto refusal = [&](const std::vector<std::string>& recipes, std::vector<std::string> ids, const std::string& message) {
    CAPTURE(message);
    study.run.recipes = recipes;
    DeviceProducts devices(opened(ids), {});
    CHECK_THROWS_MATCHES(train_all(study, {.run = {.devices = &devices}}), ProductError,
                         MessageMatches(ContainsSubstring(message)));
    CHECK(devices.take_counts().empty());
  };
  refusal({"bf16_amp", "float32"}, {"emulated:sm_80"},
          "float32, layer 0, linear output: emulated:sm_80 does not multiply float32 x float32 into float32; it has ");
  refusal({"bf16_amp"}, {"emulated:sm_90"},
          "bf16_amp, layer 0, linear output: emulated:sm_90 has no instruction that claims to be engine sm_80; its own for "
          "bfloat16 x bfloat16 into float32 claim to be sm_90");
  refusal({"mxfp8"}, {"emulated:sm_100"}, "mxfp8, layer 0, linear output: engine sm_100 applies the scales of blocks itself");
  refusal({"bf16_amp"}, {"emulated:sm_70", "emulated:sm_90"}, "emulated:sm_70 does not multiply bfloat16");
  refusal({"bf16_amp"}, {"emulated:sm_70", "emulated:sm_90"}, "; emulated:sm_90 has no instruction that claims");
}

TEST_CASE("the rest is emulated where that is asked for, and counted", "[training]") {
  TemporaryDirectory folder;
  const std::string text = small_network(folder, 20);
  DeviceProducts devices(opened({"emulated:sm_90"}), {.rest_emulated = true});
  const std::vector<RunResult> float32 = trained(text, "float32", &devices), fp8 = trained(text, "fp8_current", &devices);
  CHECK(float32[0].products == ProductCounts{{"emulated", 100}});
  CHECK(same_bits(float32[0], trained(text, "float32", nullptr)[0]));
  CHECK(same_bits(fp8[0], trained(text, "fp8_current", nullptr)[0]));
  CHECK(train_findings(float32, "")[0].sentence.find("; 100 products emulated.") != std::string::npos);
  CHECK(words_of(ProductCounts{{"cpu:x Y", 3}, {"emulated", 2}}) == "3 products on cpu:x Y, 2 emulated");
}

TEST_CASE("a device that fails ends the run, and no product is emulated in its place", "[training]") {
  TemporaryDirectory folder;
  DeviceProducts devices(with_fault<Failing>("emulated:sm_80"), {.rest_emulated = true});
  CHECK_THROWS_MATCHES(trained(small_network(folder, 2), "bf16_amp", &devices), ProductError,
                       MessageMatches(ContainsSubstring(
                           "bf16_amp, seed 0, step 0, layer 0, linear output: launch: cudaErrorIllegalInstruction")));
}

TEST_CASE("requests name devices that there are, and options of devices need one", "[training]") {
  TemporaryDirectory folder;
  TrainRequest request;
  CHECK(devices_of(request) == nullptr);
  request.check = true;
  CHECK_THROWS_MATCHES(devices_of(request), Error, MessageMatches(ContainsSubstring("--device is missing")));
  request.device = {"emulated:sm_91"};
  CHECK_THROWS_AS(devices_of(request), gpu::NoDevice);
  request.device = {"emulated:sm_90"};
  CHECK(devices_of(request) != nullptr);
}

}  // namespace ulpscope::training
