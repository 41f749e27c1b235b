// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/fake_cuda/matrix_instructions.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "tests/gpu/fake_cuda/fragment_tables.hpp"

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

Format format_of(const std::string& type) {
  static const std::map<std::string, Format> formats{
      {"f16", emu::float16}, {"bf16", emu::bfloat16},      {"tf32", emu::tf32},       {"f32", emu::float32},
      {"f64", emu::float64}, {"e4m3", emu::float8_e4m3fn}, {"e5m2", emu::float8_e5m2}};
  const auto found = formats.find(type);
  if (found == formats.end()) fail("no type ." + type);
  return found->second;
}
int bits_of(Format format) { return format == emu::tf32 ? 32 : format.bits(); }
/// Bits below a tf32 code in its register.
int shift_of(Format format) { return format == emu::tf32 ? 13 : 0; }

/// An instruction taken apart.
struct Meaning {
  int m = 0, n = 0, k = 0;
  Format d{}, a{}, b{};
  unsigned threads = 32;
};

Meaning read(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, '.');) words.push_back(word);
  const auto starts = [&](const char* with) { return text.rfind(with, 0) == 0; };
  Meaning meaning;
  std::size_t i = 0;
  while (i < words.size() && std::sscanf(words[i].c_str(), "m%dn%dk%d", &meaning.m, &meaning.n, &meaning.k) != 3) ++i;
  std::vector<std::string> types;
  for (++i; i < words.size(); ++i)
    if (words[i] != "row" && words[i] != "col") types.push_back(words[i]);
  const bool in_order = starts("mma.sync.aligned.m") ? text.find(".row.col.") != std::string::npos && types.size() == 4
                        : starts("wgmma.mma_async.sync.aligned.m64n8k")
                            ? types.size() == 3
                            : starts("wmma.mma.sync.aligned.row.col.m") && (types.size() == 2 || types.size() == 4);
  if (!in_order) fail("no such instruction: " + text);
  if (types.size() == 2) types = {types[0], "f16", "f16", types[1]};  // wmma of f16: the types of D and C
  if (types.size() == 4 && types[0] != types[3]) fail("C and D differ: " + text);
  meaning.d = format_of(types[0]);
  meaning.a = format_of(types[1]);
  meaning.b = format_of(types[2]);
  if (starts("wgmma")) meaning.threads = 128;
  return meaning;
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
    return static_cast<std::size_t>(at.row * columns_ + at.column);
  }
  int columns_;
  std::vector<Code> codes_;
  std::vector<bool> given_;
};

/// Element i of packed ones, as a code.
Code element(Format format, const void* words, int i) {
  const auto bytes = static_cast<std::size_t>(bits_of(format) / 8);
  Code code = 0;
  std::memcpy(&code, static_cast<const char*>(words) + static_cast<std::size_t>(i) * bytes, bytes);
  return code >> shift_of(format);
}
void set_element(Format format, void* words, int i, Code code) {
  const auto bytes = static_cast<std::size_t>(bits_of(format) / 8);
  std::memcpy(static_cast<char*>(words) + static_cast<std::size_t>(i) * bytes, &code, bytes);
}

Code inner_product(const Meaning& meaning, const Matrix& a, const Matrix& b, const Matrix& c, int i, int j) {
  const emu::EngineRequest request{meaning.a, meaning.b, meaning.d};
  static std::map<std::string, emu::Engine> engines;
  const std::string key = engine_words + "/" + std::to_string(meaning.a.bits()) + "/" +
                          std::to_string(meaning.a.exponent_bits) + "/" + std::to_string(meaning.b.exponent_bits) + "/" +
                          std::to_string(meaning.d.bits());
  if (!engines.contains(key)) engines.emplace(key, emu::parse_engine(engine_words, request));
  std::vector<Code> row, column;
  for (int k = 0; k < meaning.k; ++k) {
    row.push_back(a.at(i, k));
    column.push_back(b.at(k, j));
  }
  return emu::inner_product(engines.at(key), meaning.a, row, meaning.b, column, c.at(i, j));
}

