// SPDX-License-Identifier: Apache-2.0
// A file descriptor that is closed at the end of its scope, or before, where the answer counts.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace ulpscope::files {

/// Owns a descriptor, or none.
class Descriptor {
 public:
  /// Takes what open() returned; below 0: none.
  explicit Descriptor(int value = -1) noexcept : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  /// Closes the one that it had, in time.
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() { close(); }

  /// Whether there is one.
  bool is_open() const noexcept { return value_ >= 0; }
  /// The descriptor.
  int value() const noexcept { return value_; }
  /// Another one closes it from now on.
  int release() noexcept { return std::exchange(value_, -1); }
  /// @returns 0, or the errno: a file system over a network may say only here that its quota is used up
  int close() noexcept {
    if (value_ < 0) return 0;
    return ::close(std::exchange(value_, -1)) != 0 && errno != EINTR ? errno : 0;
  }

 private:
  int value_;
};

}  // namespace ulpscope::files
