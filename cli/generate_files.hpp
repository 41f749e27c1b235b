// SPDX-License-Identifier: Apache-2.0
// The files of a generated case: tensors, and case.json, which describes them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "reports/listed_folder.hpp"

namespace ulpscope::cli {

/// How tensors are stored.
enum class Storage : std::uint8_t {
  values,       ///< NAME.npy, float32
  codes,        ///< NAME.npy, unsigned integers
  safetensors,  ///< all in case.safetensors, in their own formats
};

struct CaseTensor {
  std::string name;
  emu::Format format;
  std::vector<std::uint64_t> shape;
  std::span<const float> values;
  std::span<const emu::Code> codes = {};  ///< in place of values: always stored as codes
};

/// A directory that holds a case and nothing else.
class CaseDirectory {
 public:
  CaseDirectory(std::string path, Storage storage, const std::vector<CaseTensor>& tensors);

  /// Writes the tensors and case.json: `description` and `files` with the SHA-256 of each; all of them or none. A former case is
  /// replaced. @throws ulpscope::Error also where the directory holds anything else
  void write(nlohmann::ordered_json description) const;

  /// A tensor as commands open it: `DIR/a.npy`, `DIR/case.safetensors:a`.
  std::string input(const std::string& name) const;
  std::vector<std::string> file_names() const;

 private:
  void add_tensors(reports::ListedFolder& folder) const;

  std::string path_;
  Storage storage_;
  std::vector<CaseTensor> tensors_;
};

}  // namespace ulpscope::cli
