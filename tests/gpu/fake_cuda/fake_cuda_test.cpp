// SPDX-License-Identifier: Apache-2.0
// The stand-in for the CUDA runtime sees what a device would suffer from: missing barriers, writes beyond the end, failing
// calls.
#include "tests/gpu/fake_cuda/fake_cuda_test.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <numeric>

#include "gpu/cuda/runtime.hpp"
#include "tests/gpu/fake_cuda/control.hpp"

namespace {

using namespace ulpscope;
using Catch::Matchers::ContainsSubstring;

std::vector<int> numbers(std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

std::vector<int> reversed_by_96(std::vector<int> values) {
  for (std::size_t i = 0; i < values.size(); i += 96)
    std::reverse(values.begin() + static_cast<long>(i), values.begin() + static_cast<long>(i + 96));
  return values;
}

std::string message_of(void (*call)()) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("threads of a block meet at barriers") { CHECK(testing::reversed(numbers(960)) == reversed_by_96(numbers(960))); }

TEST_CASE("a missing barrier is seen in the results") {
  CHECK(testing::reversed_without_barrier(numbers(960)) != reversed_by_96(numbers(960)));
}

TEST_CASE("a barrier that not all threads reach is an error of the device") {
  CHECK_THAT(message_of(&testing::reach_half_a_barrier), ContainsSubstring("cudaErrorLaunchTimeout"));
  CHECK(fake_cuda::report() == "32 of 64 threads wait at a barrier that others do not reach, block 0,0,0");
  CHECK(testing::reversed(numbers(96)) == reversed_by_96(numbers(96)));
}

TEST_CASE("warps exchange values, vote and share dynamic memory") {
  const testing::WarpSums result = testing::warp_sums(numbers(64));

  CHECK(result.sums[0] == 32 * 33 / 2);
  CHECK(result.sums[1] == 64 * 65 / 2 - 32 * 33 / 2);
  CHECK(result.sums[2] == 64);
  CHECK(result.ballots[0] == 0x55555555);
}

TEST_CASE("a write just beyond an allocation is reported") {
  testing::write_at(4);
  CHECK(fake_cuda::report().empty());
  testing::write_at(5);
  CHECK(fake_cuda::report() == "a write beside an allocation of 5 bytes");
  testing::write_at(-1);
  CHECK(fake_cuda::report() == "a write beside an allocation of 5 bytes");
}

TEST_CASE("the n-th call fails, and nothing stays allocated") {
  std::size_t failures = 0;
  for (std::size_t n = 1;; ++n) {
    fake_cuda::fail_call(n, cudaErrorMemoryAllocation);
    try {
      testing::reversed(numbers(96));
    } catch (const Error& error) {
      ++failures;
      CHECK_THAT(error.what(), ContainsSubstring("cudaErrorMemoryAllocation"));
      CHECK(fake_cuda::live_objects() == 0);
      continue;
    }
    break;
  }
  fake_cuda::fail_call(0);

  CHECK(failures == 5);  // two allocations, a copy to the device, the launch, a copy from it
}

TEST_CASE("intrinsics round and saturate as CUDA's") {
  CHECK(__float2int_rz(-2.9F) == -2);
  CHECK(__float2int_rz(3e9F) == std::numeric_limits<int>::max());
  CHECK(__float2int_rz(__uint_as_float(0x7fc00000)) == 0);
  CHECK(__float2ll_rz(__uint_as_float(0x7fc00000)) == std::numeric_limits<long long>::min());
  CHECK(__float2uint_rz(-1.0F) == 0);
  CHECK(__ll2float_rz((1LL << 40) - 1) == 0x1.fffffep39F);
  CHECK(__ll2float_rn((1LL << 40) - 1) == 0x1p40F);
  CHECK(__int2float_rz(0x1ffffff) == 0x1.fffffep24F);
  CHECK(__vmaxs2(0x8000'0001, 0x7fff'ffff) == 0x7fff'0001);
  CHECK(__viaddmax_s16x2(0x0001'ffff, 0x0002'fffe, 0x0000'fff0) == 0x0003'fffd);
  CHECK(__byte_perm(0x33221100, 0x77665544, 0x7531) == 0x77553311);
  CHECK(__funnelshift_l(0x80000000, 1, 1) == 3);
  CHECK(__fadd_rz(1.0F, 0x1.8p-24F) == 1.0F);
  CHECK(__fadd_ru(1.0F, 0x1p-60F) == 0x1.000002p0F);
}
