// SPDX-License-Identifier: Apache-2.0
// A tensor as the commands see it: a name, a shape, an element type, and elements that can be read in pieces, so that a file
// larger than memory is walked in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/format.hpp"

namespace ulpscope::tensors {

/// Element type: a floating-point format or an integer type.
struct DType {
  std::string name;                   ///< catalogue name (`float32`), `int8` ... `uint64`, `bool`, or of a .gguf `q4_K`
  std::optional<emu::Format> format;  ///< that the values have; absent for integers
  /// What is stored of an element, where that is not the format's bits: of blocks of a .gguf, with their scales.
  std::optional<double> stored_bits = {};

  /// Whether every value is a float32 without loss (float64 and integers of more than 16 bits are not).
  bool fits_float() const;
  /// Bits of an integer or a truth value. Precondition: no format.
  int integer_bits() const;
};

/// Elements as they lie in a file, for as long as a copy of this lives.
struct FloatPiece {
  std::shared_ptr<const void> owner;  ///< keeps them in memory
  std::span<const float> values;      ///< empty where there is no such memory
};

/// Where elements come from. Implementations are safe to read from several threads at once.
class Source {
 public:
  virtual ~Source() = default;
  /// Values of elements [first, first + out.size()), row-major. Precondition: the dtype fits_float().
  virtual void read(std::uint64_t first, std::span<float> out) const = 0;
  /// The same without a copy; empty where no such memory exists.
  virtual FloatPiece floats(std::uint64_t first, std::size_t count) const;
  /// read() for any dtype; 64-bit integers beyond 2^53 are rounded to nearest even.
  virtual void read(std::uint64_t first, std::span<double> out) const = 0;
  /// Codes of the elements, right-aligned; of integers the integers' own bits.
  virtual void read_codes(std::uint64_t first, std::span<emu::Code> out) const = 0;
  /// To be called after floats() have been used; the others do it themselves. @throws ulpscope::Error where what was read
  /// cannot be believed: the file changed meanwhile.
  virtual void check() const;
};

/// Elements of a dtype that is not known: they have no values.
struct Opaque {
  std::string why;                     ///< the dtype, and which are known
  std::optional<std::uint64_t> bytes;  ///< of a .safetensors file, to be copied: the source gives this many, each as a code
};

/// An array of numbers, in a file or made when asked for.
struct Tensor {
  std::string label;                     ///< the input as typed; `FILE:NAME` where a file holds several
  std::string name;                      ///< the name inside the file, else empty
  DType dtype;                           ///< what an element is
  std::vector<std::uint64_t> shape;      ///< empty: a scalar
  std::shared_ptr<const Source> source;  ///< its elements
  std::optional<Opaque> opaque = {};     ///< where the dtype is not known

  std::uint64_t count() const;  ///< product of the shape
  /// Whether its elements are integers or truth values.
  bool is_integer() const { return !dtype.format && !opaque; }
};

struct FileBytes;

/// What inputs do not say themselves.
struct OpenOptions {
  std::optional<emu::Format> dtype;  ///< what the codes of an ambiguous file are
  std::uint64_t seed = 0;            ///< key of synthetic tensors
  std::string hadamard = {};         ///< a word of parse_hadamard(): sort_inputs() rotates what it keeps; empty: nothing
  std::vector<std::string> only_dtype = {};  ///< dtypes that sort_inputs() keeps alone; none: all
  /// What reads .onnx files, where more than their initializers is wanted; empty: read_onnx().
  std::function<std::vector<Tensor>(const FileBytes& file)> onnx = {};
};

/// Opens an input as typed: a file (`.npy`, `.npz`, `.safetensors`, `.gguf`, `.onnx`, `.csv`), `FILE:NAME` for one tensor of
/// it, `FILE:GLOB` for those whose names match (POSIX.1, fnmatch() without flags: `*` matches dots and slashes too; a tensor of
/// just that name is meant before any glob), where FILE may also be a checkpoint: a folder, an index, a pattern of file names
/// (checkpoint_of(); an .npy among its files is chosen by its file's name without the ending); or a synthetic tensor
/// (`normal:MEAN,SD:ROWSxCOLS`, ...). Tensors come in the file's order (.safetensors: by offset), those of a dtype that is not
/// known among them; named alone, such a one is an error. A .safetensors may hold none.
/// @throws ulpscope::Error in one line naming the file, what is wrong and what would be right.
std::vector<Tensor> open(const std::string& input, const OpenOptions& options = {});

/// The one tensor of an input. A file that says itself what it holds is opened although `options.dtype` says otherwise.
/// @throws ulpscope::Error as open(), and where there are several or none.
Tensor open_one(const std::string& input, const OpenOptions& options = {});

/// FILE of `FILE:NAME` and `FILE:GLOB`, a checkpoint among them, and else the input; empty where it is no file.
std::string file_of(const std::string& input);

/// `__metadata__` of the .safetensors file that an input names, as JSON; empty where there is none, or files of a checkpoint
/// have unlike ones. @throws ulpscope::Error
std::string metadata(const std::string& input);
std::string metadata(const std::vector<std::string>& inputs);  ///< of all files that these name

/// The same of each file of an input.
std::vector<std::string> all_metadata(const std::string& input);

/// Bits of an element in its file: of blocks of a .gguf with its share of their scales. Precondition: not opaque.
double stored_bits(const Tensor& tensor);

/// `2x3`; empty for a scalar.
std::string shape_text(const std::vector<std::uint64_t>& shape);
/// The same for sentences: `a scalar` where there are no extents.
std::string shape_words(const std::vector<std::uint64_t>& shape);

/// The name of a tensor where one is needed, as in a file that it is written to: its own, or that of the .npy or .csv that
/// holds it alone, or `tensor`.
std::string written_name(const Tensor& tensor);

/// A tensor over values held in memory.
Tensor from_values(std::string label, std::vector<std::uint64_t> shape, std::vector<float> values);
Tensor from_values(std::string label, std::vector<std::uint64_t> shape, std::vector<double> values);
/// A tensor over values that `owner` keeps in memory.
Tensor over_values(std::string label, std::vector<std::uint64_t> shape, std::span<const float> values,
                   std::shared_ptr<const void> owner);

}  // namespace ulpscope::tensors
