// SPDX-License-Identifier: Apache-2.0
// Measures every tensor in every format under every rule, puts groups together, and recommends.
#include "studies/choose/choose.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "requests/numbers.hpp"
#include "studies/cast/cast_tensors.hpp"
#include "studies/cast/dequantized.hpp"
#include "studies/cast/layouts.hpp"
#include "studies/cast/stored_tensor.hpp"
#include "studies/census/all_tensors.hpp"
#include "studies/census/groups.hpp"
#include "tensors/inputs.hpp"
#include "tensors/safetensors_dtypes.hpp"
#include "tensors/write.hpp"

namespace ulpscope::studies {
namespace {

/// `0.1%` or `0.001`. @throws ulpscope::Error
double share_of(const std::string& word) {
  const bool is_percent = word.ends_with('%');
  const std::string digits = word.substr(0, word.size() - (is_percent ? 1 : 0));
  const double scale = is_percent ? 100 : 1;
  if (!requests::read_real(digits, {.least = 0, .most = scale}).empty())
    throw Error("--below '" + word + "': give a share, as 0.1% or 0.001");
  return requests::real_of(digits) / scale;
}

/// Bits of an element that is copied into a .safetensors file.
double copied_bits(const tensors::Tensor& tensor) {
  return tensor.dtype.format ? tensor.dtype.format->bits() : tensors::stored_bits(tensor);
}

/// Bits by which an element of a file is wider than a code: integers take whole bytes.
double padding_bits(emu::Format format) { return format.is_integer() ? tensors::whole_bytes(format) - format.bits() : 0; }

/// Bits of an element and of its share of the scales in a file of this layout, which has a place for the tensor.
double bits_in(const StorageLayout& layout, const std::string& name, const tensors::Tensor& tensor, const Quantized& row) {
  std::uint64_t bytes = 0;
  for (const tensors::NamedCodes& entry :
       entries_of(layout, name, tensor, {.format = row.format, .scaling = row.scaling, .options = {}},
                  std::make_shared<QuantizedOne>()))
    bytes += tensors::stored_bytes(entry);
  return 8 * static_cast<double>(bytes) / static_cast<double>(row.count);
}

constexpr const char* not_of_layout = "does not store them";

/// Why a file of this layout cannot hold a tensor of that name and shape, or not as what it was. Empty: it can.
std::string obstacle(const StorageLayout& layout, const std::string& name, const std::vector<std::uint64_t>& shape,
                     const Quantized& row) {
  const bool has_dtype = row.format.is_integer() || !tensors::safetensors_word(row.format).empty();
  if (!has_dtype) return "safetensors has no dtype for them";
  if (!fills_bytes(row.format, row.count)) return "codes would end within a byte";
  if (!layout.stores(row.format, row.scaling.rule)) return "layout " + std::string(layout.name) + " " + not_of_layout;
  std::string why = row.count == 0 ? std::string() : obstacle_in(layout, name, shape, row.format, row.scaling.rule);
  return why.empty() ? objection_to(row) : why;
}

/// Of several the one that other formats mend.
std::string first_obstacle(const std::map<std::string, std::string>& obstacles) {
  const auto other =
      std::ranges::find_if(obstacles, [](const auto& of_pair) { return !of_pair.second.ends_with(not_of_layout); });
  return (other == obstacles.end() ? obstacles.begin() : other)->second;
}

/// Tensors that are decided together, and their rows put together.
struct Members {
  Choice choice;
  std::vector<Quantized> rows = {};
  bool is_kept = false;  ///< asked to stay as it is
  std::map<std::string, std::string> obstacles = {};  ///< pairs of a format and a rule that one of them has not, and why
};

/// Puts the row of another tensor, in the same format under the same rule, to that of those before.
void merge(Quantized& all, const Quantized& row, const std::string& name) {
  const double elements = static_cast<double>(all.count), more = static_cast<double>(row.count);
  if (all.count + row.count != 0)
    all.bits_per_element = (all.bits_per_element * elements + row.bits_per_element * more) / (elements + more);
  all.tensor = name;
  all.count += row.count;
  all.finite += row.finite;
  all.infinite += row.infinite;
  all.nan += row.nan;
  all.to_zero += row.to_zero;
  all.overflow += row.overflow;
  all.lost_share = std::max(all.lost_share, row.lost_share);
  if (!(all.sqnr_db <= row.sqnr_db)) all.sqnr_db = row.sqnr_db;
}

void add(Members& members, const std::vector<Quantized>& rows) {
  if (members.rows.empty()) {
    members.rows = rows;
    for (Quantized& row : members.rows) row.tensor = members.choice.name;
    return;
  }
  for (Quantized& all : members.rows)
    for (const Quantized& row : rows)
      if (row.format == all.format && row.scaling.word == all.scaling.word) merge(all, row, members.choice.name);
}

Requirement requirement_of(const ChooseRequest& request) {
  return {.sqnr_db = request.sqnr, .lost_share = share_of(request.below)};
}

tensors::Inputs open_inputs(const ChooseRequest& request, const std::string& hadamard) {
  tensors::OpenOptions options = request.reading.options();
  options.hadamard = hadamard;
  return tensors::open_numbers(request.inputs, options, tensors::Integers::leave_out);
}

std::string megabytes(double bits) { return digits(bits / 8e6, 4) + " MB"; }

/// `8 MB become 2.1 MB: 5 as float8_e4m3fn, row; 3 stay`
std::string summary_of(const std::vector<Choice>& choices) {
  double before = 0, after = 0;
  std::map<std::string, int> chosen;
  int staying = 0;
  for (const Choice& choice : choices) {
    const double elements = static_cast<double>(choice.count);
    before += elements * choice.bits_before;
    after += elements * (choice.copies ? choice.bits_copied : choice.recommendation.choice.bits_per_element);
    if (choice.copies)
      ++staying;
    else
      ++chosen[name_of(choice.recommendation.choice)];
  }
  std::string text = megabytes(before) + " become " + megabytes(after) + ":";
  for (const auto& [what, count] : chosen) text += " " + std::to_string(count) + " as " + what + ";";
  return text + " " + std::to_string(staying) + (staying == 1 ? " stays as it is" : " stay as they are");
}

/// Where a copy in a .safetensors is wider than what is stored.
std::string of_stored_blocks(const Choice& choice) {
  return " than the " + digits(choice.bits_before, 4) + " that are stored; copied into a .safetensors it takes " +
         digits(choice.bits_copied, 4);
}

/// Sorts tensors that have something in common: each of its words.
class Together {
 public:
  explicit Together(std::size_t count) : leader_(count) { std::iota(leader_.begin(), leader_.end(), std::size_t{0}); }

