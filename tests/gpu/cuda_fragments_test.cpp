// SPDX-License-Identifier: Apache-2.0
// Where the elements of operands lie: every place of a matrix is somebody's, and where the PTX ISA prints it.
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <utility>

#include "gpu/cuda/fragments.hpp"
#include "tests/gpu/fake_cuda/fragment_tables.hpp"

namespace {

using namespace ulpscope::gpu::cuda;

/// How often each place of a rows by columns matrix is held; a place outside counts as one of row -1.
template <class PlaceOf>
std::map<std::pair<int, int>, int> held(int threads, int elements, int rows, int columns, PlaceOf place_of) {
  std::map<std::pair<int, int>, int> times;
  for (int thread = 0; thread < threads; ++thread)
    for (int element = 0; element < elements; ++element) {
      const Place place = place_of(thread, element);
      const bool inside = 0 <= place.row && place.row < rows && 0 <= place.column && place.column < columns;
      ++times[inside ? std::pair{place.row, place.column} : std::pair{-1, 0}];
    }
  return times;
}

void check_held(const std::map<std::pair<int, int>, int>& times, int rows, int columns, int each) {
  CHECK(static_cast<int>(times.size()) == rows * columns);
  CHECK(!times.contains({-1, 0}));
  for (const auto& [place, count] : times) CHECK(count == each);
}

/// `copies` of B: threads that hold the same.
template <class F>
void check_all_held(int copies) {
  CAPTURE(F::m, F::n, F::k, F::operand_bits, F::accumulator_bits);
  check_held(held(F::threads, F::a_elements, F::m, F::k, F::a), F::m, F::k, 1);
  check_held(held(F::threads, F::b_elements, F::k, F::n, F::b), F::k, F::n, copies);
  check_held(held(F::threads, F::c_elements, F::m, F::n, F::c), F::m, F::n, 1);
}

bool same(Place place, fake_cuda::Cell cell) { return place.row == cell.row && place.column == cell.column; }

template <class F>
void check_table() {
  CAPTURE(F::m, F::k, F::operand_bits, F::accumulator_bits);
  int unlike = 0;
  for (int thread = 0; thread < F::threads; ++thread) {
    for (int i = 0; i < F::a_elements; ++i)
      unlike += same(F::a(thread, i), fake_cuda::fragment_a(F::m, F::k, F::operand_bits, thread, i)) ? 0 : 1;
    for (int i = 0; i < F::c_elements; ++i)
      unlike += same(F::c(thread, i), fake_cuda::fragment_c(F::m, F::operand_bits, F::accumulator_bits, thread, i)) ? 0 : 1;
    for (int i = 0; F::threads == 32 && i < F::b_elements; ++i)
      unlike += same(F::b(thread, i), fake_cuda::fragment_b(F::m, F::k, F::operand_bits, thread, i)) ? 0 : 1;
  }
  CHECK(unlike == 0);
}

template <class F>
void check_mma() {
  check_all_held<F>(1);
  check_table<F>();
}
template <class F>
void check_wgmma() {
  check_all_held<F>(2);
  check_table<F>();
}

TEST_CASE("mma.sync: every element is held once, where the PTX ISA says", "[gpu]") {
  check_mma<MmaFragments<16, 8, 16, 16>>();
  check_mma<MmaFragments<16, 8, 16, 32>>();
  check_mma<MmaFragments<16, 16, 16, 16>>();
  check_mma<MmaFragments<16, 16, 16, 32>>();
  check_mma<MmaFragments<16, 4, 32, 32>>();
  check_mma<MmaFragments<16, 8, 32, 32>>();
  check_mma<MmaFragments<16, 16, 8, 16>>();
  check_mma<MmaFragments<16, 16, 8, 32>>();
  check_mma<MmaFragments<16, 32, 8, 16>>();
  check_mma<MmaFragments<16, 32, 8, 32>>();
  check_mma<MmaFragments<16, 64, 4, 32>>();
  check_mma<MmaFragments<8, 4, 64, 64>>();
  check_mma<MmaFragments<16, 4, 64, 64>>();
  check_mma<MmaFragments<16, 8, 64, 64>>();
  check_mma<MmaFragments<16, 16, 64, 64>>();
}

/// How often each scale's byte is filled from its place, and whether it is where the PTX ISA looks for it.
template <class F>
void check_scales() {
  constexpr int blocks = F::k / F::scale_products;
  constexpr fake_cuda::ScaleSelector selector{F::byte_id, F::thread_id};
  CAPTURE(F::k, blocks);
  std::map<std::pair<int, int>, int> of_a, of_b;
  for (int lane = 0; lane < 32; ++lane)
    for (int byte = 0; byte < F::scale_elements; ++byte) {
      const Place a = F::a_scale(lane, byte), b = F::b_scale(lane, byte);
      if (a.row >= 0) {
        ++of_a[{a.row, a.column}];
        const auto source = fake_cuda::scale_of_a(blocks, selector, a.row, a.column);
        CHECK((source && source->thread == lane && source->byte == byte));
      }
      if (b.column >= 0) {
        ++of_b[{b.row, b.column}];
        const auto source = fake_cuda::scale_of_b(blocks, selector, b.column, b.row);
        CHECK((source && source->thread == lane && source->byte == byte));
      }
    }
  check_held(of_a, F::m, blocks, 1);
  check_held(of_b, blocks, F::n, 1);
}

TEST_CASE("block scales: each is in the one byte that is read for it", "[gpu]") {
  check_scales<ScaledMmaFragments<32, 8, 1>>();
  check_scales<ScaledMmaFragments<64, 4, 2>>();
  check_scales<ScaledMmaFragments<64, 4, 4>>();
}

TEST_CASE("wgmma: every element is held once, those of B by two threads", "[gpu]") {
  check_wgmma<WgmmaFragments<16, 16, 16>>();
  check_wgmma<WgmmaFragments<16, 16, 32>>();
  check_wgmma<WgmmaFragments<8, 32, 32>>();
  check_wgmma<WgmmaFragments<32, 8, 16>>();
  check_wgmma<WgmmaFragments<32, 8, 32>>();
}

TEST_CASE("tcgen05: every element is held once, those of B by eight threads", "[gpu]") {
  check_all_held<Tcgen05Fragments<16, 16, 16>>(8);
  check_all_held<Tcgen05Fragments<16, 16, 32>>(8);
  check_all_held<Tcgen05Fragments<8, 32, 32>>(8);
  check_all_held<Tcgen05Fragments<32, 8, 32>>(8);
}

TEST_CASE("m8n8k4 of float16: four products side by side, with one B", "[gpu]") {
  check_all_held<QuadPairFragments<16>>(4);
  check_all_held<QuadPairFragments<32>>(4);
}

TEST_CASE("wmma: every element is held once", "[gpu]") {
  check_all_held<WmmaFragments<16, 16, 16, 16, 16>>(1);
  check_all_held<WmmaFragments<16, 16, 16, 16, 32>>(1);
  check_all_held<WmmaFragments<32, 8, 16, 16, 16>>(1);
  check_all_held<WmmaFragments<32, 8, 16, 16, 32>>(1);
  check_all_held<WmmaFragments<8, 32, 16, 16, 16>>(1);
  check_all_held<WmmaFragments<8, 32, 16, 16, 32>>(1);
  check_all_held<WmmaFragments<16, 16, 8, 32, 32>>(1);
  check_all_held<WmmaFragments<8, 8, 4, 64, 64>>(1);
}

}  // namespace
