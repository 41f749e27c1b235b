// SPDX-License-Identifier: Apache-2.0
// TensorProto messages of a file in ONNX: what a tensor has, and where its data lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <span>
#include <string>
#include <vector>

#include "tensors/readers.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// A field of a message by its number in onnx.proto, with how it is written, as protozero::pbf_reader::tag_and_type() has both.
///@{
constexpr std::uint32_t onnx_varint(std::uint32_t number) { return number << 3; }
constexpr std::uint32_t onnx_fixed64(std::uint32_t number) { return number << 3 | 1; }
constexpr std::uint32_t onnx_bytes(std::uint32_t number) { return number << 3 | 2; }
constexpr std::uint32_t onnx_fixed32(std::uint32_t number) { return number << 3 | 5; }
///@}

/// Reads the tensors of one file.
class OnnxTensors {
 public:
  /// `file` must outlive this.
  explicit OnnxTensors(const FileBytes& file) : file_(file) {}

  /// All bytes of the file, in which messages lie. @throws ulpscope::Error where it is too large for one
  protozero::data_view message();
  /// Of a TensorProto. @throws ulpscope::Error where its data do not lie in the file or in one beside it, or are a segment
  Tensor tensor(protozero::pbf_reader from);
  /// The next field of a message, as a name. @throws ulpscope::Error where it is no UTF-8
  std::string name_in(protozero::pbf_reader& from) const;
  /// @throws ulpscope::Error in one line that names the file
  [[noreturn]] void fail(const std::string& why) const;

 private:
  /// Where data lie: in the message, or beside the file.
  struct Stored {
    std::int64_t type = 0;
    std::optional<std::span<const char>> raw = {};
    std::vector<std::byte> listed = {};  ///< of the typed fields, as raw_data would hold them
    bool is_external = false, is_segment = false;
    std::string location = {};
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> length = {};
  };

  void external(protozero::pbf_reader from, Stored& stored) const;
  std::shared_ptr<const Bytes> beside(const std::string& location, const std::string& tensor);
  Tensor finished(Tensor made, Stored stored);

  const FileBytes& file_;
  Piece all_;
  std::map<std::string, std::shared_ptr<const Bytes>> beside_;  ///< files that were opened, by their names
};

}  // namespace ulpscope::tensors
