// SPDX-License-Identifier: Apache-2.0
// Writes tensors and case.json into a directory that holds nothing else.
#include "cli/generate_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "reports/directory.hpp"
#include "tensors/write.hpp"

namespace ulpscope::cli {
namespace {

constexpr const char* description_name = "case.json";
constexpr const char* safetensors_name = "case.safetensors";

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (!file.is_open() || file.bad()) throw Error(path + ": cannot be read");
  return bytes;
}

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
    : path_(std::move(path)), storage_(storage), tensors_(tensors) {
  std::error_code failed;
  std::filesystem::create_directories(path_, failed);
  if (!std::filesystem::is_directory(path_))
    throw Error(path_ + ": is no directory and cannot be made one: " + failed.message());
  std::vector<std::string> ours = file_names();
  ours.emplace_back(description_name);
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    if (std::find(ours.begin(), ours.end(), name) == ours.end())
      throw Error(path_ + ": holds " + name + ", which is no file of this case; give -o a new or empty directory");
  }
}

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

void CaseDirectory::write_tensors() const {
  if (storage_ == Storage::safetensors) {
    std::vector<tensors::NamedCodes> named;
    for (const CaseTensor& tensor : tensors_) named.push_back({tensor.name, tensor.format, tensor.shape, codes_of(tensor)});
    return tensors::write_safetensors((std::filesystem::path(path_) / safetensors_name).string(), named);
  }
  for (const CaseTensor& tensor : tensors_) {
    if (storage_ == Storage::codes || !tensor.codes.empty()) {
      tensors::write_npy_codes(input(tensor.name), tensor.shape, tensor.format, codes_of(tensor));
    } else {
      tensors::write_npy(input(tensor.name), tensor.shape, values_of(tensor));
    }
  }
}

void CaseDirectory::write(nlohmann::ordered_json description) const {
  try {
    write_files(std::move(description));
  } catch (const Error&) {
    std::error_code ignored;
    for (const std::string& name : file_names()) std::filesystem::remove(std::filesystem::path(path_) / name, ignored);
    std::filesystem::remove(std::filesystem::path(path_) / description_name, ignored);
    std::filesystem::remove(path_, ignored);  // if it is empty
    throw;
  }
}

void CaseDirectory::write_files(nlohmann::ordered_json description) const {
  write_tensors();
  nlohmann::ordered_json listed = nlohmann::ordered_json::array();
  for (const CaseTensor& tensor : tensors_)
    listed.push_back({{"name", tensor.name}, {"format", emu::format_name(tensor.format)}, {"shape", tensor.shape}});
  constexpr const char* words[] = {"float32 values", "codes", "safetensors"};
  description["storage"] = words[static_cast<std::size_t>(storage_)];
  description["tensors"] = std::move(listed);
  for (const std::string& name : file_names())
    description["files"][name] = reports::sha256(bytes_of((std::filesystem::path(path_) / name).string()));
  reports::write_file((std::filesystem::path(path_) / description_name).string(), description.dump(2) + "\n");
}

}  // namespace ulpscope::cli
