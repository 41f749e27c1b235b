// SPDX-License-Identifier: Apache-2.0
// Numbers for a page with every kind of content.
#include "tests/reports/sample_page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace ulpscope::reports {
namespace {

/// Enough of a format to fill a page with plausible numbers; emu is not asked, the page does not depend on it.
struct Model {
  std::string name;
  int fraction_bits;
  int min_normal_log2;
  double max_finite;

  int zero_below_log2() const { return min_normal_log2 - fraction_bits - 1; }
  double overflow_from() const { return max_finite + std::ldexp(0.5, std::ilogb(max_finite) - fraction_bits); }
  double rounded(double x) const {
    if (x == 0) return x;
    const int unit = std::max(std::ilogb(x), min_normal_log2) - fraction_bits;
    return std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  }
};

const std::array models{Model{"float16", 10, -14, 65504}, Model{"bfloat16", 7, -126, 0x1.fep127},
                        Model{"float8_e4m3fn", 3, -6, 448}, Model{"float8_e5m2", 2, -14, 57344}};

using Values = std::vector<double>;

Values values(std::size_t count, const std::function<double(std::mt19937_64&)>& draw_one) {
  std::mt19937_64 random(1);
  Values result(count);
  for (double& x : result) x = draw_one(random);
  return result;
}

/// Box and Muller, because std::normal_distribution differs between libraries.
double normal(std::mt19937_64& random) {
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(6.283185307179586 * uniform());
}

ExponentHistogram histogram_of(const Values& x) {
  constexpr int first = -60;
  ExponentHistogram histogram{.first_exponent = first, .counts = std::vector<std::uint64_t>(90), .formats = {}};
  for (const double v : x) {
    if (v == 0) {
      ++histogram.zeros;
    } else {
      ++histogram.counts[static_cast<std::size_t>(std::clamp(std::ilogb(v) - first, 0, 89))];
    }
  }
  for (const auto& model : models) {
    histogram.formats.push_back({model.name, model.zero_below_log2(), model.min_normal_log2, std::log2(model.overflow_from())});
  }
  return histogram;
}

double percent_of(const Values& x, const std::function<bool(double)>& is) {
  return 100 * static_cast<double>(std::count_if(x.begin(), x.end(), is)) / static_cast<double>(x.size());
}

ScaleWindow window_of(const Values& x) {
  ScaleWindow window{.log2_scale = {}, .lines = {}};
  for (int k = -10; k <= 24; ++k) window.log2_scale.push_back(k);
  for (const auto& model : models) {
    ScaleWindow::Line line{.format = model.name, .to_zero_percent = {}, .overflow_percent = {}};
    for (int k = -10; k <= 24; ++k) {
      const auto scaled = [&](double v) { return std::ldexp(std::fabs(v), k); };
      line.to_zero_percent.push_back(percent_of(x, [&](double v) { return v != 0 && model.rounded(scaled(v)) == 0; }));
      line.overflow_percent.push_back(percent_of(x, [&](double v) { return scaled(v) >= model.overflow_from(); }));
    }
    window.lines.push_back(line);
  }
  return window;
}

struct Sums {
  std::int64_t zero = 0, exact = 0, rounded = 0, subnormal = 0, to_zero = 0, overflow = 0;
  double signal = 0, noise = 0, max_relative = 0, relative = 0, max_absolute = 0;
};

Sums sums_of(const Model& model, const Values& x) {
  Sums sums;
  for (const double v : x) {
    const double y = model.rounded(v);
    const bool overflows = std::fabs(v) >= model.overflow_from();
    const double error = overflows ? std::numeric_limits<double>::infinity() : std::fabs(v - y);
    ++(v == 0                                  ? sums.zero
       : overflows                             ? sums.overflow
       : y == 0                                ? sums.to_zero
       : v == y                                ? sums.exact
       : std::ilogb(y) < model.min_normal_log2 ? sums.subnormal
                                               : sums.rounded);
    sums.signal += v * v;
    sums.noise += error * error;
    sums.max_absolute = std::max(sums.max_absolute, error);
    if (v == 0) continue;
    sums.relative += error / std::fabs(v);
    sums.max_relative = std::max(sums.max_relative, error / std::fabs(v));
  }
  return sums;
}

Table errors_of(const std::string& tensor, const Values& x) {
  Table table{
      .name = "census",
      .columns = {"tensor", "format", "rounding", "policy", "scale", "count", "nan", "infinite", "zero", "exact", "rounded",
                  "subnormal", "to_zero", "overflow", "max_abs_error", "max_rel_error", "mean_rel_error", "sqnr_db"},
      .rows = {}};
  const auto count = static_cast<std::int64_t>(x.size());
  for (const auto& model : models) {
    const auto sums = sums_of(model, x);
    table.rows.push_back({tensor, model.name, "nearest_even", "nonsaturating", "none", count, std::int64_t{0}, std::int64_t{0},
                          sums.zero, sums.exact, sums.rounded, sums.subnormal, sums.to_zero, sums.overflow, sums.max_absolute,
                          sums.max_relative, sums.relative / static_cast<double>(count - sums.zero),
                          10 * std::log10(sums.signal / sums.noise)});
  }
  return table;
}

Section section(std::size_t place, const std::string& tensor, const std::string& facts, std::vector<Finding> findings,
                const Values& x) {
  const std::string id = "tensor-" + std::to_string(place);
  return {.id = id,
          .title = tensor,
          .mark = findings.front().severity,
          .fold = Section::Fold::closed,
          .blocks = {Prose{{facts}}, FindingList{std::move(findings)},
                     Figure{.name = id + "_exponents",
                            .title = "Where the elements are.",
                            .caption = "Bars.",
                            .description = "Elements by exponent.",
                            .data = histogram_of(x)},
                     Figure{.name = "",
                            .title = "What a loss scale changes.",
                            .caption = "Lines.",
                            .description = "Losses by scale.",
                            .data = window_of(x)},
                     errors_of(tensor, x)}};
}

Finding finding(Severity severity, const std::string& sentence) {
  return {.what = "to_zero%",
          .where = "a tensor",
          .value = 1.5,
          .threshold = 1.0,
          .source = "chosen: for this page",
          .severity = severity,
          .sentence = sentence};
}

HeatMap heat_map(const std::vector<Section>& sections) {
  HeatMap map{
      .columns = {"float16", "e4m3fn"}, .legend = {{HeatMap::Shade::mended, "mended"}}, .groups = {{"layer", "a file", {}}}};
  for (const Section& each : sections)
    map.groups[0].rows.push_back({.name = each.title.substr(each.title.rfind('.') + 1),
                                  .title = each.title,
                                  .link = each.id,
                                  .cells = {{HeatMap::Shade::good, "fits", "float16 holds all"},
                                            {HeatMap::Shade::mended, "2^19", "float8_e4m3fn holds all at 2^19"}}});
  return map;
}

}  // namespace

