// SPDX-License-Identifier: Apache-2.0
// One reader per file format. Each takes the bytes of a whole file, which are not trusted.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "tensors/bytes.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// A file's bytes and the name to use in messages.
struct FileBytes {
  std::string name;                    ///< for messages
  std::shared_ptr<const Bytes> bytes;  ///< all of the file
};

/// The dtype of an array is not known; all else about it is.
class UnknownDType : public Error {
 public:
  /// `message` says which dtype it is and what to do.
  UnknownDType(const std::string& message, Tensor tensor) : Error(message), tensor_(std::move(tensor)) {}
  /// The array, opaque.
  const Tensor& tensor() const noexcept { return tensor_; }

 private:
  Tensor tensor_;
};

/// NumPy's format description, versions 1.0 to 3.0 (numpy.lib.format). `dtype`: what codes are.
/// @throws ulpscope::Error, UnknownDType among them.
Tensor read_npy(const FileBytes& file, std::optional<emu::Format> dtype);
/// Which of the tensors of these names are wanted, by their indices.
using Choose = std::function<std::vector<std::size_t>(const std::vector<std::string>& names)>;
/// All of them.
std::vector<std::size_t> choose_all(const std::vector<std::string>& names);
/// A zip archive of .npy members, stored or deflated; opaque where the dtype is not known. Headers of those that are chosen are
/// read, data when they are asked for, and never more than a header promises. @throws ulpscope::Error
std::vector<Tensor> read_npz(const FileBytes& file, std::optional<emu::Format> dtype, const Choose& choose = choose_all);
/// The safetensors format description; tensors in the order of their data, opaque where the dtype is not known. There may be
/// none, as in a shard to which nothing fell.
/// @throws ulpscope::Error
std::vector<Tensor> read_safetensors(const FileBytes& file);
/// `__metadata__` as JSON; empty where there is none. @throws ulpscope::Error
std::string read_safetensors_metadata(const FileBytes& file);
/// The GGUF format, versions 2 and 3, little-endian (ggml, docs/gguf.md); tensors in the order of the file, opaque where the type
/// is not known. Shapes are NumPy's: the last extent runs fastest. @throws ulpscope::Error
std::vector<Tensor> read_gguf(const FileBytes& file);
/// Numbers in rows of equal length (RFC 4180), the first row being names if it holds no number; UTF-8, with or without a byte
/// order mark. @throws ulpscope::Error
Tensor read_csv(const FileBytes& file);

}  // namespace ulpscope::tensors
