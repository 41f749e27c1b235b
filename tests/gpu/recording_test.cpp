// SPDX-License-Identifier: Apache-2.0
// Recordings: what was written is read, and nothing else is.
#include "gpu/recording.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gpu/crc64.hpp"

namespace {

namespace fs = std::filesystem;
using namespace ulpscope;
using Bytes = std::vector<std::byte>;
using Catch::Matchers::ContainsSubstring;
using emu::Code;

/// A folder of its own for the length of a test.
struct Folder {
  fs::path path =
      fs::temp_directory_path() /
      ("recording_test_" + std::to_string(std::hash<std::string>{}(Catch::getResultCapture().getCurrentTestName())));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const char* name) const { return (path / name).string(); }
};

/// One set of each kind, with scales, codes of one to eight bytes, and every field other than usual.
gpu::Recording example() {
  gpu::Recording recording;
  recording.device = {"cuda:0", "NVIDIA H200", "sm_90", "580.95", "13.0"};
  gpu::RecordedProducts& scaled = recording.products.emplace_back();
  scaled.operation = {"mma mxf4nvf4", emu::e2m1, emu::e2m1, emu::float32, 64, emu::EngineScales::group_sums,
                      emu::e4m3,      16,        "sm_100"};
  scaled.operands = gpu::OperandClass::chain;
  scaled.seed = ~std::uint64_t{0};
  scaled.problems = gpu::test_problems(gpu::TestShape(scaled.operation, 128), 1, 0, 2);
  scaled.d = {0x3f800000, 0xffffffff};
  gpu::RecordedProducts& wide = recording.products.emplace_back();
  wide.operation = {"dmma", emu::float64, emu::float64, emu::float64, 1};
  wide.problems = gpu::test_problems(gpu::TestShape(wide.operation), 1, 0, 1);
  wide.d = {~Code{0}};
  gpu::RecordedElements& fma = recording.elements.emplace_back();
  fma.operation = {"fma.rn.relu.tf32", {.kind = gpu::ElementKind::fma, .from = emu::float16, .to = emu::tf32, .relu = true}};
  fma.operation.model.options.subnormals_are_zero = true;
  fma.operands = gpu::OperandClass::adversarial;
  fma.a = {0x3c00}, fma.b = {0xffff}, fma.c = {0x7ffff}, fma.d = {0x40000};
  gpu::RecordedElements& cvt = recording.elements.emplace_back();
  cvt.operation = {"cvt", {.kind = gpu::ElementKind::convert, .from = emu::float8_e8m0fnu, .to = emu::float32}};
  cvt.operands = gpu::OperandClass::every;
  cvt.a = {0, 255}, cvt.d = {0x00400000, 0x7fffffff};
  return recording;
}

void seal(Bytes& body) {
  const std::uint64_t checksum = gpu::crc64(body);
  for (int i = 0; i < 8; ++i) body.push_back(static_cast<std::byte>(checksum >> (8 * i) & 0xff));
}

Bytes unsealed(const gpu::Recording& recording) {
  Bytes bytes = gpu::recording_bytes(recording);
  bytes.resize(bytes.size() - 8);
  return bytes;
}

/// The example with a part of its header replaced, under a right checksum.
Bytes with(const std::string& from, const std::string& to) {
  const Bytes body = unsealed(example());
  std::string text(reinterpret_cast<const char*>(body.data()), body.size());
  const std::size_t place = text.find(from);
  REQUIRE(place != std::string::npos);
  text.replace(place, from.size(), to);
  Bytes bytes(reinterpret_cast<const std::byte*>(text.data()), reinterpret_cast<const std::byte*>(text.data() + text.size()));
  seal(bytes);
  return bytes;
}

bool is_refused(const Bytes& bytes) {
  try {
    gpu::parse_recording(bytes, "x");
    return false;
  } catch (const Error& error) {
    CHECK(std::string(error.what()).starts_with("x: "));
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return true;
  }
}

}  // namespace

TEST_CASE("the checksum is CRC-64/XZ") {
  const std::string digits = "123456789";
  CHECK(gpu::crc64(std::as_bytes(std::span(digits))) == 0x995dc9bbdf1939fa);
  CHECK(gpu::crc64({}) == 0);
}

