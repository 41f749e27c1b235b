// SPDX-License-Identifier: Apache-2.0
// Somebody else's converter or elementwise function: a shared library, a program over a pipe, or a file of its results.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "emu/format.hpp"
#include "verify/conform/conform_inputs.hpp"
#include "verify/conform/words.hpp"

namespace ulpscope::verify {

/// Inputs [first, end) of `inputs`, and the format of the results.
struct Questions {
  const Inputs& inputs;              ///< of all inputs
  emu::Format to;                    ///< the format of the results
  std::uint64_t first = 0, end = 0;  ///< indices of inputs
};

/// What is to be judged: it answers questions.
class Subject {
 public:
  virtual ~Subject() = default;
  /// Whether results() must be called by one thread at a time, each call for the inputs after those of the one before.
  virtual bool in_order() const = 0;
  /// What the subject makes of `inputs`, which are those from `first` on. `results` comes in the size of `inputs`. The
  /// floating-point environment is afterwards as it was before.
  /// @throws ulpscope::Error in one line when the subject does not answer.
  virtual void results(std::uint64_t first, const Words& inputs, Words& results) = 0;
  /// After the last result. @throws ulpscope::Error when the subject has more to say than it was asked, or failed.
  virtual void finish() {}
};

/// How a function of a library is called. Words are those of verify/conform/words.hpp.
enum class Signature : std::uint8_t {
  batch,         ///< void NAME(const void* in, void* out, size_t count), words in and out
  scalar,        ///< uintN_t NAME(uintM_t), a code
  scalar_float,  ///< uintN_t NAME(float), of float64 uintN_t NAME(double)
};

/// @throws ulpscope::Error naming the signatures.
Signature parse_signature(const std::string& word);

/// A function in a shared library.
struct LibraryCall {
  std::string library, symbol;             ///< path of the shared library, name of the function
  Signature signature = Signature::batch;  ///< how it is called
  int threads = 0;                         ///< at most this many call the function at once; 0: any number
};

/// @throws ulpscope::Error when the library or the symbol is not there, or the signature does not fit the formats.
std::unique_ptr<Subject> open_library(const LibraryCall& call, const Questions& questions);

/// A program and the patience with it.
struct ProgramCall {
  std::string command;            ///< for the shell
  double longest_silence_s = 60;  ///< after so long without a result it is ended
};

/// Runs the command; it gets all inputs as words on its standard input, and writes the results as words to its standard output.
/// Nothing that it starts is left when the subject is gone. @throws ulpscope::Error when it cannot be started.
std::unique_ptr<Subject> start_program(const ProgramCall& call, const Questions& questions);

/// Result i of the file is that of input questions.first + i: raw words, or an .npy of unsigned integers of the size of a word.
/// @throws ulpscope::Error when the file has another number of results.
std::unique_ptr<Subject> open_dump(const std::string& path, const Questions& questions);

}  // namespace ulpscope::verify
