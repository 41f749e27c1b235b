// SPDX-License-Identifier: Apache-2.0
// Splits FILE:NAME, chooses the reader and picks the tensors that are named.
#include "tensors/tensor.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/shell_word.hpp"
#include "emu/suggestions.hpp"
#include "emu/visible.hpp"
#include "files/own_files.hpp"
#include "tensors/checkpoint.hpp"
#include "tensors/elements.hpp"
#include "tensors/held.hpp"
#include "tensors/mapped_file.hpp"
#include "tensors/onnx.hpp"
#include "tensors/readers.hpp"
#include "tensors/synthetic.hpp"

namespace ulpscope::tensors {
namespace {

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) || files::own_file(path);
}

bool is_regular(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return extension;
}

/// What `read` makes of the bytes of a file, if the file is still as it was when it has been read.
template <class Read>
auto read_mapped(const std::string& path, Read read) {
  const auto mapped = std::make_shared<const MappedFile>(path);
  try {
    auto result = read(FileBytes{path, mapped});
    mapped->check();
    return result;
  } catch (const Error&) {
    mapped->check();  // the better reason
    throw;
  }
}

/// A command for a shell. Loading a pickle runs what it says, unless it may hold nothing but weights; and a torch.py that lies
/// beside it would be imported from the folder that the command runs in.
std::string converter_of(const std::string& pickle, const std::string& converted) {
  return "python3 -c \"import sys; sys.path[:] = [p for p in sys.path if p]; import torch, safetensors.torch as s; "
         "s.save_file(torch.load(sys.argv[1], map_location='cpu', weights_only=True), sys.argv[2])\" " +
         emu::shell_word(pickle) + " " + emu::shell_word(converted);
}

/// Those that are chosen.
std::vector<Tensor> chosen_of(std::vector<Tensor> all, const Choose& choose) {
  std::vector<std::string> names;
  for (const Tensor& tensor : all) names.push_back(tensor.name);
  std::vector<Tensor> tensors;
  for (const std::size_t i : choose(names)) tensors.push_back(std::move(all[i]));
  return tensors;
}

std::vector<Tensor> open_file(const std::string& path, const OpenOptions& options, const Choose& choose = choose_all) {
  const std::optional<emu::Format> dtype = options.dtype;
  const std::string extension = extension_of(path);
  if (extension == ".pt" || extension == ".pth")
    throw Error(path + ": is a PyTorch pickle; convert it: " +
                converter_of(path, path.substr(0, path.size() - extension.size()) + ".safetensors"));
  const bool known = extension == ".npy" || extension == ".npz" || extension == ".safetensors" || extension == ".gguf" ||
                     extension == ".onnx" || extension == ".csv";
  if (!known && is_regular(path))
    throw Error(path + ": the name ends in none of .npy .npz .safetensors .gguf .onnx .csv, which are the formats read");
  if (!exists(path)) {
    const std::size_t colon = path.find(':');
    const bool looks_synthetic = !known && colon != std::string::npos;
    throw Error(path + (looks_synthetic ? ": no such file, and not a synthetic tensor; those are " + synthetic_forms()
                                        : std::string(": no such file")));
  }
  return read_mapped(path, [&](const FileBytes& file) -> std::vector<Tensor> {
    if (extension == ".npy") return {read_npy(file, dtype)};
    if (extension == ".npz") return read_npz(file, dtype, choose);
    if (dtype) throw Error(path + ": --dtype is for codes in .npy and .npz files; this file says what it holds");
    if (extension == ".csv") return {read_csv(file)};
    if (extension == ".gguf") return chosen_of(read_gguf(file), choose);
    if (extension == ".onnx") return chosen_of(options.onnx ? options.onnx(file) : read_onnx(file), choose);
    return chosen_of(read_safetensors(file), choose);
  });
}

/// FILE and NAME of `FILE:NAME`, split behind a name that ends like a file of several tensors, or is a folder's.
std::optional<std::pair<std::string, std::string>> split(const std::string& input) {
  for (std::size_t colon = input.find(':'); colon != std::string::npos; colon = input.find(':', colon + 1)) {
    const std::string path = input.substr(0, colon);
    const std::string extension = extension_of(path);
    std::error_code ignored;
    if (extension == ".safetensors" || extension == ".npz" || extension == ".gguf" || extension == ".onnx" ||
        path.ends_with(".safetensors.index.json") || std::filesystem::is_directory(path, ignored))
      return std::pair(path, input.substr(colon + 1));
  }
  return std::nullopt;
}

Tensor known(Tensor tensor) {
  if (tensor.opaque) throw Error(emu::visible(tensor.label + ": " + tensor.opaque->why));
  return tensor;
}

/// Which tensors of a file are wanted.
struct Chosen {
  std::vector<std::size_t> indices;  ///< in the file's order
  bool is_one = false;               ///< named, not matched by a glob
};

