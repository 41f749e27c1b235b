// SPDX-License-Identifier: Apache-2.0
// A function of a shared library as a subject, its floating-point environment restored after each call.
#include <dlfcn.h>

#include <bit>
#include <cfenv>
#include <filesystem>
#include <semaphore>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "files/confinement.hpp"
#include "verify/conform/subject.hpp"

namespace ulpscope::verify {
namespace {

/// The whole floating-point environment comes back, also where a library loads with fast-math's start-up code.
class KeptEnvironment {
 public:
  KeptEnvironment() { std::fegetenv(&before_); }
  ~KeptEnvironment() { std::fesetenv(&before_); }
  KeptEnvironment(const KeptEnvironment&) = delete;
  KeptEnvironment& operator=(const KeptEnvironment&) = delete;

 private:
  std::fenv_t before_{};
};

template <class Out, class In>
using Function = Out (*)(In);

template <class In, class Out, class Word>
void call_each(void* symbol, const std::vector<Word>& inputs, std::vector<Out>& results) {
  const auto function = reinterpret_cast<Function<Out, In>>(symbol);
  for (std::size_t i = 0; i < inputs.size(); ++i) results[i] = function(std::bit_cast<In>(inputs[i]));
}

class Library final : public Subject {
 public:
  Library(const LibraryCall& call, const Questions& questions)
      : call_(call), calls_(call.threads > 0 ? call.threads : calls_.max()) {
    const emu::Format from = questions.inputs.format();
    if (call.signature == Signature::scalar_float && from != emu::float32 && from != emu::float64)
      throw Error("--signature scalar_float takes float or double: --from float32 or float64, not " + emu::format_name(from));
    files::check_may_start("the library " + call.library);
    const KeptEnvironment environment;
    // A name without a slash would be looked for in the system's folders.
    handle_ = ::dlopen(std::filesystem::absolute(call.library).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw Error(call.library + ": cannot be loaded: " + ::dlerror());
    symbol_ = ::dlsym(handle_, call.symbol.c_str());
    if (symbol_ == nullptr)
      throw Error(call.library + ": has no function " + call.symbol + "; `nm -D` lists what it has (C++ needs extern \"C\")");
  }
  // The handle stays open: a library may have threads.

  bool in_order() const override { return false; }

  void results(std::uint64_t, const Words& inputs, Words& results) override {
    calls_.acquire();
    const Released release{calls_};
    const KeptEnvironment environment;
    call(inputs, results);
  }

 private:
  using Semaphore = std::counting_semaphore<1 << 16>;
  struct Released {
    Semaphore& calls;
    ~Released() { calls.release(); }
  };

  void call(const Words& inputs, Words& results) const {
    if (call_.signature == Signature::batch) {
      const auto function = reinterpret_cast<void (*)(const void*, void*, std::size_t)>(symbol_);
      return function(inputs.bytes().data(), results.bytes().data(), inputs.size());
    }
    inputs.visit([&](const auto& in) {
      using Word = typename std::remove_cvref_t<decltype(in)>::value_type;
      results.visit([&](auto& out) {
        if (call_.signature == Signature::scalar) return call_each<Word>(symbol_, in, out);
        if constexpr (sizeof(Word) == sizeof(float)) call_each<float>(symbol_, in, out);
        if constexpr (sizeof(Word) == sizeof(double)) call_each<double>(symbol_, in, out);
      });
    });
  }

  LibraryCall call_;
  Semaphore calls_;
  void* handle_ = nullptr;
  void* symbol_ = nullptr;
};

}  // namespace

Signature parse_signature(const std::string& word) {
  if (word == "batch") return Signature::batch;
  if (word == "scalar") return Signature::scalar;
  if (word == "scalar_float" || word == "scalar-float") return Signature::scalar_float;
  throw Error("unknown signature '" + word + "'; there are batch, scalar and scalar_float");
}

std::unique_ptr<Subject> open_library(const LibraryCall& call, const Questions& questions) {
  return std::make_unique<Library>(call, questions);
}

}  // namespace ulpscope::verify
