// SPDX-License-Identifier: Apache-2.0
// Tensor memory, barriers, and the order of things. PTX ISA 9.0, "Tensor Memory", "tcgen05 memory consistency model" and the
// sections of the instructions.
#include "tests/gpu/fake_cuda/tensor_memory.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "device_code.hpp"
#include "matrix_instructions.hpp"

namespace fake_cuda {
namespace {

constexpr std::uint32_t lanes = 128, all_columns = 512, block_threads = 128;

/// What a thread has made sure of.
struct Thread {
  bool before = false;  ///< fence::before_thread_sync after its last access to tensor memory
  bool after = false;   ///< fence::after_thread_sync since the last of the other kind, or since it waited
  bool waited = true;   ///< for the end of what was committed last
};
struct Barrier {
  std::uint32_t phase = 0;
  bool committed = false;
};

struct State {
  std::array<std::array<std::uint32_t, all_columns>, lanes> cells = {};
  std::array<Thread, block_threads> threads = {};
  std::map<std::uint32_t, Barrier> barriers;
  std::vector<std::function<void()>> started;  ///< and not yet committed
  std::vector<std::function<void()>> committed;
  std::uint32_t first = 0, columns = 0;  ///< allocated
  bool relinquished = false;
};
State& state() {
  static State state;
  return state;
}
/// Where the next allocation begins, so that nobody relies on a place.
std::uint32_t next_first = 96;

void guarded(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    record_failure(error.what());
  }
}

/// One thread's part in what a warp does together.
struct WarpPart {
  unsigned thread;
  std::uint32_t address, number;
  const std::uint32_t* from;
  std::uint32_t* to;
};
template <class F>
void by_warp(WarpPart part, F work) {
  part.thread = thread_number();
  exchange(32, part, [&](std::span<WarpPart* const> all) {
    guarded([&] {
      if (all.size() != 32) fail_tcgen05("threads of a warp are missing");
      for (const WarpPart* one : all)
        if (one->address != all[0]->address || one->number != all[0]->number)
          fail_tcgen05("threads of a warp disagree about addresses");
      work(all);
    });
  });
}

/// Warp w reaches the lanes 32 w to 32 w + 31.
std::uint32_t lane_of(const WarpPart& part) {
  const std::uint32_t lane = part.address >> 16;
  if (lane != part.thread / 32 % 4 * 32) fail_tcgen05("a warp reaches for lanes of another one");
  return lane + part.thread % 32;
}

void require_all(bool Thread::*flag, const char* what) {
  for (unsigned i = 0; i < threads_of_block(); ++i)
    if (!(state().threads.at(i).*flag)) fail_tcgen05(what);
}

void forget_block() {
  State& s = state();
  s.columns = 0;
  s.relinquished = false;
  s.barriers.clear();
  s.started.clear();
  s.committed.clear();
  s.threads.fill({});
}

/// What holds before something is started that reads what the threads of the block have written.
void check_start() {
  State& s = state();
  require_all(&Thread::before, "an instruction before all threads have passed fence::before_thread_sync");
  if (!s.threads.at(thread_number()).after) fail_tcgen05("an instruction without fence::after_thread_sync before it");
  if (!all_have_published()) fail_tcgen05("an instruction without the proxy fence of every thread");
  if (!s.committed.empty()) fail_tcgen05("an instruction before the one before it has ended");
}

}  // namespace

std::uint32_t& tensor_cell(std::uint32_t lane, std::uint32_t column) {
  State& s = state();
  if (lane >= lanes || column < s.first || column >= s.first + s.columns) fail_tcgen05("tensor memory that is not allocated");
  return s.cells[lane][column];
}

bool holds_tensor_memory() {
  const bool holds = state().columns != 0;
  forget_block();
  return holds;
}

void allocate_tensor_memory(std::uint32_t to, std::uint32_t columns) {
  by_warp({0, to, columns, nullptr, nullptr}, [&](std::span<WarpPart* const>) {
    State& s = state();
    if (s.relinquished) fail_tcgen05("an allocation after relinquish_alloc_permit");
    if (s.columns != 0) fail_tcgen05("tensor memory of the block before is not given back");
    if (columns < 32 || columns > all_columns || !std::has_single_bit(columns))
      fail_tcgen05("so many columns are not allocated");
    s.columns = columns;
    s.first = next_first = (next_first + 160) % all_columns / columns * columns;
    for (auto& lane : s.cells) lane.fill(0xb5b5b5b5);
    std::memcpy(shared_memory(to, sizeof(std::uint32_t)), &s.first, sizeof(s.first));
  });
}

