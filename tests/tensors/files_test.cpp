// SPDX-License-Identifier: Apache-2.0
// Files that change while they are mapped, arrays in Fortran order, tensors of dtypes that are not known, integers.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "tensors/elements.hpp"
#include "tensors/guarded_pages.hpp"
#include "tensors/mapped_file.hpp"
#include "tensors/readers.hpp"
#include "tensors/write.hpp"

using namespace ulpscope;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("ulpscope_files_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

template <class Act>
std::string error_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

/// A .npy of float32 zeros.
void write_zeros(const std::string& path, std::uint64_t count) {
  tensors::write_npy(path, {count}, tensors::Producer<float>([](std::uint64_t, std::span<float> out) {
                       std::fill(out.begin(), out.end(), 0.0F);
                     }));
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
  const std::string text = "{'descr': '" + descr + "', 'fortran_order': True, 'shape': " + shape + "}\n";
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size()) + '\0' + text + data;
}

tensors::FileBytes file_of(const std::string& name, const std::string& bytes) {
  return {name, tensors::bytes_in_memory(bytes)};
}

}  // namespace

TEST_CASE("reading a page that the file has lost is an error, not a signal", "[tensors]") {
  const Folder folder;
  const std::string path = folder / "x.npy";
  write_zeros(path, 1 << 20);
  const auto tensor = tensors::open(path).front();
  std::vector<float> values(1 << 10);
  std::vector<emu::Code> codes(values.size());

  fs::resize_file(path, 5000);

  const std::string shorter = path + ": became shorter while it was read";
  CHECK(error_of([&] { tensor.source->read((1 << 20) - values.size(), std::span(values)); }) == shorter);
  CHECK(error_of([&] { tensor.source->read_codes(1 << 19, codes); }) == shorter);
  volatile float last = tensor.source->floats(1 << 19, 1).values.front();
  CHECK(last == 0);
  CHECK(error_of([&] { tensor.source->check(); }) == shorter);
}

TEST_CASE("lost pages are reported when the name is another file's", "[tensors]") {
  const Folder folder;
  const std::string path = folder / "x.npy";
  write_zeros(path, 1 << 20);
  const auto tensor = tensors::open(path).front();
  std::vector<float> values(16);

  fs::rename(path, folder / "elsewhere.npy");
  CHECK(error_of([&] { tensor.source->read(0, std::span(values)); }) == "none");
  fs::resize_file(folder / "elsewhere.npy", 5000);

  CHECK(error_of([&] {
          tensor.source->read(1 << 19, std::span(values));
        }).find("a part of it cannot be read: it became shorter meanwhile, or its disk fails") != std::string::npos);
}

TEST_CASE("a file that changes without losing a page is not believed", "[tensors]") {
  const Folder folder;
  const std::string path = folder / "x.npy";
  write_zeros(path, 100);
  const auto tensor = tensors::open(path).front();
  std::vector<float> values(100);
  REQUIRE(error_of([&] { tensor.source->read(0, std::span(values)); }) == "none");

  SECTION("shorter by an element: the rest of the page reads as zeros") {
    fs::resize_file(path, fs::file_size(path) - 4);
    CHECK(error_of([&] { tensor.source->read(0, std::span(values)); }) == path + ": became shorter while it was read");
  }
  SECTION("written to") {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // beyond the clock's tick of file times
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << 'x';
    CHECK(error_of([&] { tensor.source->read(0, std::span(values)); }) == path + ": was written to while it was read");
  }
  SECTION("replaced: the mapped one is as it was") {
    fs::remove(path);
    write_zeros(path, 5);
    CHECK(error_of([&] { tensor.source->read(0, std::span(values)); }) == "none");
  }
}

TEST_CASE("a range that is guarded no longer is used again", "[tensors]") {
  const Folder folder;
  const std::string path = folder / "x";
  for (int i = 0; i < 3; ++i) {
    write(path, std::string(20000, 'a'));
    const tensors::MappedFile file(path);
    CHECK(error_of([&] { file.check(); }) == "none");
    const tensors::Piece piece = file.piece(15000, 1);
    fs::resize_file(path, 1);
    CHECK(piece.bytes.front() == std::byte{0});
    CHECK(error_of([&] { file.check(); }) == path + ": became shorter while it was read");
  }
}

