// SPDX-License-Identifier: Apache-2.0
// Elements per second of the bulk operations, beside copies of as many bytes in the same process. Cases are named
//   encode/float8_e4m3fn/nearest_even/normal/4096   operation/format/rounding/data/elements
//   copy/4to1/streaming/any/4096                     what limits it; the label of a case names its copies
// and run on the SIMD path that the environment variable ULPSCOPE_SIMD names, else on the best.
#include "emu/bulk.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bench/bulk_data.hpp"
#include "bench/copy.hpp"
#include "bench/stepped.hpp"
#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "emu/simd.hpp"

namespace {
using namespace ulpscope;
using bench::Copy, bench::Data, bench::Traffic, emu::Format, emu::Rounding;

constexpr std::int64_t in_first_cache = 1 << 12, in_last_cache = 1 << 20, in_memory = 1 << 26;  // elements

/// Memory that all cases share, so that all have the same pages: pages long, and begun apart by half a page, where the
/// processor would take a load for one of a recent store to the same place in another page.
class Buffer {
 public:
  explicit Buffer(std::size_t begin) : begin_(begin) {}
  std::byte* of(std::size_t bytes) {
    constexpr std::size_t page = 4096;
    if (bytes > size_) {
      memory_.reset();
      memory_.reset(static_cast<std::byte*>(std::aligned_alloc(page, (bytes + 2 * page) / page * page)));
      std::memset(memory_.get(), 1, bytes + begin_);  // the system gives a page when it is first written
      size_ = bytes;
    }
    return memory_.get() + begin_;
  }
  template <class T>
  std::span<T> span(std::size_t count) {
    return {reinterpret_cast<T*>(of(count * sizeof(T))), count};
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t begin_, size_ = 0;
};
Buffer& input() {
  static Buffer buffer(0);
  return buffer;
}
Buffer& output() {
  static Buffer buffer(2048);
  return buffer;
}

/// One case but for the number of elements.
struct Work {
  std::string name;
  Traffic traffic;
  std::string limit;                         ///< the copies that do as much
  std::function<void(std::size_t)> prepare;  ///< fills the input, if what it holds matters
  std::function<void(std::size_t)> run;
};

std::string limit_of(Traffic t, bool in_place = false) {
  return "copy/" + std::to_string(t.read) + (in_place ? "in_place" : "to" + std::to_string(t.written));
}

void make_room(const Work& work, std::size_t count) {
  input().of(count * static_cast<std::size_t>(work.traffic.read));
  output().of(count * static_cast<std::size_t>(work.traffic.written));
}

/// Vector instructions for an element, but of what `mix` hardly changes; counted once, as a case is called again until it has
/// taken its time.
std::optional<double> counted(const Work& work) {
  if (work.name.find('/' + std::string(name_of(Data::mix)) + '/') != std::string::npos) return std::nullopt;
  constexpr std::size_t count = in_first_cache / 4;
  static std::map<std::string, std::optional<double>> known;
  const auto [place, is_new] = known.try_emplace(work.name);
  if (is_new) {
    make_room(work, 2 * count);
    work.prepare(2 * count);
    const auto all = bench::more_vector_instructions([&] { work.run(2 * count); }, [&] { work.run(count); });
    if (all) place->second = *all / count;
  }
  return place->second;
}

void measure(benchmark::State& state, const Work& work) {
  const auto count = static_cast<std::size_t>(state.range(0));
  if (const auto instructions = count == in_first_cache ? counted(work) : std::nullopt)
    state.counters["vector_instructions"] = *instructions;
  make_room(work, count);
  work.prepare(count);
  for ([[maybe_unused]] auto _ : state) {
    work.run(count);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * (work.traffic.read + work.traffic.written));
  state.SetLabel(work.limit);
}

void add(const Work& work) {
  benchmark::RegisterBenchmark(work.name.c_str(), [work](benchmark::State& state) { measure(state, work); })
      ->Arg(in_first_cache)
      ->Arg(in_last_cache)
      ->Arg(in_memory);
}

void add_copies(Traffic traffic, bool in_place) {
  for (const Copy kind : {Copy::library, Copy::vectors, Copy::streaming}) {
    if (kind == Copy::library && (in_place || traffic.read != traffic.written)) continue;
    const std::string limit = limit_of(traffic, in_place);
    add({limit + '/' + std::string(name_of(kind)) + "/any", traffic, limit, [](std::size_t) {},
         [=](std::size_t n) {
           std::byte* in = input().of(n * static_cast<std::size_t>(traffic.read));
           std::byte* out = in_place ? in : output().of(n * static_cast<std::size_t>(traffic.written));
           bench::copy(kind, traffic, in, out, n);
         }});
  }
}

/// What the processor does where nothing is loaded or stored; an element is one instruction on a vector.
void add_arithmetic() {
  const std::string name = "arithmetic/registers/vectors/any/" + std::to_string(in_first_cache);
  benchmark::RegisterBenchmark(name.c_str(), [](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(bench::compute(in_first_cache));
    state.SetItemsProcessed(state.iterations() * in_first_cache);
  });
}

template <class Make>
std::function<void(std::size_t)> fill(Make make) {
  return [make](std::size_t n) {
    const auto pattern = make(std::min(n, bench::most_in_pattern));
    bench::tile(pattern, input().span<typename decltype(pattern)::value_type>(n));
  };
}
template <class Float>
std::function<void(std::size_t)> fill_with_numbers(Format format, Data data) {
  return fill([=](std::size_t n) { return bench::numbers<Float>(format, data, n); });
}

/// Calls action with a zero of the narrowest word that holds a code.
template <class Action>
void with_word(Format format, Action action) {
  if (format.bits() <= 8) return action(std::uint8_t{});
  if (format.bits() <= 16) return action(std::uint16_t{});
  return action(std::uint32_t{});
}

template <class Float>
void add_encode(const std::string& operation, const std::string& rest, Format format, Rounding rounding, Data data) {
  with_word(format, [&]<class Word>(Word) {
    constexpr Traffic traffic{sizeof(Float), sizeof(Word)};
    add({operation + rest, traffic, limit_of(traffic), fill_with_numbers<Float>(format, data), [=](std::size_t n) {
           emu::encode(format, std::span<const Float>(input().span<Float>(n)), output().span<Word>(n), {.rounding = rounding});
         }});
  });
}

/// In place the values of the second turn are those that the first has rounded: as much work, and no copy to be subtracted.
void add_round_to(const std::string& rest, Format format, Rounding rounding, Data data, bool in_place) {
  constexpr Traffic traffic{sizeof(float), sizeof(float)};
  add({(in_place ? "round_to_in_place" : "round_to") + rest, traffic, limit_of(traffic, in_place),
       fill_with_numbers<float>(format, data), [=](std::size_t n) {
         const std::span<float> in = input().span<float>(n);
         emu::round_to(format, std::span<const float>(in), in_place ? in : output().span<float>(n), {.rounding = rounding});
       }});
}

void add_decode(const std::string& rest, Format format, Data data) {
  with_word(format, [&]<class Word>(Word) {
    constexpr Traffic traffic{sizeof(Word), sizeof(float)};
    add({"decode" + rest, traffic, limit_of(traffic),
         fill([=](std::size_t n) { return bench::codes<Word>(format, bench::numbers<float>(format, data, n)); }),
         [=](std::size_t n) { emu::decode(format, std::span<const Word>(input().span<Word>(n)), output().span<float>(n)); }});
  });
}

void add_convert(const std::string& rest, Format from, Format to, Data data) {
  with_word(from, [&]<class From>(From) {
    with_word(to, [&]<class To>(To) {
      constexpr Traffic traffic{sizeof(From), sizeof(To)};
      add({"convert" + rest, traffic, limit_of(traffic),
           fill([=](std::size_t n) { return bench::codes<From>(from, bench::numbers<float>(to, data, n)); }),
           [=](std::size_t n) { emu::convert(from, std::span<const From>(input().span<From>(n)), to, output().span<To>(n)); }});
    });
  });
}

/// All that rounds floats, in one direction.
void add_roundings(const std::string& name, Format format, Rounding rounding, Data data) {
  const std::string rest = '/' + name + '/' + std::string(emu::name_of(rounding)) + '/' + std::string(name_of(data));
  add_encode<float>("encode", rest, format, rounding, data);
  add_round_to(rest, format, rounding, data, false);
  add_round_to(rest, format, rounding, data, true);
  if (rounding != Rounding::nearest_even) return;
  add_encode<double>("encode_double", rest, format, rounding, data);
  add_decode(rest, format, data);
}

const bool registered = [] {
  if (const char* path = std::getenv("ULPSCOPE_SIMD")) emu::use_simd_path(path);
  benchmark::AddCustomContext("simd_path", std::string(emu::name_of(emu::simd_path())));
  benchmark::AddCustomContext("compiler", ULPSCOPE_COMPILER);

  for (const Traffic traffic : bench::traffics) add_copies(traffic, false);
  add_copies({4, 4}, true);
  add_arithmetic();
  for (const Data data : {Data::normal, Data::mix})
    for (const emu::NamedFormat& named : emu::catalogue)
      if (named.format.bits() <= emu::tf32.bits())
        add_roundings(std::string(named.name), named.format, Rounding::nearest_even, data);
  for (const Rounding rounding : emu::all_roundings)
    for (const Format format : {emu::fp16, emu::bf16, emu::e4m3, emu::e5m2})
      if (rounding != Rounding::nearest_even) add_roundings(emu::format_name(format), format, rounding, Data::normal);
  for (const Data data : {Data::normal, Data::mix})
    for (const auto& [from, to] :
         {std::pair{emu::fp16, emu::e4m3}, std::pair{emu::fp16, emu::e5m2}, std::pair{emu::bf16, emu::e4m3},
          std::pair{emu::bf16, emu::e5m2}, std::pair{emu::fp16, emu::bf16}, std::pair{emu::bf16, emu::fp16},
          std::pair{emu::e4m3, emu::fp16}, std::pair{emu::e5m2, emu::bf16}, std::pair{emu::e4m3, emu::e5m2}})
      add_convert('/' + emu::format_name(from) + '-' + emu::format_name(to) + "/nearest_even/" + std::string(name_of(data)),
                  from, to, data);
  return true;
}();

}  // namespace
