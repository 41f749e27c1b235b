// SPDX-License-Identifier: Apache-2.0
// A signal handler that maps zeros over lost pages, and a list of mappings that it may read at any time.
#include "tensors/guarded_pages.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <utility>

namespace ulpscope::tensors {

/// One entry of the list that the signal handler walks. Entries are used again but never freed, since a handler may be at one.
struct GuardedRange {
  std::atomic<std::uintptr_t> start = 0;
  std::atomic<std::size_t> size = 0;  ///< 0: not in use; set after `start`
  std::atomic<std::atomic<bool>*> lost = nullptr;
  GuardedRange* next = nullptr;  ///< set before the entry is in the list
};

namespace {

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<std::size_t>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free && std::atomic<GuardedRange*>::is_always_lock_free &&
              std::atomic<std::atomic<bool>*>::is_always_lock_free);

std::atomic<GuardedRange*> ranges = nullptr;
std::mutex changing;  // of the list; the handler does without
struct sigaction former;

/// Only loads and stores of lock-free atomics, and system calls that keep no state in the process.
extern "C" void replace_lost_pages(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (GuardedRange* range = ranges.load(); range != nullptr; range = range->next) {
    const std::size_t size = range->size.load();
    const std::uintptr_t start = range->start.load();
    if (address - start >= size) continue;
    range->lost.load()->store(true);  // before anyone can read a zero
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an integer compares with any address
    void* const zeros = ::mmap(reinterpret_cast<void*>(start), size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) break;
    errno = error;
    return;
  }
  ::sigaction(SIGBUS, &former, nullptr);    // the access is tried again on return, and fails as it would have
  if (info->si_code <= 0) ::raise(signal);  // sent by a process: nothing would be tried again
  errno = error;
}

void install_handler() {
  static const bool installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = replace_lost_pages;
    action.sa_flags = SA_SIGINFO;
    return ::sigaction(SIGBUS, &action, &former) == 0;
  }();
  static_cast<void>(installed);
}

}  // namespace

GuardedPages::GuardedPages(std::span<const std::byte> pages, std::shared_ptr<std::atomic<bool>> lost) : lost_(std::move(lost)) {
  install_handler();
  const std::lock_guard lock(changing);
  range_ = ranges.load();
  while (range_ != nullptr && range_->size.load() != 0) range_ = range_->next;
  const bool is_new = range_ == nullptr;
  if (is_new) range_ = new GuardedRange;
  range_->lost.store(lost_.get());
  range_->start.store(reinterpret_cast<std::uintptr_t>(pages.data()));
  range_->size.store(pages.size());
  if (!is_new) return;
  range_->next = ranges.load();
  ranges.store(range_);
}

GuardedPages::~GuardedPages() { range_->size.store(0); }

}  // namespace ulpscope::tensors
