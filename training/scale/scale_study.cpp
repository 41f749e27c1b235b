// SPDX-License-Identifier: Apache-2.0
// Steps scalers through a trace, and says what they did.
#include "training/scale/scale_study.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "requests/parts.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::training {
namespace {

using recipes::Scaler;
using studies::digits;

struct NamedScaler {
  std::string words;
  Scaler scaler;
};

std::vector<NamedScaler> scalers_of(const ScaleRequest& request, emu::Format to) {
  std::vector<NamedScaler> scalers;
  for (const std::string& list : request.scaler)
    for (const std::string& words : recipes::split_scalers(list)) {
      const bool known = std::any_of(scalers.begin(), scalers.end(), [&](const auto& other) { return other.words == words; });
      if (!known) scalers.push_back({words, Scaler(words, to)});
    }
  if (scalers.empty()) throw Error("--scaler: none given");
  return scalers;
}

/// What is counted of a step is counted once, though several scalers are at the same scale.
class StepLosses {
 public:
  StepLosses(const TraceStep& step, emu::Format to, int threads) : step_(step), to_(to), threads_(threads) {}

  const ScaledGradients& at(const GradientScaling& how) {
    for (const auto& [known, loss] : losses_)
      if (known == how) return loss;
    return losses_.emplace_back(how, scale_gradients(step_, to_, how, threads_)).second;
  }

