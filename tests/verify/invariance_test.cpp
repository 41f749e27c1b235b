// SPDX-License-Identifier: Apache-2.0
// Outputs under several conditions: what moved is counted beside plain loops, what is right by itself, and orders of sums are
// found again from sums that were added here, one by one.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "../reports/temporary_directory.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "products/product.hpp"
#include "tensors/write.hpp"
#include "verify/child_process.hpp"
#include "verify/invariance/invariance_request.hpp"
#include "verify/invariance/sum_orders.hpp"

using namespace ulpscope;
using namespace ulpscope::verify;

namespace {

std::vector<float> drawn(std::size_t count, std::uint64_t seed) {
  std::vector<float> out;
  std::uint64_t state = seed * 2654435761U + 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    out.push_back(static_cast<float>(static_cast<double>(state >> 40) * 0x1p-23 - 1));
  }
  return out;
}

/// The result that is expected is 1 + index, and anything within an ulp of float32 of it.
class Counting final : public Expectation {
 public:
  explicit Counting(std::vector<std::uint64_t> shape) : shape_(std::move(shape)) {}
  std::vector<std::uint64_t> shape() const override { return shape_; }
  emu::Format out() const override { return emu::float32; }
  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const double x = static_cast<double>(first + i + 1);
      elements[i] = {.value = x, .radius = 0, .allowed = x * 0x1p-23, .magnitude = x};
    }
  }
  Precise precise(std::uint64_t index) const override {
    const double x = static_cast<double>(index + 1);
    return {x, 0, x};
  }
  std::string bound() const override { return "an ulp"; }
  std::string refusal() const override { return {}; }

 private:
  std::vector<std::uint64_t> shape_;
};

std::vector<float> counted(std::size_t first, std::size_t count) {
  std::vector<float> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<float>(first + i + 1));
  return out;
}

Condition condition(const std::string& name, std::vector<std::uint64_t> shape, const std::vector<float>& values,
                    std::uint64_t first_row = 0) {
  return {name, tensors::from_values(name + ".npy", std::move(shape), values), first_row};
}

void write(const std::string& path, const std::vector<std::uint64_t>& shape, const std::vector<float>& values) {
  tensors::write_npy(path, shape, tensors::Producer<float>([&](std::uint64_t first, std::span<float> out) {
                       std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
                     }));
}

}  // namespace

TEST_CASE("rows that moved are counted, and what is right is said of each output", "[verify]") {
  const std::size_t rows = 100, length = 7;
  const Counting expectation({rows, length});
  const std::vector<float> right = counted(0, rows * length);
  std::vector<float> moved = right, wrong = right;
  for (const std::size_t row : {std::size_t{3}, std::size_t{4}, std::size_t{99}})
    moved[row * length + 2] = std::nextafter(moved[row * length + 2], 1e9F);
  moved[3 * length] = std::nextafter(moved[3 * length], 0.0F);
  wrong[50 * length + 6] *= 2;
  wrong[51 * length] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> part(moved.begin() + 3 * length, moved.begin() + 5 * length);
  for (const int threads : {1, 3}) {
    const InvarianceResult result =
        invariance({.expectation = expectation,
                    .last = {emu::float32, {}},
                    .row_length = length,
                    .conditions = {condition("right", {rows, length}, right), condition("moved", {rows, length}, moved),
                                   condition("wrong", {rows, length}, wrong), condition("part", {2, length}, part, 3)},
                    .threads = threads});
    REQUIRE(result.conditions.size() == 4);
    CHECK(result.conditions[0].outcome == Outcome::pass);
    CHECK(result.conditions[1].outcome == Outcome::pass);
    CHECK(result.conditions[2].outcome == Outcome::fail);
    CHECK(result.conditions[2].wrong == 2);
    CHECK(result.conditions[3].rows == 2);
    CHECK(result.outcome() == Outcome::fail);
    REQUIRE(result.pairs.size() == 6);
    const auto pair = [&](std::size_t a, std::size_t b) {
      return *std::find_if(result.pairs.begin(), result.pairs.end(),
                           [&](const PairResult& p) { return p.condition == a && p.other == b; });
    };
    CHECK(pair(0, 1).rows == 100);
    CHECK(pair(0, 1).rows_moved == 3);
    CHECK(pair(0, 1).elements_moved == 4);
    CHECK(pair(0, 1).max_ulp == 1);
    CHECK(result.stretch == 7);
    CHECK(pair(0, 1).moved_in[0] == 3);
    CHECK(pair(0, 1).moved_in[14] == 1);
    CHECK(pair(0, 2).elements_moved == 2);
    CHECK(std::isinf(pair(0, 2).max_ulp));
    CHECK(pair(0, 3).rows == 2);
    CHECK(pair(0, 3).elements_moved == 3);
    CHECK(pair(1, 3).elements_moved == 0);
    CHECK(pair(1, 3).elements == 14);
  }
}

