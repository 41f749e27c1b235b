// SPDX-License-Identifier: Apache-2.0
// Writes tensors and case.json into a directory that holds nothing else.
#include "cli/generate_files.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "tensors/write.hpp"

namespace ulpscope::cli {
namespace {

const reports::Listed generated_case{.manifest = "case.json", .noun = "a case"};
constexpr const char* safetensors_name = "case.safetensors";

tensors::Producer<emu::Code> codes_of(const CaseTensor& tensor) {
  return [tensor](std::uint64_t first, std::span<emu::Code> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(first) + i;
      out[i] = tensor.codes.empty() ? emu::encode(tensor.format, tensor.values[at]) : tensor.codes[at];
    }
  };
}

tensors::Producer<float> values_of(const CaseTensor& tensor) {
  return [tensor](std::uint64_t first, std::span<float> out) {
    const auto from = tensor.values.subspan(static_cast<std::size_t>(first), out.size());
    std::copy(from.begin(), from.end(), out.begin());
  };
}

}  // namespace

CaseDirectory::CaseDirectory(std::string path, Storage storage, const std::vector<CaseTensor>& tensors)
    : path_(std::move(path)), storage_(storage), tensors_(tensors) {}

std::vector<std::string> CaseDirectory::file_names() const {
  if (storage_ == Storage::safetensors) return {safetensors_name};
  std::vector<std::string> names;
  for (const CaseTensor& tensor : tensors_) names.push_back(tensor.name + ".npy");
  return names;
}

std::string CaseDirectory::input(const std::string& name) const {
  const std::string file = storage_ == Storage::safetensors ? safetensors_name + (":" + name) : name + ".npy";
  return (std::filesystem::path(path_) / file).string();
}

void CaseDirectory::add_tensors(reports::ListedFolder& folder) const {
  const auto add = [&](const std::string& name, const auto& put) {
    folder.add(name, [&](const reports::WriteBytes& write) { put(tensors::Destination{path_ + "/" + name, write}); });
  };
  if (storage_ == Storage::safetensors) {
    std::vector<tensors::NamedCodes> named;
    for (const CaseTensor& tensor : tensors_) named.push_back({tensor.name, tensor.format, tensor.shape, codes_of(tensor)});
    return add(safetensors_name, [&](const tensors::Destination& to) { tensors::put_safetensors(to, named); });
  }
  for (const CaseTensor& tensor : tensors_)
    add(tensor.name + ".npy", [&](const tensors::Destination& to) {
      if (storage_ == Storage::codes || !tensor.codes.empty())
        tensors::put_npy_codes(to, tensor.shape, tensor.format, codes_of(tensor));
      else
        tensors::put_npy(to, tensor.shape, values_of(tensor));
    });
}

void CaseDirectory::write(nlohmann::ordered_json description) const {
  reports::ListedFolder folder(path_, generated_case);
  add_tensors(folder);
  nlohmann::ordered_json listed = nlohmann::ordered_json::array();
  for (const CaseTensor& tensor : tensors_)
    listed.push_back({{"name", tensor.name}, {"format", emu::format_name(tensor.format)}, {"shape", tensor.shape}});
  constexpr const char* words[] = {"float32 values", "codes", "safetensors"};
  description["storage"] = words[static_cast<std::size_t>(storage_)];
  description["tensors"] = std::move(listed);
  description["files"] = nlohmann::ordered_json::object();
  for (const auto& [name, hash] : folder.hashes()) description["files"][name] = hash;
  folder.commit(description.dump(2) + "\n");
}

}  // namespace ulpscope::cli
