// SPDX-License-Identifier: Apache-2.0
// Matrix instructions on the host: what an instruction does is read from its text, the matrices are put together from the
// registers of all threads by the tables of the PTX ISA (fragment_tables.hpp), and an engine of emu multiplies them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "device_code.hpp"

namespace fake_cuda {

/// The engine that all instructions compute by from now on: words of emu::parse_engine.
void set_engine(const std::string& words);
const std::string& engine_in_use();
/// What device code did wrong so far, in words, the first thing only; empty where nothing. Asking clears it.
std::string instruction_failure();
/// Records that; the kernel goes on with results that are wrong.
void record_failure(const std::string& why);

/// One thread's part in an instruction.
struct Part {
  const void *a, *b;  ///< registers; b null for wgmma
  void* c;
  int word_bytes, a_words, b_words, c_words;
  std::uint64_t b_descriptor = 0;
  bool has_scales = false;
  std::uint32_t a_scales = 0, b_scales = 0;
  int byte_id = 0, thread_id = 0;  ///< the selector of both
  unsigned thread = 0;
  bool published = false;
};
/// Meets the other threads of the warp.
void multiply_together(const char* text, Part part);

template <int a_words, int b_words, int c_words, class Word>
void mma_sync(const char* text, const Word (&a)[a_words], const Word (&b)[b_words], Word (&c)[c_words]) {
  multiply_together(text, {a, b, c, sizeof(Word), a_words, b_words, c_words});
}

/// With block scales.
template <int a_words, int b_words, int c_words>
void scaled_mma_sync(const char* text, const std::uint32_t (&a)[a_words], const std::uint32_t (&b)[b_words],
                     std::uint32_t (&c)[c_words], std::uint32_t a_scales, std::uint32_t b_scales, int byte_id, int thread_id) {
  Part part{a, b, c, 4, a_words, b_words, c_words};
  part.has_scales = true;
  part.a_scales = a_scales;
  part.b_scales = b_scales;
  part.byte_id = byte_id;
  part.thread_id = thread_id;
  multiply_together(text, part);
}

/// Records that the calling thread has made its stores to shared memory visible to wgmma and tcgen05.
void publish();
bool all_have_published();
void forget_published();
std::uint32_t shared_address(const void* memory);
/// So many bytes that lie there, aligned to as many.
void* shared_memory(std::uint32_t address, std::uint32_t bytes);
/// Whether tensor memory (tensor_core.hpp) is not given back; asking gives it back.
bool holds_tensor_memory();
void check_wgmma_flags(const char* text, const char* flags);
template <int c_words>
void wgmma(const char* text, const char* flags, const std::uint32_t (&a)[4], std::uint64_t b_descriptor,
           std::uint32_t (&c)[c_words]) {
  check_wgmma_flags(text, flags);
  multiply_together(text, {a, nullptr, c, 4, 4, 0, c_words, b_descriptor});
}

/// Over tiles in shared memory, by a warp.
void wmma(const char* text, const void* a, const void* b, void* c);

}  // namespace fake_cuda
