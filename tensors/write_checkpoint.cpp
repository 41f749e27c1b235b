// SPDX-License-Identifier: Apache-2.0
// Writes the files, and keeps account of them for the index.
#include "tensors/write_checkpoint.hpp"

#include <nlohmann/json.hpp>

namespace ulpscope::tensors {

NewCheckpoint::NewCheckpoint(const std::string& folder)
    : path_(folder), made_(folder), folder_(folder), lock_(folder_, files::folder_lock, folder), files_(folder_) {}

void NewCheckpoint::add(const std::string& name, const std::vector<NamedCodes>& tensors, const Beside& beside) {
  for (const NamedCodes& entry : tensors) file_of_[entry.name] = name;
  for (const Tensor& tensor : beside.copied) file_of_[tensor.name] = name;
  files::NewFile& file = files_.add(name);
  total_size_ += put_safetensors({path_ + "/" + name, [&](std::string_view bytes) { file.write(bytes); }}, tensors, beside);
}

void NewCheckpoint::commit(const std::string& index) {
  if (!index.empty()) {
    const nlohmann::ordered_json text{{"metadata", {{"total_size", total_size_}}}, {"weight_map", file_of_}};
    files_.add(index).write(text.dump(2) + "\n");
  }
  files_.commit();
  made_.keep();
}

}  // namespace ulpscope::tensors
