// SPDX-License-Identifier: Apache-2.0
// File by file; the index, which says where each tensor is, comes last.
#include "studies/cast/cast_folder.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "requests/field.hpp"
#include "studies/cast/cast_tensors.hpp"
#include "studies/shards/sample.hpp"
#include "tensors/checkpoint.hpp"
#include "tensors/inputs.hpp"
#include "tensors/is_no_input.hpp"
#include "tensors/only_dtypes.hpp"
#include "tensors/write_checkpoint.hpp"

namespace ulpscope::studies {
namespace {

namespace fs = std::filesystem;

/// A file of the checkpoint, by the name that it keeps, and what is in it.
struct Part {
  std::string path, name;
  std::vector<tensors::Tensor> all;  ///< in the order of the file
  tensors::Inputs inputs;
  std::vector<tensors::Tensor> unlisted;  ///< that the index does not list
};

/// The folder that the names of files are relative to: that of the index, else that of the first file.
fs::path folder_of(const tensors::Checkpoint& checkpoint) {
  return fs::path(checkpoint.index.empty() ? checkpoint.files.front() : checkpoint.index).parent_path();
}

/// The tensors of a file that belong to the checkpoint: all, or those that its index says are there, `missing` until then.
Part part_of(const std::string& file, const tensors::Checkpoint& checkpoint, std::set<std::string> missing,
             const tensors::OpenOptions& options, tensors::OnlyDtypes& only) {
  Part part{file, fs::path(file).lexically_relative(folder_of(checkpoint)).string(), {}, {}, {}};
  tensors::Inputs& inputs = part.inputs;
  for (tensors::Tensor& tensor : tensors::open(file, options)) {
    if (missing.erase(tensor.name) == 0 && !checkpoint.index.empty()) {
      part.unlisted.push_back(std::move(tensor));
      continue;
    }
    std::vector<tensors::Tensor>& group = !only.takes(tensor)                      ? inputs.others
                                          : tensor.opaque                          ? inputs.opaque
                                          : tensor.is_integer() && !only.chooses() ? inputs.integers
                                                                                   : inputs.kept;
    part.all.push_back(tensor);
    group.push_back(std::move(tensor));
  }
  if (!missing.empty())
    throw Error(
        emu::visible(checkpoint.index + ": names tensor '" + *missing.begin() + "' of " + file + ", which does not hold it"));
  return part;
}

std::vector<Part> parts_of(const CastFileRequest& request, const tensors::Checkpoint& checkpoint, const std::string& folder) {
  std::vector<Part> parts;
  tensors::OnlyDtypes only(request.reading.only_dtype);
  std::map<std::string, std::set<std::string>> names_of;
  for (const auto& [name, file] : checkpoint.file_of) names_of[file].insert(name);
  for (const std::string& file : checkpoint.files) {
    if (fs::path(file).extension() != ".safetensors")
      throw Error(emu::visible(folder + ": a folder is written of .safetensors files, and " + file +
                               " is none; write one .safetensors of all"));
    parts.push_back(part_of(file, checkpoint, std::move(names_of[file]), request.reading.options(), only));
    if (*std::filesystem::path(parts.back().name).begin() == "..")
      throw Error(emu::visible(folder + ": the files of " + tensors::inputs_words(request.inputs) +
                               " lie in several folders; write one .safetensors of all"));
  }
  only.check();
  return parts;
}

/// An index that is not written anew would be wrong about the new files.
void check_has_no_other_index(const std::string& folder, const std::string& index) {
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(tensors::index_ending) && name != index)
      throw Error(emu::visible(folder + ": holds " + name + ", the index of other files; choose another folder, or remove it"));
  }
}

tensors::Inputs all_of(const std::vector<Part>& parts) {
  tensors::Inputs all;
  std::vector<tensors::Tensor> unlisted;
  for (const Part& part : parts) {
    all.kept.insert(all.kept.end(), part.inputs.kept.begin(), part.inputs.kept.end());
    all.integers.insert(all.integers.end(), part.inputs.integers.begin(), part.inputs.integers.end());
    all.opaque.insert(all.opaque.end(), part.inputs.opaque.begin(), part.inputs.opaque.end());
    all.others.insert(all.others.end(), part.inputs.others.begin(), part.inputs.others.end());
    unlisted.insert(unlisted.end(), part.unlisted.begin(), part.unlisted.end());
  }
  if (!unlisted.empty()) all.remarks.push_back(tensors::unlisted_words(unlisted));
  return all;
}

/// What makes two casts the same work, a line each: the words, and all that is rounded or copied, file by file.
std::string request_lines(const CastFileRequest& request, const CastPlan& plan, const std::string& program,
                          const std::vector<Part>& parts) {
  std::string text = program + "\ncast";
  for (const std::string& word : requests::words_of(request)) text += " " + emu::visible(word);
  text += "\n" + plan_text(plan);
  for (const Part& part : parts) {
    text += emu::visible(part.name) + ", " + std::to_string(fs::file_size(part.path)) + " bytes, metadata " +
            digest_of(tensors::metadata(part.path)) + "\n";
    text += sample_lines(part.all, 0);
  }
  return text;
}

}  // namespace

std::vector<std::string> write_cast_folder(const CastFileRequest& request, const CastPlan& plan,
                                           const tensors::Checkpoint& checkpoint, const std::string& folder,
                                           const ResumedCast& resumed, const Progress& progress) {
  const std::vector<Part> parts = parts_of(request, checkpoint, folder);
  const tensors::Inputs all = all_of(parts);
  CastTensors cast(request, plan, all, progress);
  const std::string index = fs::path(checkpoint.index).filename().string();
  std::vector<std::string> written_names;
  for (const Part& part : parts) written_names.push_back((fs::path(folder) / part.name).string());
  if (!index.empty()) written_names.push_back((fs::path(folder) / index).string());
  tensors::check_are_no_inputs(request.inputs, written_names);
  check_has_no_other_index(folder, index);

  tensors::ResumedWork work;
  if (!resumed.program.empty()) {
    tensors::check_holds_no_input(request.inputs, tensors::NewCheckpoint::work_path(folder));
    work = {request_lines(request, plan, resumed.program, parts), resumed.digest};
  }
  tensors::NewCheckpoint written(folder, std::move(work));
  for (const Part& part : parts) {
    const FileContents contents = cast.of(part.inputs, tensors::metadata(part.path));
    if (!written.add(part.name, contents.rounded, contents.beside)) cast.pass_by(contents);
  }
  written.commit(index, checkpoint.index_entries);
  return cast.remarks();
}

}  // namespace ulpscope::studies