Page sample_page() {
  constexpr std::size_t count = 20000;
  using enum Severity;
  const auto gradient = values(count, [](auto& r) {
    const bool dead = r() % 8 == 0;
    const double magnitude = std::exp2(-14.5 + 3.2 * normal(r));
    return dead ? 0 : magnitude;
  });
  const auto activation = values(count, [](auto& r) { return r() % 3000 == 0 ? 900 * normal(r) : 1.3 * normal(r); });
  const auto weight = values(count, [](auto& r) { return 0.08 * normal(r); });
  Page page{.title = "What four formats do to three tensors",
            .settings = "Rounding nearest_even, policy nonsaturating, no scale, seed 0.",
            .command = "ulpscope sweep 'run 7/step-1200.safetensors' --to fp16,bf16,e4m3,e5m2 -o report",
            .blocks = {},
            .sections = {}};
  page.sections.push_back(
      section(1, "run 7/step-1200.safetensors:layers.11.mlp.down_proj.weight.grad",
              "float32, 200 x 100, 20000 elements, 12.5 % zero; magnitudes 2^-28.1 to 2^-2.2",
              {finding(bad, "float8_e4m3fn loses 80.5 % of the elements to zero; a loss scale of 2^10 brings that to 3.96 %."),
               finding(warning, "float8_e5m2 loses 19.3 % of the elements to zero; a loss scale of 2^10 loses none."),
               finding(good, "bfloat16 and float16 keep at least 99.9 % of the elements.")},
              gradient));
  page.sections.push_back(
      section(2, "run 7/step-1200.safetensors:layers.3.attention.out <\"post\" & 'norm'>",
              "float32, 200 x 100, 20000 elements; largest magnitude 2213",
              {finding(warning, "float8_e4m3fn turns 5 outliers above 464 into NaN; without them its range is enough."),
               finding(good, "float16, bfloat16 and float8_e5m2 hold every element.")},
              activation));
  page.sections.push_back(section(3, "run 7/step-1200.safetensors:layers.3.attention.q_proj.weight",
                                  "float32, 200 x 100, 20000 elements; standard deviation 0.08",
                                  {finding(good, "Every format holds at least 95 % of the elements as normal numbers.")},
                                  weight));
  page.blocks = {Prose{{"Three tensors."}}, Figure{.name = "heat_map",
                                                   .title = "Tensors by formats.",
                                                   .caption = "Cells.",
                                                   .description = "Fates.",
                                                   .data = heat_map(page.sections)}};
  return page;
}

}  // namespace ulpscope::reports