  void add(std::size_t tensor, const std::string& word) {
    const auto [first, is_new] = first_.try_emplace(word, tensor);
    if (!is_new) leader_[leader(tensor)] = leader(first->second);
  }
  std::size_t leader(std::size_t tensor) {
    while (leader_[tensor] != tensor) tensor = leader_[tensor] = leader_[leader_[tensor]];
    return tensor;
  }

 private:
  std::vector<std::size_t> leader_;
  std::map<std::string, std::size_t> first_;
};

/// What is known of a tensor before it is measured.
struct TensorAsked {
  std::string name;
  bool is_kept = false;  ///< asked to stay as it is
  std::optional<std::string> group;
  std::string set;  ///< of those that share a scale; empty: none
};

std::vector<TensorAsked> asked_of(const ChooseRequest& request, const std::vector<tensors::Tensor>& tensors) {
  const NamePattern groups(request.group);
  const FusedSets sets(request.naming.fused);
  std::vector<TensorAsked> all;
  for (const tensors::Tensor& tensor : tensors) {
    TensorAsked& asked = all.emplace_back();
    asked.name = tensors::written_name(tensor);
    asked.is_kept = std::ranges::any_of(
        request.copy, [&](const std::string& pattern) { return PlanRule{.match = pattern}.matches(asked.name); });
    if (asked.is_kept) continue;
    asked.group = groups.group_of(asked.name);
    asked.set = sets.words_of(asked.name);
  }
  for (const std::string& pattern : request.copy)
    if (std::ranges::none_of(all, [&](const TensorAsked& asked) { return PlanRule{.match = pattern}.matches(asked.name); }))
      throw Error("--copy '" + pattern + "': matches the name of no tensor");
  if (!request.group.empty() && std::ranges::none_of(all, [](const TensorAsked& asked) { return asked.group.has_value(); }))
    throw Error("--group '" + request.group + "': matches the name of no tensor");
  if (!request.naming.fused.empty() && std::ranges::all_of(all, [](const TensorAsked& asked) { return asked.set.empty(); }))
    throw Error("--fused " + request.naming.fused.front() + ": no tensor's name has a part of it");
  return all;
}

/// The greatest magnitude of each tensor's set; none where it is of no set.
std::vector<std::optional<double>> amax_of_sets(const std::vector<tensors::Tensor>& tensors,
                                                const std::vector<TensorAsked>& asked) {
  std::map<std::string, double> amax;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!asked[i].set.empty()) amax[asked[i].set] = std::max(amax[asked[i].set], amax_of(tensors[i]));
  std::vector<std::optional<double>> all;
  for (const TensorAsked& of_tensor : asked)
    all.push_back(of_tensor.set.empty() ? std::nullopt : std::optional(amax.at(of_tensor.set)));
  return all;
}

}  // namespace

