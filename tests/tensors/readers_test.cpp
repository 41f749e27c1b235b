// SPDX-License-Identifier: Apache-2.0
// What each reader accepts, and the line with which it refuses the rest.
#include "tensors/readers.hpp"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "tensors/mapped_file.hpp"
#include "tensors/tensor.hpp"
#include "tensors/write.hpp"

using namespace ulpscope;

namespace {

tensors::FileBytes file_of(const std::string& name, const std::string& bytes) {
  return {name, tensors::bytes_in_memory(bytes)};
}

std::string npy(const std::string& dictionary, std::size_t data_bytes) {
  const std::string text = dictionary + "\n";
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size() & 0xff) + static_cast<char>(text.size() >> 8) +
         text + std::string(data_bytes, '\0');
}
std::string npy(const std::string& descr, const std::string& shape, std::size_t data_bytes,
                const std::string& order = "False") {
  return npy("{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }", data_bytes);
}
std::string safetensors(const std::string& header, std::size_t data_bytes) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return out + header + std::string(data_bytes, '\0');
}
std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

template <class Read>
std::string refusal(Read read) {
  try {
    read();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}
std::string npy_refusal(const std::string& bytes, std::optional<emu::Format> dtype = {}) {
  return refusal([&] { tensors::read_npy(file_of("w.npy", bytes), dtype); });
}
std::string safetensors_refusal(const std::string& bytes) {
  return refusal([&] { tensors::read_safetensors(file_of("w.safetensors", bytes)); });
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("ulpscope_readers_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Resident memory that is not page cache, in KiB.
long anonymous_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (long kib = 0; word == "RssAnon:" && status >> kib) return kib;
  return -1;
}

}  // namespace

TEST_CASE("an .npy that does not say its format is refused with the advice that helps", "[tensors]") {
  CHECK(npy_refusal(npy("|V1", "(2,)", 2)) ==
        "w.npy: dtype |V1 does not say which 8-bit format; add --dtype e4m3 or --dtype e5m2");
  CHECK(npy_refusal(npy("<V2", "(2,)", 4)) ==
        "w.npy: dtype <V2 does not say which 16-bit format; add --dtype bf16 or --dtype fp16");
  CHECK(npy_refusal(npy("|V1", "(2,)", 2), emu::e4m3) == "accepted");
  CHECK(npy_refusal(npy("|u1", "(2,)", 2), emu::e2m1) == "accepted");
  CHECK(npy_refusal(npy("<u2", "(2,)", 4), emu::e4m3).starts_with("w.npy: dtype <u2 holds 16 bits an element"));
  CHECK(npy_refusal(npy("<f4", "(2,)", 8), emu::e4m3).starts_with("w.npy: dtype <f4 already says float32"));
}

TEST_CASE("an .npy whose header lies is refused", "[tensors]") {
  CHECK(npy_refusal(npy("<f4", "(3,)", 8)) == "w.npy: the header promises 12 bytes of data, the file holds 8");
  CHECK(npy_refusal(npy("<f4", "(3,)", 13)) == "w.npy: 1 bytes follow the data that the header promises");
  CHECK(npy_refusal(npy("<f4", "(4294967296, 4294967296)", 0)) == "w.npy: the extents of the shape overflow when multiplied");
  CHECK(npy_refusal(npy("<f8", "(1152921504606846976,)", 0)) == "w.npy: the extents of the shape overflow when multiplied");
  CHECK(npy_refusal(npy("<f4", "(18446744073709551616,)", 0)).starts_with("w.npy: malformed .npy header: shape"));
  CHECK(npy_refusal(npy("<f4", "(-1,)", 0)).starts_with("w.npy: malformed .npy header: shape"));
  CHECK(npy_refusal(npy("<c8", "(1,)", 8)).starts_with("w.npy: dtype <c8 is not known"));
  CHECK(npy_refusal(npy("<f1641879590", "(1,)", 8)).starts_with("w.npy: dtype <f1641879590 is not known"));
  CHECK(npy_refusal(npy("<f4", "(2, 2)", 12, "True")) == "w.npy: the header promises 16 bytes of data, the file holds 12");
  CHECK(npy_refusal(npy("{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}", 4)) ==
        "w.npy: malformed .npy header: key 'descr' twice");
  CHECK(npy_refusal(npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4)).find("structured") !=
        std::string::npos);
  CHECK(npy_refusal("nonsense").find("is not a .npy file") != std::string::npos);
  CHECK(npy_refusal(npy("<f4", "(1,)", 4).substr(0, 20)) == "w.npy: is cut off in the .npy header");
}