TEST_CASE("a lost page is the loss of the mapping that it begins, not of the one that ends there", "[tensors]") {
  const Folder folder;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const both = static_cast<std::byte*>(::mmap(nullptr, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(both != MAP_FAILED);
  const auto map = [&](const std::string& name, std::byte* at) {
    write(folder / name, std::string(page, 'a'));
    const int descriptor = ::open((folder / name).c_str(), O_RDONLY);
    REQUIRE(::mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0) == at);
    ::close(descriptor);
  };
  map("first", both);
  map("second", both + page);
  {
    const std::size_t first_made =
        GENERATE(0u, 1u, 0u, 1u);  // whichever the handler asks first: entries made anew, then used again
    const tensors::GuardedPages one({both + first_made * page, page}), other({both + (1 - first_made) * page, page});

    fs::resize_file(folder / "second", 0);

    CHECK(both[page] == std::byte{0});
    CHECK(one.lost() == (first_made == 1));
    CHECK(other.lost() == (first_made == 0));
    CHECK(both[0] == std::byte{'a'});
  }
  ::munmap(both, 2 * page);
}

TEST_CASE("an array in Fortran order has the elements of its transpose in C order", "[tensors]") {
  const std::vector<std::uint64_t> shape = GENERATE(std::vector<std::uint64_t>{2, 3}, std::vector<std::uint64_t>{7, 1, 300, 5},
                                                    std::vector<std::uint64_t>{1, 9}, std::vector<std::uint64_t>{4});
  const std::string descr = GENERATE("<f4", "<f2", "<f8", ">f4", "<i2", "|u1");
  const auto size = static_cast<std::size_t>(descr[2] - '0');
  std::string tuple;
  std::size_t count = 1;
  for (const std::uint64_t extent : shape) tuple += std::to_string(extent) + ",", count *= extent;
  // Element i of the file has the code i + 1.
  std::string data;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t byte = 0; byte < size; ++byte) {
      const std::size_t shift = descr[0] == '>' ? size - 1 - byte : byte;
      data += static_cast<char>(shift < 4 ? (i + 1) >> (8 * shift) & 0xff : 0);
    }

  const auto tensor = tensors::read_npy(file_of("f.npy", npy(descr, "(" + tuple + ")", data)), {});

  REQUIRE(tensor.shape == shape);
  std::vector<emu::Code> expected, codes(count), part(std::min<std::size_t>(count, 17));
  std::vector<std::uint64_t> at(shape.size(), 0);
  const auto mask = size == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * size)) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t place = 0, step = 1;
    for (std::size_t axis = 0; axis < shape.size(); step *= shape[axis++]) place += at[axis] * step;
    expected.push_back((place + 1) & mask);
    for (std::size_t axis = shape.size(); axis > 0; --axis) {
      at[axis - 1] = (at[axis - 1] + 1) % shape[axis - 1];
      if (at[axis - 1] != 0) break;
    }
  }
  tensor.source->read_codes(0, codes);
  CHECK(codes == expected);
  std::vector<double> values(count), some(part.size());
  tensor.source->read(0, std::span(values));
  const std::uint64_t first = count - part.size();
  tensor.source->read(first, std::span(some));
  CHECK(std::memcmp(some.data(), &values[first], some.size() * sizeof(double)) == 0);
  if (descr == "|u1" || descr == "<i2")
    CHECK(values[count / 2] == static_cast<double>(static_cast<std::int16_t>(expected[count / 2])));
  if (descr == "<f8" || descr == "<f4" || descr == ">f4")
    CHECK(values[count / 2] == std::ldexp(static_cast<double>(expected[count / 2]), descr == "<f8" ? -1074 : -149));
  if (tensor.dtype.fits_float()) {
    std::vector<float> floats(count);
    tensor.source->read(0, std::span(floats));
    CHECK(std::equal(floats.begin(), floats.end(), values.begin(),
                     [](float a, double b) { return static_cast<double>(a) == b; }));
  }
}