void ChooseRequest::describe(requests::Fields& fields) {
  fields.add("inputs", inputs, "checkpoints, tensor files, or FILE:NAME").as_input("INPUT").needed();
  formats.describe(fields);
  fields.add("scale", scale, "rules of scales to choose from, as census has them").as_commas().as_value("SCALE,...").shown();
  fields.add("sqnr", sqnr, "decibels that a tensor keeps at least").real({.least = 0}).as_value("DB").shown();
  fields.add("below", below, "the most of its nonzero numbers that may become zero or overflow").as_value("SHARE").shown();
  fields
      .add("group", group,
           "a regular expression (Perl's): tensors whose names have the same first capture are decided together")
      .as_value("REGEX");
  fields.add("copy", copy, "tensors that stay as they are: a pattern of names").as_value("PATTERN").as_repeated();
  naming.describe(fields);
  requests::describe_seed(fields, reading.seed, "key of synthetic tensors");
  reading.describe(fields);
  requests::describe_only_dtype(fields, reading.only_dtype, "the tensors of these dtypes alone");
  requests::describe_threads(fields, threads);
}

Choices choose(const ChooseRequest& request, const Progress& progress, const OpenKeptRows& open_kept) {
  const Requirement requirement = requirement_of(request);
  request.naming.check();
  const StorageLayout& layout = find_layout(request.naming.layout);
  const tensors::Inputs inputs = open_inputs(request, ""), rounded = open_inputs(request, request.naming.hadamard);
  const std::vector<TensorAsked> asked = asked_of(request, inputs.kept);
  refuse_codes(codes_under_scales(request.inputs, inputs, request.reading.options()),
               "choose for what they were made of, or --copy them", [&](const tensors::Tensor& codes) {
                 return std::ranges::any_of(
                     asked, [&](const TensorAsked& one) { return !one.is_kept && one.name == tensors::written_name(codes); });
               });
  QuantizationRequest measuring;
  measuring.formats = request.formats;
  measuring.scale = request.scale;
  measuring.reading = request.reading;
  measuring.threads = request.threads;
  measuring.quantiles = false;
  QuantizationInputs measured_of{rounded.kept, inputs.kept, amax_of_sets(rounded.kept, asked)};
  if (open_kept) measured_of.kept = open_kept(inputs.kept, inputs.kept.size() * measured_pairs(measuring));
  const std::vector<Quantized> rows = quantize(measured_of, measuring, progress);
  const std::size_t each = rows.size() / inputs.kept.size();

  // One rule of a plan is for all tensors of a name, and a set whose scale is shared has one rule.
  Together together(inputs.kept.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    together.add(i, "name " + asked[i].name);
    if (asked[i].group) together.add(i, "group " + *asked[i].group);
    if (!asked[i].set.empty()) together.add(i, "set " + asked[i].set);
  }
  std::vector<Members> all;
  std::map<std::size_t, std::size_t> index;
  for (std::size_t i = 0; i < inputs.kept.size(); ++i) {
    const tensors::Tensor& tensor = inputs.kept[i];
    const TensorAsked& of_tensor = asked[i];
    const auto [found, is_new] = index.try_emplace(together.leader(i), all.size());
    if (is_new)
      all.push_back({.choice = {.name = of_tensor.group         ? "group:" + *of_tensor.group
                                        : of_tensor.set.empty() ? tensor.label
                                                                : emu::visible(of_tensor.set)},
                     .is_kept = of_tensor.is_kept});
    Members& members = all[found->second];
    Choice& choice = members.choice;
    const double elements = static_cast<double>(choice.count), more = static_cast<double>(tensor.count());
    if (elements + more > 0) {
      choice.bits_before = (choice.bits_before * elements + tensors::stored_bits(tensor) * more) / (elements + more);
      choice.bits_copied = (choice.bits_copied * elements + copied_bits(tensor) * more) / (elements + more);
    } else {
      choice.bits_before = tensors::stored_bits(tensor), choice.bits_copied = copied_bits(tensor);
    }
    choice.count += tensor.count();
    ++choice.tensors;
    if (const std::string pattern = pattern_of(of_tensor.name);
        std::ranges::find(choice.patterns, pattern) == choice.patterns.end())
      choice.patterns.push_back(pattern);
    std::vector<Quantized> measured(rows.begin() + static_cast<std::ptrdiff_t>(i * each),
                                    rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * each));
    if (std::ranges::none_of(measured, [&](const Quantized& row) { return layout.stores(row.format, row.scaling.rule); }))
      throw Error("--layout " + request.naming.layout + ": stores none of these formats and scales; it stores " +
                  stored_words(layout));
    for (Quantized& row : measured) {
      row.bits_per_element += padding_bits(row.format);
      if (std::string why = obstacle(layout, of_tensor.name, tensor.shape, row); !why.empty())
        members.obstacles.try_emplace(name_of(row), std::move(why));
      else if (row.count != 0)
        row.bits_per_element = bits_in(layout, of_tensor.name, tensor, row);
    }
    add(members, measured);
  }

  Choices choices;
  for (Members& members : all) {
    Choice& choice = members.choice;
    std::vector<Quantized> held;
    std::vector<LeftOut> others;
    for (const Quantized& row : members.rows)
      if (const auto at = members.obstacles.find(name_of(row)); at == members.obstacles.end())
        held.push_back(row);
      else
        others.push_back({row, at->second});
    choice.recommendation = held.empty() ? recommend(members.rows, requirement) : recommend(held, requirement, others);
    if (held.empty()) choice.recommendation.reaches = false;
    const double bits = choice.recommendation.choice.bits_per_element;
    const bool saves = bits < choice.bits_before && bits < choice.bits_copied;  // blocks of GGUF have fewer bits than copies
    choice.copies = members.is_kept || !choice.recommendation.reaches || !saves;
    if (members.is_kept)
      choice.recommendation.reason = "--copy";
    else if (held.empty() && choice.count != 0)
      choice.recommendation.reason = "none of these formats keeps it: " + first_obstacle(members.obstacles);
    else if (choice.count != 0 && choice.recommendation.choice.finite == 0)
      choice.recommendation.reason = "it has no finite number";
    else if (choice.recommendation.reaches && choice.copies)
      choice.recommendation.reason = name_of(choice.recommendation.choice) + " keeps what is asked, and has no fewer bits" +
                                     (bits < choice.bits_copied ? of_stored_blocks(choice) : "");
    choices.all.push_back(std::move(choice));
  }
  choices.remarks = tensors::left_out(rounded, "");
  if (const std::string line = left_out(measuring); !line.empty()) choices.remarks.push_back(line);
  choices.remarks.push_back(summary_of(choices.all));
  return choices;
}