TEST_CASE("an .npy header that is no dictionary of the three keys is refused", "[tensors]") {
  const std::string malformed = "w.npy: malformed .npy header: ",
                    keys = "'descr': '<f4', 'fortran_order': False, 'shape': (1,)";
  const auto header = [&](const std::string& dictionary) { return npy_refusal(npy(dictionary, 4)); };

  CHECK(header("{" + keys + "}") == "accepted");
  CHECK(header("{\t\"descr\" : \"<f4\",\n\"fortran_order\":True , \"shape\": ( 1L , ) , }") == "accepted");
  CHECK(header("[" + keys + "]") == malformed + "'{' expected");
  CHECK(header("{" + keys) == malformed + "'}' expected");
  CHECK(header("{" + keys + "} 1") == malformed + "text after the dictionary");
  CHECK(header("{" + keys + ", 'version': 1}") == malformed + "unknown key 'version'");
  for (const char* const left :
       {"'descr': '<f4', 'fortran_order': False", "'descr': '<f4', 'shape': (1,)", "'fortran_order': False, 'shape': (1,)"})
    CHECK(header("{" + std::string(left) + "}") == malformed + "descr, fortran_order or shape is missing");
  for (const char* const word : {"", "descr", "'shape': (1,), descr: '<f4'"})
    CHECK(header("{" + std::string(word)) == malformed + "a quoted word expected");
  CHECK(header("{'descr") == malformed + "a quote is not closed");
  CHECK(header("{'des\\x63r': '<f4'}") == malformed + "an odd character");
  CHECK(header("{'descr': '<\xc3\xa4'}") == malformed + "an odd character");
  CHECK(header("{'descr': '<f\x7f'}") == malformed + "an odd character");
  CHECK(header("{'fortran_order': false}") == malformed + "True or False expected");
  CHECK(header("{'shape': 1}") == malformed + "'(' expected");
  CHECK(header("{'shape': (1") == malformed + "')' expected");
  CHECK(npy_refusal(npy("<f4", "(2)", 8)) == malformed + "shape: (2) is no tuple, which has a comma");  // to Python it is 2
  CHECK(npy_refusal(npy("<f4", "(02,)", 8)) == malformed + "shape: a number begins with 0");
  CHECK(npy_refusal(npy("<f4", "(2, 00)", 0)) == "accepted");  // of Python's numbers 0 alone may
  CHECK(npy_refusal(npy("<f4", "()", 4)) == "accepted");
  std::string ones;
  for (int i = 0; i < 64; ++i) ones += "1,";
  CHECK(npy_refusal(npy("<f4", "(" + ones + ")", 4)) == "accepted");
  CHECK(npy_refusal(npy("<f4", "(" + ones + "1)", 4)) == malformed + "more than 64 dimensions");
}

TEST_CASE("an .npy of a version or a length that is none is refused", "[tensors]") {
  std::string bytes = npy("<f4", "(1,)", 4);
  for (const char version : {'\0', '\4', '\xff'}) {
    bytes[6] = version;
    CHECK(npy_refusal(bytes) == "w.npy: .npy version " + std::to_string(static_cast<unsigned char>(version)) +
                                    ".0 is not known; 1.0, 2.0 and 3.0 are");
  }
  bytes[6] = '\1';
  for (const char minor : {'\1', '\xff'}) {
    bytes[7] = minor;
    CHECK(npy_refusal(bytes) ==
          "w.npy: .npy version 1." + std::to_string(static_cast<unsigned char>(minor)) + " is not known; 1.0, 2.0 and 3.0 are");
  }
  bytes[7] = '\0';
  for (const std::size_t kept : {6U, 7U, 9U})
    CHECK(npy_refusal(bytes.substr(0, kept)) == "w.npy: is cut off in the .npy header");
  bytes[6] = '\2';  // whose length has four bytes
  for (const std::size_t kept : {10U, 11U}) CHECK(npy_refusal(bytes.substr(0, kept)) == "w.npy: is cut off in the .npy header");
}

