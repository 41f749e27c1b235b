// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma: what its two kinds of descriptors say, field by field. PTX ISA 9.0, "Shared memory descriptor", "Instruction
// descriptor", "Matrix shapes", "Packing formats of elements in Tensor and Shared memory", "Block Scaling". Written without a
// look at gpu/cuda/tcgen05_descriptors.hpp, which it judges.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "tests/gpu/fake_cuda/matrix_instructions.hpp"
#include "tests/gpu/fake_cuda/tensor_memory.hpp"

namespace fake_cuda {
namespace {

namespace emu = ulpscope::emu;
using emu::Code;
using emu::Format;

std::uint32_t bits(std::uint64_t word, int first, int count) {
  return static_cast<std::uint32_t>(word >> first & ((std::uint64_t{1} << count) - 1));
}

/// What the qualifier .kind says.
struct Kind {
  std::map<std::uint32_t, Format> formats;  ///< by atype and btype
  std::uint32_t k;
  bool f16_results;
  std::uint32_t scales = 0;                     ///< of a row
  std::map<std::uint32_t, Format> scale_types;  ///< by the scale matrix type
};
const std::map<std::uint32_t, Format> narrow{
    {0, emu::float8_e4m3fn}, {1, emu::float8_e5m2}, {3, emu::float6_e2m3fn}, {4, emu::float6_e3m2fn}, {5, emu::float4_e2m1fn}};
const std::map<std::uint32_t, Format> nibble{{1, emu::float4_e2m1fn}};
const std::string instruction = "tcgen05.mma.cta_group::1.kind::";
const std::map<std::string, Kind> kinds{
    {"f16", {{{0, emu::float16}, {1, emu::bfloat16}}, 16, true, 0, {}}},
    {"tf32", {{{2, emu::tf32}}, 8, false, 0, {}}},
    {"f8f6f4", {narrow, 32, true, 0, {}}},
    {"mxf8f6f4.block_scale.block32", {narrow, 32, false, 1, {{1, emu::float8_e8m0fnu}}}},
    {"mxf4.block_scale.block32", {nibble, 64, false, 2, {{1, emu::float8_e8m0fnu}}}},
    {"mxf4nvf4.block_scale.block32", {nibble, 64, false, 2, {{1, emu::float8_e8m0fnu}}}},
    {"mxf4nvf4.block_scale.block16", {nibble, 64, false, 4, {{0, emu::float8_e4m3fn}}}},
};

struct Meaning {
  Kind kind;
  Format a, b, d;
  std::uint32_t m, n;
  Format scale;
  std::uint32_t a_scale_id, b_scale_id;
};

Format format_at(const std::map<std::uint32_t, Format>& formats, std::uint32_t code) {
  if (!formats.contains(code)) fail_tcgen05("an instruction descriptor with a type that the kind lacks");
  return formats.at(code);
}

Meaning read(const std::string& text, std::uint32_t word) {
  if (!text.starts_with(instruction) || !kinds.contains(text.substr(instruction.size()))) fail_tcgen05("no such kind: " + text);
  Meaning meaning{};
  meaning.kind = kinds.at(text.substr(instruction.size()));
  meaning.a = format_at(meaning.kind.formats, bits(word, 7, 3));
  meaning.b = format_at(meaning.kind.formats, bits(word, 10, 3));
  meaning.n = bits(word, 17, 6) << 3;
  meaning.m = bits(word, 24, 5) << 4;
  meaning.d = emu::float32;
  if (bits(word, 0, 4) != 0) fail_tcgen05("an instruction descriptor of a sparse or saturating product");
  if (bits(word, 13, 4) != 0) fail_tcgen05("an instruction descriptor that negates or transposes");
  if (meaning.kind.scales == 0) {
    const std::uint32_t type = bits(word, 4, 2);
    if (type > 1 || (type == 0 && !meaning.kind.f16_results)) fail_tcgen05("results of a type that the kind lacks");
    if (type == 0) meaning.d = emu::float16;
    if (bits(word, 6, 1) != 0 || bits(word, 23, 1) != 0 || bits(word, 29, 3) != 0) fail_tcgen05("reserved bits");
    const bool fits = (meaning.m == 64 && meaning.n % 8 == 0) || (meaning.m == 128 && meaning.n % 16 == 0);
    if (!fits || meaning.n == 0 || meaning.n > 256) fail_tcgen05("no such shape");
    if (meaning.m != 128) fail_tcgen05("the stand-in has the layout of 128 rows only");
    return meaning;
  }
  meaning.scale = format_at(meaning.kind.scale_types, bits(word, 23, 1));
  meaning.b_scale_id = bits(word, 4, 2);
  meaning.a_scale_id = bits(word, 29, 2);
  if (bits(word, 6, 1) != 0 || bits(word, 24, 3) != 0 || bits(word, 31, 1) != 0) fail_tcgen05("reserved bits");
  if (meaning.m != 128 || meaning.n == 0 || meaning.n % 8 != 0 || meaning.n > 256) fail_tcgen05("no such shape");
  for (const std::uint32_t id : {meaning.a_scale_id, meaning.b_scale_id})
    if (id % meaning.kind.scales != 0) fail_tcgen05("a scale factor id that the kind lacks");
  return meaning;
}

/// Element k of a row. Kinds f8f6f4 and mxf8f6f4: 16 of them begin every 16 bytes; all others follow each other.
Code element(const Meaning& meaning, Format format, const MatrixInShared& matrix, std::uint32_t row, std::uint32_t k) {
  const bool padded = meaning.kind.formats == narrow;
  const std::uint32_t size = format == emu::tf32 ? 32 : static_cast<std::uint32_t>(format.bits());
  const std::uint32_t in_chunk = padded ? 16 : 128 / size, first = k % in_chunk * size;
  const unsigned char* const bytes = matrix.bytes(row, k / in_chunk);
  Code code = 0;
  for (std::uint32_t bit = 0; bit < size; ++bit) code |= Code{bytes[(first + bit) / 8] >> ((first + bit) % 8) & 1u} << bit;
  return format == emu::tf32 ? code >> 13 : code;
}

/// The scales of a row of A or column of B: lane by row within 32 rows, and column of tensor memory by those 32; the id is the
/// first byte. All four times 32 lanes must hold the same.
std::vector<Code> scales_of(const Meaning& meaning, std::uint32_t address, std::uint32_t id, std::uint32_t row) {
  const std::uint32_t word = tensor_cell(row % 32, address + row / 32);
  for (std::uint32_t lane = row % 32; lane < 128; lane += 32)
    if (tensor_cell(lane, address + row / 32) != word) fail_tcgen05("scales that are not in all lanes");
  std::vector<Code> scales;
  for (std::uint32_t i = 0; i < meaning.kind.scales; ++i) scales.push_back(bits(word, static_cast<int>(8 * (id + i)), 8));
  return scales;
}

struct Row {
  std::vector<Code> codes, scales;
  bool is_zero = false;
};

std::vector<Row> rows_of(const Meaning& meaning, Format format, const MatrixInShared& matrix, std::uint32_t rows,
                         std::uint32_t scales, std::uint32_t id) {
  std::vector<Row> all(rows);
  for (std::uint32_t i = 0; i < rows; ++i) {
    for (std::uint32_t k = 0; k < meaning.kind.k; ++k) all[i].codes.push_back(element(meaning, format, matrix, i, k));
    if (meaning.kind.scales != 0) all[i].scales = scales_of(meaning, scales, id, i);
    const auto zero = [](Code code) { return code == 0; };
    all[i].is_zero = std::all_of(all[i].codes.begin(), all[i].codes.end(), zero) &&
                     std::all_of(all[i].scales.begin(), all[i].scales.end(), zero);
  }
  return all;
}

emu::Engine engine_for(const Meaning& meaning) {
  emu::EngineRequest request{meaning.a, meaning.b, meaning.d};
  if (meaning.kind.scales != 0) {
    request.scales = meaning.kind.k == 64 ? emu::EngineScales::group_sums : emu::EngineScales::products;
    request.scale_format = meaning.scale;
  }
  return emu::parse_engine(engine_in_use(), request);
}

}  // namespace

MatrixInShared::MatrixInShared(std::uint64_t descriptor)
    : start_(bits(descriptor, 0, 14) << 4),
      along_k_(bits(descriptor, 16, 14) << 4),
      along_rows_(bits(descriptor, 32, 14) << 4) {
  if (bits(descriptor, 46, 3) != 1) fail_tcgen05("a descriptor of another version");
  if (bits(descriptor, 14, 2) != 0 || bits(descriptor, 30, 2) != 0 || bits(descriptor, 53, 8) != 0)
    fail_tcgen05("reserved bits of a descriptor");
  if (bits(descriptor, 49, 4) != 0 || bits(descriptor, 61, 3) != 0) fail_tcgen05("a descriptor with a swizzle or an offset");
}

const unsigned char* MatrixInShared::bytes(std::uint32_t row, std::uint32_t chunk) const {
  const std::uint32_t offset = row / 8 * along_rows_ + row % 8 * 16 + chunk * along_k_;
  return static_cast<const unsigned char*>(shared_memory(start_ + offset, 16));
}

void multiply_in_tensor_memory(const TensorProduct& product) {
  const Meaning meaning = read(product.text, product.instruction_descriptor);
  const emu::Engine engine = engine_for(meaning);
  const auto a = rows_of(meaning, meaning.a, MatrixInShared(product.a_descriptor), meaning.m, product.a_scales,
                         meaning.a_scale_id),
             b = rows_of(meaning, meaning.b, MatrixInShared(product.b_descriptor), meaning.n, product.b_scales,
                         meaning.b_scale_id);
  const bool is_half = meaning.d == emu::float16;
  std::map<Code, Code> from_zeros;  // most of a test's rows are
  for (std::uint32_t i = 0; i < meaning.m; ++i)
    for (std::uint32_t j = 0; j < meaning.n; ++j) {
      std::uint32_t& cell = tensor_cell(i, product.d + j);
      const Code c = is_half ? cell & 0xffff : cell;
      const auto sum = [&] {
        return emu::inner_product(engine, meaning.a, a[i].codes, meaning.b, b[j].codes, c,
                                  {meaning.scale, a[i].scales, b[j].scales});
      };
      Code d = 0;
      if (a[i].is_zero && b[j].is_zero) {
        if (!from_zeros.contains(c)) from_zeros[c] = sum();
        d = from_zeros[c];
      } else {
        d = sum();
      }
      cell = static_cast<std::uint32_t>(d) | (is_half ? 0xdead0000 : 0);  // what is above a 16-bit result is not said
    }
}

}  // namespace fake_cuda