bool is_name(const std::string& wanted, const std::string& name) { return name == wanted || emu::visible(name) == wanted; }
bool matches(const std::string& wanted, const std::string& name) { return ::fnmatch(wanted.c_str(), name.c_str(), 0) == 0; }
bool means(const std::string& wanted, const std::string& name) { return is_name(wanted, name) || matches(wanted, name); }

/// The tensor of that name, as it is or as it is printed, in each file that has one; where none has it, those whose names the
/// glob matches.
Chosen choose(const std::vector<std::string>& names, const std::string& path, const std::string& wanted) {
  Chosen same, matching;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_name(wanted, names[i])) same.indices.push_back(i);
    if (matches(wanted, names[i])) matching.indices.push_back(i);
  }
  same.is_one = same.indices.size() == 1;
  if (!same.indices.empty()) return same;
  if (!matching.indices.empty()) return matching;
  const std::string nearest = emu::comma_separated(emu::closest_words(wanted, names));
  const bool is_glob = wanted.find_first_of("*?[") != std::string::npos;
  throw Error(emu::visible(path + ": " + (is_glob ? "no tensor matches '" : "holds no tensor '") + wanted + "'; nearest of " +
                           std::to_string(names.size()) + ": " + nearest));
}

std::vector<Tensor> open_named(const std::string& path, const OpenOptions& options, const std::string& wanted) {
  bool is_one = false;
  const Choose wanted_of = [&](const std::vector<std::string>& names) {
    Chosen chosen = choose(names, path, wanted);
    is_one = chosen.is_one;
    return std::move(chosen.indices);
  };
  std::vector<Tensor> tensors = open_file(path, options, wanted_of);
  if (is_one) tensors.front() = known(std::move(tensors.front()));
  return tensors;
}

/// Whether its file names it, be it by the empty name: its label is FILE:NAME then.
bool has_name(const Tensor& tensor) { return !tensor.name.empty() || tensor.label.ends_with(':'); }

/// The name that a tensor of a checkpoint is chosen by: its own, or its file's without the ending.
std::string name_of(const Tensor& tensor, const std::string& file) {
  return has_name(tensor) ? tensor.name : std::filesystem::path(file).stem().string();
}

Opened open_checkpoint(const std::string& path, const Checkpoint& checkpoint, const OpenOptions& options,
                       const std::optional<std::string>& wanted) {
  std::vector<Tensor> all, unlisted;
  std::vector<std::string> names;
  for (const std::string& file : checkpoint.files)
    for (Tensor& tensor : open_file(file, options)) {
      const auto listed = checkpoint.file_of.find(tensor.name);
      if (!checkpoint.index.empty() && (listed == checkpoint.file_of.end() || listed->second != file)) {
        if (!wanted || means(*wanted, tensor.name)) unlisted.push_back(std::move(tensor));
        continue;
      }
      names.push_back(name_of(tensor, file));
      all.push_back(std::move(tensor));
    }
  if (!checkpoint.index.empty() && all.size() != checkpoint.file_of.size()) {
    const std::set<std::string> found(names.begin(), names.end());
    const auto missing = std::ranges::find_if(checkpoint.file_of, [&](const auto& of) { return !found.contains(of.first); });
    throw Error(emu::visible(checkpoint.index + ": names tensor '" + missing->first + "' of " + missing->second +
                             ", which does not hold it"));
  }
  if (!wanted) return {std::move(all), std::move(unlisted)};
  if (!unlisted.empty() && std::ranges::none_of(names, [&](const std::string& name) { return means(*wanted, name); }))
    throw Error(emu::visible(checkpoint.index + ": does not list '" + unlisted.front().name + "'; " + unlisted.front().label +
                             " reads it"));
  const Chosen chosen = choose(names, path, *wanted);
  std::vector<Tensor> tensors;
  for (const std::size_t i : chosen.indices) tensors.push_back(std::move(all[i]));
  if (chosen.is_one) tensors.front() = known(std::move(tensors.front()));
  return {std::move(tensors), std::move(unlisted)};
}

template <class Float>
Tensor hold(std::string label, std::vector<std::uint64_t> shape, std::span<const Float> values,
            std::shared_ptr<const void> owner, emu::Format format) {
  const DType dtype{emu::format_name(format), format};
  const Layout layout{Layout::Kind::floating, format.bits(), false};
  const auto bytes = bytes_in_memory(std::as_bytes(values), std::move(owner));
  return {std::move(label), {}, dtype, std::move(shape), make_source({bytes, 0, bytes->size(), dtype, layout})};
}

template <class Float>
Tensor hold(std::string label, std::vector<std::uint64_t> shape, std::vector<Float> values, emu::Format format) {
  const auto owner = std::make_shared<const std::vector<Float>>(std::move(values));
  return hold(std::move(label), std::move(shape), std::span<const Float>(*owner), owner, format);
}

}  // namespace

FloatPiece Source::floats(std::uint64_t, std::size_t) const { return {}; }
void Source::check() const {}

bool DType::fits_float() const {
  if (format) return emu::fits_float(*format);
  return name == "bool" || name.ends_with("int4") || name.ends_with("int8") || name.ends_with("int16");
}