 private:
  const TraceStep& step_;
  emu::Format to_;
  int threads_;
  std::vector<std::pair<GradientScaling, ScaledGradients>> losses_;
};

/// The largest float64 that rounds to a finite number.
double last_in_range(emu::Format to) {
  const emu::Code last = to.max_finite_code();
  const double largest = emu::decode(to, last), half_way = largest + (largest - emu::decode(to, last - 1)) / 2;
  return std::isfinite(emu::round_to(to, half_way).value) ? half_way : std::nextafter(half_way, 0.0);
}

SafeScales safe_scales(const TraceStep& step, const GradientRange& range, emu::Format to) {
  SafeScales safe{.step = step.step, .amax = range.amax};
  if (!std::isfinite(range.amax) || range.amax == 0) return safe;
  safe.greatest = last_in_range(to) / range.amax;
  if (range.least) safe.least = std::nextafter(emu::min_positive(to) / 2, HUGE_VAL) / *range.least;
  return safe;
}

ReplayedStep one_step(Scaler& scaler, const TraceStep& step, emu::Format to, double amax, StepLosses& losses) {
  ReplayedStep row{.number = step.step, .step = {}};
  recipes::Seen seen;
  if (scaler.follows_amax()) {
    if (!step.found_inf) seen.amax = amax;
    row.step = scaler.step(seen);
    if (!step.gradients.empty()) row.loss = losses.at({.scale = row.step.scale, .saturating = true});
    // What is finite saturates; infinities and NaN stay what they are.
    row.found_inf = row.loss ? row.loss->found_inf : !std::isfinite(amax) && !std::isfinite(emu::round_to(to, amax).value);
    return row;
  }
  if (!step.gradients.empty()) {
    row.loss = losses.at(
        {.scale = scaler.scale(), .unscaled_in_format = scaler.unscales_in_format(), .edge = scaler.bin_edge().value_or(0)});
    seen.found_inf = row.loss->found_inf;
    if (scaler.bin_edge()) seen.upper = row.loss->upper;
  } else if (step.amax) {
    const double scaled = amax * scaler.scale();
    const auto rounded = emu::round_to(to, scaled);
    seen.found_inf = !std::isfinite(rounded.value);
    row.clamped = !seen.found_inf && (!std::isfinite(scaled) || rounded.outcome == emu::Outcome::overflow);
    if (const auto edge = scaler.bin_edge()) seen.upper = scaled <= *edge ? 0 : 1;  // NaN is above, as where it is recorded
  } else {
    seen.found_inf = *step.found_inf;
  }
  row.found_inf = seen.found_inf;
  row.step = scaler.step(seen);
  return row;
}

emu::Format gradient_format(const ScaleRequest& request) {
  const emu::Format to = requests::parse_format(request.to);
  if (!to.is_signed()) throw Error("--to " + emu::format_name(to) + ": has no sign; gradients need one");
  return to;
}

/// `3.5`, `65536 (2^16)`, `2^24`.
std::string scale_words(double scale) {
  int exponent = 0;
  if (std::frexp(scale, &exponent) != 0.5) return digits(scale, 6);
  const std::string power = "2^" + std::to_string(exponent - 1);
  return scale >= 1e-3 && scale < 1e6 ? digits(scale, 6) + " (" + power + ")" : power;
}

std::string times(std::size_t n) { return n == 1 ? "once" : std::to_string(n) + " times"; }

reports::Finding finding_of(const Replay& replay) {
  const auto& steps = replay.steps;
  std::vector<std::uint64_t> skipped;
  std::size_t on_floor = 0, on_cap = 0, taken = 0, clamped = 0;
  std::uint64_t to_zero = 0, overflow = 0, elements = 0;
  for (const ReplayedStep& row : steps) {
    if (row.step.skipped) skipped.push_back(row.number);
    taken += row.found_inf && !row.step.skipped ? 1 : 0;
    clamped += row.clamped ? 1 : 0;
    on_floor += row.step.scale <= replay.floor ? 1 : 0;
    on_cap += row.step.scale >= replay.cap ? 1 : 0;
    if (row.loss && !row.step.skipped)
      to_zero += row.loss->to_zero, overflow += row.loss->overflow, elements += row.loss->elements;
  }
  const bool raised = steps.back().step.raised;
  std::string text = replay.scaler + ": ";
  if (skipped.empty())
    text += "no step of " + std::to_string(steps.size()) + " skipped";
  else
    text += std::to_string(skipped.size()) + " of " + std::to_string(steps.size()) + " steps skipped, the first " +
            std::to_string(skipped.front()) + (skipped.size() > 1 ? ", the last " + std::to_string(skipped.back()) : "");
  if (taken > 0) text += "; " + std::to_string(taken) + " taken though they overflowed";
  if (clamped > 0)
    text += "; " + std::to_string(clamped) +
            " beyond the format, which has no infinity that a scaler could find: its largest number was taken";
  if (elements > 0)
    text += "; of the " + std::to_string(elements) + " elements of the steps that were taken " + std::to_string(to_zero) +
            " became zero and " + std::to_string(overflow) +
            " were beyond the format: " + studies::percent(to_zero + overflow, elements);
  text += "; the last scale is " + scale_words(steps.back().step.next_scale);
  const double last = steps.back().step.next_scale;
  const bool is_dead = last == 0 || !std::isfinite(last);
  if (is_dead) text += last == 0 ? ", at which nothing is left of any gradient" : ", at which every gradient overflows";
  if (on_floor > 0) text += "; " + times(on_floor) + " on its floor, " + scale_words(replay.floor);
  if (on_cap > 0) text += "; " + times(on_cap) + " on its cap, " + scale_words(replay.cap);
  if (raised) text += "; it raises at step " + std::to_string(steps.back().number) + ", which ends the training";
  return {.what = "skipped",
          .where = replay.scaler,
          .value = reports::whole(skipped.size()),
          .threshold = "",
          .source = raised ? "the scaler's own minimum" : "",
          .severity = raised || is_dead ? reports::Severity::bad : reports::Severity::good,
          .sentence = text + "."};
}

}  // namespace

void ScaleRequest::describe(requests::Fields& fields) {
  fields.add("trace", trace, "a CSV file with the column found_inf (0 or 1) or amax, and step, or gradients named STEP/NAME")
      .as_input("TRACE")
      .needed();
  fields.add("scaler", scaler, "loss scalers, with :key=value,key=value behind the name; `ulpscope scalers` lists them")
      .as_repeated()
      .as_value("SCALER,...")
      .shown();
  fields.add("to", to, "format of the gradients: a step overflows where they do in it").as_value("F").shown();
  requests::describe_threads(fields, threads);
}

