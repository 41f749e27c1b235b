// SPDX-License-Identifier: Apache-2.0
// Readers of what others write, each under a name: any bytes are read or refused by an Error, never a crash, and what is
// written from what was read is read again as the same. A reader that is added here has a libFuzzer target, and its corpus is
// replayed by a test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ulpscope::fuzz {

/// One reader.
struct Target {
  std::string_view name;                                     ///< also of its corpus
  void (*read)(const std::uint8_t* data, std::size_t size);  ///< aborts where the reader breaks its word
};

void read_csv(const std::uint8_t* data, std::size_t size);
void read_dump(const std::uint8_t* data, std::size_t size);
void read_eval(const std::uint8_t* data, std::size_t size);
void read_formula(const std::uint8_t* data, std::size_t size);
void read_gguf(const std::uint8_t* data, std::size_t size);
void read_index(const std::uint8_t* data, std::size_t size);
void read_json(const std::uint8_t* data, std::size_t size);
void read_layouts(const std::uint8_t* data, std::size_t size);
void read_ledger(const std::uint8_t* data, std::size_t size);
void read_manifest(const std::uint8_t* data, std::size_t size);
void read_npy(const std::uint8_t* data, std::size_t size);
void read_npz(const std::uint8_t* data, std::size_t size);
void read_onnx(const std::uint8_t* data, std::size_t size);
void read_parts(const std::uint8_t* data, std::size_t size);
void read_plan(const std::uint8_t* data, std::size_t size);
void read_recording(const std::uint8_t* data, std::size_t size);
void read_recipe(const std::uint8_t* data, std::size_t size);
void read_report(const std::uint8_t* data, std::size_t size);
void read_safetensors(const std::uint8_t* data, std::size_t size);
void read_saved_run(const std::uint8_t* data, std::size_t size);
void read_study(const std::uint8_t* data, std::size_t size);
void read_text(const std::uint8_t* data, std::size_t size);
void read_times(const std::uint8_t* data, std::size_t size);
void read_toml(const std::uint8_t* data, std::size_t size);
void read_trace(const std::uint8_t* data, std::size_t size);
void read_train(const std::uint8_t* data, std::size_t size);
void read_words(const std::uint8_t* data, std::size_t size);

/// All of them.
inline constexpr std::array<Target, 27> targets{{{"csv", read_csv},
                                                 {"dump", read_dump},
                                                 {"eval", read_eval},
                                                 {"formula", read_formula},
                                                 {"gguf", read_gguf},
                                                 {"index", read_index},
                                                 {"json", read_json},
                                                 {"layouts", read_layouts},
                                                 {"ledger", read_ledger},
                                                 {"manifest", read_manifest},
                                                 {"npy", read_npy},
                                                 {"npz", read_npz},
                                                 {"onnx", read_onnx},
                                                 {"parts", read_parts},
                                                 {"plan", read_plan},
                                                 {"recording", read_recording},
                                                 {"recipe", read_recipe},
                                                 {"report", read_report},
                                                 {"safetensors", read_safetensors},
                                                 {"saved_run", read_saved_run},
                                                 {"study", read_study},
                                                 {"text", read_text},
                                                 {"times", read_times},
                                                 {"toml", read_toml},
                                                 {"trace", read_trace},
                                                 {"train", read_train},
                                                 {"words", read_words}}};

}  // namespace ulpscope::fuzz
