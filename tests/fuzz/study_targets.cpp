// SPDX-License-Identifier: Apache-2.0
// Readers that need every study: of study files, of the parts that shards write (of trainings, too), and of plans and
// checkpoints of casts.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "requests/toml.hpp"
#include "studies/cast/dequantized.hpp"
#include "studies/cast/layouts.hpp"
#include "studies/cast/plan.hpp"
#include "studies/shards/merged_parts.hpp"
#include "studies/shards/part_file.hpp"
#include "study_files/plan.hpp"
#include "study_files/study_part.hpp"
#include "tensors/hadamard.hpp"
#include "tests/fuzz/read_everything.hpp"
#include "tests/fuzz/targets.hpp"
#include "training/train/train_all.hpp"
#include "training/train/train_page.hpp"
#include "training/train/train_part.hpp"
#include "training/train/train_study.hpp"

namespace ulpscope::fuzz {

namespace {

/// The text outlives them.
studies::PartReader::NextLine lines_of(std::string_view text) {
  return [rest = text]() mutable -> std::optional<std::string> {
    if (rest.empty()) return std::nullopt;
    const std::size_t end = rest.find('\n');
    std::string line(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    return line;
  };
}

std::string written_again(std::string_view text, const std::string& name) {
  studies::PartReader reader(lines_of(text), name);
  std::string again;
  studies::PartWriter writer(reader.head(), [&](std::string_view more) { again += more; });
  for (std::size_t i = 0; i < reader.head().pieces.size(); ++i) writer.add(studies::piece_line(reader.next()));
  writer.finish();
  return again;
}

training::TrainPart train_part_of(std::string_view text, const std::string& name) {
  const studies::PartReader::NextLine next_line = lines_of(text);
  training::TrainPart part = training::read_train_part(next_line, name);
  part.runs = training::read_train_runs(next_line, name, part);
  return part;
}

std::string text_of(const training::TrainPart& part) {
  std::string text;
  training::write_train_part(part, [&](std::string_view more) { text += more; });
  return text;
}

/// Also the report of all its runs, where none is missing.
void read_train_text(std::string_view all) {
  training::TrainPart part = train_part_of(all, "input");
  const std::string text = text_of(part);
  if (text_of(train_part_of(text, "again")) != text) std::abort();
  const training::TrainPart whole = training::merged({std::move(part)}, {"input"});
  training::train_page(whole.runs, training::parse_train_study(whole.text, whole.study));
  training::recorded_files(whole.runs);
}

}  // namespace

void read_study(const std::uint8_t* data, std::size_t size) {
  try {
    study_files::plan(requests::parse_toml({reinterpret_cast<const char*>(data), size}, "input"), {});
  } catch (const Error&) {
  }
}

void read_parts(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  try {
    if (study_files::is_study_part(all)) {
      const std::string cells = to_text(study_files::study_part_of(all, "input"));
      if (to_text(study_files::study_part_of(cells, "again")) != cells) std::abort();
    }
  } catch (const Error&) {
  }
  try {
    if (training::begins_train_part(all)) read_train_text(all);
  } catch (const Error&) {
  }
  try {
    const std::string text = written_again(all, "input");
    if (written_again(text, "again") != text) std::abort();
    std::vector<studies::PartReader> one, two;
    one.emplace_back(lines_of(text), "input");
    two.emplace_back(lines_of(text), "input");
    two.emplace_back(lines_of(text), "again", &two.front());
    const auto finish = [](std::size_t, const studies::TensorPart& whole) {
      for (const studies::PartialSums& sums : whole.census) static_cast<void>(sums.finish());
      for (const studies::BlockSums& blocks : whole.blocks) static_cast<void>(blocks.decibels.quantile(0.5));
    };
    studies::MergedParts(std::move(one)).for_each(finish);
    studies::MergedParts(std::move(two)).for_each(finish);
  } catch (const Error&) {
  }
}

void read_plan(const std::uint8_t* data, std::size_t size) {
  studies::CastPlan plan;
  try {
    plan = studies::parse_plan({reinterpret_cast<const char*>(data), size}, "input");
    plan.check();
  } catch (const Error&) {
    return;
  }
  const std::string text = plan_text(plan);
  if (plan_text(studies::parse_plan(text, "again")) != text) std::abort();
  const studies::RuleIndex rules(plan);
  const studies::FusedSets sets(plan.fused);
  for (const std::string name : {"", "model.layers.0.q_proj.weight"}) {
    const auto first = std::ranges::find_if(plan.rules, [&](const studies::PlanRule& rule) { return rule.matches(name); });
    const studies::PlanRule* const rule = first == plan.rules.end() || first->copies() ? nullptr : &*first;
    if (rules.rule_for(name) != rule || sets.key_of(name).empty() != sets.words_of(name).empty()) std::abort();
  }
}

void read_layouts(const std::uint8_t* data, std::size_t size) {
  read_everything(data, size, [](const tensors::FileBytes& file) {
    const std::string metadata = tensors::read_safetensors_metadata(file);
    const std::set<std::string> wide = studies::wide_codes_in(metadata, file.name);
    const std::string word = studies::hadamard_in(metadata);
    if (studies::wide_codes_in(studies::with_wide_codes(metadata, {wide.begin(), wide.end()}), "again") != wide ||
        studies::hadamard_in(studies::with_hadamard(metadata, word)) != word)
      std::abort();
    std::optional<tensors::Hadamard> hadamard;
    if (!word.empty()) hadamard = tensors::parse_hadamard(word);
    const std::vector<tensors::Tensor> stored = tensors::read_safetensors(file);
    const studies::Dequantized all = studies::dequantized(stored, wide, hadamard);
    if (all.tensors.size() > stored.size() || all.values.size() != all.put_together) std::abort();
    return all.tensors;
  });
}

}  // namespace ulpscope::fuzz
