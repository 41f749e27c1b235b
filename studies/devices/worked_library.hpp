// SPDX-License-Identifier: Apache-2.0
// A library and an emulator of a device asked on behalf of a piece of work: one call at a time, and none after the deadline or
// in a lost context.
#pragma once

#include <string>
#include <vector>

#include "gpu/device_emulator.hpp"
#include "gpu/library.hpp"
#include "studies/devices/device_work.hpp"

namespace ulpscope::studies {

/// A library asked on behalf of a piece.
class WorkedLibrary final : public gpu::Library {
 public:
  /// Asks `library` for piece `piece` of `work`; both must outlive it.
  WorkedLibrary(const gpu::Library& library, DeviceWork& work, std::size_t piece)
      : library_(library), work_(work), piece_(piece) {}

  std::string name() const override { return library_.name(); }
  std::string version() const override { return library_.version(); }
  std::vector<gpu::LibraryCall> calls() const override { return library_.calls(); }
  std::vector<gpu::LibraryAlgorithm> algorithms(const gpu::LibraryCall& call, std::size_t m, std::size_t n, std::size_t k,
                                                std::size_t most) const override {
    std::vector<gpu::LibraryAlgorithm> algorithms;
    ask(call, [&] { algorithms = library_.algorithms(call, m, n, k, most); });
    return algorithms;
  }
  void multiply(const gpu::LibraryCall& call, const gpu::LibraryAlgorithm& algorithm, const gpu::LibraryProduct& product,
                std::span<std::byte> d) const override {
    ask(call, [&] { library_.multiply(call, algorithm, product, d); });
  }
  gpu::LibraryTime time(const gpu::LibraryCall& call, const gpu::LibraryAlgorithm& algorithm, std::size_t m, std::size_t n,
                        std::size_t k) const override {
    gpu::LibraryTime time;
    ask(call, [&] { time = library_.time(call, algorithm, m, n, k); });
    return time;
  }
  void draw_normal(emu::Format format, std::uint64_t seed, std::uint64_t operand, std::span<std::byte> codes) const override {
    work_.ask_device(piece_, "random numbers", [&] { library_.draw_normal(format, seed, operand, codes); });
  }

 private:
  void ask(const gpu::LibraryCall& call, const std::function<void()>& what) const {
    work_.ask_device(piece_, call.function, what);
  }

  const gpu::Library& library_;
  DeviceWork& work_;
  std::size_t piece_;
};

/// A device's emulator asked on behalf of a piece.
class WorkedEmulator final : public gpu::DeviceEmulator {
 public:
  /// Asks `emulator` for piece `piece` of `work`; both must outlive it.
  WorkedEmulator(const gpu::DeviceEmulator& emulator, DeviceWork& work, std::size_t piece)
      : emulator_(emulator), work_(work), piece_(piece) {}

  gpu::Tally check(const gpu::Operation& operation, const emu::Engine& engine, const gpu::TestRange& tests) const override {
    gpu::Tally tally;
    ask([&] { tally = emulator_.check(operation, engine, tests); });
    return tally;
  }
  gpu::Tally sweep(const gpu::ElementOperation& operation, const gpu::TestRange& tests) const override {
    gpu::Tally tally;
    ask([&] { tally = emulator_.sweep(operation, tests); });
    return tally;
  }
  void inner_products(const emu::Engine& engine, const gpu::Operation& operation, const gpu::InnerProducts& problem,
                      std::span<emu::Code> d) const override {
    ask([&] { emulator_.inner_products(engine, operation, problem, d); });
  }
  void multiply(const gpu::EmulatedProduct& product, std::span<std::byte> d) const override {
    ask([&] { emulator_.multiply(product, d); });
  }
  double last_seconds() const override { return emulator_.last_seconds(); }

 private:
  void ask(const std::function<void()>& what) const { work_.ask_device(piece_, "the emulator", what); }

  const gpu::DeviceEmulator& emulator_;
  DeviceWork& work_;
  std::size_t piece_;
};

}  // namespace ulpscope::studies
