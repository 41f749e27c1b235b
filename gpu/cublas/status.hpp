// SPDX-License-Identifier: Apache-2.0
// cuBLAS and cuBLASLt with every call checked, and their handles and descriptors freed.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include <string>

#include "emu/error.hpp"

namespace ulpscope::gpu::cublas {

/// @throws Error `call: CUBLAS_STATUS_... (its description)`.
inline void check(cublasStatus_t status, const std::string& call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error(call + ": " + cublasGetStatusName(status) + " (" + cublasGetStatusString(status) + ")");
}

/// A handle or descriptor of the libraries, destroyed at the end of its life.
template <class Handle, cublasStatus_t (*destroy)(Handle)>
class Owned {
 public:
  template <class Create, class... Arguments>
  explicit Owned(const char* call, Create create, Arguments... arguments) {
    check(create(&handle_, arguments...), call);
  }
  ~Owned() { static_cast<void>(destroy(handle_)); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  Handle get() const noexcept { return handle_; }

 private:
  Handle handle_ = nullptr;
};

}  // namespace ulpscope::gpu::cublas
