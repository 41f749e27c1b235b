// SPDX-License-Identifier: Apache-2.0
// The bulk operations at every length and alignment: each element right, and nothing touched beside the span.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "emu/bulk.hpp"
#include "tests/emu/bulk_inputs.hpp"
#include "tests/emu/bulk_laws.hpp"

using namespace ulpscope;
using laws::How;

namespace {

constexpr std::size_t longest = 257, most_offset = 16;
constexpr unsigned char untouched = 0xa5;

/// Where the elements of a span of `length` may stand in memory of twice most_offset elements more.
template <class T>
struct Placed {
  std::vector<T> memory;
  std::size_t offset, length;

  Placed(std::size_t at, std::size_t count) : memory(longest + 2 * most_offset), offset(at), length(count) {
    std::memset(memory.data(), untouched, memory.size() * sizeof(T));
  }
  std::span<T> span() { return std::span<T>(memory).subspan(offset, length); }
  bool holds(const std::vector<T>& wanted) const {
    return std::memcmp(memory.data() + offset, wanted.data(), length * sizeof(T)) == 0;
  }
  bool is_untouched_beside() const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(memory.data());
    const auto all_untouched = [&](std::size_t from, std::size_t to) {
      return std::all_of(bytes + from * sizeof(T), bytes + to * sizeof(T), [](unsigned char b) { return b == untouched; });
    };
    return all_untouched(0, offset) && all_untouched(offset + length, memory.size());
  }
};

template <class In, class Out>
bool is_right_at(const laws::Operation<In, Out>& operation, const std::vector<In>& inputs, const std::vector<Out>& wanted,
                 std::size_t length, std::size_t offset) {
  Placed<In> in(offset, length);
  std::copy_n(inputs.begin(), length, in.span().begin());
  Placed<Out> out((5 * offset + 3) % most_offset, length);
  operation.bulk(in.span(), out.span());
  bool right = out.holds(wanted) && out.is_untouched_beside() && in.holds(inputs) && in.is_untouched_beside();
  if constexpr (std::is_same_v<In, Out>) {
    operation.bulk(in.span(), in.span());
    right = right && in.holds(wanted) && in.is_untouched_beside();
  }
  return right;
}

/// The first length and offset at which something is wrong.
template <class In, class Out>
void require_every_length_and_alignment(const char* what, const laws::Operation<In, Out>& operation,
                                        const std::vector<In>& inputs) {
  REQUIRE(inputs.size() == longest);
  const std::vector<Out> wanted = laws::one_by_one(operation, inputs);
  laws::on_every_path([&](emu::SimdPath path) {
    for (std::size_t length = 0; length <= longest; ++length)
      for (std::size_t offset = 0; offset < most_offset; ++offset)
        if (!is_right_at(operation, inputs, wanted, length, offset))
          FAIL(what << " on " << emu::name_of(path) << ": " << 8 * sizeof(In) << " to " << 8 * sizeof(Out) << " bits, length "
                    << length << ", offset " << offset);
  });
}

/// As many different codes as the format has, in no order; with a value near each.
template <class Word, class Float>
struct Lanes {
  std::vector<Word> codes;
  std::vector<Float> values;

  explicit Lanes(emu::Format format) {
    std::mt19937_64 random(20240312);
    emu::Code code = random();
    for (std::size_t i = 0; i < longest; ++i) {
      code = code * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator; its low bits repeat last
      const emu::Code bits = code >> 11;
      const emu::Code kept = format.bits() <= 8 ? i * 37 : bits;  // 37 is odd: 256 codes before the first comes again
      codes.push_back(static_cast<Word>(kept & format.code_mask()));
      const double value = emu::decode(format, codes.back()), factor = 1 + emu::epsilon(format) * 0.3;
      values.push_back(static_cast<Float>(value * factor));
    }
  }
};

template <class Word, class Float>
void require_both_ways(emu::Format format) {
  const Lanes<Word, Float> lanes(format);
  require_every_length_and_alignment("decode", laws::decoding<Word, Float>(format), lanes.codes);
  for (const emu::Rounding rounding : {emu::Rounding::nearest_even, emu::Rounding::stochastic}) {
    const How how{{.rounding = rounding}, {11, (std::uint64_t{1} << 34) - 100}};
    CAPTURE(laws::describe(format, how));
    require_every_length_and_alignment("encode", laws::encoding<Float, Word>(format, how), lanes.values);
    require_every_length_and_alignment("round_to", laws::rounding<Float>(format, how), lanes.values);
  }
}

template <class From, class To>
void require_conversion(emu::Format from, emu::Format to) {
  const How how{{.rounding = emu::Rounding::stochastic}, {3, 1}};
  CAPTURE(laws::describe(to, how));
  const std::vector<From> codes = Lanes<From, double>(from).codes;
  require_every_length_and_alignment("convert", laws::converting<From, To>(from, to, {}), codes);
  require_every_length_and_alignment("convert", laws::converting<From, To>(from, to, how), codes);
}

}  // namespace

TEST_CASE("floats of every length and alignment are rounded, encoded and decoded, and nothing beside them", "[bulk]") {
  require_both_ways<std::uint8_t, float>(emu::e4m3);
  require_both_ways<std::uint8_t, float>(emu::float8_e5m2fnuz);
  require_both_ways<std::uint8_t, float>(emu::e2m3);
  require_both_ways<std::uint16_t, float>(emu::e4m3);
  require_both_ways<std::uint16_t, float>(emu::fp16);
  require_both_ways<std::uint16_t, float>(emu::bf16);
  require_both_ways<std::uint32_t, float>(emu::bf16);
  require_both_ways<std::uint32_t, float>(emu::tf32);
  require_both_ways<std::uint32_t, float>(emu::fp32);
  require_both_ways<std::uint64_t, float>(emu::fp16);
}