TEST_CASE("a recording that was written is read") {
  const gpu::Recording before = example();
  const Bytes bytes = gpu::recording_bytes(before);
  const gpu::Recording after = gpu::parse_recording(bytes, "x");

  CHECK(gpu::recording_bytes(after) == bytes);
  CHECK(after.device.name == "NVIDIA H200");
  REQUIRE(after.products.size() == 2);
  REQUIRE(after.elements.size() == 2);
  const gpu::RecordedProducts &scaled = after.products[0], &given = before.products[0];
  CHECK(scaled.problems.a == given.problems.a);
  CHECK(scaled.problems.b == given.problems.b);
  CHECK(scaled.problems.c == given.problems.c);
  CHECK(scaled.problems.a_scales == given.problems.a_scales);
  CHECK(scaled.problems.b_scales == given.problems.b_scales);
  CHECK(scaled.problems.a_scales.size() == 16);
  CHECK(scaled.d == given.d);
  CHECK(scaled.seed == given.seed);
  CHECK(scaled.operation.scale_format == emu::e4m3);
  CHECK(scaled.operation.engine == "sm_100");
  CHECK(after.products[1].d == before.products[1].d);
  CHECK(after.elements[0].c == before.elements[0].c);
  CHECK(after.elements[0].operation.model.options == before.elements[0].operation.model.options);
  CHECK(after.elements[0].operation.model.relu);
  CHECK(after.elements[1].d == before.elements[1].d);
}

TEST_CASE("a recording takes the bytes that the codes take") {
  // 2 x (128 + 128 codes, 8 + 8 scales, c, d), 1 x (a, b, c, d), 1 x (2, 2, 3, 3 bytes), 2 x (1, 4 bytes)
  const std::size_t codes = 2 * (256 + 16 + 8) + 32 + 10 + 10;

  const Bytes bytes = gpu::recording_bytes(example());
  const std::string all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  CHECK(all.find("\ncodes\n") + 7 + codes + 8 == bytes.size());
}

TEST_CASE("one flipped bit, wherever it is, is refused") {
  Bytes bytes = gpu::recording_bytes(example());
  std::size_t accepted = 0;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    accepted += is_refused(bytes) ? 0 : 1;
    bytes[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
  }

  CHECK(accepted == 0);
}

TEST_CASE("a recording cut short, and one with more behind it, is refused") {
  Bytes bytes = gpu::recording_bytes(example());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK(is_refused({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}));
  bytes.push_back(std::byte{0});
  CHECK(is_refused(bytes));
}

TEST_CASE("counts that the file cannot hold are refused before memory is taken for them") {
  CHECK_THROWS_WITH(gpu::parse_recording(with("count 2", "count 4294967296"), "x"), ContainsSubstring("the file ends before"));
  CHECK_THROWS_WITH(gpu::parse_recording(with("count 2", "count 3"), "x"), ContainsSubstring("the file ends before"));
  CHECK_THROWS_WITH(gpu::parse_recording(with("count 2", "count 4294967297"), "x"), ContainsSubstring("a number from 1 to"));
  CHECK_THROWS_WITH(gpu::parse_recording(with("count 2", "count 0"), "x"), ContainsSubstring("a number from 1 to"));
  CHECK_THROWS_WITH(gpu::parse_recording(with("length 128", "length 1048576"), "x"), ContainsSubstring("the file ends before"));
  CHECK_THROWS_WITH(gpu::parse_recording(with("length 128", "length 18446744073709551616"), "x"),
                    ContainsSubstring("a number from"));
}

TEST_CASE("a header that says what cannot be is refused") {
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"recording 1", "recording 2"},
                                                        {"name NVIDIA", "nom NVIDIA"},
                                                        {"name NVIDIA", "name \x1b[31m"},
                                                        {"set elements", "set pieces"},
                                                        {"a float4_e2m1fn", "a float4"},
                                                        {"a float4_e2m1fn", "a e2m1"},
                                                        {"a float4_e2m1fn", "a float8_e8m0fnu"},
                                                        {"length 128", "length 65"},
                                                        {"length 128", "length +128"},
                                                        {"length 128", "length 0128"},
                                                        {"length 128", "length "},
                                                        {"products 64", "products 0"},
                                                        {"scales group_sums", "scales sums"},
                                                        {"scale_products 16", "scale_products 15"},
                                                        {"operands chain", "operands chained"},
                                                        {"model fma", "model fmb"},
                                                        {"instruction dmma", "instruction " + std::string(5000, 'x')},
                                                        {"\ncodes\n", "\ncode\n"},
                                                        {"\ncodes\n", ""}}) {
    CAPTURE(from, to);
    CHECK(is_refused(with(from, to)));
  }
}

