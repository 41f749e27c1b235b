// SPDX-License-Identifier: Apache-2.0
// What a step's products take on a device: the rows that are chosen, and the products that are counted, both worked out by
// hand.
#include "training/train/product_times.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <string>

#include "emu/error.hpp"
#include "small_runs.hpp"
#include "training/train/train_all.hpp"
#include "training/train/train_tables.hpp"

namespace ulpscope::training {
namespace {

using studies::ScaleRule;

constexpr const char* header =
    "format,d,fast_accumulation,m,n,k,compute,algorithm,median_us,least_us,tflops,speedup_over_float32,bytes,error,remark,"
    "scale_mode_a,scale_mode_b\n";

std::string row(const std::string& format, const std::string& fast, const std::string& extents, const std::string& microseconds,
                const std::string& scales = "SCALAR_32F,SCALAR_32F") {
  return format + ",bfloat16," + fast + "," + extents + ",CUBLAS_COMPUTE_32F,any," + microseconds + ",1,1,1,1,0,," + scales +
         "\n";
}

std::string file_of(const TemporaryDirectory& folder, const std::string& text) {
  const std::string path = folder.file("device_cost.csv");
  std::ofstream(path) << text;
  return path;
}

ProductTimes times_of(const TemporaryDirectory& folder, const std::string& rows) {
  return ProductTimes(file_of(folder, header + rows));
}

ProductKind kind_of(std::size_t m, std::size_t n, std::size_t k, emu::Format format) {
  return {m, n, k, format, format, ScaleRule::none, ScaleRule::none, false};
}

}  // namespace

TEST_CASE("a product takes the time of the nearest row of its formats and scales", "[training]") {
  const TemporaryDirectory folder;
  const ProductTimes times =
      times_of(folder, row("bfloat16", "no", "256,256,256", "5") + row("bfloat16", "no", "1024,1024,1024", "60") +
                           row("\"float8_e5m2,float8_e4m3fn\"", "no", "16,64,32", "3") +
                           row("\"float8_e5m2,float8_e4m3fn\"", "no", "64,16,32", "30") +
                           row("float8_e4m3fn", "no", "256,256,256", "8") + row("float8_e4m3fn", "yes", "256,256,256", "7") +
                           row("float8_e4m3fn", "no", "256,256,256", "nan") +
                           row("float8_e4m3fn", "no", "256,256,256", "11", "VEC128_32F,BLK128x128_32F"));
  // As recorded; smaller, as long; larger, in proportion to the multiply-adds: 512^3 is as far from 256 as from 1024, and the
  // first counts.
  CHECK(times.microseconds(kind_of(256, 256, 256, emu::bfloat16)) == 5);
  CHECK(times.microseconds(kind_of(16, 256, 256, emu::bfloat16)) == 5);
  CHECK(times.microseconds(kind_of(512, 512, 512, emu::bfloat16)) == 40);
  CHECK(times.microseconds(kind_of(1024, 1024, 512, emu::bfloat16)) == 60);
  CHECK(times.microseconds(kind_of(1024, 2048, 2048, emu::bfloat16)) == 240);
  CHECK(times.microseconds(kind_of(0, 256, 256, emu::bfloat16)) == 0);
  CHECK_FALSE(times.microseconds(kind_of(256, 256, 256, emu::float16)));

  // Fast accumulation where sums are not promoted, if there is such a row.
  ProductKind fp8 = kind_of(256, 256, 256, emu::float8_e4m3fn);
  CHECK(times.microseconds(fp8) == 7);
  fp8.promoted = true;
  CHECK(times.microseconds(fp8) == 8);
  fp8.scale_a = ScaleRule::tile_1x128, fp8.scale_b = ScaleRule::tile_128x128;
  CHECK(times.microseconds(fp8) == 11);
  fp8.scale_a = ScaleRule::tile_128x128, fp8.scale_b = ScaleRule::tile_1x128;  // transposed
  CHECK(times.microseconds(fp8) == 11);
  fp8.scale_b = ScaleRule::tile_128x128;
  CHECK_FALSE(times.microseconds(fp8));

  // Of the transposed product rows and columns change places.
  ProductKind mixed = kind_of(16, 64, 32, emu::float8_e5m2);
  mixed.b = emu::float8_e4m3fn;
  CHECK(times.microseconds(mixed) == 3);
  mixed = {64, 16, 32, emu::float8_e4m3fn, emu::float8_e5m2, ScaleRule::amax, ScaleRule::number, false};
  CHECK(times.microseconds(mixed) == 3);
  mixed = {64, 32, 32, emu::float8_e4m3fn, emu::float8_e5m2, ScaleRule::amax, ScaleRule::number, false};
  CHECK(times.microseconds(mixed) == 6);
}

TEST_CASE("products of a step are counted by kind", "[training]") {
  const TemporaryDirectory folder;
  // 4 samples, 6 -> 5 -> 3, and no gradient of the inputs: forward 2, weights 2, inputs of the second layer 1.
  write_npy(folder.file("x.npy"), {4, 6}, numbers(24, 1));
  write_npy(folder.file("t.npy"), {4, 3}, numbers(12, 2));
  const std::string rows = row("float32", "no", "4,5,6", "10") + row("float32", "no", "5,6,4", "200") +
                           row("float32", "no", "4,3,5", "3000") + row("float32", "no", "3,5,4", "40000") +
                           row("float32", "no", "4,5,3", "500000");
  const std::string text =
      "[model]\nkind = \"layers\"\nlayers = [{linear = [6, 5]}, \"relu\", {linear = [5, 3]}]\n[data]\ninputs = \"" +
      folder.file("x.npy") + "\"\ntargets = \"" + folder.file("t.npy") +
      "\"\n[loss]\nkind = \"mse\"\n[optimizer]\nlr = 0.1\n[run]\nsteps = 2\nrecipes = [\"float32\", \"fp16_amp\"]\n";
  TrainStudy study = parse_train_study(text + "product_times = \"" + file_of(folder, header + rows) + "\"\n", "s.toml");
  const std::vector<RunResult> runs = train_all(study, {});
  REQUIRE(runs.size() == 2);
  REQUIRE(runs[0].step_time);
  CHECK(runs[0].step_time->microseconds == 543210);
  CHECK(runs[0].step_time->covered == 1);
  CHECK(runs[1].step_time->covered == 0);
  const reports::Table summary = train_tables(runs)[1];
  CHECK(std::get<double>(summary.rows[0][summary.column("product_us")]) == 543210);
  CHECK(std::get<double>(summary.rows[1][summary.column("product_us_covers")]) == 0);
  CHECK(std::get<std::string>(summary.rows[1][summary.column("product_us")]).empty());

  study.run.accumulate = 3;
  CHECK(train_all(study, {})[0].step_time->microseconds == 3 * 543210);
  study.run.accumulate = 1;
  // Computed again where gradients come back.
  TrainStudy again = parse_train_study(text + "checkpoint_activations = true\n", "s.toml");
  again.run.product_times = study.run.product_times;
  CHECK(train_all(again, {})[0].step_time->microseconds == 543210 + 3010);
  study.run.product_times.clear();
  CHECK_FALSE(train_tables(train_all(study, {}))[1].has("product_us"));
}

TEST_CASE("a file that holds no times is refused in one line", "[training]") {
  const TemporaryDirectory folder;
  using Catch::Matchers::ContainsSubstring;
  const auto refused = [&](const std::string& text, const std::string& wanted) {
    CHECK_THROWS_WITH(ProductTimes(file_of(folder, text)), ContainsSubstring(wanted));
  };
  refused("format,m\n", "no column fast_accumulation");
  refused(header, "no product has a time");
  refused(header + row("float32", "no", "1,2,3", "nan"), "no product has a time");
  refused(header + row("float32", "no", "1,2,x", "4"), "row 1: k 'x' is no positive number");
  refused(header + row("float32", "no", "1,0,3", "4"), "n '0' is no positive number");
  refused(header + row("float32", "no", "1,2,3", "-4"), "median_us '-4' is no positive number");
  refused(header + row("float32", "no", "1,2,3", "inf"), "median_us 'inf' is no positive number");
}

}  // namespace ulpscope::training
