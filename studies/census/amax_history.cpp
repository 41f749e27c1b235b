// SPDX-License-Identifier: Apache-2.0
// Reads every tensor once, and puts those of one name in a row.
#include "studies/census/amax_history.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "emu/error.hpp"
#include "emu/math.hpp"
#include "emu/visible.hpp"
#include "studies/cast/dequantized.hpp"
#include "studies/census/all_tensors.hpp"
#include "studies/census/scaling.hpp"
#include "tensors/inputs.hpp"

namespace ulpscope::studies {
namespace {

constexpr double unknown_growth = std::numeric_limits<double>::quiet_NaN(), endless = std::numeric_limits<double>::infinity();

/// log2(amax / before).
double growth_of(double before, double amax) {
  if (std::isnan(before) || before == amax) return std::isnan(before) ? unknown_growth : 0;
  if (before == 0 || std::isinf(amax)) return endless;
  if (amax == 0 || std::isinf(before)) return -endless;
  return emu::log2(amax) - emu::log2(before);
}

/// Of a line that was kept. @throws ulpscope::Error where it has none
double amax_in(const std::string& line) {
  const std::vector<std::uint64_t> numbers = numbers_of(line);
  const double amax = numbers.size() == 1 ? std::bit_cast<double>(numbers.front()) : -1;
  if (!(amax >= 0)) refuse_line(line);
  return amax;
}

/// What is known of a tensor or a group in one checkpoint.
struct Seen {
  std::uint64_t count = 0;
  double amax = 0;
};

/// Of each name, what was seen in each of the checkpoints.
class Histories {
 public:
  explicit Histories(std::vector<std::string> inputs) : inputs_(std::move(inputs)) {}

  void add(const std::string& name, std::size_t place, Seen seen) {
    const auto [found, is_new] = index_.try_emplace(name, all_.size());
    if (is_new) all_.push_back({name, std::vector<std::optional<Seen>>(inputs_.size())});
    std::optional<Seen>& known = all_[found->second].seen[place];
    known = Seen{known.value_or(Seen{}).count + seen.count, std::max(known.value_or(Seen{}).amax, seen.amax)};
  }

  /// Whether one of them was seen in two checkpoints.
  bool follow_one() const {
    return std::ranges::any_of(all_, [](const History& history) {
      return std::ranges::count_if(history.seen, [](const auto& s) { return s.has_value(); }) > 1;
    });
  }

  void append_to(std::vector<AmaxHistoryRow>& rows) const {
    for (const History& history : all_) {
      double before = unknown_growth;
      for (std::size_t place = 0; place < inputs_.size(); ++place) {
        if (!history.seen[place]) continue;
        const Seen& seen = *history.seen[place];
        rows.push_back({.tensor = history.name,
                        .input = inputs_[place],
                        .place = place,
                        .count = seen.count,
                        .amax = seen.amax,
                        .amax_before = before,
                        .growth_binades = growth_of(before, seen.amax)});
        before = std::fmax(before, seen.amax);
      }
    }
  }

 private:
  struct History {
    std::string name;
    std::vector<std::optional<Seen>> seen;
  };
  std::vector<std::string> inputs_;
  std::vector<History> all_;
  std::map<std::string, std::size_t> index_;
};

}  // namespace

std::vector<AmaxHistoryRow> amax_history(const CensusRequest& request, std::vector<std::string>& remarks,
                                         const Progress& progress, const OpenKeptRows& open_kept) {
  if (request.inputs.size() < 2) throw Error("--history: give two checkpoints or more, the oldest first");
  CensusRequest plain;  // with all that plays a part here
  plain.inputs = request.inputs, plain.reading = request.reading, plain.groups = request.groups;
  plain.integers = request.integers, plain.threads = request.threads, plain.history = request.history;
  if (requests::words_of(request) != requests::words_of(plain))
    throw Error("--history: is of magnitudes before they are rounded; leave out formats, scales and roundings");
  std::vector<tensors::Tensor> all;
  std::vector<std::size_t> place;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    CensusRequest of_one = request;
    of_one.inputs = {request.inputs[i]};
    const tensors::Inputs inputs = of_one.open();
    for (const std::string& line : tensors::left_out(inputs)) remarks.push_back(request.inputs[i] + ": " + line);
    if (const auto codes = codes_under_scales(of_one.inputs, inputs, request.reading.options()).codes; !codes.empty())
      remarks.push_back(codes_counted(codes));
    all.insert(all.end(), inputs.kept.begin(), inputs.kept.end());
    place.resize(all.size(), i);
  }
  std::vector<double> amax(all.size());
  const std::uint64_t total = total_count(all);
  std::uint64_t done = 0;
  std::mutex one_at_a_time;
  const int inner = all.size() == 1 ? request.threads : 1;
  std::optional<KeptRows> kept;
  if (open_kept) kept = open_kept(all, all.size());
  tensors::for_each_index(all.size(), request.threads, [&](std::size_t i) {
    if (const std::optional<std::string> line = kept ? kept->find(i) : std::nullopt) {
      amax[i] = amax_in(*line);
    } else {
      amax[i] = amax_of(all[i], {}, inner);
      if (kept) kept->keep(i, line_of(std::array{std::bit_cast<std::uint64_t>(amax[i])}));
    }
    if (!progress) return;
    const std::lock_guard lock(one_at_a_time);
    progress(done += all[i].count(), total);
  });

  Histories of_tensors(request.inputs), of_groups(request.inputs);
  for (std::size_t i = 0; i < all.size(); ++i)
    of_tensors.add(emu::visible(tensors::written_name(all[i])), place[i], {all[i].count(), amax[i]});
  const std::vector<Group> groups = request.groups.of(all);
  if (!of_tensors.follow_one() && groups.empty())
    throw Error("--history: no tensor is in two of the checkpoints by its name; the first is " +
                emu::visible(tensors::written_name(all.front())));
  for (const Group& group : groups)
    for (const std::size_t i : group.members) of_groups.add(group.label, place[i], {all[i].count(), amax[i]});
  std::vector<AmaxHistoryRow> rows;
  of_tensors.append_to(rows);
  of_groups.append_to(rows);
  return rows;
}

reports::Table amax_history_table(const std::vector<AmaxHistoryRow>& rows) {
  reports::Table table{"history", {"tensor", "checkpoint", "input", "count", "amax", "amax_before", "growth_binades"}, {}};
  for (const AmaxHistoryRow& row : rows)
    table.rows.push_back({row.tensor, reports::whole(row.place), emu::visible(row.input), reports::whole(row.count), row.amax,
                          row.amax_before, row.growth_binades});
  return table;
}

}  // namespace ulpscope::studies