TEST_CASE("a code with more bits than its format is refused") {
  Bytes body = unsealed(example());
  const std::string text(reinterpret_cast<const char*>(body.data()), body.size());
  body[text.find("\ncodes\n") + 7] = std::byte{0x10};
  seal(body);

  CHECK_THROWS_WITH(gpu::parse_recording(body, "x"), ContainsSubstring("more bits than its format"));
}

TEST_CASE("random damage under a right checksum is refused, or means what it says") {
  const Bytes original = unsealed(example());
  gpu::TestRandom random(7, 0);
  std::size_t refused = 0;
  constexpr std::size_t attempts = 20000;
  for (std::size_t attempt = 0; attempt < attempts; ++attempt) {
    Bytes bytes = original;
    for (int change = random.integer(1, 4); change > 0; --change) {
      const auto place = static_cast<std::ptrdiff_t>(random.integer(0, static_cast<int>(bytes.size()) - 1));
      switch (random.integer(0, 3)) {
        case 0: bytes[static_cast<std::size_t>(place)] = static_cast<std::byte>(random.word() & 0xff); break;
        case 1: bytes.erase(bytes.begin() + place); break;
        case 2: bytes.insert(bytes.begin() + place, static_cast<std::byte>(random.word() & 0x7f)); break;
        default: bytes[static_cast<std::size_t>(place)] ^= std::byte{1} << random.integer(0, 7); break;
      }
    }
    seal(bytes);
    bool same = true;
    try {
      same = gpu::recording_bytes(gpu::parse_recording(bytes, "x")) == bytes;
    } catch (const Error&) {
      ++refused;
    }
    CHECK(same);
  }

  CHECK(refused > attempts / 4);
  CHECK(refused < attempts);
}

TEST_CASE("what is not printable in the name of a device does not reach the file") {
  gpu::Recording recording = example();
  recording.device.name = "a\nb\x1b[0m\xff";

  CHECK(gpu::parse_recording(gpu::recording_bytes(recording), "x").device.name == "a b [0m ");
}

TEST_CASE("operands and results that differ in number are not written") {
  gpu::Recording recording = example();
  recording.elements[0].b.clear();

  CHECK_THROWS_AS(gpu::recording_bytes(recording), Error);
}

TEST_CASE("a recording is written whole or not at all") {
  const Folder folder;
  const std::string file = folder.file("a.recording");
  gpu::write_recording(file, example());
  CHECK(gpu::recording_bytes(gpu::read_recording(file)) == gpu::recording_bytes(example()));
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);

  CHECK_THROWS_WITH(gpu::write_recording(folder.file("none/a.recording"), example()), ContainsSubstring("cannot be written"));
  fs::create_directories(folder.path / "b.recording" / "full");
  CHECK_THROWS_WITH(gpu::write_recording(folder.file("b.recording"), example()), ContainsSubstring("cannot be written"));
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 2);
}

TEST_CASE("what cannot be read is one line") {
  const Folder folder;
  CHECK_THROWS_WITH(gpu::read_recording(folder.file("none")), ContainsSubstring("cannot be read"));
  CHECK_THROWS_WITH(gpu::read_recording(folder.path.string()), ContainsSubstring("is a directory"));
  const std::ofstream empty(folder.file("empty"));
  CHECK_THROWS_WITH(gpu::read_recording(folder.file("empty")), ContainsSubstring("is no recording"));
  fs::resize_file(folder.file("empty"), gpu::most_recording_bytes + 1);
  CHECK_THROWS_WITH(gpu::read_recording(folder.file("empty")), ContainsSubstring("too large"));
  CHECK_THROWS_WITH(gpu::read_recording("/dev/zero"), ContainsSubstring("is a device, not a file"));
}
