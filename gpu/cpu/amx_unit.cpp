// SPDX-License-Identifier: Apache-2.0
// Tile multiplication of bfloat16 (Intel SDM volume 1, chapter "Programming with Intel AMX"; volume 2, TDPBF16PS). One
// instruction multiplies 16 rows of A by 16 columns of B; independent inner products are the diagonal of the result.
#include "gpu/cpu/cpu_units.hpp"

#if defined(__x86_64__) && defined(__linux__)

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cstdint>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "gpu/cpu/lanes.hpp"

namespace ulpscope::gpu {
namespace {

using Lanes = detail::Lanes<std::uint32_t>;  // a word is a pair of operands, or a sum

constexpr std::size_t pair = 2, most_products = 32;
constexpr std::size_t tile_rows = Lanes::count, word_bytes = sizeof(std::uint32_t), row_bytes = Lanes::count * word_bytes;

/// What LDTILECFG reads, palette 1. Tile 0 holds C, tile 1 rows of A, tile 2 pairs of rows of B.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1, start_row = 0;
  std::array<std::uint8_t, 14> reserved = {};
  std::array<std::uint16_t, 16> bytes_per_row = {};
  std::array<std::uint8_t, 16> rows = {};

  explicit TileConfiguration(std::size_t pairs) {
    bytes_per_row[0] = bytes_per_row[2] = row_bytes;
    bytes_per_row[1] = static_cast<std::uint16_t>(pairs * word_bytes);
    rows[0] = rows[1] = tile_rows;
    rows[2] = static_cast<std::uint8_t>(pairs);
  }
};
static_assert(sizeof(TileConfiguration) == 64);

/// Adds the products of `a` and `b`, `pairs` to an instruction, to the diagonal c. The tiles are configured and released in
/// here, where nothing throws; no caller can have values in them, for a call preserves no tile (System V ABI, x86-64, 3.2.1).
__attribute__((target("amx-tile,amx-bf16"))) void tile_products(Lanes& lanes, std::size_t pairs) noexcept {
  const TileConfiguration configuration(pairs);
  std::array<std::uint32_t, Lanes::count * Lanes::count> square{};
  for (std::size_t i = 0; i < Lanes::count; ++i) square[i * (Lanes::count + 1)] = lanes.c[i];

  const std::size_t a_row_bytes = lanes.steps() * word_bytes;
  __asm__ volatile("ldtilecfg %0" ::"m"(configuration));
  __asm__ volatile("tileloadd (%0,%1), %%tmm0" ::"r"(square.data()), "r"(row_bytes) : "memory");
  for (std::size_t step = 0; step < lanes.steps(); step += pairs) {
    __asm__ volatile("tileloadd (%0,%1), %%tmm1" ::"r"(&lanes.a[step]), "r"(a_row_bytes) : "memory");
    __asm__ volatile("tileloadd (%0,%1), %%tmm2" ::"r"(&lanes.b[step * Lanes::count]), "r"(row_bytes) : "memory");
    __asm__ volatile("tdpbf16ps %%tmm2, %%tmm1, %%tmm0" ::: "memory");
  }
  __asm__ volatile("tilestored %%tmm0, (%0,%1)" ::"r"(square.data()), "r"(row_bytes) : "memory");
  __asm__ volatile("tilerelease" ::: "memory");

  for (std::size_t i = 0; i < Lanes::count; ++i) lanes.c[i] = square[i * (Lanes::count + 1)];
}

class AmxUnit final : public Unit {
 public:
  std::string name() const override { return "cpu:amx_bf16"; }

  std::vector<Operation> operations() const override {
    return {{.instruction = instruction,
             .a = emu::bfloat16,
             .b = emu::bfloat16,
             .accumulator = emu::float32,
             .products = most_products,
             .engine = "amx_bf16"}};
  }

  void multiply(const Operation& operation, const InnerProducts& problem, std::span<emu::Code> d) const override {
    if (operation.instruction != instruction) throw Error(name() + " has no operation " + operation.instruction);
    const std::size_t k = operation.products;
    if (k == 0 || k % pair != 0 || k > most_products)
      throw Error(name() + ": a tile has an even number of products up to 32, not " + std::to_string(k));
    assert(problem.products % k == 0);
    detail::multiply_in_lanes<std::uint32_t>(problem, pair, Lanes::Layout::lane_by_lane, d,
                                             [&](Lanes& lanes) { tile_products(lanes, k / pair); });
  }

 private:
  static constexpr const char* instruction = "TDPBF16PS";
};

/// Asks the kernel, once for all threads of the process, to keep tiles for us (Linux, Documentation/arch/x86/xstate.rst). It
/// refuses where it or the processor knows none.
bool tiles_permitted() noexcept {
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool permitted = syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  return permitted;
}

}  // namespace

std::unique_ptr<Unit> detail::amx_bf16_unit() {
  if (!__builtin_cpu_supports("amx-bf16") || !tiles_permitted()) return nullptr;
  return std::make_unique<AmxUnit>();
}

}  // namespace ulpscope::gpu

#else

std::unique_ptr<ulpscope::gpu::Unit> ulpscope::gpu::detail::amx_bf16_unit() { return nullptr; }

#endif