TEST_CASE("doubles of every length and alignment are rounded, encoded and decoded, and nothing beside them", "[bulk]") {
  require_both_ways<std::uint8_t, double>(emu::e4m3);
  require_both_ways<std::uint16_t, double>(emu::e5m2);
  require_both_ways<std::uint16_t, double>(emu::fp16);
  require_both_ways<std::uint32_t, double>(emu::fp32);
  require_both_ways<std::uint64_t, double>(emu::bf16);
  require_both_ways<std::uint64_t, double>(emu::fp64);
}

TEST_CASE("codes of every length and alignment are converted, and nothing beside them", "[bulk]") {
  require_conversion<std::uint8_t, std::uint8_t>(emu::e5m2, emu::e4m3);
  require_conversion<std::uint8_t, std::uint16_t>(emu::e4m3, emu::bf16);
  require_conversion<std::uint8_t, std::uint32_t>(emu::e4m3, emu::fp32);
  require_conversion<std::uint8_t, std::uint64_t>(emu::e4m3, emu::fp64);
  require_conversion<std::uint16_t, std::uint8_t>(emu::fp16, emu::e4m3);
  require_conversion<std::uint16_t, std::uint16_t>(emu::bf16, emu::fp16);
  require_conversion<std::uint16_t, std::uint32_t>(emu::bf16, emu::tf32);
  require_conversion<std::uint16_t, std::uint64_t>(emu::fp16, emu::fp64);
  require_conversion<std::uint32_t, std::uint8_t>(emu::tf32, emu::e5m2);
  require_conversion<std::uint32_t, std::uint16_t>(emu::fp32, emu::fp16);
  require_conversion<std::uint32_t, std::uint32_t>(emu::fp32, emu::tf32);
  require_conversion<std::uint32_t, std::uint64_t>(emu::fp32, emu::fp64);
  require_conversion<std::uint64_t, std::uint8_t>(emu::fp64, emu::e4m3);
  require_conversion<std::uint64_t, std::uint16_t>(emu::fp64, emu::bf16);
  require_conversion<std::uint64_t, std::uint32_t>(emu::fp64, emu::fp32);
  require_conversion<std::uint64_t, std::uint64_t>(emu::fp64, emu::fp16);
}

#if __has_include(<sys/mman.h>)

namespace {

/// A page between two that may not be read: elements at its start or at its end.
class FencedPage {
 public:
  FencedPage() : size_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* pages = mmap(nullptr, 3 * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    begin_ = static_cast<unsigned char*>(pages);
    REQUIRE(mprotect(begin_ + size_, size_, PROT_READ | PROT_WRITE) == 0);
  }
  FencedPage(const FencedPage&) = delete;
  FencedPage& operator=(const FencedPage&) = delete;
  ~FencedPage() { munmap(begin_, 3 * size_); }

  template <class T>
  std::span<T> at_start(std::size_t count) {
    return {reinterpret_cast<T*>(begin_ + size_), count};
  }
  template <class T>
  std::span<T> at_end(std::size_t count) {
    return {reinterpret_cast<T*>(begin_ + 2 * size_ - count * sizeof(T)), count};
  }

 private:
  std::size_t size_;
  unsigned char* begin_ = nullptr;
};

/// A read or a write beside the spans ends the program.
template <class In, class Out>
void require_no_access_beside(const laws::Operation<In, Out>& operation, const std::vector<In>& inputs) {
  FencedPage in, out;
  const std::vector<Out> wanted = laws::one_by_one(operation, inputs);
  laws::on_every_path([&](emu::SimdPath) {
    for (std::size_t length = 0; length <= longest; ++length)
      for (const bool at_end : {false, true}) {
        const std::span<In> from = at_end ? in.at_end<In>(length) : in.at_start<In>(length);
        const std::span<Out> to = at_end ? out.at_end<Out>(length) : out.at_start<Out>(length);
        std::copy_n(inputs.begin(), length, from.begin());
        operation.bulk(from, to);
        REQUIRE(std::memcmp(to.data(), wanted.data(), to.size_bytes()) == 0);
      }
  });
}

template <class Word, class Float>
void require_fences_hold(emu::Format format) {
  const Lanes<Word, Float> lanes(format);
  require_no_access_beside(laws::decoding<Word, Float>(format), lanes.codes);
  require_no_access_beside(laws::converting<Word, Word>(format, format, {}), lanes.codes);
  for (const emu::Rounding rounding : {emu::Rounding::nearest_even, emu::Rounding::stochastic}) {
    const How how{{.rounding = rounding}, {}};
    require_no_access_beside(laws::encoding<Float, Word>(format, how), lanes.values);
    require_no_access_beside(laws::rounding<Float>(format, how), lanes.values);
  }
}

}  // namespace

TEST_CASE("no byte beside the spans is read or written, also where none may be", "[bulk]") {
  require_fences_hold<std::uint8_t, float>(emu::e4m3);
  require_fences_hold<std::uint16_t, float>(emu::fp16);
  require_fences_hold<std::uint16_t, float>(emu::bf16);
  require_fences_hold<std::uint32_t, float>(emu::tf32);
  require_fences_hold<std::uint8_t, double>(emu::e5m2);
  require_fences_hold<std::uint16_t, double>(emu::fp16);
  require_fences_hold<std::uint64_t, double>(emu::fp64);
}

#endif