TEST_CASE("what rows moved by at most is what plain loops find, wherever in the range of a format", "[verify]") {
  struct Kind {
    emu::Format out;
    int precision, least_exponent, greatest_exponent;
  };
  const std::size_t rows = 12, length = 77;
  const Counting expectation({rows, length});
  std::uint64_t state = 1;
  const auto draw = [&](std::uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % below;
  };
  for (const Kind& kind : {Kind{emu::float32, 24, -126, 127}, Kind{emu::bf16, 8, -126, 127}, Kind{emu::fp16, 11, -14, 15},
                           Kind{emu::float64, 53, -1022, 1023}, Kind{emu::e5m2, 3, -14, 15}})
    for (int round = 0; round < 200; ++round) {
      const std::int64_t least = std::int64_t{1} << (kind.precision - 1);
      const auto exponents = static_cast<std::uint64_t>(kind.greatest_exponent - kind.least_exponent);
      // One place in many is further apart than the others, at the same exponent or at another.
      const int usual = kind.least_exponent + static_cast<int>(draw(round % 3 == 0 ? 2 : exponents));
      std::vector<double> a, b;
      double most = 0;
      for (std::size_t i = 0; i < rows * length; ++i) {
        const bool is_far = draw(200) == 0;
        const int exponent = is_far && round % 2 == 0 ? kind.least_exponent + static_cast<int>(draw(exponents)) : usual;
        const bool is_subnormal = exponent == kind.least_exponent && draw(2) == 0;
        const std::int64_t significand = is_subnormal
                                             ? static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(least)))
                                             : least + static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(least)));
        const auto steps = static_cast<std::int64_t>(draw(is_far ? 9 : 3));
        const std::int64_t other = std::clamp(significand + steps - steps / 2 * 2, std::int64_t{0}, 2 * least - 1);
        const double sign = draw(2) == 0 ? 1 : -1;
        const auto value = [&](std::int64_t n) {
          return std::ldexp(sign * static_cast<double>(n), exponent - kind.precision + 1);
        };
        a.push_back(value(significand)), b.push_back(value(is_far ? std::min(significand + steps, 2 * least - 1) : other));
        const double greater = std::max(std::fabs(a.back()), std::fabs(b.back()));
        const int place = greater == 0 ? kind.least_exponent : std::max(std::ilogb(greater), kind.least_exponent);
        most = std::max(most, std::ldexp(std::fabs(a.back() - b.back()), kind.precision - 1 - place));
      }
      const auto of = [&](const std::string& name, const std::vector<double>& values) {
        return Condition{name, tensors::from_values(name, {rows, length}, values), 0};
      };
      const auto most_found = [&] {
        return invariance({.expectation = expectation,
                           .last = {kind.out, {}},
                           .row_length = length,
                           .conditions = {of("a", a), of("b", b)},
                           .threads = 1})
            .pairs.at(0)
            .max_ulp;
      };
      CAPTURE(kind.precision, round);
      CHECK(most_found() == most);
      const std::size_t place = draw(rows * length);
      a[place] = std::numeric_limits<double>::infinity();
      CHECK(std::isinf(most_found()));
      b[place] = a[place];
      CHECK(std::isfinite(most_found()));
      a[place] = std::numeric_limits<double>::quiet_NaN();
      CHECK(std::isinf(most_found()));
    }
}

