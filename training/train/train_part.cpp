// SPDX-License-Identifier: Apache-2.0
// A run as it is saved on its way, its numbers by their bits.
#include "training/train/train_part.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "files/work_folder.hpp"
#include "training/train/saved_run.hpp"
#include "training/train/train_all.hpp"
#include "training/train/train_study.hpp"

namespace ulpscope::training {
namespace {

using PartJson = nlohmann::ordered_json;

constexpr std::string_view part_begin = R"({"ulpscope":"part of a training study")", runs_begin = R"("runs": [)";
constexpr const char* not_a_part = "is no part of a training study, or not all of it";
constexpr std::size_t digits_of_number = 16;

std::string text_of(const PartJson& value) { return value.dump(-1, ' ', false, PartJson::error_handler_t::replace); }

/// Nothing is lost, and NaN and infinities need no words.
std::string bits_of(std::span<const double> numbers) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  text.reserve(digits_of_number * numbers.size());
  for (const double x : numbers)
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[(std::bit_cast<std::uint64_t>(x) >> shift) & 15];
  return text;
}

std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < text.size(); at += digits_of_number) {
    std::uint64_t bits = 0;
    const char* const begin = text.data() + at;
    const char* const end = begin + std::min(digits_of_number, text.size() - at);
    if (const auto read = std::from_chars(begin, end, bits, 16); read.ptr != begin + digits_of_number)
      throw Error("'" + text.substr(at, digits_of_number) + "' are no bits of a number");
    numbers.push_back(std::bit_cast<double>(bits));
  }
  return numbers;
}

void write_run(const RunResult& result, const std::function<void(std::string_view text)>& write) {
  SavedRun saved;
  save_result(result, saved);
  saved.numbers["optimum"] = result.optimum ? std::vector{*result.optimum} : std::vector<double>();
  PartJson formats = PartJson::array();
  for (const emu::Format& format : {result.weights_format, result.average_format, result.statistics_format})
    formats.push_back(emu::format_name(format));
  const PartJson facts{{"recipe", result.recipe}, {"seed", result.seed}, {"formats", formats}, {"words", saved.words}};
  std::string text = text_of(facts);
  text.back() = ',';
  write(text.append(R"("numbers":[)"));
  std::string before = "\n";
  for (const auto& [name, values] : saved.numbers)
    for (std::size_t first = 0; first == 0 || first < values.size(); first += numbers_of_line) {
      const auto some = std::span(values).subspan(first, std::min(numbers_of_line, values.size() - first));
      write(before + text_of(PartJson::array({name, bits_of(some)})));
      before = ",\n";
    }
  write("\n]}");
}

/// Takes a line of numbers, which go on those of lines before it under the same name.
void take_numbers(std::string line, SavedRun& saved) {
  if (line.ends_with(',')) line.pop_back();
  const PartJson some = emu::parse_json<PartJson>(line);
  std::vector<double>& numbers = saved.numbers[some.at(0).get_ref<const std::string&>()];
  const std::vector<double> more = numbers_of(some.at(1).get_ref<const std::string&>());
  numbers.insert(numbers.end(), more.begin(), more.end());
}

emu::Format format_of(const PartJson& name) {
  const auto& word = name.get_ref<const std::string&>();
  const std::optional<emu::Format> format = emu::parse_format(word);
  if (!format) throw Error("'" + word + "' is no format");
  return *format;
}

/// What tables and findings take for granted of a run. @throws ulpscope::Error
void check_run(const RunResult& run, const TrainPart& head) {
  const std::string name = run_name(run.recipe, run.seed);
  if (std::ranges::find(head.recipes, run.recipe) == head.recipes.end() ||
      std::ranges::find(head.seeds, run.seed) == head.seeds.end())
    throw Error("has a run that nobody asked for, " + name);
  const bool is_whole = run.steps.size() == head.steps;
  if (run.steps.empty() || run.steps.size() > head.steps || (!is_whole && !run.diverged))
    throw Error("has " + std::to_string(run.steps.size()) + " steps of " + name + ", not " + std::to_string(head.steps));
  for (std::size_t i = 0; i < run.steps.size(); ++i)
    if (run.steps[i].step != i) throw Error("has the steps of " + name + " in another order");
  for (const WatchedPlace& watched : run.places)
    if (const PlaceCounts& c = watched.counts;
        c.nan + c.infinite + c.zero + c.exact + c.subnormal + c.to_zero + c.overflow > c.count)
      throw Error("has roundings of " + name + " that do not add up");
  for (const auto* const recorded : {&run.recorded, &run.gradients})
    for (std::size_t i = 0; i < recorded->size(); ++i)
      if ((*recorded)[i].step > head.steps || (i > 0 && (*recorded)[i].step <= (*recorded)[i - 1].step))
        throw Error("has records of " + name + " in another order");
}

/// `saved` has its numbers.
RunResult run_of(const PartJson& facts, SavedRun saved, const TrainPart& head, const TrainStudy& study) {
  saved.words = facts.at("words").get<std::map<std::string, std::string>>();
  RunResult run;
  run.recipe = facts.at("recipe").get<std::string>(), run.seed = emu::whole_number<std::uint64_t>(facts.at("seed"));
  const PartJson& formats = facts.at("formats");
  run.weights_format = format_of(formats.at(0)), run.average_format = format_of(formats.at(1));
  run.statistics_format = format_of(formats.at(2));
  run.parameters = parameters_of(study.model), run.updates.resize(run.parameters.size());
  restore_result(saved, run);
  if (const std::vector<double>& optimum = saved.at("optimum"); !optimum.empty()) run.optimum = optimum.front();
  check_run(run, head);
  return run;
}

