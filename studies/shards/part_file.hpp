// SPDX-License-Identifier: Apache-2.0
// What one shard of a census or sweep has measured, as text: a line says what was asked, one each what its tensors are, and one
// each what was measured of those that are its own. Lines are written and read one after the other, and all are one JSON
// object.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "studies/census/tensor_part.hpp"
#include "studies/onnx/value_nodes.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// All tensors of a request.
struct PartTensors {
  std::vector<tensors::Tensor> tensors;  ///< without their elements
  std::vector<std::string> samples;      ///< of each tensor (sample.hpp)
  std::shared_ptr<const ValueNodes> nodes = nullptr;  ///< of models that are computed; null, or as read empty, where none is
};

/// A shard's own of a tensor.
struct Piece {
  std::size_t tensor;  ///< by its place among all
  ElementRange range;  ///< not empty
};

/// What a shard was asked for.
struct PartHead {
  std::string version, commit;             ///< of the program
  std::string command;                     ///< `census`, `sweep`, or `amax`, the largest magnitudes alone
  std::vector<std::string> request;        ///< the words behind it that ask for its numbers
  std::vector<std::string> arguments;      ///< the command line of the undivided run, without where it goes
  std::vector<std::string> remarks;        ///< what the report says of the inputs beside tables
  std::shared_ptr<const PartTensors> all;  ///< parts that name the same ones share them
  std::vector<Piece> pieces;               ///< what is measured here, in the order of the tensors
};

/// The line of a piece. It takes longer to make than to write, and threads may make several at once.
std::string piece_line(const TensorPart& piece);
/// Back from it. @throws ulpscope::Error that names `name`, of its file, where it is none, or cannot be of the elements `range`
/// of a tensor of this label
TensorPart piece_of(std::string_view line, const std::string& name, const std::string& label, const ElementRange& range);

/// What is wrong with a part that has more or fewer sums of a tensor than its request asks for, in words that follow its name.
std::string other_sums(const std::string& label);

/// Writes the text of a part as it is measured, but for the brace that closes it.
class PartWriter {
 public:
  /// Takes the text in pieces.
  using Write = std::function<void(std::string_view text)>;

  /// Writes what comes before the first piece.
  PartWriter(const PartHead& head, Write write);
  /// Writes the piece_line() of the next of the pieces.
  void add(std::string_view line);
  /// Once all are written.
  void finish();

 private:
  Write write_;
  bool is_first_ = true;
};

/// How many sums a piece has.
struct SumCounts {
  std::size_t census = std::numeric_limits<std::size_t>::max(), sweep = census;  ///< as TensorPart has them
};

/// Reads one. All members throw ulpscope::Error that names `name` where the text is none.
class PartReader {
 public:
  /// The next line, without its end; nothing behind the last.
  using NextLine = std::function<std::optional<std::string>()>;

  /// Reads what comes before the first piece. Of the parts of one request, those behind the first are `like` it.
  PartReader(NextLine next_line, std::string name, const PartReader* like = nullptr);

  const PartHead& head() const noexcept { return head_; }     ///< what was asked for
  const std::string& name() const noexcept { return name_; }  ///< of the file, for messages
  /// What is measured of the next of head().pieces, which has no more sums than these: each takes memory, and may be two
  /// characters.
  TensorPart next(const SumCounts& most = {});

 private:
  std::string line();
  void read_head(const PartReader* like);
  void read_tensors(const PartReader* like);
  void read_end();

  NextLine next_line_;
  std::string name_;
  PartHead head_;
  std::shared_ptr<const std::string> tensor_lines_;  ///< of which head_.all was made
  std::size_t read_ = 0;                             ///< pieces
};

/// Whether a text begins as a part of a census or sweep does.
bool begins_part(std::string_view text);

}  // namespace ulpscope::studies