TEST_CASE("all NaNs are one, zeros are two, and rows that nobody shares cannot move", "[verify]") {
  const Counting expectation({2, 1});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto of = [&](const std::vector<float>& a, const std::vector<float>& b) {
    return invariance({.expectation = expectation,
                       .last = {emu::float32, {}},
                       .row_length = 1,
                       .conditions = {condition("a", {2, 1}, a), condition("b", {2, 1}, b)}});
  };
  CHECK(of({nan, 0.0F}, {-nan, 0.0F}).pairs[0].elements_moved == 0);
  CHECK(of({1, 0.0F}, {1, -0.0F}).pairs[0].elements_moved == 1);
  const InvarianceResult apart = invariance({.expectation = expectation,
                                             .last = {emu::float32, {}},
                                             .row_length = 1,
                                             .conditions = {condition("a", {1, 1}, {1}), condition("b", {1, 1}, {2}, 1)}});
  CHECK(apart.pairs.empty());
  CHECK(apart.outcome() == Outcome::vacuous);
}

TEST_CASE("what does not fit is refused", "[verify]") {
  const Counting expectation({4, 3});
  using Catch::Matchers::ContainsSubstring;
  const std::vector<float> all = counted(0, 12);
  const auto refused = [&](std::vector<Condition> conditions, const std::string& wanted) {
    CHECK_THROWS_WITH(
        invariance(
            {.expectation = expectation, .last = {emu::float32, {}}, .row_length = 3, .conditions = std::move(conditions)}),
        ContainsSubstring(wanted));
  };
  refused({condition("a", {4, 3}, all)}, "give two or more");
  refused({condition("a", {4, 3}, all), condition("a", {4, 3}, all)}, "--output a: is there twice");
  refused({condition("a", {4, 3}, all), condition("b", {3, 4}, all)}, "b.npy 3x4: the result of these inputs is 4x3");
  refused({condition("a", {4, 3}, all), condition("b", {3, 4}, all)}, "4x3, whose rows have 3 elements, not 4");
  refused({condition("a", {4, 3}, all), condition("b", {2, 2, 3}, all)},
          "b.npy 2x2x3: the result of these inputs is 4x3, in another shape");
  refused({condition("a", {4, 3}, all), condition("b", {5, 3}, counted(0, 15))}, "4x3, of 4 rows, not 5");
  refused({condition("a", {4, 3}, all), condition("b", {}, {1})}, "write the first one behind the file, FILE@ROW");
  Condition scalar = condition("b", {}, {1}, 2);
  scalar.has_row = true;
  refused({condition("a", {4, 3}, all), scalar}, "4x3; give an array of one element");
  CHECK(parse_condition("a=b@0").has_row);
  CHECK(!parse_condition("a=b").has_row);
  refused({condition("a", {4, 3}, all), condition("b", {2, 3}, counted(0, 6), 3)}, "4x3, without row 4");
  refused({condition("a", {4, 3}, all), condition("b", {4, 3}, all, 1)}, "without row 4");
  for (const char* const word : {"", "file.npy", "=file.npy", "name="}) CHECK_THROWS_AS(parse_condition(word), Error);
  CHECK(parse_condition("a=b@c@12").file == "b@c");
  CHECK(parse_condition("a=b@c@12").first_row == 12);
  CHECK(parse_condition("a=b@c").file == "b@c");
  CHECK(parse_condition("a=x=y").file == "x=y");
}

