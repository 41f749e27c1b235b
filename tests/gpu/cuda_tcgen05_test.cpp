// SPDX-License-Identifier: Apache-2.0
// The stand-in for tcgen05 sees what a device would suffer from, or answer wrongly to: steps that are left out, and descriptors
// that say something else.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

#include "emu/catalogue.hpp"
#include "gpu/cuda/tcgen05_block.cuh"
#include "tests/gpu/fake_cuda/control.hpp"
#include "tests/gpu/fake_cuda/matrix_instructions.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::gpu::cuda;
using Catch::Matchers::ContainsSubstring;

enum class Mistake {
  none,
  no_proxy_fence,
  no_fence_before,
  no_barrier,
  no_barrier_and_last,  ///< the last thread starts the instruction, not the first one
  no_fence_after,
  no_wait,
  no_fence_after_wait,
  other_version,
  swizzle,
  transposed,
  shape,
  reserved_bit,
  not_given_back
};

/// D += A B of kind f16 with zeros for all of them.
void multiply_zeros(Mistake mistake) {
  const auto is = [&](Mistake one) { return mistake == one; };
  const std::uint32_t row[tcgen05::row_words] = {}, c[tcgen05::columns] = {};
  const int thread = static_cast<int>(threadIdx.x);
  using Halves = tcgen05::Packing<16, 8>;
  tcgen05::begin_block();
  tcgen05::begin_operands();
  tcgen05::put_row<Halves, 2>(row, tcgen05::workspace().a, thread);
  if (thread < tcgen05::columns) tcgen05::put_row<Halves, 2>(row, tcgen05::workspace().b, thread);
  tcgen05::put_accumulators(c);
  if (!is(Mistake::no_proxy_fence)) publish_shared();
  if (!is(Mistake::no_fence_before)) tcgen05::fence_before_meeting();
  if (!is(Mistake::no_barrier) && !is(Mistake::no_barrier_and_last)) __syncthreads();
  if (thread == (is(Mistake::no_barrier_and_last) ? 127 : 0)) {
    if (!is(Mistake::no_fence_after)) tcgen05::fence_after_meeting();
    tcgen05::Places at = tcgen05::places();
    if (is(Mistake::other_version)) at.a ^= std::uint64_t{1} << 46;
    if (is(Mistake::swizzle)) at.b |= std::uint64_t{2} << 61;
    std::uint32_t instruction = tcgen05::instruction_descriptor(128, 16, emu::float16, emu::float16, emu::float32);
    if (is(Mistake::transposed)) instruction |= 1u << 15;
    if (is(Mistake::shape)) instruction += 1u << 17;
    if (is(Mistake::reserved_bit)) instruction |= 1u << 23;
    ULPSCOPE_TCGEN05_MMA("tcgen05.mma.cta_group::1.kind::f16", at.d, at.a, at.b, instruction);
    tcgen05::commit_instruction();
  }
  const std::uint32_t barrier = tcgen05::shared_place(offsetof(tcgen05::Workspace, barrier));
  if (!is(Mistake::no_wait)) tcgen05::wait(barrier, tcgen05::workspace().parity);
  if (!is(Mistake::no_fence_after_wait)) tcgen05::fence_after_meeting();
  std::uint32_t d[tcgen05::columns];
  tcgen05::take_accumulators(d);
  if (!is(Mistake::not_given_back)) tcgen05::end_block();
}

std::string failure_of(Mistake mistake) {
  fake_cuda::set_engine("sm_100");
  fake_cuda::launch(dim3(1), dim3(128), 0, [&] { multiply_zeros(mistake); });
  CHECK(fake_cuda::report() == "");
  return fake_cuda::instruction_failure();
}

TEST_CASE("steps of tcgen05.mma that are left out are seen", "[gpu]") {
  CHECK(failure_of(Mistake::none) == "");
  CHECK_THAT(failure_of(Mistake::no_proxy_fence), ContainsSubstring("without the proxy fence"));
  CHECK_THAT(failure_of(Mistake::no_fence_before), ContainsSubstring("before all threads have passed"));
  // The stand-in's threads run one after another, upwards or downwards.
  CHECK_THAT(failure_of(Mistake::no_barrier) + failure_of(Mistake::no_barrier_and_last),
             ContainsSubstring("before all threads have passed"));
  CHECK_THAT(failure_of(Mistake::no_fence_after), ContainsSubstring("without fence::after_thread_sync before it"));
  CHECK_THAT(failure_of(Mistake::no_wait), ContainsSubstring("a load without a wait"));
  CHECK_THAT(failure_of(Mistake::no_fence_after_wait), ContainsSubstring("a load without a wait, or without fence"));
  CHECK_THAT(failure_of(Mistake::not_given_back), ContainsSubstring("not given back"));
  CHECK(failure_of(Mistake::none) == "");
}

TEST_CASE("descriptors of tcgen05.mma that say something else are seen", "[gpu]") {
  CHECK_THAT(failure_of(Mistake::other_version), ContainsSubstring("another version"));
  CHECK_THAT(failure_of(Mistake::swizzle), ContainsSubstring("a swizzle"));
  CHECK_THAT(failure_of(Mistake::transposed), ContainsSubstring("negates or transposes"));
  CHECK_THAT(failure_of(Mistake::shape), ContainsSubstring("no such shape"));
  CHECK_THAT(failure_of(Mistake::reserved_bit), ContainsSubstring("reserved bits"));
}

}  // namespace
