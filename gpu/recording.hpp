// SPDX-License-Identifier: Apache-2.0
// What a device answered, with what it was asked, in one file: replayed on a machine without that device, the same comparison
// gives the same result. docs/devices.md has the format byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/adversarial.hpp"
#include "gpu/device.hpp"
#include "gpu/elementwise.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::gpu {

/// Where the operands of a set come from.
enum class OperandClass : std::uint8_t {
  random,       ///< near N(0, 1)
  adversarial,  ///< gpu/adversarial.hpp
  chain,        ///< adversarial, several instructions long
  every,        ///< element i has the code i
};
/// `random`, `adversarial` and so on.
std::string_view name_of(OperandClass operands) noexcept;
/// The inverse; nothing for another word.
std::optional<OperandClass> parse_operand_class(std::string_view word);

/// Inner products and what one instruction made of them.
struct RecordedProducts {
  Operation operation;                           ///< the instruction
  OperandClass operands = OperandClass::random;  ///< how operands were made
  std::uint64_t seed = 0;                        ///< the key they were made under
  TestProblems problems;                         ///< `products` is a multiple of operation.products
  std::vector<emu::Code> d;                      ///< what the device returned, one an inner product
};

/// Operands of an element operation and its results; those that it does not take are empty.
struct RecordedElements {
  ElementOperation operation;                    ///< the operation
  OperandClass operands = OperandClass::random;  ///< how operands were made
  std::uint64_t seed = 0;                        ///< the key they were made under
  std::vector<emu::Code> a, b, c, d;             ///< operands and results

  /// The operands.
  ElementOperands view() const { return {a, b, c}; }
};

/// What a device answered, as a file holds it.
struct Recording {
  DeviceDescription device;                ///< who answered
  std::vector<RecordedProducts> products;  ///< of matrix instructions
  std::vector<RecordedElements> elements;  ///< of operations on single numbers
};

/// Larger files are none of ours.
inline constexpr std::size_t most_recording_bytes = std::size_t{1} << 28;

/// The file as bytes. What is not printable ASCII in the device's strings becomes spaces.
std::vector<std::byte> recording_bytes(const Recording& recording);
/// `name` stands in messages. No more memory than eight times the bytes, and some for each line.
/// @throws Error in one line where a byte is not what recording_bytes() writes.
Recording parse_recording(std::span<const std::byte> bytes, const std::string& name);

/// Whole or not at all (files::NewFile). @throws Error where it cannot be written; a file of that name is as before then.
void write_recording(const std::string& path, const Recording& recording);
/// @throws Error as parse_recording, or where the file cannot be read.
Recording read_recording(const std::string& path);

}  // namespace ulpscope::gpu