Error wrong(const std::string& name, const std::string& why) { return Error(emu::visible(name + ": " + why)); }

/// Calls `read`, and says in the name of the file what is wrong.
template <class Read>
auto guarded(const std::string& name, Read read) {
  try {
    return read();
  } catch (const emu::BadJson& problem) {
    throw wrong(name, std::string("is no part of a training study: ") + problem.what());
  } catch (const Error& problem) {
    throw wrong(name, problem.what());
  } catch (const PartJson::exception&) {
    throw wrong(name, not_a_part);
  }
}

/// What `next_line` throws names the file already.
std::string line_of(const studies::PartReader::NextLine& next_line, const std::string& name) {
  std::optional<std::string> line = next_line();
  if (!line || line->empty()) throw wrong(name, not_a_part);
  return *std::move(line);
}

TrainPart head_of(const PartJson& facts) {
  TrainPart head{.version = facts.at("version").get<std::string>(),
                 .commit = facts.at("commit").get<std::string>(),
                 .study = facts.at("study").get<std::string>(),
                 .text = facts.at("text").get<std::string>(),
                 .work = facts.at("work").get<std::string>(),
                 .recipes = facts.at("recipes").get<std::vector<std::string>>(),
                 .seeds = {},
                 .steps = emu::whole_number<std::uint64_t>(facts.at("steps")),
                 .arguments = facts.at("arguments").get<std::vector<std::string>>(),
                 .runs = {}};
  for (const PartJson& seed : facts.at("seeds")) {
    head.seeds.push_back(emu::whole_number<std::uint64_t>(seed));
    if (head.seeds.back() > std::numeric_limits<std::int64_t>::max()) throw Error("has a seed that is too large");
  }
  for (const std::string& recipe : head.recipes)  // they become names of files
    if (recipe.empty() || recipe.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
      throw Error("'" + recipe + "' is no name of a recipe");
  if (head.recipes.empty() || head.seeds.empty()) throw Error("is of no run");
  return head;
}

}  // namespace

void write_train_part(const TrainPart& part, const std::function<void(std::string_view text)>& write) {
  const PartJson facts{{"version", part.version}, {"commit", part.commit}, {"study", part.study},
                       {"text", part.text},       {"work", part.work},     {"recipes", part.recipes},
                       {"seeds", part.seeds},     {"steps", part.steps},   {"arguments", part.arguments}};
  std::string text = std::string(part_begin) + "," + text_of(facts).substr(1);
  text.back() = ',';
  write((text += "\n").append(runs_begin));
  for (const RunResult& run : part.runs) {
    write(&run == part.runs.data() ? "\n" : ",\n");
    write_run(run, write);
  }
  write("\n]");
}

bool begins_train_part(std::string_view text) { return text.starts_with(part_begin); }

TrainPart read_train_part(const studies::PartReader::NextLine& next_line, const std::string& name) {
  std::string facts = line_of(next_line, name);
  if (!begins_train_part(facts)) throw wrong(name, not_a_part);
  facts.back() = '}';
  return guarded(name, [&] { return head_of(emu::parse_json<PartJson>(facts)); });
}

std::vector<RunResult> read_train_runs(const studies::PartReader::NextLine& next_line, const std::string& name,
                                       const TrainPart& head) {
  const TrainStudy study = guarded(name, [&] { return parse_train_study(head.text, head.study); });
  if (line_of(next_line, name) != runs_begin) throw wrong(name, not_a_part);
  std::vector<RunResult> runs;
  for (std::string line = line_of(next_line, name); !line.starts_with(']'); line = line_of(next_line, name)) {
    const PartJson facts = guarded(name, [&] { return emu::parse_json<PartJson>(line + "]}"); });
    SavedRun saved;
    for (line = line_of(next_line, name); !line.starts_with(']'); line = line_of(next_line, name))
      guarded(name, [&] { take_numbers(std::move(line), saved); });
    runs.push_back(guarded(name, [&] { return run_of(facts, std::move(saved), head, study); }));
  }
  while (next_line()) continue;  // what gives lines knows only behind the last whether they were those of a whole file
  return runs;
}

TrainPart merged(std::vector<TrainPart> parts, const std::vector<std::string>& names) {
  const auto fail = [](const std::string& name, const std::string& why) { throw wrong(name, why); };
  TrainPart all = std::move(parts.front());
  std::map<std::pair<std::string, std::uint64_t>, RunResult> found;
  const auto take = [&](std::vector<RunResult>& runs, const std::string& name) {
    for (RunResult& run : runs) {
      const std::pair key(run.recipe, run.seed);
      if (found.contains(key)) fail(name, "has " + run_name(run.recipe, run.seed) + ", which another part has, too");
      if (!found.empty() && found.begin()->second.step_time.has_value() != run.step_time.has_value())
        fail(name, "has times of some runs, and of others none");
      found.emplace(key, std::move(run));
    }
  };
  take(all.runs, names.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    TrainPart& part = parts[i];
    if (part.study != all.study || part.text != all.text || part.recipes != all.recipes || part.seeds != all.seeds ||
        part.steps != all.steps)
      fail(names[i], "is of another study, other recipes or other seeds than " + names.front());
    if (part.work != all.work)
      fail(names[i], "is of other work than " + names.front() + ": " + files::first_difference(all.work, part.work));
    take(part.runs, names[i]);
  }
  all.runs.clear();
  for (const std::string& recipe : all.recipes)
    for (const std::uint64_t seed : all.seeds) {
      const auto run = found.find({recipe, seed});
      if (run == found.end()) throw Error(emu::visible(run_name(recipe, seed) + ": is in no part"));
      all.runs.push_back(std::move(run->second));
      found.erase(run);
    }
  return all;
}

}  // namespace ulpscope::training