TEST_CASE("a tensor of a dtype that is not known has bytes and no values", "[tensors]") {
  const std::string header = R"({"a":{"dtype":"C64","shape":[2],"data_offsets":[0,16]}})";
  const std::string length = std::string(1, static_cast<char>(header.size())) + std::string(7, '\0');
  const auto read = tensors::read_safetensors(file_of("m.safetensors", length + header + "0123456789abcdef"));

  REQUIRE(read.size() == 1);
  const tensors::Tensor& tensor = read.front();
  REQUIRE(tensor.opaque);
  CHECK(tensor.dtype.name == "C64");
  CHECK(tensor.count() == 2);
  CHECK_FALSE(tensor.is_integer());
  CHECK(tensor.opaque->bytes == 16);
  std::vector<emu::Code> bytes(16);
  tensor.source->read_codes(0, bytes);
  CHECK(bytes[10] == 'a');
  std::vector<double> values(2);
  CHECK(error_of([&] {
          tensor.source->read(0, std::span(values));
        }).starts_with("m.safetensors:a: dtype C64 is not known; known are F64 F32"));
}

TEST_CASE("integers of every type are written as such, and read as the same", "[tensors]") {
  const Folder folder;
  const std::string path = folder / "integers.npy";
  struct Case {
    const char *dtype, *read_as;
    std::vector<std::int64_t> values;
  };
  for (const Case& c : {Case{"bool", "bool", {0, 1}}, Case{"int4", "int8", {-8, -1, 0, 7}}, Case{"uint4", "uint8", {0, 15}},
                        Case{"int8", "int8", {-128, 127}}, Case{"uint8", "uint8", {0, 255}},
                        Case{"int16", "int16", {-32768, 5}}, Case{"uint16", "uint16", {65535, 5}},
                        Case{"int32", "int32", {-2147483647, 5}}, Case{"uint32", "uint32", {4294967295, 5}},
                        Case{"int64", "int64", {-9007199254740993, 5}}, Case{"uint64", "uint64", {9007199254740993, 5}}}) {
    CAPTURE(c.dtype);
    const auto made = tensors::over_integers("x", {c.values.size(), 1}, c.dtype, c.values, nullptr);
    std::string bytes;
    tensors::put_npy_integers({path, [&](std::string_view more) { bytes += more; }}, made);
    write(path, bytes);
    const tensors::Tensor again = tensors::open_one(path);
    CHECK(again.dtype.name == c.read_as);
    CHECK(again.shape == made.shape);
    std::vector<emu::Code> codes(c.values.size());
    again.source->read_codes(0, codes);
    const int unused = 64 - again.dtype.integer_bits();
    for (std::size_t i = 0; i < codes.size(); ++i) CHECK(codes[i] << unused == static_cast<emu::Code>(c.values[i]) << unused);
  }
}

TEST_CASE("a safetensors file keeps what is not rounded, and aligns its elements", "[tensors]") {
  const Folder folder;
  const auto ones = [](std::uint64_t, std::span<emu::Code> out) { std::fill(out.begin(), out.end(), 1); };
  tensors::Tensor ids = tensors::from_values("ids", {1}, std::vector<double>{1});  // float64 bits stand for an int64
  ids.name = "ids";
  ids.dtype = {"int64", {}};

  tensors::write_safetensors(folder / "w.safetensors", {{"w", emu::e4m3, {3}, ones}, {"v", emu::e4m3, {2}, ones}},
                             {.copied = {ids}, .metadata = R"({"format":"pt"})"});

  const auto read = tensors::open(folder / "w.safetensors");
  REQUIRE(read.size() == 3);
  CHECK(read[0].dtype.name == "int64");
  CHECK(read[1].name == "w");
  CHECK(read[2].name == "v");
  CHECK(tensors::metadata(folder / "w.safetensors:w") == R"({"format":"pt"})");
  CHECK(tensors::metadata("normal:0,1:3").empty());
  CHECK(error_of([&] {
          tensors::write_safetensors(folder / "x.safetensors", {{"w", emu::e4m3, {3}, ones}, {"w", emu::e4m3, {2}, ones}});
        }) == (folder / "x.safetensors") + ": two tensors would be named 'w'");
  CHECK(error_of([&] {
          tensors::write_safetensors(folder / "x.safetensors", {{"__metadata__", emu::e4m3, {3}, ones}});
        }) == (folder / "x.safetensors") + ": no tensor can be named __metadata__");
  CHECK(error_of([&] {
          tensors::write_safetensors(folder / "x.safetensors", {{"v", emu::e2m1, {2}, ones}, {"w", emu::e2m1, {3, 3}, ones}});
        }) == (folder / "x.safetensors") +
                  ": the 9 codes of 'w', of 4 bits, end within a byte, which readers of .safetensors refuse; write an .npy");
  CHECK(!std::filesystem::exists(folder / "x.safetensors"));
}
