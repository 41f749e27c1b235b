// SPDX-License-Identifier: Apache-2.0
// A file of results as a subject.
#include <filesystem>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "tensors/mapped_file.hpp"
#include "tensors/tensor.hpp"
#include "verify/conform/subject.hpp"

namespace ulpscope::verify {
namespace {

std::string counted(std::uint64_t asked, emu::Format to) {
  return std::to_string(asked) + " results of " + emu::format_name(to) + " in words of " + std::to_string(word_bytes(to)) +
         " bytes";
}

class RawDump final : public Subject {
 public:
  RawDump(const std::string& path, const Questions& questions) : file_(path), questions_(questions) {
    const std::uint64_t asked = questions.end - questions.first, wanted = asked * word_bytes(questions.to);
    if (file_.size() != wanted)
      throw Error(path + ": has " + std::to_string(file_.size()) + " bytes; " + counted(asked, questions.to) + " are " +
                  std::to_string(wanted));
  }
  bool in_order() const override { return false; }
  void results(std::uint64_t first, const Words&, Words& results) override {
    const std::span<std::byte> out = results.bytes();
    const std::uint64_t at = (first - questions_.first) * word_bytes(questions_.to);
    tensors::Cursor(file_, out.size()).copy(at, out);
    file_.check();
  }

 private:
  tensors::MappedFile file_;
  Questions questions_;
};

class TensorDump final : public Subject {
 public:
  TensorDump(const std::string& path, const Questions& questions)
      : tensor_(tensors::open_one(path, {.dtype = questions.to})), questions_(questions) {
    const std::uint64_t asked = questions.end - questions.first;
    if (!tensor_.dtype.format || *tensor_.dtype.format != questions.to)
      throw Error(path + ": holds " + tensor_.dtype.name + ", not " + counted(asked, questions.to));
    if (tensor_.count() != asked)
      throw Error(path + ": has " + std::to_string(tensor_.count()) + " elements; there are " + counted(asked, questions.to));
  }
  bool in_order() const override { return false; }
  void results(std::uint64_t first, const Words&, Words& results) override {
    std::vector<emu::Code> codes(results.size());
    tensor_.source->read_codes(first - questions_.first, codes);
    for (std::size_t i = 0; i < codes.size(); ++i) results.set(i, codes[i]);
  }

 private:
  tensors::Tensor tensor_;
  Questions questions_;
};

}  // namespace

std::unique_ptr<Subject> open_dump(const std::string& path, const Questions& questions) {
  if (std::filesystem::path(path).extension() == ".npy") return std::make_unique<TensorDump>(path, questions);
  return std::make_unique<RawDump>(path, questions);
}

}  // namespace ulpscope::verify