std::uint64_t Tensor::count() const { return element_count(shape).value_or(0); }

namespace {

Opened opened(const std::string& input, const OpenOptions& options) {
  if (auto tensor = held(input))
    return {{options.dtype ? as_codes(*std::move(tensor), *options.dtype) : *std::move(tensor)}, {}};
  if (is_synthetic(input) && !exists(input)) {
    Tensor made = synthetic(input, options.seed);
    return {{options.dtype ? as_codes(std::move(made), *options.dtype) : std::move(made)}, {}};
  }
  const auto parts = exists(input) ? std::nullopt : split(input);
  const std::string& path = parts ? parts->first : input;
  const std::optional<std::string> wanted = parts ? std::optional(parts->second) : std::nullopt;
  if (const auto checkpoint = checkpoint_of(path)) return open_checkpoint(path, *checkpoint, options, wanted);
  return {wanted ? open_named(path, options, *wanted) : open_file(path, options), {}};
}

}  // namespace

Opened open_listed(const std::string& input, const OpenOptions& options) {
  Opened all = opened(input, options);
  for (std::vector<Tensor>* const tensors : {&all.tensors, &all.unlisted})
    for (Tensor& tensor : *tensors) {
      tensor.label = emu::visible(tensor.label);
      if (tensor.opaque) tensor.opaque->why = emu::visible(tensor.opaque->why);
    }
  return all;
}

std::vector<Tensor> open(const std::string& input, const OpenOptions& options) { return open_listed(input, options).tensors; }

Tensor open_one(const std::string& input, const OpenOptions& options) {
  std::vector<Tensor> all = [&] {
    try {
      return open(input, options);
    } catch (const Error&) {
      if (!options.dtype) throw;
      return open(input, {std::nullopt, options.seed});
    }
  }();
  if (all.empty()) throw Error(input + ": holds no tensors");
  if (all.size() != 1)
    throw Error(input + ": holds " + std::to_string(all.size()) + " tensors; name one, e.g. " + all.front().label);
  return known(std::move(all.front()));
}

std::string file_of(const std::string& input) {
  const auto parts = exists(input) ? std::nullopt : split(input);
  const std::string path = parts ? parts->first : input;
  return held(input) || is_synthetic(path) ? std::string() : path;
}

std::vector<std::string> all_metadata(const std::string& input) {
  const std::string path = file_of(input);
  if (path.empty()) return {};
  const auto checkpoint = checkpoint_of(path);
  std::vector<std::string> all;
  for (const std::string& file : checkpoint ? checkpoint->files : std::vector{path})
    all.push_back(extension_of(file) == ".safetensors" && exists(file) ? read_mapped(file, read_safetensors_metadata) : "");
  return all;
}

std::string metadata(const std::string& input) { return metadata(std::vector{input}); }

std::string metadata(const std::vector<std::string>& inputs) {
  std::vector<std::string> all;
  for (const std::string& input : inputs) std::ranges::move(all_metadata(input), std::back_inserter(all));
  const bool are_alike = std::adjacent_find(all.begin(), all.end(), std::not_equal_to<>()) == all.end();
  return are_alike && !all.empty() ? all.front() : std::string();
}

std::string written_name(const Tensor& tensor) {
  const std::filesystem::path file = tensor.label;
  const bool is_file = file.extension() == ".npy" || file.extension() == ".csv";
  return has_name(tensor) ? tensor.name : is_file ? file.stem().string() : "tensor";
}

Tensor from_values(std::string label, std::vector<std::uint64_t> shape, std::vector<float> values) {
  return hold(std::move(label), std::move(shape), std::move(values), emu::float32);
}
Tensor from_values(std::string label, std::vector<std::uint64_t> shape, std::vector<double> values) {
  return hold(std::move(label), std::move(shape), std::move(values), emu::float64);
}

Tensor over_values(std::string label, std::vector<std::uint64_t> shape, std::span<const float> values,
                   std::shared_ptr<const void> owner) {
  return hold(std::move(label), std::move(shape), values, std::move(owner), emu::float32);
}

int DType::integer_bits() const { return name == "bool" ? 8 : std::stoi(name.substr(name.find_first_of("0123456789"))); }

double stored_bits(const Tensor& tensor) {
  if (tensor.dtype.format) return tensor.dtype.stored_bits.value_or(tensor.dtype.format->bits());
  return tensor.dtype.integer_bits();
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  constexpr std::size_t most = 64;  // as many as NumPy has
  std::string text;
  for (std::size_t i = 0; i < std::min(shape.size(), most); ++i) text += (i == 0 ? "" : "x") + std::to_string(shape[i]);
  return text + (shape.size() > most ? "x... (" + std::to_string(shape.size()) + " extents)" : "");
}

std::string shape_words(const std::vector<std::uint64_t>& shape) { return shape.empty() ? "a scalar" : shape_text(shape); }

}  // namespace ulpscope::tensors