TEST_CASE("the order of sums is found from their bits", "[verify]") {
  constexpr std::size_t rows = 12, length = 1000;
  const std::vector<float> x = drawn(rows * length, 3);
  const tensors::Tensor inputs = tensors::from_values("x", {rows, length}, x);
  const auto order_of = [&](const auto& sum, std::uint64_t first = 0) {
    std::vector<float> sums;
    for (std::size_t row = first; row < rows; ++row) sums.push_back(sum(x.data() + row * length));
    return sum_order({inputs, emu::float32, tensors::from_values("d", {rows - first}, sums), first, {emu::float32, {}}});
  };
  const auto in_order = [](const float* a, std::size_t n) {
    float sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += a[i];
    return sum;
  };
  CHECK(order_of([&](const float* a) { return in_order(a, length); }) == "in order");
  CHECK(order_of([&](const float* a) { return in_order(a, length); }, 5) == "in order");
  // A warp of 32, which shuffles down: each adds the one 16, 8, 4, 2, 1 places on.
  const auto of_a_warp = [](const float* a) {
    float lane[32];
    for (std::size_t i = 0; i < length; ++i) lane[i % 32] = i < 32 ? a[i] : lane[i % 32] + a[i];
    for (std::size_t apart = 16; apart > 0; apart /= 2)
      for (std::size_t i = 0; i < apart; ++i) lane[i] += lane[i + apart];
    return lane[0];
  };
  CHECK(order_of(of_a_warp) == "32 strided parts, halves added");
  const auto of_blocks = [&](const float* a) {
    float sum = 0;
    for (std::size_t first = 0; first < length; first += 256)
      sum += in_order(a + first, std::min<std::size_t>(256, length - first));
    return sum;
  };
  CHECK(order_of(of_blocks) == "blocks of 256, added in order");
  const auto of_neighbours = [&](const float* a) {
    const float b[4] = {in_order(a, 256), in_order(a + 256, 256), in_order(a + 512, 256), in_order(a + 768, length - 768)};
    return (b[0] + b[1]) + (b[2] + b[3]);
  };
  CHECK(order_of(of_neighbours) == "blocks of 256, neighbours added");
  const auto in_double = [](const float* a) {
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) sum += static_cast<double>(a[i]);
    return static_cast<float>(sum);
  };
  CHECK(order_of(in_double).empty());
  // Powers of two are summed alike in every order: nothing is told.
  const tensors::Tensor ones = tensors::from_values("x", {1, 8}, std::vector<float>(8, 1));
  CHECK(sum_order({ones, emu::float32, tensors::from_values("d", {1}, std::vector<float>{8}), 0, {emu::float32, {}}}).empty());
}

TEST_CASE("a request judges the outputs of an operation, and says how sums were added", "[verify]") {
  const TemporaryDirectory folder;
  const std::size_t rows = 6, length = 512;
  const std::vector<float> x = drawn(rows * length, 9);
  std::vector<float> one, other;
  for (std::size_t row = 0; row < rows; ++row) {
    float sum = 0, parts[2] = {};
    for (std::size_t i = 0; i < length; ++i) sum += x[row * length + i], parts[i % 2] += x[row * length + i];
    one.push_back(sum), other.push_back(parts[0] + parts[1]);
  }
  write(folder.file("x.npy"), {rows, length}, x);
  write(folder.file("one.npy"), {rows}, one);
  write(folder.file("other.npy"), {rows}, other);
  write(folder.file("last.npy"), {2}, {other[4], other[5]});
  InvarianceRequest<SumRequest> request;
  request.operation.x = folder.file("x.npy");
  request.output = {"one=" + folder.file("one.npy"), "other=" + folder.file("other.npy"),
                    "last=" + folder.file("last.npy") + "@4"};
  const studies::StudyResult study = run(request, {});
  CHECK(study.outcome == studies::StudyOutcome::failed);
  const reports::Table& table = study.tables.front();
  REQUIRE(table.rows.size() == 3);
  CHECK(std::get<std::string>(table.rows[0][table.column("cause")]) == "one: in order; other: 2 strided parts, halves added");
  CHECK(std::get<std::string>(table.rows[0][table.column("right")]) == "yes");
  CHECK(std::get<std::int64_t>(table.rows[2][table.column("rows")]) == 2);
  CHECK(std::get<std::int64_t>(table.rows[2][table.column("rows_moved")]) == 0);

  request.output.pop_back();
  request.output[1] = "other=" + folder.file("one.npy");
  CHECK(run(request, {}).outcome == studies::StudyOutcome::done);
  request.output.pop_back();
  CHECK_THROWS_AS(run(request, {}), Error);
  request.output = {"a=" + folder.file("one.npy"), "b=" + folder.file("other.npy")};
  request.operation.output.against = folder.file("one.npy");
  CHECK_THROWS_WITH(run(request, {}), Catch::Matchers::EndsWith("': give exact or engine"));
}