TEST_CASE("every dtype of numpy's that has values is read, and the others are named", "[tensors]") {
  for (const char* const descr : {"|b1", "|i1", "|u1", ">i2", "=u4", "<i8", "<f2", ">f4", "<f8", "|f1"}) {
    const auto bytes = static_cast<std::size_t>(descr[2] - '0');
    CHECK(npy_refusal(npy(descr, "(1,)", bytes)) == "accepted");
  }
  CHECK(tensors::read_npy(file_of("w.npy", npy("<f1", "(1,)", 1)), {}).dtype.format == emu::e5m2);
  CHECK(npy_refusal(npy("<f1", "(1,)", 1), emu::e4m3) == "accepted");  // of ml_dtypes before it told them apart
  CHECK(npy_refusal(npy("<i4", "(1,)", 4), emu::e4m3) == "w.npy: dtype <i4 holds no codes of float8_e4m3fn; leave --dtype out");
  for (const char* const descr : {"", "<f", "<f0", "<f9", "<fx", "#f4", "<f3", "<i3", "<u5", "<b2", "<V4", "<m8", "<O8"})
    CHECK(npy_refusal(npy(descr, "(1,)", 8)).starts_with("w.npy: dtype " + std::string(descr) + " is not known; "));
}

TEST_CASE("a safetensors file whose header lies is refused", "[tensors]") {
  const std::string name = "w.safetensors: tensor 'a': ";
  const auto one = [](const std::string& entry, std::size_t bytes) { return safetensors("{\"a\":" + entry + "}", bytes); };

  CHECK(safetensors_refusal(one(tensor("F32", "[2]", "[0,8]"), 8)) == "accepted");
  CHECK(safetensors_refusal(one(tensor("F32", "[2]", "[0,8]"), 4)) == name + "its data end at byte 8 of 4");
  CHECK(safetensors_refusal(one(tensor("F32", "[3]", "[0,8]"), 8)) ==
        name + "shape and dtype need 12 bytes, data_offsets give 8");
  CHECK(safetensors_refusal(one(tensor("F32", "[2]", "[-8,8]"), 8)) == name + "an offset is not a whole number from 0 up");
  CHECK(safetensors_refusal(one(tensor("F32", "[2]", "[8,0]"), 8)) == name + "its data end at byte 0 of 8");
  CHECK(safetensors_refusal(one(tensor("F32", "[4294967296,4294967296]", "[0,8]"), 8)) ==
        name + "the extents of the shape overflow when multiplied");
  CHECK(safetensors_refusal(one(tensor("F64", "[1152921504606846976]", "[0,8]"), 8)) ==
        name + "the extents of the shape overflow when multiplied");
  CHECK(safetensors_refusal(one(tensor("F7", "[2]", "[0,9]"), 8)) == name + "its data end at byte 9 of 8");
  CHECK(safetensors_refusal(one(tensor("F7", "[4294967296,4294967296]", "[0,8]"), 8)) ==
        name + "the extents of the shape overflow when multiplied");
  CHECK(safetensors_refusal(one(tensor("F32", "[2.5]", "[0,8]"), 8)) ==
        name + "an extent of the shape is not a whole number from 0 up");
  CHECK(safetensors_refusal(safetensors("{}", 1)) == "w.safetensors: 1 bytes at the end belong to no tensor");
  for (const char* const entry :
       {"1", R"({"dtype":"U8","shape":[0]})", R"({"dtype":"U8","data_offsets":[0,0]})", R"({"shape":[0],"data_offsets":[0,0]})",
        R"({"dtype":"U8","shape":[0],"data_offsets":[0,0],"scale":1})"})
    CHECK(safetensors_refusal(one(entry, 0)) == name + "needs dtype, shape and data_offsets, and nothing else");
  CHECK(safetensors_refusal(one(R"({"dtype":8,"shape":[0],"data_offsets":[0,0]})", 0)) == name + "dtype is not a word");
  CHECK(safetensors_refusal(one(R"({"dtype":"U8","shape":0,"data_offsets":[0,0]})", 0)) == name + "shape is not a list");
  for (const char* const offsets : {"0", "[0]", "[0,0,0]"})
    CHECK(safetensors_refusal(one(tensor("U8", "[0]", offsets), 0)) == name + "data_offsets is not a list of two");
  CHECK(safetensors_refusal(one("[]", 8)) == name + "needs dtype, shape and data_offsets, and nothing else");
  CHECK(safetensors_refusal(
            safetensors("{\"a\":" + tensor("U8", "[2]", "[0,2]") + ",\"b\":" + tensor("U8", "[2]", "[1,3]") + "}", 3)) ==
        "w.safetensors: the data of tensor 'b' overlap those before");
  CHECK(safetensors_refusal(safetensors("{\"a\":" + tensor("U8", "[2]", "[1,3]") + "}", 3)) ==
        "w.safetensors: bytes 0 to 1 of the data belong to no tensor");
  CHECK(safetensors_refusal(one(tensor("U8", "[2]", "[0,2]"), 3)) == "w.safetensors: 1 bytes at the end belong to no tensor");
  CHECK(safetensors_refusal(safetensors("{\"a\":1,\"a\":2}", 0)) ==
        "w.safetensors: malformed safetensors header: the key 'a' occurs twice");
  CHECK(safetensors_refusal(safetensors("{\"a\":" + std::string(1'000'000, '['), 0)) ==
        "w.safetensors: malformed safetensors header: JSON is nested more than 64 deep");
  CHECK(safetensors_refusal(safetensors("{\"a\":", 0)).starts_with("w.safetensors: malformed safetensors header: is no JSON"));
  CHECK(safetensors_refusal("abc") == "w.safetensors: is too short for a safetensors file");
  CHECK(safetensors_refusal(std::string(8, '\xff')).starts_with("w.safetensors: the header's length 18446744073709551615"));
}

