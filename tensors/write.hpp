// SPDX-License-Identifier: Apache-2.0
// Tensor files out. A file appears whole or not at all (files::NewFile).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/format.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// Fills `out` with elements [first, first + out.size()); called with ascending first.
template <class T>
using Producer = std::function<void(std::uint64_t first, std::span<T> out)>;

/// Where the bytes of a file go, in their order.
struct Destination {
  std::string name;                                    ///< for messages
  std::function<void(std::string_view bytes)> write;  ///< takes the next of them
};

/// .npy 1.0, `<f4`, C order. @throws ulpscope::Error when the file cannot be written.
void write_npy(const std::string& path, const std::vector<std::uint64_t>& shape, const Producer<float>& values);
/// The same with `<f8`.
void write_npy(const std::string& path, const std::vector<std::uint64_t>& shape, const Producer<double>& values);
/// .npy of codes as little-endian unsigned integers of the least of 1, 2, 4, 8 bytes that hold format.bits(); of symmetric
/// integers as signed ones, in two's complement.
void write_npy_codes(const std::string& path, const std::vector<std::uint64_t>& shape, emu::Format format,
                     const Producer<emu::Code>& codes);

/// The bytes of the same files, for one that appears together with others. @throws ulpscope::Error
///@{
void put_npy(const Destination& to, const std::vector<std::uint64_t>& shape, const Producer<float>& values);
void put_npy(const Destination& to, const std::vector<std::uint64_t>& shape, const Producer<double>& values);
void put_npy_codes(const Destination& to, const std::vector<std::uint64_t>& shape, emu::Format format,
                   const Producer<emu::Code>& codes);
///@}
/// .npy of integers or truth values, in their own dtype; those of fewer than 8 bits take 8. @pre `integers.is_integer()`
/// @throws ulpscope::Error
void put_npy_integers(const Destination& to, const Tensor& integers);

/// Bits of the least of 1, 2, 4, 8 bytes that hold a code.
int whole_bytes(emu::Format format);

/// A tensor to be written.
struct NamedCodes {
  std::string name;                  ///< its key in the file
  emu::Format format;                ///< one that safetensors can name, or symmetric integers: the least of I8, I16, I32
  std::vector<std::uint64_t> shape;  ///< empty: a scalar
  Producer<emu::Code> codes;         ///< its elements, by piece
  /// The dtype that the file names in place of the format's own; empty: that. Its elements hold the codes from the low bits up:
  /// U8 holds two codes of 4 bits, and `shape` counts what it names.
  std::string dtype = {};
};
/// Bytes of its elements in a .safetensors file. @throws ulpscope::Error where it has no place in one
std::uint64_t stored_bytes(const NamedCodes& tensor);
/// What a .safetensors file holds beside rounded tensors.
struct Beside {
  /// As they are: tensors of dtypes that safetensors can name, and those of other .safetensors files whose dtype is not known.
  std::vector<Tensor> copied = {};
  std::string metadata = {};        ///< JSON of `__metadata__`; empty for none
};
/// One .safetensors file; F4 and F6 are packed as the format description says. Wider elements come first, which aligns them all
/// (libraries that map such files want that), otherwise tensors keep their order.
void write_safetensors(const std::string& path, const std::vector<NamedCodes>& tensors, const Beside& beside = {});
/// The bytes of the same file; how many of them are tensors' data. @throws ulpscope::Error
std::uint64_t put_safetensors(const Destination& to, const std::vector<NamedCodes>& tensors, const Beside& beside = {});
/// The same bytes in memory; `name` is for messages. @throws ulpscope::Error
std::string safetensors_bytes(const std::string& name, const std::vector<NamedCodes>& tensors, const Beside& beside = {});

}  // namespace ulpscope::tensors
