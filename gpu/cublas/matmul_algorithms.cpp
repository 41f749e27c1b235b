// SPDX-License-Identifier: Apache-2.0
// Asks for the heuristics, varies their split of K and describes each in words.
#include "gpu/cublas/matmul_algorithms.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "gpu/cublas/status.hpp"
#include "gpu/cuda/runtime.hpp"

namespace ulpscope::gpu::cublas {
namespace {

using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

template <class Value>
Value configuration(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  Value value{};
  std::size_t written = 0;
  check(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written),
        "cublasLtMatmulAlgoConfigGetAttribute " + std::to_string(attribute));
  return value;
}

template <class Value>
Value capability(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoCapAttributes_t attribute) {
  Value value{};
  std::size_t written = 0;
  check(cublasLtMatmulAlgoCapGetAttribute(&algorithm, attribute, &value, sizeof value, &written),
        "cublasLtMatmulAlgoCapGetAttribute " + std::to_string(attribute));
  return value;
}

struct FlagName {
  std::uint64_t flag;
  const char* name;
};

/// Those of `names` that are set, joined by `+`.
std::string flag_words(std::uint64_t flags, std::span<const FlagName> names) {
  std::string words;
  for (const FlagName& name : names)
    if ((flags & name.flag) != 0) words += (words.empty() ? "" : "+") + std::string(name.name);
  return words.empty() ? "none" : words;
}

/// What the library says of the arithmetic (cublasLtNumericalImplFlags_t).
std::string arithmetic_words(std::uint64_t flags) {
  constexpr std::array operations{
      FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA, "fma"}, FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA, "hmma"},
      FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA, "imma"}, FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_DMMA, "dmma"}};
  constexpr std::array accumulators{FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F, "16f"},
                                    FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F, "32f"},
                                    FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_64F, "64f"}};
  constexpr std::array inputs{
      FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F, "16f"},
      FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF, "16bf"},
      FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32, "tf32"},
      FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F, "32f"},
      FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_64F, "64f"},
      FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E4M3, "e4m3"},
      FlagName{CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E5M2, "e5m2"},
  };
  return "math=" + flag_words(flags, operations) + " accumulator=" + flag_words(flags, accumulators) +
         " input=" + flag_words(flags, inputs);
}

LibraryAlgorithm described(const cublasLtMatmulAlgo_t& algorithm, std::size_t workspace) {
  LibraryAlgorithm description;
  description.split_k = configuration<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  const std::string reduction = reduction_name(configuration<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME));
  if (description.split_k > 1) description.reduction = reduction;
  description.words =
      "id=" + std::to_string(configuration<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID)) +
      " tile=" + tile_name(configuration<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID)) +
      " stages=" + stages_name(configuration<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID)) +
      " split_k=" + std::to_string(description.split_k) + " reduction=" + reduction +
      " swizzle=" + std::to_string(configuration<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING)) +
      " custom=" + std::to_string(configuration<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION)) +
      " inner=" + inner_shape_name(configuration<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID)) +
      " cluster=" + cluster_shape_name(configuration<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID)) + " " +
      arithmetic_words(capability<std::uint64_t>(algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS)) +
      " workspace=" + std::to_string(workspace);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&algorithm);
  description.opaque.assign(bytes, bytes + sizeof algorithm);
  return description;
}

/// The library's answers for one product.
class Finder {
 public:
  Finder(cublasLtHandle_t handle, const LibraryCall& call, const Shape& shape, std::size_t workspace_bytes)
      : handle_(handle),
        problem_(call, shape),
        stand_in_(call.scale_mode_a == ScaleMode::scalar_32f ? 0 : 256),
        workspace_bytes_(workspace_bytes),
        // As CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK counts them.
        reductions_(call.reduced_precision_reduction ? CUBLASLT_REDUCTION_SCHEME_MASK
                                                     : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) {
    // Whether the library looks at the pointers here is not documented; its samples set them before they ask. What they point
    // to is not read.
    if (stand_in_.size() > 0) problem_.set_scales({stand_in_.data(), stand_in_.data(), nullptr, nullptr});
  }