TEST_CASE("elements of a safetensors file fill its bytes", "[tensors]") {
  const auto one = [](const std::string& dtype, std::uint64_t count, std::size_t bytes) {
    return safetensors_refusal(safetensors(
        "{\"a\":" + tensor(dtype, "[" + std::to_string(count) + "]", "[0," + std::to_string(bytes) + "]") + "}", bytes));
  };
  const auto odd = [](std::uint64_t count, const std::string& dtype) {
    return "w.safetensors: tensor 'a': " + std::to_string(count) + " elements of " + dtype +
           " end within a byte, which readers of .safetensors refuse";
  };

  for (const std::uint64_t count : {0U, 2U, 4U, 6U}) CHECK(one("F4", count, count / 2) == "accepted");
  for (const std::uint64_t count : {1U, 3U, 7U}) CHECK(one("F4", count, (count + 1) / 2) == odd(count, "F4"));
  for (const char* const dtype : {"F6_E2M3", "F6_E3M2"}) {
    for (const std::uint64_t count : {0U, 4U, 8U}) CHECK(one(dtype, count, count / 4 * 3) == "accepted");
    for (const std::uint64_t count : {1U, 2U, 3U, 5U}) CHECK(one(dtype, count, (6 * count + 7) / 8) == odd(count, dtype));
  }
}

TEST_CASE("a safetensors file may hold no tensors, and null for its metadata", "[tensors]") {
  const Folder folder;
  const std::string whole = "{\"__metadata__\":null,\"a\":" + tensor("U8", "[2]", "[0,2]") + "}";
  const tensors::FileBytes file = file_of("w.safetensors", safetensors(whole, 2));

  for (const char* const header : {"{}", "{}      ", R"({"__metadata__":null})", R"({"__metadata__":{"a":"b"}})"})
    CHECK(tensors::read_safetensors(file_of("w.safetensors", safetensors(header, 0))).empty());
  CHECK(tensors::read_safetensors(file).size() == 1);
  CHECK(tensors::read_safetensors_metadata(file).empty());
  std::ofstream(folder / "a.safetensors", std::ios::binary) << safetensors("{}", 0);
  std::ofstream(folder / "b.safetensors", std::ios::binary) << safetensors(whole, 2);
  CHECK(tensors::open_one(folder / ".").name == "a");
  CHECK(tensors::open(folder / "a.safetensors").empty());
  CHECK(refusal([&] { tensors::open_one(folder / "a.safetensors"); }) == folder / "a.safetensors" + ": holds no tensors");
}