void relinquish_tensor_memory() {
  by_warp({}, [](std::span<WarpPart* const>) { state().relinquished = true; });
}

void deallocate_tensor_memory(std::uint32_t address, std::uint32_t columns) {
  by_warp({0, address, columns, nullptr, nullptr}, [&](std::span<WarpPart* const>) {
    State& s = state();
    if (s.columns == 0 || address != s.first || columns != s.columns) fail_tcgen05("not what was allocated is given back");
    require_all(&Thread::before, "tensor memory is given back before all threads have passed fence::before_thread_sync");
    if (!s.started.empty() || !s.committed.empty()) fail_tcgen05("tensor memory is given back that an instruction writes");
    forget_block();
  });
}

void store_tensor_memory(std::uint32_t address, const std::uint32_t (&columns)[16]) {
  by_warp({0, address, 0, columns, nullptr}, [](std::span<WarpPart* const> all) {
    for (const WarpPart* part : all) {
      state().threads.at(part->thread).before = false;
      for (std::uint32_t i = 0; i < 16; ++i) tensor_cell(lane_of(*part), (part->address & 0xffff) + i) = part->from[i];
    }
  });
}

void load_tensor_memory(std::uint32_t address, std::uint32_t (&columns)[16]) {
  by_warp({0, address, 0, nullptr, columns}, [](std::span<WarpPart* const> all) {
    for (const WarpPart* part : all) {
      Thread& thread = state().threads.at(part->thread);
      if (!thread.waited || !thread.after) fail_tcgen05("a load without a wait, or without fence::after_thread_sync after it");
      thread.before = false;
      for (std::uint32_t i = 0; i < 16; ++i) part->to[i] = tensor_cell(lane_of(*part), (part->address & 0xffff) + i);
    }
  });
}

void fence_before_thread_sync() {
  state().threads.at(thread_number()).before = true;
  state().threads.at(thread_number()).after = false;
}
void fence_after_thread_sync() { state().threads.at(thread_number()).after = true; }

void initialize_barrier(std::uint32_t barrier) {
  guarded([&] {
    static_cast<void>(shared_memory(barrier, sizeof(std::uint64_t)));
    state().barriers[barrier] = {};
  });
}

void start_tensor_product(const TensorProduct& product) {
  guarded([&] {
    check_start();
    state().started.push_back([product] { multiply_in_tensor_memory(product); });
  });
}

void copy_to_tensor_memory(std::uint32_t address, std::uint64_t descriptor) {
  guarded([&] {
    check_start();
    state().started.push_back([address, descriptor] {
      const MatrixInShared rows(descriptor);
      for (std::uint32_t lane = 0; lane < lanes; ++lane)
        for (std::uint32_t word = 0; word < 4; ++word)
          std::memcpy(&tensor_cell(lane, address + word), rows.bytes(lane % 32, 0) + std::size_t{4} * word, 4);
    });
  });
}

void commit_to_barrier(std::uint32_t barrier) {
  guarded([&] {
    State& s = state();
    if (!s.barriers.contains(barrier)) fail_tcgen05("a commit to what is no barrier");
    if (s.started.empty()) fail_tcgen05("a commit of nothing");
    s.barriers[barrier].committed = true;
    s.committed = std::exchange(s.started, {});
    s.threads.fill({.before = false, .after = false, .waited = false});
    forget_published();
  });
}

void wait_for_barrier(std::uint32_t barrier, std::uint32_t parity) {
  struct Wait {
    std::uint32_t barrier, parity;
  } mine{barrier, parity};
  exchange(threads_of_block(), mine, [](std::span<Wait* const> all) {
    guarded([&] {
      State& s = state();
      for (const Wait* one : all) {
        if (one->barrier != all[0]->barrier || one->parity != all[0]->parity) fail_tcgen05("threads wait for different phases");
      }
      if (!s.barriers.contains(all[0]->barrier)) fail_tcgen05("a wait for what is no barrier");
      Barrier& at = s.barriers[all[0]->barrier];
      if (at.phase % 2 != all[0]->parity) return;  // the phase before has ended long ago
      if (!at.committed) fail_tcgen05("a wait for what never comes");
      at = {at.phase + 1, false};
      for (const auto& work : std::exchange(s.committed, {})) work();
      s.threads.fill({.before = false, .after = false, .waited = true});
    });
  });
}

}  // namespace fake_cuda
