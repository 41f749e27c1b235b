// SPDX-License-Identifier: Apache-2.0
// Readers that want a file: recordings, and dumps of a converter's results.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "tests/fuzz/read_recording.hpp"
#include "tests/fuzz/targets.hpp"
#include "verify/conform/conform_inputs.hpp"
#include "verify/conform/subject.hpp"

namespace ulpscope::fuzz {
namespace {

/// A file in memory that has a path.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(::memfd_create("input", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || ::write(descriptor_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

void read_recording(const std::uint8_t* data, std::size_t size) { read_recording_input(data, size); }

void read_dump(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  const verify::Inputs inputs(emu::float8_e5m2, emu::float16, 0);
  for (const std::uint64_t count : {std::uint64_t{2}, std::uint64_t{size / 2}}) {
    const verify::Questions questions{inputs, emu::float16, 0, std::min<std::uint64_t>(count, inputs.size())};
    try {
      const auto subject = verify::open_dump(file.path(), questions);
      verify::Words given(questions.inputs.format(), questions.end), results(questions.to, questions.end);
      subject->results(0, given, results);
    } catch (const Error&) {
    }
  }
}

}  // namespace ulpscope::fuzz