TEST_CASE("what is no file is not mapped", "[tensors]") {
  const Folder folder;
  const auto mapped = [](const std::string& path) { return refusal([&] { tensors::MappedFile{path}; }); };

  CHECK(mapped(folder / ".") == folder / "." + ": is a directory, not a tensor file");
  CHECK(mapped("/dev/null") == "/dev/null: is a device, not a regular file; write it to one first");
  std::ofstream(folder / "empty").flush();
  CHECK(mapped(folder / "empty") == folder / "empty" + ": is empty");
  CHECK(mapped(folder / "none") == folder / "none" + ": No such file or directory");
}

TEST_CASE("a .csv says where it is wrong", "[tensors]") {
  const auto csv_refusal = [](const std::string& text) { return refusal([&] { tensors::read_csv(file_of("t.csv", text)); }); };

  CHECK(csv_refusal("x,y\n1,2\n") == "accepted");
  CHECK(csv_refusal("1,2\r\n3,1e-400\r\n") == "accepted");
  CHECK(csv_refusal("1,2\n3,z\n") == "t.csv: row 2, column 2: 'z' is not a number");
  CHECK(csv_refusal("1,2\n3\n") == "t.csv: row 2 has 1 fields, the first row 2");
  CHECK(csv_refusal("a,1\n") == "t.csv: row 1, column 2: is a number in a row of names");
  CHECK(csv_refusal("a,b\n") == "t.csv: holds no numbers");
  CHECK(csv_refusal("1,,2\n") == "t.csv: row 1, column 2: '' is not a number");
  CHECK(csv_refusal("gr\xf6\xdf\x65,b\n1\n") == "t.csv: row 2 has 1 fields, the first row 2");  // names are not read
  CHECK(csv_refusal("\xc3\xa9,b\n1\n") == "t.csv: row 2 has 1 fields, the first row 2");
  const std::string longest((1 << 20) - 1, '0');  // and a digit: the longest field there is
  CHECK(csv_refusal("1," + longest + "1\nx,1\n") == "t.csv: row 2, column 1: 'x' is not a number");
  CHECK(csv_refusal("1," + longest + "01\n") == "t.csv: row 1: a field is longer than 1048576 bytes");
  CHECK(csv_refusal("1,2\n1," + longest + "01\n3,4\n") == "t.csv: row 2: a field is longer than 1048576 bytes");
  CHECK(csv_refusal("1,2\n1," + longest + longest) == "t.csv: row 2: a field is longer than 1048576 bytes");
  CHECK(csv_refusal(std::string("\xff\xfe\x31\x00", 4)) == "t.csv: is UTF-16; save it as UTF-8");
  CHECK(csv_refusal(std::string("\xfe\xff\x00\x31", 4)) == "t.csv: is UTF-16; save it as UTF-8");
  std::vector<double> values(8);
  const tensors::Tensor read =
      tensors::read_csv(file_of("t.csv", " 1e400,-1e400 \n1e-400, -1E-400\n \t2 ,  \" -3 \"\n+4,\"+5\"\n"));
  read.source->read(0, std::span(values));
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(values == std::vector<double>{infinity, -infinity, 0, 0, 2, -3, 4, 5});
  CHECK(std::signbit(values[3]));
  CHECK(csv_refusal("1,\"2\n").starts_with("t.csv: row 1: "));
}

TEST_CASE("every code of every format survives a safetensors file", "[tensors]") {
  const Folder folder;
  std::vector<tensors::NamedCodes> written;
  for (const emu::NamedFormat& named : emu::catalogue)
    if (!named.safetensors.empty()) {
      const emu::Code mask = named.format.code_mask();
      const std::uint64_t count = named.format.bits() <= 16 ? mask + 1 : 1001;
      written.push_back({std::string(named.name), named.format, {count}, [mask](std::uint64_t first, std::span<emu::Code> out) {
                           for (std::size_t i = 0; i < out.size(); ++i) out[i] = (first + i) * 0x9E3779B97F4A7C15U & mask;
                         }});
    }
  REQUIRE(written.size() == 12);

  tensors::write_safetensors(folder / "all.safetensors", written);
  const auto read = tensors::open(folder / "all.safetensors");

  REQUIRE(read.size() == written.size());
  for (std::size_t t = 0; t < read.size(); ++t) {
    CAPTURE(written[t].name);
    std::vector<emu::Code> expected(read[t].count()), codes(expected.size());
    std::vector<double> values(expected.size());
    written[t].codes(0, expected);
    read[t].source->read_codes(0, codes);
    read[t].source->read(0, std::span(values));
    CHECK(read[t].name == written[t].name);
    CHECK(codes == expected);
    const double expected_value = emu::decode(written[t].format, expected.back());
    CHECK((values.back() == expected_value || expected_value != expected_value));
  }
}