  std::vector<cublasLtMatmulHeuristicResult_t> heuristics(std::size_t most) const {
    const Preference preference("cublasLtMatmulPreferenceCreate", cublasLtMatmulPreferenceCreate);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
            "cublasLtMatmulPreferenceSetAttribute " + std::to_string(attribute));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes_});
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions_);
    std::vector<cublasLtMatmulHeuristicResult_t> results(most);
    int found = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle_, problem_.operation(), problem_.first(), problem_.second(), problem_.addend(),
                                         problem_.result(), preference.get(), static_cast<int>(most), results.data(), &found),
          "cublasLtMatmulAlgoGetHeuristic");
    results.resize(static_cast<std::size_t>(found));
    std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
    return results;
  }

  /// The same algorithm with K split in all ways that it and the library take.
  std::vector<LibraryAlgorithm> split_variants(const cublasLtMatmulAlgo_t& algorithm) const {
    std::vector<LibraryAlgorithm> variants;
    if (configuration<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM) > 1 ||
        capability<std::int32_t>(algorithm, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT) == 0)
      return variants;
    const auto reductions = capability<std::uint32_t>(algorithm, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK) & reductions_;
    for (const std::int32_t parts : {2, 3, 4, 8})
      for (const std::uint32_t reduction :
           {CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, CUBLASLT_REDUCTION_SCHEME_INPLACE})
        if ((reductions & reduction) != 0) add_split(variants, algorithm, parts, reduction);
    return variants;
  }

 private:
  void add_split(std::vector<LibraryAlgorithm>& variants, cublasLtMatmulAlgo_t algorithm, std::int32_t parts,
                 std::uint32_t reduction) const {
    check(cublasLtMatmulAlgoConfigSetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts),
          "cublasLtMatmulAlgoConfigSetAttribute of SPLITK_NUM");
    check(cublasLtMatmulAlgoConfigSetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &reduction, sizeof reduction),
          "cublasLtMatmulAlgoConfigSetAttribute of REDUCTION_SCHEME");
    cublasLtMatmulHeuristicResult_t result{};
    const cublasStatus_t status = cublasLtMatmulAlgoCheck(handle_, problem_.operation(), problem_.first(), problem_.second(),
                                                          problem_.addend(), problem_.result(), &algorithm, &result);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE || status == CUBLAS_STATUS_ARCH_MISMATCH)
      return;
    check(status, "cublasLtMatmulAlgoCheck");
    if (result.workspaceSize <= workspace_bytes_) variants.push_back(described(algorithm, result.workspaceSize));
  }

  cublasLtHandle_t handle_;
  MatmulProblem problem_;
  cuda::Buffer<std::byte> stand_in_;  ///< an address of scales
  std::size_t workspace_bytes_;
  std::uint32_t reductions_;
};

/// Adds up to `most` in all, none twice.
void add_new(std::vector<LibraryAlgorithm>& algorithms, const std::vector<LibraryAlgorithm>& more, std::size_t most) {
  for (const LibraryAlgorithm& algorithm : more) {
    if (algorithms.size() == most) return;
    if (std::none_of(algorithms.begin(), algorithms.end(), [&](const auto& known) { return known.words == algorithm.words; }))
      algorithms.push_back(algorithm);
  }
}

}  // namespace

std::vector<LibraryAlgorithm> matmul_algorithms(cublasLtHandle_t handle, const LibraryCall& call, const Shape& shape,
                                                std::size_t most, std::size_t workspace_bytes) {
  if (most == 0) return {};
  const Finder finder(handle, call, shape, workspace_bytes);
  std::vector<LibraryAlgorithm> own, split;
  for (const auto& result : finder.heuristics(most)) {
    add_new(own, {described(result.algo, result.workspaceSize)}, most);
    if (split.size() < most / 4) add_new(split, finder.split_variants(result.algo), most / 4);
  }
  std::erase_if(split, [&](const LibraryAlgorithm& variant) {
    return std::any_of(own.begin(), own.end(), [&](const auto& known) { return known.words == variant.words; });
  });
  if (own.size() + split.size() > most) own.resize(most - split.size());
  add_new(own, split, most);
  return own;
}

cublasLtMatmulAlgo_t opaque_algorithm(const LibraryAlgorithm& algorithm) {
  cublasLtMatmulAlgo_t opaque{};
  if (algorithm.opaque.size() != sizeof opaque)
    throw Error("cublasLtMatmul: not an algorithm of this library: " + algorithm.words);
  std::memcpy(&opaque, algorithm.opaque.data(), sizeof opaque);
  return opaque;
}

}  // namespace ulpscope::gpu::cublas