TEST_CASE("what a program prints goes to a file, and not through a link", "[verify][invariance]") {
  const TemporaryDirectory folder;
  CHECK(run_child({"echo", "word"}, 10, folder.file("log")).exit_code == 0);
  CHECK(std::filesystem::file_size(folder.file("log")) == 5);

  std::filesystem::create_symlink(folder.file("log"), folder.file("link"));
  CHECK_THROWS_AS(run_child({"echo"}, 10, folder.file("link")), Error);
  CHECK(std::filesystem::file_size(folder.file("log")) == 5);
}

TEST_CASE("a program's folder stays while the process that has made it does", "[verify][invariance]") {
  const TemporaryDirectory folder;
  const std::string at = std::filesystem::path(folder.file("log")).parent_path();
  CHECK(run_child({"echo"}, 10, folder.file("log"), at).exit_code == 0);
  CHECK(run_child({"sleep", "60"}, 0.1, {}, at).timed_out);

  CHECK(std::filesystem::exists(folder.file("log")));
  CHECK_THROWS_AS(run_child({"echo"}, 10, {}, folder.file("none")), Error);
}

TEST_CASE("two outputs that differ have not one cause", "[verify]") {
  const TemporaryDirectory folder;
  InvarianceRequest<MatmulRequest> request{.operation = {}, .output = {}, .seconds = 1000};
  products::ProductRequest& product = request.operation.product;
  product.a = "normal:0,1:400x32", product.b = "normal:0,1:32x8", product.seed = {1, 2}, product.in = {"fp32"};
  const tensors::Tensor d = products::multiply(products::resolve(product, products::open(product), "exact"));
  std::vector<float> values(static_cast<std::size_t>(d.count()));
  d.source->read(0, std::span(values));
  for (const char* const name : {"one", "other"}) {
    write(folder.file(name + std::string(".npy")), {400, 8}, values);
    request.output.push_back(name + std::string("=") + folder.file(name + std::string(".npy")));
    values[1234] = std::nextafter(values[1234], 1000.0F);
  }

  const studies::StudyResult study = run(request, {});

  const reports::Table& table = study.tables.front();
  REQUIRE(table.rows.size() == 1);
  CHECK(std::get<std::string>(table.rows[0][table.column("cause")]).empty());
}

TEST_CASE("a cause that contradicts what is declared is said to, and split K is said as it is declared", "[verify]") {
  const TemporaryDirectory folder;
  InvarianceRequest<MatmulRequest> request{.operation = {}, .output = {}, .seconds = 1000};
  products::ProductRequest& product = request.operation.product;
  product.a = "normal:0,1:4x16384", product.b = "normal:0,1:16384x4", product.seed = {1, 2}, product.in = {"float32"};
  product.split_k = 3;
  products::Product computed = products::resolve(product, products::open(product), "fma");
  const auto add = [&](const std::string& name) {
    const tensors::Tensor d = products::multiply(computed);
    std::vector<float> values(16);
    d.source->read(0, std::span(values));
    write(folder.file(name + ".npy"), {4, 4}, values);
    request.output.push_back(name + "=" + folder.file(name + ".npy"));
  };
  add("three");
  computed.split_k = 1;
  add("one");
  computed.split_k = 3;
  computed.a.rounding = computed.b.rounding = {emu::tf32};  // no further from the exact sum than any order of 16384 is
  add("tf32");

  const studies::StudyResult study = run(request, {});

  const reports::Table& table = study.tables.front();
  const auto cause = [&](std::size_t row) { return std::get<std::string>(table.rows[row][table.column("cause")]); };
  REQUIRE(table.rows.size() == 3);
  CHECK(cause(0) == "three: as fma sums, split-K = 3 as declared; one: split-K = 1");
  CHECK(cause(1) == "three: as fma sums, split-K = 3 as declared; tf32: inputs rounded to tf32, which is not what is declared");
  REQUIRE(study.findings.size() == 3);
  CHECK(study.findings[0].sentence.find("; both are right; ") != std::string::npos);
  CHECK(study.findings[1].sentence.find("; both are within the bound; ") != std::string::npos);
}

