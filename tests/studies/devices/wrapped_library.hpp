// SPDX-License-Identifier: Apache-2.0
// The emulated library of an engine, for tests that override what they change of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gpu/emulated/emulated_library.hpp"
#include "gpu/library.hpp"

namespace ulpscope::testing {

class WrappedLibrary : public gpu::Library {
 public:
  std::string name() const override { return "wrapped"; }
  std::string version() const override { return "1"; }
  std::vector<gpu::LibraryCall> calls() const override { return library_.calls(); }
  std::vector<gpu::LibraryAlgorithm> algorithms(const gpu::LibraryCall& call, std::size_t m, std::size_t n, std::size_t k,
                                                std::size_t most) const override {
    return library_.algorithms(call, m, n, k, most);
  }
  void multiply(const gpu::LibraryCall& call, const gpu::LibraryAlgorithm& algorithm, const gpu::LibraryProduct& product,
                std::span<std::byte> d) const override {
    library_.multiply(call, algorithm, product, d);
  }
  gpu::LibraryTime time(const gpu::LibraryCall& /*call*/, const gpu::LibraryAlgorithm& /*algorithm*/, std::size_t /*m*/,
                        std::size_t /*n*/, std::size_t /*k*/) const override {
    return {};
  }
  void draw_normal(emu::Format format, std::uint64_t seed, std::uint64_t operand, std::span<std::byte> codes) const override {
    library_.draw_normal(format, seed, operand, codes);
  }

 private:
  gpu::EmulatedLibrary library_{"sm_90"};
};

}  // namespace ulpscope::testing