ScaleResult replay(const ScaleRequest& request, const studies::Progress& progress) {
  const emu::Format to = gradient_format(request);
  const Trace trace = read_trace(request.trace);
  std::vector<NamedScaler> scalers = scalers_of(request, to);
  ScaleResult result{.replays = {}, .windows = {}, .elements = trace.elements(), .remark = trace.remark};
  for (const NamedScaler& named : scalers)
    result.replays.push_back({.scaler = named.words, .steps = {}, .floor = named.scaler.floor(), .cap = named.scaler.cap()});
  for (std::size_t s = 0; s < trace.steps.size(); ++s) {
    const TraceStep& step = trace.steps[s];
    GradientRange range{.amax = step.amax.value_or(std::nan(""))};
    if (!step.gradients.empty()) range = range_of(step, request.threads);
    if (!step.found_inf) result.windows.push_back(safe_scales(step, range, to));
    StepLosses losses(step, to, request.threads);
    for (std::size_t i = 0; i < scalers.size(); ++i) {
      auto& rows = result.replays[i].steps;
      if (rows.empty() || !rows.back().step.raised) rows.push_back(one_step(scalers[i].scaler, step, to, range.amax, losses));
    }
    if (progress) progress(s + 1, trace.steps.size());
  }
  return result;
}

std::vector<reports::Table> scale_tables(const ScaleResult& result) {
  reports::Table table{"scale", {}, {}};
  for (const Replay& replay : result.replays)
    for (const ReplayedStep& row : replay.steps) {
      std::vector<reports::NamedCell> cells{{"scaler", replay.scaler},
                                            {"step", reports::whole(row.number)},
                                            {"scale", row.step.scale},
                                            {"found_inf", reports::whole(row.found_inf ? 1 : 0)},
                                            {"skipped", reports::whole(row.step.skipped ? 1 : 0)},
                                            {"next_scale", row.step.next_scale}};
      if (row.loss) {
        cells.emplace_back("to_zero", reports::whole(row.loss->to_zero));
        cells.emplace_back("subnormal", reports::whole(row.loss->subnormal));
        cells.emplace_back("overflow", reports::whole(row.loss->overflow));
        cells.emplace_back("cosine", row.loss->cosine);
      }
      table.add(cells);
    }
  std::vector<reports::Table> tables{std::move(table)};
  if (result.windows.empty()) return tables;
  reports::Table windows{"scale_windows", {}, {}};
  const auto cell = [](const std::optional<double>& x) { return x ? reports::Cell(*x) : reports::Cell(std::string()); };
  for (const SafeScales& window : result.windows)
    windows.add({{"step", reports::whole(window.step)},
                 {"amax", window.amax},
                 {"least_scale", cell(window.least)},
                 {"greatest_scale", cell(window.greatest)}});
  tables.push_back(std::move(windows));
  return tables;
}

std::vector<reports::Finding> scale_findings(const ScaleResult& result) {
  std::vector<reports::Finding> findings;
  for (const Replay& replay : result.replays) findings.push_back(finding_of(replay));
  return findings;
}

studies::StudyResult run(const ScaleRequest& request, const studies::Progress& progress) {
  const ScaleResult result = replay(request, progress);
  return {.tables = scale_tables(result), .findings = scale_findings(result)};
}

studies::Work work_of(const ScaleRequest& request) {
  const emu::Format to = gradient_format(request);
  const Trace trace = read_trace(request.trace);
  const std::size_t scalers = scalers_of(request, to).size();
  return {.operations = std::max<std::uint64_t>(trace.elements(), trace.steps.size()) * scalers,
          .rows = trace.steps.size() * scalers};
}

reports::Table scalers_table(const std::string& name) {
  if (name.empty()) {
    reports::Table table{"scalers", {"scaler", "parameters", "rule", "source"}, {}};
    for (const recipes::ScalerKind& kind : recipes::scaler_kinds()) {
      std::string words;
      for (const recipes::ScalerParameter& parameter : kind.parameters)
        words += (words.empty() ? "" : ",") + parameter.name + "=" + (parameter.standard.empty() ? "none" : parameter.standard);
      table.rows.push_back({kind.name, words, kind.help, kind.source});
    }
    return table;
  }
  const Scaler known(name);  // says what is near where it is not
  reports::Table table{"parameters", {"parameter", "default", "meaning"}, {}};
  for (const recipes::ScalerKind& kind : recipes::scaler_kinds())
    if (kind.name == known.name())
      for (const recipes::ScalerParameter& parameter : kind.parameters)
        table.rows.push_back({parameter.name, parameter.standard, parameter.help});
  return table;
}

}  // namespace ulpscope::training
