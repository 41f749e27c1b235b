// SPDX-License-Identifier: Apache-2.0
// What the parts of the stand-in share.
#pragma once

#include <string>

#include "tests/gpu/fake_cuda/control.hpp"

namespace fake_cuda {

/// What a call that can fail asks first: the injected error, or the one that the device is in.
cudaError_t next_call();
/// The device fails from now on, until it is reset or report() is asked.
void fail_device(cudaError_t error);
void add_report(const std::string& what);
void count_launch();

/// Device memory can be read and written while one of these lives.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
};

}  // namespace fake_cuda
