// SPDX-License-Identifier: Apache-2.0
// cuBLASLt asked for one algorithm: operands laid out, scales placed, the product run.
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
#include "gpu/cublas/scale_layout.hpp"
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

/// An operand as the library reads it: narrow ones with K along memory, float4 packed.
cuda::Buffer<std::byte> operand(const LibraryCall& call, OperandSide side, const ConstMatrix& matrix) {
  const bool turned = side == OperandSide::b && MatmulProblem::needs_transposed_b(call);
  if (!turned && matrix.format.bits() > 4) return cuda::Buffer<std::byte>(matrix.codes);
  const std::vector<std::byte> codes = turned ? transposed(matrix) : std::vector(matrix.codes.begin(), matrix.codes.end());
  return cuda::Buffer<std::byte>(matrix.format.bits() > 4 ? codes : packed_halves(codes));
}

/// What a product has scales for, on the device.
class DeviceScales {
 public:
  DeviceScales(std::span<const std::byte> a, std::span<const std::byte> b, std::span<const float> d, std::size_t amax)
      : a_(a), b_(b), d_(d), amax_(amax) {
    amax_.clear();
  }
  static DeviceScales of(const LibraryCall& call, const LibraryProduct& product) {
    const auto laid_out = [](ScaleMode mode, OperandSide side, const ConstMatrix& scales, std::size_t lines) {
      return scales.codes.empty() ? std::vector<std::byte>() : laid_out_scales(mode, side, scales, lines);
    };
    return DeviceScales(laid_out(call.scale_mode_a, OperandSide::a, product.scale_a, product.product.m()),
                        laid_out(call.scale_mode_b, OperandSide::b, product.scale_b, product.product.n()),
                        product.scale_d ? std::span(&*product.scale_d, 1) : std::span<const float>(), product.amax_d.size());
  }
  /// None where the mode has one for the whole operand, 1 elsewhere.
  static DeviceScales of_one(const LibraryCall& call, const Shape& shape) {
    if (call.scale_mode_a == ScaleMode::scalar_32f) return DeviceScales({}, {}, {}, 0);
    return DeviceScales(unit_scales(call.scale_mode_a, shape.m, shape.k), unit_scales(call.scale_mode_b, shape.n, shape.k), {},
                        0);
  }

  ScalePointers pointers() { return {a_.data(), b_.data(), d_.data(), amax_.data()}; }
  /// Waits for the device.
  std::vector<float> amax() const {
    std::vector<float> numbers(amax_.size());
    amax_.copy_to(numbers);
    return numbers;
  }

 private:
  cuda::Buffer<std::byte> a_, b_;
  cuda::Buffer<float> d_, amax_;
};

class CublasLtLibrary final : public Library {
 public:
  explicit CublasLtLibrary(const DeviceFacts& device) : device_(device), handle_(handle_on(device.ordinal)) {}

  std::string name() const override { return "cuBLASLt"; }
  std::string version() const override { return std::to_string(cublasLtGetVersion()); }
  std::vector<LibraryCall> calls() const override {
    std::vector<LibraryCall> calls = calls_of_both(function, device_.capability);
    for (LibraryCall& call : narrow_calls(function, device_.capability)) calls.push_back(std::move(call));
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
                         beta.get(), on.c, problem.addend(), on.d, problem.result(), algorithm ? &*algorithm : nullptr,
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
  const cuda::Buffer<std::byte> device_a = operand(call, OperandSide::a, a), device_b = operand(call, OperandSide::b, b);
  // A C that is not there is not read, as beta is 0; memory as large as its layout says stands for it.
  const cuda::Buffer<std::byte> device_c = c.codes.empty() && call.c
                                               ? cuda::Buffer<std::byte>(stored_bytes(*call.c, shape.m * shape.n))
                                               : cuda::Buffer<std::byte>(c.codes);
  DeviceScales scales = DeviceScales::of(call, product);
  cuda::Buffer<std::byte> result(d.size()), workspace(device_.workspace_bytes);
  result.clear();
  MatmulProblem problem(call, shape);
  problem.set_scales(scales.pointers());
  const std::byte* const addend = device_c.size() == 0 ? result.data() : device_c.data();
  start(call, problem, chosen(algorithm), {device_a.data(), device_b.data(), addend, result.data()}, workspace,
        {static_cast<double>(product.alpha), static_cast<double>(product.beta)});
  cuda::finish(function);
  std::vector<std::byte> codes(d.size());
  result.copy_to(codes);
  const std::vector<float> amax = scales.amax();
  std::copy(codes.begin(), codes.end(), d.begin());
  std::copy(amax.begin(), amax.end(), product.amax_d.begin());
}

LibraryTime CublasLtLibrary::time(const LibraryCall& call, const LibraryAlgorithm& algorithm, std::size_t m, std::size_t n,
                                  std::size_t k) const {
  const Shape shape{m, n, k};
  check_call(calls(), call, shape);
  const cuda::OnDevice device(device_.ordinal);
  RotatingOperands operands(call, shape, device_.cache_bytes);
  cuda::Buffer<std::byte> workspace(device_.workspace_bytes);
  DeviceScales scales = DeviceScales::of_one(call, shape);
  MatmulProblem problem(call, shape);
  problem.set_scales(scales.pointers());
  const auto algorithm_of_all = chosen(algorithm);
  const LibraryTime time = time_of([&](std::size_t run) {
    std::byte* const d = operands.d(run);
    start(call, problem, algorithm_of_all, {operands.a(run), operands.b(run), operands.c() == nullptr ? d : operands.c(), d},
          workspace, {1, 0});
  });
  cuda::finish(function);
  return time;
}

}  // namespace

std::shared_ptr<const Library> open_cublaslt(const DeviceFacts& device) { return std::make_shared<CublasLtLibrary>(device); }

}  // namespace ulpscope::gpu::cublas
