// SPDX-License-Identifier: Apache-2.0
// Results recorded from real GPUs, row by row against the emulated engines. The recordings lie in the folder that the
// environment variable ULPSCOPE_RECORDINGS names: GPU/INPUT/{a,b,c,d_float32,d_float16}.npy (doi 10.1145/3830409, the models'
// validation data).
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "emu/encode.hpp"
#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "emu/names.hpp"
#include "tensors/tensor.hpp"

namespace {

namespace fs = std::filesystem;
using namespace ulpscope;
using Codes = std::vector<emu::Code>;

const std::map<std::string, std::string> engine_of_gpu{{"V100", "sm_70"}, {"A100", "sm_80"}, {"A2", "sm_86"},
                                                       {"Ada", "sm_89"},  {"L40S", "sm_89"}, {"H100", "sm_90"},
                                                       {"H200", "sm_90"}, {"B200", "sm_100"}};

struct Recording {
  std::string gpu, engine;
  emu::Format input, accumulator;
  std::size_t products;
  Codes a, b, c, d;
};

Codes codes_of(const fs::path& file, emu::Format format) {
  const auto tensor = tensors::open(file.string()).front();
  std::vector<float> values(tensor.count());
  tensor.source->read(0, values);
  Codes codes;
  for (const float value : values) codes.push_back(emu::encode(format, value));
  return codes;
}

/// fp8 with float16 results went through mma.sync on all GPUs; with float32 results through wgmma on H100 and H200, without c.
Recording read(const fs::path& folder, emu::Format input, emu::Format accumulator, const fs::path& result) {
  Recording recording{folder.parent_path().filename(),
                      engine_of_gpu.at(folder.parent_path().filename()),
                      input,
                      accumulator,
                      0,
                      codes_of(folder / "a.npy", input),
                      codes_of(folder / "b.npy", input),
                      codes_of(folder / "c.npy", accumulator),
                      codes_of(result, accumulator)};
  recording.products = recording.a.size() / recording.d.size();
  const bool fp8 = input.bits() == 8, wgmma = recording.engine == "sm_90" && accumulator == emu::float32;
  if (fp8 && wgmma) recording.c.assign(recording.d.size(), 0);
  if (fp8 && !wgmma && (recording.engine == "sm_90" || recording.engine == "sm_100")) recording.engine += "/mma";
  return recording;
}

std::vector<Recording> recordings() {
  std::vector<Recording> all;
  const char* const folder = std::getenv("ULPSCOPE_RECORDINGS");
  if (folder == nullptr) SKIP("ULPSCOPE_RECORDINGS does not name a folder of recorded GPU results");
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string stem = entry.path().stem();
    if (!stem.starts_with("d_")) continue;
    const fs::path inputs = entry.path().parent_path();
    all.push_back(
        read(inputs, *emu::parse_format(inputs.filename().string()), *emu::parse_format(stem.substr(2)), entry.path()));
  }
  return all;
}

std::size_t mismatches(const Recording& r, const emu::Engine& engine) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < r.d.size(); ++i) {
    const std::span a(r.a.data() + i * r.products, r.products), b(r.b.data() + i * r.products, r.products);
    if (emu::inner_product(engine, r.input, a, r.input, b, r.c[i]) != r.d[i]) ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("recorded results of eight GPUs: the emulated engines give every bit") {
  const auto all = recordings();
  CHECK(!all.empty());
  for (const Recording& r : all) {
    CAPTURE(r.gpu, emu::format_name(r.input), emu::format_name(r.accumulator));
    const emu::EngineMode& mode = emu::find_engine(r.engine, {r.input, r.input, r.accumulator});

    CHECK(r.d.size() == emu::recorded_inner_products);
    CHECK(mismatches(r, mode.model) == 0);
  }
}

TEST_CASE("recorded results tell one fraction bit from the next") {
  for (const Recording& r : recordings()) {
    // A float16 result leaves a range of fraction bits, and so does the path of two float16 steps.
    if (r.accumulator != emu::float32 || r.engine.ends_with("/mma")) continue;
    CAPTURE(r.gpu, emu::format_name(r.input));
    for (const int change : {-1, 1}) {
      emu::Engine other = emu::find_engine(r.engine, {r.input, r.input, r.accumulator}).model;
      other.stages[0].fraction_bits += change;

      CHECK(mismatches(r, other) > 0);
    }
  }
}

TEST_CASE("evidence by recordings is claimed where there are recordings, and nowhere else") {
  std::map<std::string, std::set<std::string>> claimed, recorded;
  const auto key = [](const std::string& engine, emu::Format input, emu::Format accumulator) {
    return engine + " " + emu::format_name(input) + " " + emu::format_name(accumulator);
  };
  for (const Recording& r : recordings()) {
    // What was compared on the hardware needs no recording.
    const emu::EngineMode& mode = emu::find_engine(r.engine, {r.input, r.input, r.accumulator});
    if (mode.evidence != emu::Evidence::device) recorded[key(r.engine, r.input, r.accumulator)].insert(r.gpu);
  }
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    if (mode.evidence != emu::Evidence::recordings) continue;
    for (const emu::Format input : mode.inputs) {
      std::istringstream gpus{std::string(mode.source)};
      for (std::string gpu; gpus >> gpu;) claimed[key(std::string(mode.engine), input, mode.model.accumulator)].insert(gpu);
    }
  }
  CHECK(claimed == recorded);
}