TEST_CASE("wrong outputs that are the exact results in fewer bits are said to be", "[verify]") {
  const Counting expectation({1024, 1});
  std::vector<float> rounded = counted(0, 1024);
  for (float& x : rounded) x = static_cast<float>(emu::round_to(emu::bfloat16, x).value);
  const InvarianceResult result =
      invariance({.expectation = expectation,
                  .last = {emu::float32, {}},
                  .row_length = 1,
                  .conditions = {condition("a", {1024, 1}, counted(0, 1024)), condition("b", {1024, 1}, rounded)}});

  // Of 1 .. 1024 those above 256 that are no multiples of 2, above 512 of 4: 128 + 384.
  CHECK(result.conditions[1].wrong == 512);
  CHECK(result.conditions[0].hint.empty());
  CHECK(result.conditions[1].hint.ends_with("--out bfloat16?"));
  CHECK(invariance_findings(result).front().sentence.ends_with("--out bfloat16?"));
}

TEST_CASE("of a great product some rows are explained, those that moved among them, and equal outputs alike",
          "[verify][long]") {
  const TemporaryDirectory folder;
  constexpr std::size_t m = 160, n = 1024;
  InvarianceRequest<MatmulRequest> request{.operation = {}, .output = {}, .seconds = 1000};
  products::ProductRequest& product = request.operation.product;
  product.a = "normal:0,1:160x1024", product.b = "normal:0,1:1024x1024", product.seed = {1, 2};
  request.operation.engine = "sm_90", product.in = {"bf16"};
  products::Product computed = products::resolve(product, products::open(product), "sm_90");
  const auto outputs = [&] {
    const tensors::Tensor d = products::multiply(computed);
    std::vector<float> out(m * n);
    d.source->read(0, std::span(out));
    return out;
  };
  const std::vector<float> whole = outputs();
  computed.split_k = 4;
  const std::vector<float> split = outputs();
  std::vector<float> one_row = whole;
  constexpr std::size_t odd = 104;  // not among rows that are evenly spread
  for (std::size_t j = 0; j < n; ++j) one_row[odd * n + j] = std::nextafter(one_row[odd * n + j], 1000.0F);
  const auto add = [&](const std::string& name, const std::vector<float>& values, std::size_t first, std::size_t rows) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first * n);
    write(folder.file(name + ".npy"), {rows, n}, {begin, begin + static_cast<std::ptrdiff_t>(rows * n)});
    request.output.push_back(name + "=" + folder.file(name + ".npy") + "@" + std::to_string(first));
  };
  add("whole", whole, 0, m);
  add("again", whole, 0, m);
  add("split", split, 0, m);
  add("row", one_row, 0, m);
  add("part", split, 30, 40);

  const studies::StudyResult study = run(request, {});

  const reports::Table& table = study.tables.front();
  const auto cause = [&](std::size_t row) { return std::get<std::string>(table.rows[row][table.column("cause")]); };
  REQUIRE(table.rows.size() == 10);
  CHECK(cause(0).empty());  // nothing moved
  CHECK(cause(1) == "whole: as sm_90 sums; split: split-K = 4");
  CHECK(cause(2) == "whole: as sm_90 sums");
  CHECK(cause(4) == "again: as sm_90 sums; split: split-K = 4");
  CHECK(cause(6) == "again: as sm_90 sums; part: split-K = 4");
}
