// SPDX-License-Identifier: Apache-2.0
// The bulk operations give the same bits in whatever floating-point environment they are called, and leave it as it was.
#include <catch2/catch_test_macros.hpp>

#if defined(__SSE2__)

#include <xmmintrin.h>

#include <cstdint>
#include <vector>

#include "emu/bulk.hpp"
#include "tests/emu/bulk_inputs.hpp"
#include "tests/emu/bulk_laws.hpp"

using namespace ulpscope;
using laws::How;

namespace {

// Bits of MXCSR (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 10.2.3).
constexpr unsigned sticky_flags = 0x3f, denormals_are_zero = 1 << 6, all_masked = 0x3f << 7, rounding_shift = 13,
                   flush_to_zero = 1 << 15;

/// Sets MXCSR, and puts back what was there.
class Environment {
 public:
  explicit Environment(unsigned mxcsr) { _mm_setcsr(mxcsr); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { _mm_setcsr(before_); }

 private:
  unsigned before_ = _mm_getcsr();
};

/// Every rounding direction, flushed and not; the last with all exceptions unmasked, where a trap would end the program.
std::vector<unsigned> environments() {
  std::vector<unsigned> out;
  for (unsigned direction = 0; direction < 4; ++direction)
    for (const unsigned flushing : {0u, flush_to_zero, denormals_are_zero, flush_to_zero | denormals_are_zero})
      out.push_back(direction << rounding_shift | flushing | all_masked);
  out.push_back(0);
  out.push_back(3u << rounding_shift | flush_to_zero | denormals_are_zero);
  return out;
}

template <class In, class Out>
void require_independence(emu::Format format, const How& how, const laws::Operation<In, Out>& operation,
                          const std::vector<In>& inputs) {
  const std::vector<Out> wanted = laws::one_by_one(operation, inputs);
  std::vector<Out> got(inputs.size());
  laws::on_every_path([&](emu::SimdPath path) {
    for (const unsigned before : environments()) {
      unsigned after = 0;
      {
        const Environment environment(before);
        operation.bulk(inputs, got);
        after = _mm_getcsr();
      }
      INFO(laws::describe(format, how) << ' ' << 8 * sizeof(In) << " to " << 8 * sizeof(Out) << " bits on "
                                       << emu::name_of(path) << " under MXCSR " << std::hex << before);
      const auto difference = laws::first_difference(inputs, got, wanted);
      INFO(difference.value_or(""));
      REQUIRE_FALSE(difference.has_value());
      REQUIRE((after & ~sticky_flags) == before);
    }
  });
}

/// Formats whose values are subnormal in float, in double, or in neither; and their words.
template <class Law>
void in_formats_and_directions(Law law) {
  for (const emu::Format format :
       {emu::fp16, emu::bf16, emu::tf32, emu::e4m3, emu::e5m2, emu::e8m0, emu::e2m1, emu::fp32, emu::fp64,
        emu::parse_format("e8m7b149").value(), emu::parse_format("e5m10b133").value(), emu::parse_format("e8m2b1023").value()})
    for (const How& how : laws::every_plain_way())
      laws::with_word(format, 0, [&]<class Word>(Word) { law(format, how, Word{}); });
}

template <class Float, class Word>
void require_independent_rounding(emu::Format format, const How& how) {
  const std::vector<Float> inputs = laws::part_of(laws::bulk_inputs<Float>(format, false), 3000, 0);
  require_independence(format, how, laws::encoding<Float, Word>(format, how), inputs);
  if (sizeof(Float) == 8 || emu::fits_float(format))
    require_independence(format, how, laws::rounding<Float>(format, how), inputs);
}

}  // namespace

TEST_CASE("encode and round_to do not see the caller's floating-point environment, nor change it", "[bulk]") {
  in_formats_and_directions([]<class Word>(emu::Format format, const How& how, Word) {
    require_independent_rounding<float, Word>(format, how);
    require_independent_rounding<double, Word>(format, how);
  });
}

TEST_CASE("decode and convert do not see the caller's floating-point environment, nor change it", "[bulk]") {
  in_formats_and_directions([]<class Word>(emu::Format format, const How& how, Word) {
    std::vector<Word> codes;
    for (const double x : laws::part_of(laws::bulk_inputs<double>(format, false), 3000, 0))
      codes.push_back(static_cast<Word>(emu::encode(format, x)));
    if (how.options.rounding == emu::Rounding::nearest_even) {
      require_independence(format, how, laws::decoding<Word, double>(format), codes);
      if (emu::fits_float(format)) require_independence(format, how, laws::decoding<Word, float>(format), codes);
    }
    require_independence(emu::bf16, how, laws::converting<Word, std::uint16_t>(format, emu::bf16, how), codes);
    require_independence(emu::fp64, how, laws::converting<Word, std::uint64_t>(format, emu::fp64, how), codes);
  });
}

#endif