reports::Table choose_table(const ChooseRequest& request, const Choices& choices) {
  reports::Table table{"choose",
                       {"tensor", "count", "tensors", "bits_before", "format", "scale", "bits_per_element", "sqnr_db_wanted",
                        "sqnr_db", "lost_share", "reason"},
                       {}};
  for (const Choice& choice : choices.all) {
    const Quantized& row = choice.recommendation.choice;
    table.rows.push_back({choice.name, reports::whole(choice.count), reports::whole(choice.tensors), choice.bits_before,
                          choice.copies ? std::string(PlanRule::copy) : emu::format_name(row.format),
                          choice.copies ? std::string("none") : row.scaling.word,
                          choice.copies ? choice.bits_copied : row.bits_per_element, request.sqnr,
                          choice.copies ? std::numeric_limits<double>::infinity() : row.sqnr_db,
                          choice.copies ? 0 : row.lost_share, choice.recommendation.reason});
  }
  return table;
}

CastPlan plan_of(const ChooseRequest& request, const Choices& choices) {
  CastPlan plan = request.naming;
  for (const Choice& choice : choices.all)
    for (const std::string& pattern : choice.patterns) {
      const Quantized& row = choice.recommendation.choice;
      plan.rules.push_back({.match = pattern,
                            .to = choice.copies ? PlanRule::copy : emu::format_name(row.format),
                            .scale = choice.copies ? "none" : row.scaling.word,
                            .reason = choice.recommendation.reason});
    }
  const bool has_scales = std::ranges::any_of(
      plan.rules, [](const PlanRule& rule) { return !rule.copies() && rule.scaling().rule != ScaleRule::none; });
  if (!has_scales) plan.hadamard.clear();
  return plan;
}

StudyResult run(const ChooseRequest& request, const Progress& progress) {
  const Choices choices = choose(request, progress);
  StudyResult result{.tables = {choose_table(request, choices)}, .remarks = choices.remarks};
  for (const Choice& choice : choices.all) {
    const Recommendation& recommendation = choice.recommendation;
    result.findings.push_back(
        {.what = "sqnr_db",
         .where = choice.name,
         .value = recommendation.choice.sqnr_db,
         .threshold = request.sqnr,
         .source = "asked for",
         .severity = choice.copies ? reports::Severity::warning : reports::Severity::good,
         .sentence = choice.name + ": " +
                     (choice.copies ? "leave it as it is" : "store it as " + name_of(recommendation.choice)) + ": " +
                     recommendation.reason + "."});
  }
  return result;
}

Work work_of(const ChooseRequest& request) {
  QuantizationRequest measuring;
  measuring.inputs = request.inputs;
  measuring.formats = request.formats;
  measuring.scale = request.scale;
  measuring.reading = request.reading;
  Work work = work_of(measuring);
  work.rows = open_inputs(request, "").kept.size();
  return work;
}

}  // namespace ulpscope::studies