TEST_CASE("names pick a tensor, and a wrong one is answered with the nearest", "[tensors]") {
  const Folder folder;
  const auto zeros = [](std::uint64_t, std::span<emu::Code> out) { std::fill(out.begin(), out.end(), 0); };
  tensors::write_safetensors(folder / "w.safetensors",
                             {{"layer1.wo", emu::bf16, {2}, zeros}, {"layer2.wo", emu::bf16, {3}, zeros}});

  CHECK(tensors::open(folder / "w.safetensors:layer2.wo").front().shape == std::vector<std::uint64_t>{3});
  CHECK(refusal([&] { tensors::open(folder / "w.safetensors:layer3.wo"); }).find("nearest of 2: layer1.wo, layer2.wo") !=
        std::string::npos);
}

TEST_CASE("globs pick tensors in the file's order, and a tensor of just that name is meant before any glob", "[tensors]") {
  const Folder folder;
  const auto zeros = [](std::uint64_t, std::span<emu::Code> out) { std::fill(out.begin(), out.end(), 0); };
  std::vector<tensors::NamedCodes> written;
  for (const char* const name : {"enc.0.w", "enc.10.attn.w", "enc.1.b", "ENC.2.w", "w[1]", "w1", "pos/a*", "pos/ab"})
    written.push_back({name, emu::bf16, {1}, zeros});
  tensors::write_safetensors(folder / "w.safetensors", written);
  const auto names = [&](const std::string& glob) {
    std::string all;
    for (const tensors::Tensor& tensor : tensors::open(folder / "w.safetensors:" + glob)) {
      CHECK(tensor.label == folder / "w.safetensors:" + tensor.name);
      all += tensor.name + " ";
    }
    return all;
  };

  CHECK(names("enc.*.w") == "enc.0.w enc.10.attn.w ");  // dots are no borders, case counts
  CHECK(names("enc.**.w") == "enc.0.w enc.10.attn.w ");
  CHECK(names("enc.?.[bw]") == "enc.0.w enc.1.b ");
  CHECK(names("[!e]*w") == "ENC.2.w ");
  CHECK(names("*") == "enc.0.w enc.10.attn.w enc.1.b ENC.2.w w[1] w1 pos/a* pos/ab ");
  CHECK(names("w[1]") == "w[1] ");
  CHECK(names("w[12]") == "w1 ");
  CHECK(names("pos/a*") == "pos/a* ");
  CHECK(names("pos*b") == "pos/ab ");
  CHECK(refusal([&] {
          names("enc.*.x");
        }).ends_with("w.safetensors: no tensor matches 'enc.*.x'; nearest of 8: enc.0.w, enc.1.b, ENC.2.w"));
  CHECK(refusal([&] { tensors::open_one(folder / "w.safetensors:enc.*"); }).find("holds 3 tensors; name one") !=
        std::string::npos);
}

TEST_CASE("a 10 GiB file is walked in bounded memory", "[tensors]") {
  const Folder folder;
  const std::string path = folder / "big.safetensors";
  constexpr std::uint64_t elements = std::uint64_t{10} << 28;  // 10 GiB of float32
  const std::string header = safetensors(
      "{\"a\":" + tensor("F32", "[" + std::to_string(elements) + "]", "[0," + std::to_string(4 * elements) + "]") + "}", 0);
  std::ofstream(path, std::ios::binary) << header;
  std::filesystem::resize_file(path, header.size() + 4 * elements);  // a hole: it takes no space on disk
  const long before = anonymous_kib();
  REQUIRE(before >= 0);

  const auto big = tensors::open(path).front();
  std::vector<float> chunk(1 << 20);
  double sum = 0;
  for (std::uint64_t first = 0; first + chunk.size() <= elements; first += 97 * chunk.size()) {
    big.source->read(first, std::span(chunk));
    sum += static_cast<double>(chunk.front() + chunk.back());
  }

  CHECK(big.count() == elements);
  CHECK(sum == 0);
  CHECK(anonymous_kib() - before < 100L * 1024);
}
