// SPDX-License-Identifier: Apache-2.0
// The readers of tensor files, with --dtype and without.
#include <optional>

#include "emu/catalogue.hpp"
#include "tensors/memory_limit.hpp"
#include "tests/fuzz/read_everything.hpp"
#include "tests/fuzz/targets.hpp"

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

void read_csv(const std::uint8_t* data, std::size_t size) {
  read_everything(data, size, [](const FileBytes& file) { return tensors::read_csv(file); });
}

}  // namespace ulpscope::fuzz
