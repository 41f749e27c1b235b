// SPDX-License-Identifier: Apache-2.0
// Lines of JSON between those that hold them together.
#include "studies/shards/part_file.hpp"

#include <cstdint>
#include <stdexcept>
#include <utility>

#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "emu/philox.hpp"
#include "emu/visible.hpp"
#include "studies/shards/part_check.hpp"
#include "studies/shards/part_json.hpp"
#include "studies/shards/sample.hpp"

namespace ulpscope::studies {
namespace {

constexpr std::string_view part_begin = R"({"ulpscope":"part of a census or sweep")";
constexpr int part_layout = 2;  // 1 was one indented object, its digest first
constexpr const char* not_a_part = "is no part of a census or sweep, or not all of it";
constexpr std::string_view tensors_begin = R"("tensors": [)", ranges_begin = R"("ranges": )", parts_begin = R"("parts": [)";

std::string json_text(const PartJson& json) { return json.dump(-1, ' ', false, PartJson::error_handler_t::replace); }

PartJson json_of(std::string_view line) {
  if (line.ends_with(',')) line.remove_suffix(1);
  return emu::parse_json<PartJson>(line);
}

/// Calls `read`, and says in the name of the file what is wrong.
template <class Read>
auto guarded(const std::string& name, Read read) {
  const auto failed = [&](const std::string& why) { return Error(emu::visible(name + ": " + why)); };
  try {
    return read();
  } catch (const Malformed& problem) {
    throw failed(problem.what);
  } catch (const emu::BadJson& problem) {
    throw failed(std::string("is no part of a census or sweep: ") + problem.what());
  } catch (const PartJson::exception&) {
    throw failed(not_a_part);
  } catch (const std::out_of_range&) {
    throw failed(not_a_part);
  }
}

/// What a line tells of elements of a tensor, where all of it can be so. @throws Malformed
TensorPart checked_part_of(const PartJson& json, const std::string& label, const ElementRange& range) {
  const auto check = [&](const auto& of) {
    if (const std::string why = contradiction_in(of, range); !why.empty()) throw Malformed{label + " " + why};
  };
  TensorPart part = tensor_part_of(json, check);
  check(part);
  return part;
}

/// What gives a tensor, where that is a value of a model.
void add_node(PartJson& tensor, const ValueNodes& nodes) {
  const auto found = nodes.find(tensor.at("label").get<std::string>());
  if (found == nodes.end()) return;
  tensor["operator"] = found->second.op;
  tensor["node"] = found->second.name;
  tensor["takes"] = found->second.takes;
}

ValueNode node_of(const PartJson& tensor) {
  return {.op = tensor.at("operator").get<std::string>(),
          .name = tensor.at("node").get<std::string>(),
          .takes = tensor.at("takes").get<std::vector<std::string>>()};
}

std::vector<Piece> pieces_of(const PartJson& json, const std::vector<tensors::Tensor>& tensors) {
  std::vector<Piece> pieces;
  for (const PartJson& of : json) {
    const Piece piece{emu::whole_number<std::size_t>(of.at(0)),
                      {emu::whole_number<std::uint64_t>(of.at(1)), emu::whole_number<std::uint64_t>(of.at(2))}};
    const std::uint64_t count = tensors.at(piece.tensor).count(), first = piece.range.first, size = piece.range.count;
    if (size == 0 || first > count || size > count - first || first % chunk_elements != 0)
      throw Malformed{"has elements that are not there"};
    if (!pieces.empty() && pieces.back().tensor >= piece.tensor) throw Malformed{"has its tensors in another order"};
    pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace

bool begins_part(std::string_view text) { return text.starts_with(part_begin); }

PartWriter::PartWriter(const PartHead& head, Write write) : write_(std::move(write)) {
  std::string text(part_begin);
  PartJson facts{{"layout", part_layout},      {"version", head.version},
                 {"commit", head.commit},      {"stochastic_rounding", emu::rounding_bits_version},
                 {"command", head.command},    {"request", head.request},
                 {"arguments", head.arguments}};
  if (!head.remarks.empty()) facts["remarks"] = head.remarks;
  text += "," + json_text(facts).substr(1);
  text.back() = ',';
  write_((text += "\n").append(tensors_begin));
  for (std::size_t i = 0; i < head.all->tensors.size(); ++i) {
    PartJson tensor = json_tensor(head.all->tensors[i]);
    tensor["sample"] = head.all->samples[i];
    if (head.all->nodes) add_node(tensor, *head.all->nodes);
    write_((i == 0 ? "\n" : ",\n") + json_text(tensor));
  }
  PartJson ranges = PartJson::array();
  for (const Piece& piece : head.pieces) ranges.push_back({piece.tensor, piece.range.first, piece.range.count});
  write_(std::string("\n],\n").append(ranges_begin) + json_text(ranges) + ",\n" + std::string(parts_begin));
}

std::string piece_line(const TensorPart& piece) { return json_text(json_part(piece)); }

TensorPart piece_of(std::string_view line, const std::string& name, const std::string& label, const ElementRange& range) {
  return guarded(name, [&] { return checked_part_of(json_of(line), label, range); });
}

std::string other_sums(const std::string& label) { return "has not the sums of " + label + " that it was asked for"; }

void PartWriter::add(std::string_view line) {
  write_(std::exchange(is_first_, false) ? "\n" : ",\n");
  write_(line);
}

void PartWriter::finish() { write_("\n]"); }

PartReader::PartReader(NextLine next_line, std::string name, const PartReader* like)
    : next_line_(std::move(next_line)), name_(std::move(name)) {
  guarded(name_, [&] {
    read_head(like);
    if (head_.pieces.empty()) read_end();
  });
}

std::string PartReader::line() {
  std::optional<std::string> line = next_line_();
  if (!line) throw Malformed{not_a_part};
  return *std::move(line);
}

void PartReader::read_head(const PartReader* like) {
  std::string facts = line();
  if (!begins_part(facts)) throw Malformed{not_a_part};
  facts.back() = '}';
  const auto json = emu::parse_json<PartJson>(facts);
  if (emu::whole_number<int>(json.at("layout")) != part_layout)
    throw Malformed{"is laid out as by another version; make it again by this one"};
  if (emu::whole_number<int>(json.at("stochastic_rounding")) != emu::rounding_bits_version)
    throw Malformed{"has random words by another rule than this program's"};
  if (!json.contains("commit"))
    throw Malformed{"does not tell which commit of the program wrote it; make it again by this one"};
  head_ = {
      .version = json.at("version").get<std::string>(),
      .commit = json.at("commit").get<std::string>(),
      .command = json.at("command").get<std::string>(),
      .request = json.at("request").get<std::vector<std::string>>(),
      .arguments = json.at("arguments").get<std::vector<std::string>>(),
      .remarks = json.contains("remarks") ? json.at("remarks").get<std::vector<std::string>>() : std::vector<std::string>{},
      .all = nullptr,
      .pieces = {}};
  read_tensors(like);
  const std::string ranges = line();
  if (!ranges.starts_with(ranges_begin)) throw Malformed{not_a_part};
  head_.pieces = pieces_of(json_of(std::string_view(ranges).substr(ranges_begin.size())), head_.all->tensors);
  if (line() != parts_begin) throw Malformed{not_a_part};
}

void PartReader::read_tensors(const PartReader* like) {
  if (line() != tensors_begin) throw Malformed{not_a_part};
  auto lines = std::make_shared<std::string>();
  for (std::string of = line(); of != "],"; of = line()) *lines += of += '\n';
  if (like != nullptr && *like->tensor_lines_ == *lines) {
    tensor_lines_ = like->tensor_lines_, head_.all = like->head_.all;
    return;
  }
  auto all = std::make_shared<PartTensors>();
  ValueNodes nodes;
  for (std::string_view rest = *lines; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const PartJson of = json_of(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    all->tensors.push_back(tensor_of(of));
    if (!of.contains("sample")) throw Malformed{"does not tell which numbers its input held"};
    all->samples.push_back(of.at("sample").get<std::string>());
    if (!is_sample(all->samples.back())) throw Malformed{"'" + all->samples.back() + "' is no digest of a sample"};
    if (of.contains("operator")) nodes.emplace(all->tensors.back().label, node_of(of));
  }
  all->nodes = std::make_shared<const ValueNodes>(std::move(nodes));
  tensor_lines_ = std::move(lines), head_.all = std::move(all);
}

TensorPart PartReader::next(const SumCounts& most) {
  return guarded(name_, [&] {
    const PartJson json = json_of(line());
    const Piece& piece = head_.pieces.at(read_++);
    const std::string& label = head_.all->tensors[piece.tensor].label;
    if (json.at("census").size() > most.census || json.at("sweep").size() > most.sweep) throw Malformed{other_sums(label)};
    if (head_.command == "amax" && !json.contains("amax")) throw Malformed{"has no magnitude of " + label};
    TensorPart part = checked_part_of(json, label, piece.range);
    if (read_ == head_.pieces.size()) read_end();
    return part;
  });
}

/// To the last line: what gives lines knows only there whether they were those of a whole file.
void PartReader::read_end() {
  if (!line().starts_with(']')) throw Malformed{not_a_part};
  while (next_line_()) continue;
}

}  // namespace ulpscope::studies
