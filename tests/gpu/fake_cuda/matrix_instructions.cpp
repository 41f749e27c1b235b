// SPDX-License-Identifier: Apache-2.0
// PTX's matrix instructions for the stand-in runtime: one product for the threads that share a matrix.
#include "tests/gpu/fake_cuda/matrix_instructions.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "tests/gpu/fake_cuda/fragment_tables.hpp"
#include "tests/gpu/fake_cuda/instruction_text.hpp"

namespace fake_cuda {
namespace {

using ulpscope::emu::Code;
using ulpscope::emu::Format;
namespace emu = ulpscope::emu;

std::string engine_words, failure;
const void* shared_base = nullptr;
constexpr std::uint32_t shared_start = 0x400;  // where shared_base lies in the address space of shared memory
std::set<unsigned> published;

[[noreturn]] void fail(const std::string& why) { throw std::logic_error(why); }
/// An exception may not leave the fiber that it was thrown in.
template <class F>
void guarded(F work) {
  try {
    work();
  } catch (const std::exception& error) {
    record_failure(error.what());
  }
}

/// A matrix each of whose elements must be given exactly once.
class Matrix {
 public:
  Matrix(int rows, int columns) : columns_(columns), codes_(static_cast<std::size_t>(rows * columns)), given_(codes_.size()) {}
  void give(Cell at, Code code) {
    const std::size_t i = index(at);
    if (given_.at(i)) fail("an element of a matrix is given twice");
    given_[i] = true;
    codes_[i] = code;
  }
  Code at(int i, int j) const {
    if (!given_.at(index({i, j}))) fail("an element of a matrix is missing");
    return codes_[index({i, j})];
  }

