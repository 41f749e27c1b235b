// SPDX-License-Identifier: Apache-2.0
// cuBLAS asked for row-major products: the transposed product of the swapped operands.
#include "gpu/cublas/cublas_library.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "gpu/cublas/calls.hpp"
#include "gpu/cublas/random_codes.hpp"
#include "gpu/cublas/status.hpp"
#include "gpu/cublas/timing.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::gpu::cublas {
namespace {

using Handle = Owned<cublasHandle_t, cublasDestroy>;
constexpr const char* function = "cublasGemmEx";

/// The library knows columns, and a row-major matrix is the transpose of a column-major one: D^T = B^T A^T, so that B comes
/// first and n is the number of rows.
struct Operands {
  const std::byte *a, *b;
  std::byte* d;
};

class CublasLibrary final : public Library {
 public:
  explicit CublasLibrary(const DeviceFacts& device) : device_(device), handle_(handle_on(device.ordinal)) {}

  std::string name() const override { return "cuBLAS"; }
  std::string version() const override {
    int version = 0;
    check(cublasGetVersion(handle_.get(), &version), "cublasGetVersion");
    return std::to_string(version);
  }
  std::vector<LibraryCall> calls() const override { return calls_of_both(function, device_.capability); }
  /// One: cuBLAS chooses itself, and on sm_80 and later there is no other choice (cublasGemmAlgo_t).
  std::vector<LibraryAlgorithm> algorithms(const LibraryCall& call, std::size_t m, std::size_t n, std::size_t k,
                                           std::size_t most) const override {
    check_call(calls(), call, {m, n, k});
    if (most == 0) return {};
    return {{"algorithm=CUBLAS_GEMM_DEFAULT", 1, "", {}}};
  }
  void multiply(const LibraryCall& call, const LibraryAlgorithm& algorithm, const LibraryProduct& product,
                std::span<std::byte> d) const override;
  LibraryTime time(const LibraryCall& call, const LibraryAlgorithm& algorithm, std::size_t m, std::size_t n,
                   std::size_t k) const override;
  void draw_normal(emu::Format format, std::uint64_t seed, std::uint64_t operand, std::span<std::byte> codes) const override {
    draw_normal_on(device_.ordinal, format, seed, operand, codes);
  }

 private:
  /// A handle belongs to the device that is current when it is made.
  static Handle handle_on(int ordinal) {
    const cuda::OnDevice device(ordinal);
    return Handle("cublasCreate", cublasCreate);
  }
  void set_math_mode(const LibraryCall& call) const {
    const auto mode = call.reduced_precision_reduction
                          ? CUBLAS_DEFAULT_MATH
                          : static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    check(cublasSetMathMode(handle_.get(), mode), "cublasSetMathMode");
  }
  void start(const LibraryCall& call, const Shape& shape, const Operands& on, double alpha, double beta) const {
    const ComputeType& compute = compute_type(call);
    const Scalar times(compute, alpha), plus(compute, beta);
    const int m = static_cast<int>(shape.m), n = static_cast<int>(shape.n), k = static_cast<int>(shape.k);
    check(cublasGemmEx(handle_.get(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, times.get(), on.b, data_type(call.b), n, on.a,
                       data_type(call.a), k, plus.get(), on.d, data_type(call.d), n, compute.type, CUBLAS_GEMM_DEFAULT),
          function);
  }

  DeviceFacts device_;
  Handle handle_;
};

void CublasLibrary::multiply(const LibraryCall& call, const LibraryAlgorithm& /*algorithm*/, const LibraryProduct& product,
                             std::span<std::byte> d) const {
  const Shape shape = check_product(calls(), call, product, d);
  const cuda::OnDevice device(device_.ordinal);
  const auto& [a, b, c] = product.product;
  const cuda::Buffer<std::byte> device_a(a.codes), device_b(b.codes);
  cuda::Buffer<std::byte> result = c.codes.empty() ? cuda::Buffer<std::byte>(d.size()) : cuda::Buffer<std::byte>(c.codes);
  if (c.codes.empty()) result.clear();
  set_math_mode(call);
  start(call, shape, {device_a.data(), device_b.data(), result.data()}, static_cast<double>(product.alpha),
        static_cast<double>(product.beta));
  cuda::finish(function);
  std::vector<std::byte> codes(d.size());
  result.copy_to(codes);
  std::copy(codes.begin(), codes.end(), d.begin());
}

LibraryTime CublasLibrary::time(const LibraryCall& call, const LibraryAlgorithm& /*algorithm*/, std::size_t m, std::size_t n,
                                std::size_t k) const {
  const Shape shape{m, n, k};
  check_call(calls(), call, shape);
  const cuda::OnDevice device(device_.ordinal);
  RotatingOperands operands(call, shape, device_.cache_bytes);
  set_math_mode(call);
  const LibraryTime time = time_of([&](std::size_t run) {
    start(call, shape, {operands.a(run), operands.b(run), operands.d(run)}, 1, 0);
  });
  cuda::finish(function);
  return time;
}

}  // namespace

DeviceFacts device_facts(int ordinal) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess)
    throw NoDevice(std::string("cuBLAS: no GPU: ") + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) + ")");
  if (ordinal < 0 || ordinal >= count)
    throw NoDevice("cuBLAS: no GPU cuda:" + std::to_string(ordinal) + ": there are " + std::to_string(count));
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  DeviceFacts device;
  device.ordinal = ordinal;
  device.capability = 10 * properties.major + properties.minor;
  device.cache_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  return device;
}

std::shared_ptr<const Library> open_cublas(const DeviceFacts& device) { return std::make_shared<CublasLibrary>(device); }

}  // namespace ulpscope::gpu::cublas
