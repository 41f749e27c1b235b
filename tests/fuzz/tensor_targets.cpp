// SPDX-License-Identifier: Apache-2.0
// The readers of tensor files, with --dtype and without, and of traces.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "reports/compare/csv_file.hpp"
#include "studies/onnx/graph.hpp"
#include "tensors/checkpoint.hpp"
#include "tensors/elements.hpp"
#include "tensors/memory_limit.hpp"
#include "tensors/onnx.hpp"
#include "tests/fuzz/read_everything.hpp"
#include "tests/fuzz/targets.hpp"
#include "training/scale/trace.hpp"

namespace ulpscope::fuzz {
namespace {

using tensors::FileBytes;

/// What codes may be: of one byte and of two, packed nowhere in an .npy.
constexpr std::array<std::optional<emu::Format>, 5> dtypes{std::nullopt, emu::float8_e4m3fn, emu::float4_e2m1fn, emu::bfloat16,
                                                           emu::float32};

}  // namespace

void read_npy(const std::uint8_t* data, std::size_t size) {
  for (const auto& dtype : dtypes)
    read_everything(data, size, [&](const FileBytes& file) { return tensors::read_npy(file, dtype); });
}

void read_npz(const std::uint8_t* data, std::size_t size) {
  tensors::set_memory_limit(std::uint64_t{1} << 26);
  for (const auto& dtype : dtypes)
    read_everything(data, size, [&](const FileBytes& file) { return tensors::read_npz(file, dtype); });
}

void read_safetensors(const std::uint8_t* data, std::size_t size) { read_everything(data, size, read_safetensors_whole); }

void read_gguf(const std::uint8_t* data, std::size_t size) {
  read_everything(data, size, [](const FileBytes& file) { return tensors::read_gguf(file); });
}

void read_onnx(const std::uint8_t* data, std::size_t size) {
  tensors::set_memory_limit(std::uint64_t{1} << 20);
  read_everything(data, size, [](const FileBytes& file) { return tensors::read_onnx(file); });
  // What it computes, of whatever inputs it wants: their extents are 2 where it leaves them open.
  read_everything(data, size, [](const FileBytes& file) {
    studies::OnnxRun run{.inputs = {}, .threads = 1, .integers = true};
    for (const tensors::OnnxInput& input : tensors::read_onnx_model(file).inputs) {
      std::vector<std::uint64_t> shape;
      for (const std::string& extent : input.shape) shape.push_back(extent == "1" ? 1 : extent == "3" ? 3 : 2);
      std::vector<float> values(tensors::element_count(shape).value_or(0) <= 4096 ? *tensors::element_count(shape) : 0);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 1;
      if (shape.size() > 12) continue;
      run.inputs.push_back({tensors::from_values("input", shape, values), true});
      run.inputs.back().tensor.name = input.name;
    }
    return studies::onnx_values(file, run).tensors;
  });
}

void read_csv(const std::uint8_t* data, std::size_t size) {
  read_everything(data, size, [](const FileBytes& file) { return tensors::read_csv(file); });
}

void read_trace(const std::uint8_t* data, std::size_t size) {
  const auto steps_ascend = [](const training::Trace& trace) {
    for (std::size_t i = 0; i < trace.steps.size(); ++i)
      if (i > 0 && trace.steps[i].step <= trace.steps[i - 1].step) std::abort();
  };
  try {
    steps_ascend(training::parse_trace(reports::parse_csv({reinterpret_cast<const char*>(data), size}, "input"), "input"));
  } catch (const Error&) {
  }
  read_everything(data, size, [&](const FileBytes& file) {
    const training::Trace trace = training::trace_of(tensors::read_safetensors(file), "input");
    steps_ascend(trace);
    for (const training::TraceStep& step : trace.steps) {
      static_cast<void>(training::range_of(step, 1));
      static_cast<void>(training::scale_gradients(step, emu::float8_e4m3fn, {.scale = 0x1p16}, 1));
    }
    return std::vector<tensors::Tensor>{};
  });
}

void read_index(const std::uint8_t* data, std::size_t size) {
  namespace fs = std::filesystem;
  const std::string folder = "checkpoint/";
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const tensors::Checkpoint checkpoint = tensors::index_of(text, folder + "model.safetensors.index.json");
    // Whatever it says, files lie below its folder, and each tensor is in one of them.
    for (const std::string& file : checkpoint.files)
      if (!fs::path(file).lexically_normal().string().starts_with(folder) || file.find('\0') != std::string::npos) std::abort();
    for (const auto& [tensor, file] : checkpoint.file_of)
      if (!std::ranges::binary_search(checkpoint.files, file)) std::abort();
  } catch (const Error&) {
  }
}

}  // namespace ulpscope::fuzz
