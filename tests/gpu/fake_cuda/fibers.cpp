// SPDX-License-Identifier: Apache-2.0
// The threads of a block as fibers, and where they meet. Each runs until it waits; every other round takes them from the last
// to the first, so that code that lacks a barrier meets both orders.
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "tests/gpu/fake_cuda/control.hpp"
#include "tests/gpu/fake_cuda/fake_state.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace fake_cuda {
namespace {

constexpr std::size_t stack_bytes = std::size_t{1} << 20, page = 4096;

/// A stack with an unreadable page below it.
class Stack {
 public:
  Stack()
      : memory_(mmap(nullptr, stack_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (memory_ == MAP_FAILED) std::abort();
    mprotect(memory_, page, PROT_NONE);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack() { munmap(memory_, stack_bytes + page); }
  void* begin() const { return static_cast<char*>(memory_) + page; }

 private:
  void* memory_;
};

struct Fiber {
  Stack stack;
  ucontext_t context = {};
  unsigned thread = 0;
  bool started = false, waiting = false, idle = true;
};

/// Those who wait for each other.
struct Meeting {
  std::map<unsigned, void*> deposits;  ///< by thread
  std::vector<Fiber*> waiting;
};

class Block {
 public:
  /// False where threads wait for others that never come.
  bool run(dim3 size, const std::function<void()>& thread) {
    size_ = size;
    thread_ = &thread;
    threads_ = size.x * size.y * size.z;
    begun_ = ended_ = 0;
    meetings_.clear();
    backwards_ = !backwards_;
    while (ended_ < threads_) {
      if (!round()) return false;
    }
    return true;
  }

  void meet(unsigned size, unsigned mask, void* mine, Compute compute, void* context) {
    const unsigned first = current_->thread / size * size, present = std::min(size, threads_ - first);
    const unsigned all = present >= 32 ? 0xffffffff : (1u << present) - 1;
    const unsigned named = mask & all;
    const unsigned expected = mask == 0 || size > 32 ? present : static_cast<unsigned>(__builtin_popcount(named));
    const auto key = std::make_tuple(size, first, mask == 0 || size > 32 ? all : named);
    Meeting& meeting = meetings_[key];
    meeting.deposits[current_->thread] = mine;
    if (meeting.deposits.size() < expected) {
      current_->waiting = true;
      meeting.waiting.push_back(current_);
      leave();
      return;
    }
    if (compute != nullptr) {
      std::vector<void*> deposits;
      for (const auto& [thread, deposit] : meeting.deposits) deposits.push_back(deposit);
      compute(deposits.data(), static_cast<unsigned>(deposits.size()), context);
    }
    for (Fiber* fiber : meeting.waiting) fiber->waiting = false;
    meeting.deposits.clear();
    meeting.waiting.clear();
  }

  unsigned thread() const { return current_->thread; }
  unsigned threads() const { return threads_; }
  unsigned waiting() const { return threads_ - ended_; }
  void* shared() { return shared_.data(); }
  void prepare_shared(std::size_t bytes) { shared_.assign((bytes + 15) / 16, Word{~std::uint64_t{0}, ~std::uint64_t{0}}); }
  /// Forgets fibers that will not go on.
  void abandon() { fibers_.clear(); }

 private:
  struct alignas(16) Word {
    std::uint64_t low, high;
  };

  /// Every fiber that can go on does; false where none could.
  bool round() {
    bool moved = false;
    backwards_ = !backwards_;
    for (std::size_t i = 0; i < fibers_.size(); ++i) {
      Fiber& fiber = *fibers_[backwards_ ? fibers_.size() - 1 - i : i];
      if (fiber.waiting || fiber.idle) continue;
      enter(fiber);
      moved = true;
    }
    while (begun_ < threads_) {
      Fiber* fiber = nullptr;
      for (auto& each : fibers_)
        if (each->idle) fiber = each.get();
      if (fiber == nullptr) fiber = fibers_.emplace_back(std::make_unique<Fiber>()).get();
      fiber->idle = false;
      enter(*fiber);
      moved = true;
    }
    return moved;
  }

  static void body() {
    arrived_in_fiber(nullptr);
    for (;;) the().work();
  }
  void work() {
    while (begun_ < threads_) {
      current_->thread = backwards_ ? threads_ - 1 - begun_ : begun_;
      ++begun_;
      set_index();
      (*thread_)();
      ++ended_;
    }
    current_->idle = true;
    leave();
  }
  void set_index() const {
    const unsigned t = current_->thread;
    threadIdx = {t % size_.x, t / size_.x % size_.y, t / size_.x / size_.y};
  }

  void enter(Fiber& fiber) {
    current_ = &fiber;
    if (!fiber.started) {
      getcontext(&fiber.context);
      fiber.context.uc_stack = {fiber.stack.begin(), 0, stack_bytes};
      fiber.context.uc_link = nullptr;
      makecontext(&fiber.context, &Block::body, 0);
      fiber.started = true;
    } else {
      set_index();
    }
    switch_to(scheduler_, fiber.context, fiber.stack.begin(), stack_bytes);
  }
  void leave() {
    Fiber& fiber = *current_;
    switch_to(fiber.context, scheduler_, nullptr, 0);
  }

  static void switch_to(ucontext_t& from, ucontext_t& to, [[maybe_unused]] void* stack, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    void* fake_stack = nullptr;
    const bool entering = stack != nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, entering ? stack : scheduler_stack_, entering ? bytes : scheduler_bytes_);
    swapcontext(&from, &to);
    entering ? __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr) : arrived_in_fiber(fake_stack);
#else
    swapcontext(&from, &to);
#endif
  }
  /// Tells the sanitizer, which says whence: the scheduler's stack, which is that of the thread that launches.
  static void arrived_in_fiber([[maybe_unused]] void* fake_stack) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_stack, &scheduler_stack_, &scheduler_bytes_);
#endif
  }

 public:
  static Block& the() {
    static Block block;
    return block;
  }

 private:
  dim3 size_;
  const std::function<void()>* thread_ = nullptr;
  unsigned threads_ = 0, begun_ = 0, ended_ = 0;
  bool backwards_ = true;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* current_ = nullptr;
  ucontext_t scheduler_ = {};
#if defined(__SANITIZE_ADDRESS__)
  static inline const void* scheduler_stack_ = nullptr;
  static inline std::size_t scheduler_bytes_ = 0;
#endif
  std::map<std::tuple<unsigned, unsigned, unsigned>, Meeting> meetings_;
  std::vector<Word> shared_;
};

}  // namespace

void meet(unsigned size, unsigned mask, void* mine, Compute compute, void* context) {
  Block::the().meet(size, mask, mine, compute, context);
}
unsigned thread_number() { return Block::the().thread(); }
unsigned threads_of_block() { return Block::the().threads(); }
void* dynamic_shared() { return Block::the().shared(); }

cudaError_t launch(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& thread) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const cudaError_t injected = next_call();
  if (injected != cudaSuccess) return injected;
  count_launch();
  const Unlocked memory;
  gridDim = grid;
  blockDim = block;
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        Block::the().prepare_shared(shared_bytes);
        if (Block::the().run(block, thread)) continue;
        add_report(std::to_string(Block::the().waiting()) + " of " + std::to_string(Block::the().threads()) +
                   " threads wait at a barrier that others do not reach, block " + std::to_string(x) + ',' + std::to_string(y) +
                   ',' + std::to_string(z));
        Block::the().abandon();
        fail_device(cudaErrorLaunchTimeout);
        return cudaSuccess;
      }
  return cudaSuccess;
}

}  // namespace fake_cuda