 private:
  std::size_t index(Cell at) const {
    if (at.column < 0 || at.column >= columns_ || at.row < 0) fail("a place outside of the matrix");
    return static_cast<std::size_t>(at.row) * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(at.column);
  }
  int columns_;
  std::vector<Code> codes_;
  std::vector<bool> given_;
};

/// What an instruction multiplies.
struct Operands {
  explicit Operands(const Meaning& meaning)
      : a(meaning.m, meaning.k),
        b(meaning.k, meaning.n),
        c(meaning.m, meaning.n),
        a_scales(meaning.m, meaning.scale_vec),
        b_scales(meaning.scale_vec, meaning.n) {}
  Matrix a, b, c, a_scales, b_scales;
};

const emu::Engine& engine_of(const Meaning& meaning) {
  using enum emu::EngineScales;
  static std::map<std::string, emu::Engine> engines;
  std::string key = engine_words + "/" + meaning.kind;
  for (const Format format : {meaning.a, meaning.b, meaning.d, meaning.scale_type})
    key += "/" + std::to_string(format.exponent_bits) + "." + std::to_string(format.fraction_bits);
  const emu::EngineScales scales = meaning.scale_vec == 0 ? none : (meaning.kind == "mxf8f6f4" ? products : group_sums);
  if (!engines.contains(key))
    engines.emplace(key, emu::parse_engine(engine_words, {meaning.a, meaning.b, meaning.d, scales, meaning.scale_type}));
  return engines.at(key);
}

Code inner_product(const Meaning& meaning, const Operands& operands, int i, int j) {
  std::vector<Code> row, column, row_scales, column_scales;
  for (int k = 0; k < meaning.k; ++k) {
    row.push_back(operands.a.at(i, k));
    column.push_back(operands.b.at(k, j));
  }
  for (int chunk = 0; chunk < meaning.scale_vec; ++chunk) {
    row_scales.push_back(operands.a_scales.at(i, chunk));
    column_scales.push_back(operands.b_scales.at(chunk, j));
  }
  return emu::inner_product(engine_of(meaning), meaning.a, row, meaning.b, column, operands.c.at(i, j),
                            {meaning.scale_type, row_scales, column_scales});
}

/// Rows [first_row, first_row + rows) of D.
Matrix product(const Meaning& meaning, const Operands& operands, int first_row, int rows) {
  Matrix d(meaning.m, meaning.n);
  for (int i = first_row; i < first_row + rows; ++i)
    for (int j = 0; j < meaning.n; ++j) d.give({i, j}, inner_product(meaning, operands, i, j));
  return d;
}

/// B of wgmma: no swizzle, K-major. PTX ISA 9.0, "Matrix Descriptor Format" and "Strides": the leading dimension's offset leads
/// to the next core matrix along K, the stride's to the next eight columns.
void give_b_in_shared(const Meaning& meaning, std::uint64_t descriptor, Matrix& b) {
  const auto field = [&](int bit) { return static_cast<std::uint32_t>(descriptor >> bit & 0x3fff) << 4; };
  const std::uint32_t start = field(0), leading = field(16), stride = field(32);
  if (descriptor >> 49 != 0) fail("a descriptor with a swizzle or a base offset");
  if (start < shared_start) fail("a descriptor of no shared memory");
  const char* const memory = static_cast<const char*>(shared_base) + (start - shared_start);
  const int bytes = bits_of(meaning.b) / 8;
  for (int k = 0; k < meaning.k; ++k)
    for (int n = 0; n < meaning.n; ++n) {
      const auto along = static_cast<std::uint32_t>(k * bytes), column = static_cast<std::uint32_t>(n);
      const std::uint32_t offset = along / 16 * leading + column / 8 * stride + column % 8 * 16 + along % 16;
      b.give({k, n}, element(meaning.b, 8 * bytes, memory + offset, 0));
    }
}

/// The scales that the selector names; a byte that it does not name may be anything.
void give_scales(const Meaning& meaning, const std::vector<Part*>& parts, Operands& operands) {
  const auto byte = [](std::uint32_t word, int i) { return Code{word >> 8 * i & 0xff}; };
  const int vec = meaning.scale_vec;
  for (int chunk = 0; chunk < vec; ++chunk) {
    for (int row = 0; row < meaning.m; ++row) {
      const auto source = scale_of_a(vec, {parts[0]->byte_id, parts[0]->thread_id}, row, chunk);
      if (!source) fail("no such selector of the scales of A");
      operands.a_scales.give({row, chunk}, byte(parts[static_cast<std::size_t>(source->thread)]->a_scales, source->byte));
    }
    for (int column = 0; column < meaning.n; ++column) {
      const auto source = scale_of_b(vec, {parts[0]->byte_id, parts[0]->thread_id}, column, chunk);
      if (!source) fail("no such selector of the scales of B");
      operands.b_scales.give({chunk, column}, byte(parts[static_cast<std::size_t>(source->thread)]->b_scales, source->byte));
    }
  }
}

/// One product of those threads whose matrix it is: a warp, or a quad pair. A warp of wgmma makes its own 16 rows, when it
/// comes to it: what the others do to B before or after is for barriers to order.
void multiply_by(const Meaning& meaning, const std::vector<Part*>& parts) {
  Operands operands(meaning);
  const int bits = meaning.operand_bits(), sum_bits = bits_of(meaning.d);
  const auto elements = [&](int words, int of_bits) { return words * 8 * parts.front()->word_bytes / of_bits; };
  for (const Part* part : parts) {
    const int thread = static_cast<int>(part->thread);
    for (int i = 0; i < elements(part->a_words, bits); ++i)
      operands.a.give(fragment_a(meaning.m, meaning.k, bits, thread, i), element(meaning.a, bits, part->a, i));
    for (int i = 0; i < elements(part->b_words, bits); ++i)
      operands.b.give(fragment_b(meaning.m, meaning.k, bits, thread, i), element(meaning.b, bits, part->b, i));
    for (int i = 0; i < elements(part->c_words, sum_bits); ++i)
      operands.c.give(fragment_c(meaning.m, bits, sum_bits, thread, i), element(meaning.d, sum_bits, part->c, i));
    if ((meaning.scale_vec != 0) != part->has_scales) fail("scales and the kind do not fit each other");
    if (meaning.threads == 128 && (!part->published || part->b_descriptor != parts.front()->b_descriptor))
      fail("wgmma without the proxy fence of every thread, or with unlike descriptors");
  }
  const bool is_wgmma = meaning.threads == 128;
  const int first_row = is_wgmma ? static_cast<int>(parts.front()->thread) / 32 * 16 : 0, rows = is_wgmma ? 16 : meaning.m;
  if (is_wgmma) give_b_in_shared(meaning, parts.front()->b_descriptor, operands.b);
  if (meaning.scale_vec != 0) give_scales(meaning, parts, operands);
  const Matrix d = product(meaning, operands, first_row, rows);
  for (const Part* part : parts)
    for (int i = 0; i < elements(part->c_words, sum_bits); ++i) {
      const Cell at = fragment_c(meaning.m, bits, sum_bits, static_cast<int>(part->thread), i);
      set_element(meaning.d, part->c, i, d.at(at.row, at.column));
    }
}

}  // namespace

void set_engine(const std::string& words) { engine_words = words; }
const std::string& engine_in_use() { return engine_words; }
std::string instruction_failure() {
  if (holds_tensor_memory()) record_failure("tensor memory is not given back");
  return std::exchange(failure, {});
}
void record_failure(const std::string& why) {
  if (failure.empty()) failure = why;
}

namespace {

void multiply_all(const Meaning& meaning, std::span<Part* const> all) {
  for (const Part* part : all) published.erase(part->thread);
  if (all.size() != 32) fail("threads are missing");
  if (meaning.m != 8 || meaning.a != emu::float16) return multiply_by(meaning, {all.begin(), all.end()});
  for (unsigned pair = 0; pair < 4; ++pair) {  // m8n8k4 of float16: threads 0-3 and 16-19, 4-7 and 20-23, ...
    std::vector<Part*> of_pair;
    for (Part* one : all)
      if (one->thread % 16 / 4 == pair) of_pair.push_back(one);
    multiply_by(meaning, of_pair);
  }
}

}  // namespace

void multiply_together(const char* text, Part part) {
  guarded([&] {
    const Meaning meaning = read(text);
    part.thread = thread_number();
    if (threads_of_block() != meaning.threads) fail("not the threads of one instruction");
    part.published = published.contains(thread_number());
    exchange(32, part, [&](std::span<Part* const> all) { guarded([&] { multiply_all(meaning, all); }); });
  });
}

void publish() { published.insert(thread_number()); }
bool all_have_published() { return published.size() == threads_of_block(); }
void forget_published() { published.clear(); }

std::uint32_t shared_address(const void* memory) {
  if (reinterpret_cast<std::uintptr_t>(memory) % 16 != 0)
    record_failure("a matrix in shared memory is not aligned to 16 bytes");
  shared_base = memory;
  return shared_start;
}
void* shared_memory(std::uint32_t address, std::uint32_t bytes) {
  constexpr std::uint32_t most = 227 << 10;
  if (address < shared_start || address >= most || address % bytes != 0) fail("an address of no shared memory, or not aligned");
  return static_cast<char*>(const_cast<void*>(shared_base)) + (address - shared_start);
}

void check_wgmma_flags(const char* text, const char* flags) {
  guarded([&] {
    const std::string wanted = bits_of(read(text).a) == 16 ? "1, 1, 0" : "1, 1";
    if (flags != wanted) fail(std::string("flags of ") + text);
  });
}

namespace {

void multiply_tiles(const Meaning& meaning, const void* a_tile, const void* b_tile, void* c_tile) {
  for (const void* tile : {a_tile, b_tile, static_cast<const void*>(c_tile)})
    if (reinterpret_cast<std::uintptr_t>(tile) % 32 != 0) fail("load_matrix_sync takes addresses aligned to 32 bytes");
  Operands operands(meaning);
  const auto at = [](Format format, const void* tile, int i) { return element(format, bits_of(format), tile, i); };
  for (int k = 0; k < meaning.k; ++k) {
    for (int i = 0; i < meaning.m; ++i) operands.a.give({i, k}, at(meaning.a, a_tile, i * meaning.k + k));
    for (int j = 0; j < meaning.n; ++j) operands.b.give({k, j}, at(meaning.b, b_tile, j * meaning.k + k));
  }
  for (int i = 0; i < meaning.m; ++i)
    for (int j = 0; j < meaning.n; ++j) operands.c.give({i, j}, at(meaning.d, c_tile, i * meaning.n + j));
  const Matrix d = product(meaning, operands, 0, meaning.m);
  for (int i = 0; i < meaning.m; ++i)
    for (int j = 0; j < meaning.n; ++j) set_element(meaning.d, c_tile, i * meaning.n + j, d.at(i, j));
}

}  // namespace

void wmma(const char* text, const void* a, const void* b, void* c) {
  // What every thread sees when it comes here must be the same: otherwise a barrier is missing.
  guarded([&] {
    const Meaning meaning = read(text);
    const auto bytes = [](const void* tile, int elements, Format format) {
      return std::string(static_cast<const char*>(tile), static_cast<std::size_t>(elements * bits_of(format) / 8));
    };
    std::string seen = bytes(a, meaning.m * meaning.k, meaning.a) + bytes(b, meaning.n * meaning.k, meaning.b) +
                       bytes(c, meaning.m * meaning.n, meaning.d);
    exchange(32, seen, [&](std::span<std::string* const> all) {
      guarded([&] {
        for (const std::string* one : all)
          if (*one != *all.front()) fail("wmma before all threads have stored their part");
        multiply_tiles(meaning, a, b, c);
      });
    });
  });
}

}  // namespace fake_cuda
