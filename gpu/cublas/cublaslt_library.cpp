// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "gpu/cublas/calls.hpp"
#include "gpu/cublas/cublas_library.hpp"
#include "gpu/cublas/matmul_algorithms.hpp"
#include "gpu/cublas/matmul_problem.hpp"
#include "gpu/cublas/random_codes.hpp"
#include "gpu/cublas/status.hpp"
#include "gpu/cublas/timing.hpp"
#include "gpu/cuda/runtime.hpp"

namespace ulpscope::gpu::cublas {
namespace {

using Handle = Owned<cublasLtHandle_t, cublasLtDestroy>;
constexpr const char* function = "cublasLtMatmul";

std::vector<std::byte> transposed(const ConstMatrix& matrix) {
  std::vector<std::byte> codes(matrix.codes.size());
  for (std::size_t i = 0; i < matrix.rows; ++i)
    for (std::size_t j = 0; j < matrix.columns; ++j)
      store_code(matrix.format, codes.data(), j * matrix.rows + i, matrix.at(i, j));
  return codes;
}

/// Addresses in the memory of the device; c may be d.
struct Operands {
  const std::byte *a, *b, *c;
  std::byte* d;
};

/// A scale on the device, if there is one.
class DeviceScale {
 public:
  explicit DeviceScale(const std::optional<float>& scale) {
    if (scale) values_.emplace(std::span<const float>(&*scale, 1));
  }
  const float* get() const { return values_ ? values_->data() : nullptr; }

 private:
  std::optional<cuda::Buffer<float>> values_;
};

class CublasLtLibrary final : public Library {
 public:
  explicit CublasLtLibrary(const DeviceFacts& device) : device_(device), handle_(handle_on(device.ordinal)) {}

  std::string name() const override { return "cuBLASLt"; }
  std::string version() const override { return std::to_string(cublasLtGetVersion()); }
  std::vector<LibraryCall> calls() const override {
    std::vector<LibraryCall> calls = calls_of_both(function, device_.capability);
    for (LibraryCall& call : fp8_calls(function, device_.capability)) calls.push_back(std::move(call));
    return calls;
  }
  std::vector<LibraryAlgorithm> algorithms(const LibraryCall& call, std::size_t m, std::size_t n, std::size_t k,
                                           std::size_t most) const override {
    check_call(calls(), call, {m, n, k});
    const cuda::OnDevice device(device_.ordinal);
    return matmul_algorithms(handle_.get(), call, {m, n, k}, most, device_.workspace_bytes);
  }
  void multiply(const LibraryCall& call, const LibraryAlgorithm& algorithm, const LibraryProduct& product,
                std::span<std::byte> d) const override;
  LibraryTime time(const LibraryCall& call, const LibraryAlgorithm& algorithm, std::size_t m, std::size_t n,
                   std::size_t k) const override;
  void draw_normal(emu::Format format, std::uint64_t seed, std::uint64_t operand, std::span<std::byte> codes) const override {
    draw_normal_on(device_.ordinal, format, seed, operand, codes);
  }

 private:
  static Handle handle_on(int ordinal) {
    const cuda::OnDevice device(ordinal);
    return Handle("cublasLtCreate", cublasLtCreate);
  }
  /// A null algorithm leaves the choice to the library.
  void start(const LibraryCall& call, const MatmulProblem& problem, const std::optional<cublasLtMatmulAlgo_t>& algorithm,
             const Operands& on, cuda::Buffer<std::byte>& workspace, const std::array<double, 2>& alpha_beta) const {
    const ComputeType& compute = compute_type(call);
    const Scalar alpha(compute, alpha_beta[0]), beta(compute, alpha_beta[1]);
    check(cublasLtMatmul(handle_.get(), problem.operation(), alpha.get(), on.b, problem.first(), on.a, problem.second(),
                         beta.get(), on.c, problem.result(), on.d, problem.result(), algorithm ? &*algorithm : nullptr,
                         workspace.data(), workspace.bytes(), nullptr),
          function);
  }
  static std::optional<cublasLtMatmulAlgo_t> chosen(const LibraryAlgorithm& algorithm) {
    if (algorithm.opaque.empty()) return std::nullopt;
    return opaque_algorithm(algorithm);
  }

  DeviceFacts device_;
  Handle handle_;
};

void CublasLtLibrary::multiply(const LibraryCall& call, const LibraryAlgorithm& algorithm, const LibraryProduct& product,
                               std::span<std::byte> d) const {
  const Shape shape = check_product(calls(), call, product, d);
  const cuda::OnDevice device(device_.ordinal);
  const auto& [a, b, c] = product.product;
  const cuda::Buffer<std::byte> device_a(a.codes), device_c(c.codes);
  const cuda::Buffer<std::byte> device_b =
      MatmulProblem::needs_transposed_b(call) ? cuda::Buffer<std::byte>(transposed(b)) : cuda::Buffer<std::byte>(b.codes);
  const DeviceScale scale_a(product.scale_a), scale_b(product.scale_b);
  cuda::Buffer<std::byte> result(d.size()), workspace(device_.workspace_bytes);
  result.clear();
  MatmulProblem problem(call, shape);
  problem.set_scales(scale_a.get(), scale_b.get());
  const std::byte* const addend = c.codes.empty() ? result.data() : device_c.data();
  start(call, problem, chosen(algorithm), {device_a.data(), device_b.data(), addend, result.data()}, workspace,
        {static_cast<double>(product.alpha), static_cast<double>(product.beta)});
  cuda::finish(function);
  std::vector<std::byte> codes(d.size());
  result.copy_to(codes);
  std::copy(codes.begin(), codes.end(), d.begin());
}

LibraryTime CublasLtLibrary::time(const LibraryCall& call, const LibraryAlgorithm& algorithm, std::size_t m, std::size_t n,
                                  std::size_t k) const {
  const Shape shape{m, n, k};
  check_call(calls(), call, shape);
  const cuda::OnDevice device(device_.ordinal);
  RotatingOperands operands(call, shape, device_.cache_bytes);
  cuda::Buffer<std::byte> workspace(device_.workspace_bytes);
  const MatmulProblem problem(call, shape);
  const auto algorithm_of_all = chosen(algorithm);
  const LibraryTime time = time_of([&](std::size_t run) {
    std::byte* const d = operands.d(run);
    start(call, problem, algorithm_of_all, {operands.a(run), operands.b(run), d, d}, workspace, {1, 0});
  });
  cuda::finish(function);
  return time;
}

}  // namespace

std::shared_ptr<const Library> open_cublaslt(const DeviceFacts& device) { return std::make_shared<CublasLtLibrary>(device); }

}  // namespace ulpscope::gpu::cublas