/// Rows [first_row, first_row + rows) of D.
Matrix product(const Meaning& meaning, const Matrix& a, const Matrix& b, const Matrix& c, int first_row, int rows) {
  Matrix d(meaning.m, meaning.n);
  for (int i = first_row; i < first_row + rows; ++i)
    for (int j = 0; j < meaning.n; ++j) d.give({i, j}, inner_product(meaning, a, b, c, i, j));
  return d;
}

/// B of wgmma: no swizzle, K-major. PTX ISA 9.0, "Matrix Descriptor Format" and "Strides": the leading dimension's offset leads
/// to the next core matrix along K, the stride's to the next eight columns.
Matrix b_in_shared(const Meaning& meaning, std::uint64_t descriptor) {
  const auto field = [&](int bit) { return static_cast<std::uint32_t>(descriptor >> bit & 0x3fff) << 4; };
  const std::uint32_t start = field(0), leading = field(16), stride = field(32);
  if (descriptor >> 49 != 0) fail("a descriptor with a swizzle or a base offset");
  if (start < shared_start) fail("a descriptor of no shared memory");
  const char* const memory = static_cast<const char*>(shared_base) + (start - shared_start);
  Matrix b(meaning.k, meaning.n);
  const int bytes = bits_of(meaning.b) / 8;
  for (int k = 0; k < meaning.k; ++k)
    for (int n = 0; n < meaning.n; ++n) {
      const auto along = static_cast<std::uint32_t>(k * bytes), column = static_cast<std::uint32_t>(n);
      const std::uint32_t offset = along / 16 * leading + column / 8 * stride + column % 8 * 16 + along % 16;
      b.give({k, n}, element(meaning.b, memory + offset, 0));
    }
  return b;
}

/// One product of those threads whose matrix it is: a warp, or a quad pair. A warp of wgmma makes its own 16 rows, when it
/// comes to it: what the others do to B before or after is for barriers to order.
void multiply_by(const Meaning& meaning, const std::vector<Part*>& parts) {
  Matrix a(meaning.m, meaning.k), b(meaning.k, meaning.n), c(meaning.m, meaning.n);
  const int bits = bits_of(meaning.a), sum_bits = bits_of(meaning.d);
  const auto elements = [&](int words, int of_bits) { return words * 8 * parts.front()->word_bytes / of_bits; };
  for (const Part* part : parts) {
    const int thread = static_cast<int>(part->thread);
    for (int i = 0; i < elements(part->a_words, bits); ++i)
      a.give(fragment_a(meaning.m, meaning.k, bits, thread, i), element(meaning.a, part->a, i));
    for (int i = 0; i < elements(part->b_words, bits); ++i)
      b.give(fragment_b(meaning.m, meaning.k, bits, thread, i), element(meaning.b, part->b, i));
    for (int i = 0; i < elements(part->c_words, sum_bits); ++i)
      c.give(fragment_c(meaning.m, bits, sum_bits, thread, i), element(meaning.d, part->c, i));
    if (meaning.threads == 128 && (!part->published || part->b_descriptor != parts.front()->b_descriptor))
      fail("wgmma without the proxy fence of every thread, or with unlike descriptors");
  }
  const bool is_wgmma = meaning.threads == 128;
  const int first_row = is_wgmma ? static_cast<int>(parts.front()->thread) / 32 * 16 : 0, rows = is_wgmma ? 16 : meaning.m;
  const Matrix d = product(meaning, a, is_wgmma ? b_in_shared(meaning, parts.front()->b_descriptor) : b, c, first_row, rows);
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
  Matrix a(meaning.m, meaning.k), b(meaning.k, meaning.n), c(meaning.m, meaning.n);
  for (int k = 0; k < meaning.k; ++k) {
    for (int i = 0; i < meaning.m; ++i) a.give({i, k}, element(meaning.a, a_tile, i * meaning.k + k));
    for (int j = 0; j < meaning.n; ++j) b.give({k, j}, element(meaning.b, b_tile, j * meaning.k + k));
  }
  for (int i = 0; i < meaning.m; ++i)
    for (int j = 0; j < meaning.n; ++j) c.give({i, j}, element(meaning.d, c_tile, i * meaning.n + j));
  const Matrix d = product(meaning, a, b, c, 0, meaning.m);
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
