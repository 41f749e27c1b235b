// SPDX-License-Identifier: Apache-2.0
// Files in pieces: what is read does not depend on which pieces, in which order, and how many of them are kept.
#include "tensors/bytes.hpp"

#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "emu/error.hpp"
#include "tensors/mapped_file.hpp"
#include "tensors/memory_limit.hpp"
#include "tensors/piece_cache.hpp"
#include "tensors/tensor.hpp"

using namespace ulpscope;
namespace fs = std::filesystem;

namespace {

class Scratch {
 public:
  Scratch() { fs::create_directories(path_); }
  ~Scratch() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_ = fs::temp_directory_path() / ("ulpscope_bytes_" + std::to_string(::getpid()));
};

/// Words that say where they are, at some places of a file that else holds zeros and takes no room.
void write_sparse(const std::string& path, std::uint64_t size, const std::vector<std::uint64_t>& places) {
  std::ofstream(path).put('\0');
  fs::resize_file(path, size);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (const std::uint64_t place : places) {
    file.seekp(static_cast<std::streamoff>(place));
    file.write(reinterpret_cast<const char*>(&place), sizeof place);
  }
}

std::uint64_t word_of(std::span<const std::byte> bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

std::string thrown(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

std::uint64_t three_bytes() { return 3; }

/// An .npz with the one array w of float32: element i is i.
void write_npz(const std::string& path, std::size_t count, bool deflated) {
  const std::string words = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(count) + ",), }\n";
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(words.size()) + '\0' + words;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  REQUIRE(archive != nullptr);
  const zip_int64_t index = zip_file_add(archive, "w.npy", zip_source_buffer(archive, bytes.data(), bytes.size(), 0), 0);
  REQUIRE(index == 0);
  REQUIRE(zip_set_file_compression(archive, 0, deflated ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 1) == 0);
  REQUIRE(zip_close(archive) == 0);
}

/// Sets what tensors may take, for a while.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::uint64_t bytes) { tensors::set_memory_limit(bytes); }
  ~MemoryLimit() { tensors::set_memory_limit(before_); }

 private:
  std::uint64_t before_ = tensors::memory_limit();
};

}  // namespace

TEST_CASE("pieces of a file are its bytes, wherever they begin and end", "[tensors]") {
  const Scratch folder;
  const std::string path = folder / "x";
  constexpr std::uint64_t step = tensors::window_step, most = tensors::largest_piece, size = 3 * step + 12345;
  std::vector<std::uint64_t> places{0, 8, 4096 - 4, size - 8};
  for (std::uint64_t window = 1; window <= 3; ++window)
    for (const std::uint64_t near : {window * step - 12, window * step - 3, window * step + 5}) places.push_back(near);
  for (std::uint64_t window = 0; window <= 2; ++window) places.push_back(window * step + most + (window << 3) - 4);
  write_sparse(path, size, places);
  const tensors::MappedFile file(path);
  REQUIRE(file.size() == size);

  for (int round = 0; round < 2; ++round)
    for (const std::uint64_t place : places) {
      INFO(place);
      CHECK(word_of(file.piece(place, 8).bytes) == place);
      const std::uint64_t before = std::min<std::uint64_t>(place, most - 8), after = std::min(size - place, most);
      CHECK(word_of(file.piece(place - before, static_cast<std::size_t>(before) + 8).bytes.last(8)) == place);
      CHECK(word_of(file.piece(place, static_cast<std::size_t>(after)).bytes) == place);
      // More than a window.
      const tensors::Piece all = file.piece(0, static_cast<std::size_t>(place) + 8);
      CHECK(word_of(all.bytes.last(8)) == place);
    }
  CHECK(file.piece(size, 0).bytes.empty());
  CHECK(thrown([&] { file.check(); }) == "nothing");
}

TEST_CASE("a window of a file that another has replaced is not read", "[tensors]") {
  const Scratch folder;
  const std::string path = folder / "x";
  constexpr std::uint64_t size = 2 * tensors::window_step;
  write_sparse(path, size, {8, size - 8});
  write_sparse(folder / "other", size, {});
  const tensors::MappedFile file(path);
  REQUIRE(word_of(file.piece(8, 8).bytes) == 8);

  SECTION("replaced") {
    fs::rename(folder / "other", path);
    CHECK(word_of(file.piece(8, 8).bytes) == 8);
    CHECK(thrown([&] { static_cast<void>(file.piece(size - 8, 8)); }) == path + ": became another file while it was read");
  }
  SECTION("removed") {
    fs::remove(path);
    CHECK(word_of(file.piece(8, 8).bytes) == 8);
    CHECK(thrown([&] { static_cast<void>(file.piece(size - 8, 8)); }).starts_with(path + ": cannot be read any more: "));
  }
  SECTION("written to") {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // beyond the clock's tick of file times
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << 'x';
    CHECK(thrown([&] { static_cast<void>(file.piece(size - 8, 8)); }) == path + ": was written to while it was read");
  }
  SECTION("shorter") {
    fs::resize_file(path, 100);
    CHECK(thrown([&] { static_cast<void>(file.piece(size - 8, 8)); }) == path + ": became shorter while it was read");
  }
}

TEST_CASE("a file is found again by its name from another folder", "[tensors]") {
  const Scratch folder;
  constexpr std::uint64_t size = 2 * tensors::window_step;
  write_sparse(folder / "x", size, {size - 8});
  const fs::path before = fs::current_path();
  fs::current_path(fs::path(folder / "x").parent_path());
  const tensors::MappedFile file("x");
  fs::current_path(before);
  CHECK(word_of(file.piece(size - 8, 8).bytes) == size - 8);
}

TEST_CASE("a cursor reads what a piece holds, in any order", "[tensors]") {
  std::string text(10000, '\0');
  std::mt19937_64 random(1);
  for (char& c : text) c = static_cast<char>(random());
  const auto bytes = tensors::bytes_in_memory(text);
  for (const std::size_t ahead : {std::size_t{1}, std::size_t{64}, std::size_t{1} << 16}) {
    tensors::Cursor cursor(*bytes, ahead);
    for (int i = 0; i < 2000; ++i) {
      const std::size_t first = random() % text.size(), count = 1 + random() % std::min<std::size_t>(text.size() - first, 200);
      const auto read = cursor.at(first, count);
      REQUIRE(read.size() == count);
      REQUIRE(std::memcmp(read.data(), text.data() + first, count) == 0);
    }
    std::vector<std::byte> all(text.size() - 3);
    cursor.copy(3, all);
    CHECK(std::memcmp(all.data(), text.data() + 3, all.size()) == 0);
  }
}

TEST_CASE("the pieces that were used last are kept, as many as fit", "[tensors]") {
  tensors::PieceCache cache(three_bytes);
  const std::array<std::byte, 4> bytes{};
  const int one = 0, other = 0;
  const auto piece = [&](std::size_t size) { return tensors::Piece{nullptr, std::span(bytes).first(size)}; };
  cache.keep(&one, 0, piece(1));
  cache.keep(&one, 1, piece(1));
  cache.keep(&other, 0, piece(1));
  REQUIRE(cache.find(&one, 0));
  cache.keep(&other, 1, piece(1));  // in place of the one that was used the longest ago
  CHECK_FALSE(cache.find(&one, 1));
  CHECK(cache.find(&one, 0));
  CHECK(cache.find(&other, 0));
  cache.keep(&one, 2, piece(4));  // never fits
  CHECK_FALSE(cache.find(&one, 2));
  CHECK(cache.find(&other, 1));
  cache.forget(&other);
  CHECK_FALSE(cache.find(&other, 0));
  CHECK_FALSE(cache.find(&other, 1));
  CHECK(cache.find(&one, 0));
  cache.keep(&one, 3, piece(2));
  CHECK(cache.find(&one, 0));
  cache.keep(&one, 4, piece(3));  // all others make room
  CHECK_FALSE(cache.find(&one, 0));
  CHECK_FALSE(cache.find(&one, 3));
  CHECK(cache.find(&one, 4));
  cache.clear();
  CHECK_FALSE(cache.find(&one, 4));
}

TEST_CASE("members of an archive are read in any order, whatever is kept of them", "[tensors]") {
  const Scratch folder;
  constexpr std::size_t count = (std::size_t{5} << 18) + 777;  // a little more than five megabytes
  const std::string path = folder / "w.npz";
  for (const bool deflated : {true, false}) {
    write_npz(path, count, deflated);
    for (const std::uint64_t memory : {std::uint64_t{1} << 30, (std::uint64_t{5} << 20) + (1 << 19), std::uint64_t{3} << 20}) {
      INFO((deflated ? "deflated" : "stored") << ", of " << memory << " bytes");
      const MemoryLimit limit(memory);
      const auto tensor = tensors::open(path + ":w").front();
      REQUIRE(tensor.count() == count);
      std::mt19937_64 random(memory);
      std::vector<float> values;
      for (int i = 0; i < 40; ++i) {
        values.resize(1 + random() % (i % 8 == 0 ? std::size_t{1} << 18 : 2000));
        const std::uint64_t first = i == 0 ? count - values.size() : random() % (count - values.size());
        tensor.source->read(first, std::span(values));
        bool same = true;
        for (std::size_t j = 0; j < values.size(); ++j) same &= values[j] == static_cast<float>(first + j);
        REQUIRE(same);
      }
      const auto piece = tensor.source->floats(1000, 10);
      if (!piece.values.empty()) CHECK(piece.values[9] == 1009);
    }
    const MemoryLimit limit((std::uint64_t{1} << 20) - 1);
    std::vector<float> value(1);
    CHECK(thrown([&] {
            tensors::open(path + ":w").front().source->read(0, std::span(value));
          }).find("w.npz:w: 1048576 bytes of memory are needed, and 1048575 of the 1048575 that tensors may take are left") !=
          std::string::npos);
  }
}

TEST_CASE("blocks that are kept make room for one that is read", "[tensors]") {
  const Scratch folder;
  write_npz(folder / "w.npz", std::size_t{5} << 18, true);
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
  const MemoryLimit limit(4 * mebibyte);
  const auto tensor = tensors::open(folder / "w.npz:w").front();
  std::vector<float> value(1);
  tensor.source->read(0, std::span(value));
  tensors::HeldMemory other("others");
  other.grow(2 * mebibyte);  // with two blocks, all that there may be
  CHECK(thrown([&] { tensor.source->read(std::uint64_t{3} << 18, std::span(value)); }) == "nothing");
  CHECK(value.front() == static_cast<float>(std::uint64_t{3} << 18));
}

TEST_CASE("nothing of a member is given where any of it is damaged", "[tensors]") {
  const Scratch folder;
  const std::string path = folder / "w.npz";
  write_npz(path, std::size_t{3} << 18, false);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-2000, std::ios::end);
  file.put('x');
  file.close();
  const auto tensor = tensors::open(path + ":w").front();
  std::vector<float> value(1);
  for (int again = 0; again < 2; ++again)
    CHECK(thrown([&] { tensor.source->read(0, std::span(value)); }).find("w.npz:w: damaged member: ") != std::string::npos);
}
