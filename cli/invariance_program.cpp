// SPDX-License-Identifier: Apache-2.0
// Cuts inputs along their first extent, and has a program compute each part.
#include "cli/invariance_program.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "emu/error.hpp"
#include "emu/suggestions.hpp"
#include "products/operand.hpp"

namespace ulpscope::cli {
namespace {

/// Some of the batch.
struct Part {
  std::string name;
  std::uint64_t first, count;
};

/// Without those that would be the whole once more.
std::vector<Part> parts_of(std::uint64_t batch) {
  std::vector<Part> parts{{"all", 0, batch}, {"again", 0, batch}};
  if (batch > 1) parts.insert(parts.end(), {{"first", 0, 1}, {"last", batch - 1, 1}});
  if (batch > 3) parts.push_back({"half", 0, batch / 2});
  if (batch > 2) parts.push_back({"from_1", 1, batch - 1});
  return parts;
}

/// The inputs that each operation has by rows or sequences; of a product C too, unless it is one row for all.
const std::map<std::string, std::set<std::string>>& batched_roles() {
  static const std::map<std::string, std::set<std::string>> roles{{"matmul", {"A", "C"}},
                                                                  {"softmax", {"x"}},
                                                                  {"layer_norm", {"x"}},
                                                                  {"rms_norm", {"x"}},
                                                                  {"attention", {"q", "k", "v", "key_lengths"}},
                                                                  {"sum", {"x"}},
                                                                  {"dot", {"a", "b"}},
                                                                  {"conv", {"x"}},
                                                                  {"cast", {"x"}},
                                                                  {"elementwise", {"x"}}};
  return roles;
}

const tensors::Tensor* input_of(const verify::ResolvedCheck& check, const std::string& role) {
  const auto found = std::ranges::find(check.inputs, role, &verify::CheckInput::role);
  return found == check.inputs.end() ? nullptr : &found->tensor;
}

/// Those that are cut without being named.
std::set<std::string> standard_roles(const std::string& operation, const verify::ResolvedCheck& check) {
  const std::uint64_t batch = check.expectation->shape().front();
  std::set<std::string> cut;
  if (operation == "expr") {
    for (const verify::CheckInput& input : check.inputs)
      if (!input.tensor.shape.empty() && input.tensor.shape.front() == batch) cut.insert(input.role);
    return cut;
  }
  for (const std::string& role : batched_roles().at(operation))
    if (const tensors::Tensor* const input = input_of(check, role);
        input != nullptr && (role != "C" || input->shape.size() > 1))
      cut.insert(role);
  const tensors::Tensor *const b = input_of(check, "B"), *const mask = input_of(check, "mask");
  if (operation == "matmul" && b->shape.size() > 2) cut.insert("B");
  if (operation == "attention" && mask != nullptr && mask->shape.size() == check.expectation->shape().size() &&
      mask->shape.front() == batch)
    cut.insert("mask");
  return cut;
}

bool rows_are_elements(const std::string& operation) { return operation == "sum" || operation == "dot"; }

void refuse_what_has_no_batch(const std::string& operation, const verify::ResolvedCheck& check) {
  const std::vector<std::uint64_t> shape = check.expectation->shape();
  if (operation == "grouped_matmul")
    throw Error("--program: rows of groups are not cut into batches; give outputs with --output");
  if (shape.size() < (rows_are_elements(operation) ? 1U : 2U) || shape.front() == 0)
    throw Error("--program: the result, " + tensors::shape_text(shape) + ", has no rows to be cut");
  if (operation == "attention" && shape.size() < 3) throw Error("--program: give Q, K and V with a batch: BxLxD or BxHxLxD");
  for (const verify::CheckInput& input : check.inputs)
    for (const char* const role : {"scale_a", "block_table", "query_starts", "key_starts"})
      if (input.role == role && input.tensor.count() > 1)
        throw Error("--program: inputs with " + input.role + " are not cut into batches; give outputs with --output");
}

std::set<std::string> roles_to_cut(const std::string& operation, const verify::ResolvedCheck& check,
                                   const InvarianceProgram& asked) {
  const std::set<std::string> roles =
      asked.batched.empty() ? standard_roles(operation, check) : std::set(asked.batched.begin(), asked.batched.end());
  if (roles.empty()) throw Error("--program: no input has the batch of the result; name those that are cut with --batched");
  const std::uint64_t batch = check.expectation->shape().front();
  for (const std::string& role : roles) {
    const tensors::Tensor* const input = input_of(check, role);
    if (input == nullptr) throw Error("--batched " + role + ": there is no such input");
    if (input->shape.empty() || input->shape.front() != batch)
      throw Error(role + " (" + tensors::shape_text(input->shape) + "): its first extent is not that of the result, " +
                  tensors::shape_text(check.expectation->shape()));
  }
  return roles;
}

/// What is written of an input: its numbers as they are computed with.
class InputFiles {
 public:
  InputFiles(const verify::ResolvedCheck& check, const ChildProgram& program, const ScratchFolder& folder)
      : program_(program), folder_(folder) {
    for (const verify::CheckInput& input : check.inputs) {
      products::RoundedElements counts;
      const emu::Format own = input.tensor.dtype.fits_float() ? emu::float32 : emu::float64;
      const products::InputRounding rounding =
          input.format ? products::input_rounding(*input.format) : products::InputRounding{.format = own};
      values_.push_back({&input, rounding.format, products::rounded_elements<double>(input.tensor, rounding, counts)});
    }
  }

  /// Writes the part of each; gives what stands for the slots.
  std::map<std::string, std::string> write(const Part& part, const std::set<std::string>& cut) const {
    std::map<std::string, std::string> files;
    for (const Values& one : values_) {
      const std::string& role = one.input->role;
      std::vector<std::uint64_t> shape = one.input->tensor.shape;
      std::span<const double> values = one.values;
      if (cut.contains(role)) {
        const std::size_t length = values.size() / static_cast<std::size_t>(shape.front());
        values = values.subspan(static_cast<std::size_t>(part.first) * length, static_cast<std::size_t>(part.count) * length);
        shape.front() = part.count;
      }
      for (const auto& [name, write] : {std::pair(role, &write_values), std::pair(role + "_codes", &write_codes)}) {
        const std::string slot = "{" + name + "}";
        if (program_.names(slot)) write(files[slot] = folder_.file("in-" + name + ".npy"), shape, one.format, values);
      }
    }
    return files;
  }

 private:
  struct Values {
    const verify::CheckInput* input;
    emu::Format format;
    std::vector<double> values;
  };

  const ChildProgram& program_;
  const ScratchFolder& folder_;
  std::vector<Values> values_;
};

std::string listed(const verify::ResolvedCheck& check) {
  std::vector<std::string> slots;
  for (const verify::CheckInput& input : check.inputs) slots.push_back("{" + input.role + "}");
  return emu::comma_separated(slots);
}

/// Inputs of formulas have any names.
void refuse_slots_of_two(const ChildProgram& program, const verify::ResolvedCheck& check, const std::string& said) {
  std::set<std::string> taken{"{out}"};
  for (const verify::CheckInput& input : check.inputs)
    for (const std::string& slot : {"{" + input.role + "}", "{" + input.role + "_codes}"})
      if (!taken.insert(slot).second && program.names(slot))
        throw Error(said + slot + " stands for two files; give the input '" + input.role + "' another name in the formula");
}

void call(const ChildProgram& program, const Part& part, const std::map<std::string, std::string>& files,
          const ScratchFolder& folder) {
  const std::string said = "--program '" + program.words.front() + "', condition " + part.name + ": ";
  const verify::ChildEnd end = program.run(files, folder);
  if (end.exit_code != 0) throw Error(said + program.how_it_ended(end, ""));
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(files.at("{out}"), ignored)) throw Error(said + "has not written {out}");
}

}  // namespace

std::vector<std::string> outputs_of_program(const std::string& operation, const verify::ResolvedCheck& check,
                                            const InvarianceProgram& asked, const ScratchFolder& folder) {
  if (!(asked.timeout_s > 0)) throw Error("--timeout: give a number of seconds above 0");
  const std::string said = "--program '" + asked.command + "': ";
  const ChildProgram program{program_words(asked.command, said), asked.timeout_s};
  if (!program.names("{out}")) throw Error(said + "is not told where to write; it is given {out}, and " + listed(check));
  refuse_slots_of_two(program, check, said);
  refuse_what_has_no_batch(operation, check);
  const std::set<std::string> cut = roles_to_cut(operation, check, asked);
  for (const std::string& role : cut)
    if (!program.names("{" + role + "}") && !program.names("{" + role + "_codes}"))
      throw Error(said + "is not given {" + role + "}");
  const std::vector<std::uint64_t> shape = check.expectation->shape();
  std::uint64_t rows_of_each = 1;
  for (std::size_t i = 1; i + (rows_are_elements(operation) ? 0 : 1) < shape.size(); ++i) rows_of_each *= shape[i];
  const InputFiles inputs(check, program, folder);
  std::vector<std::string> outputs;
  for (const Part& part : parts_of(shape.front())) {
    std::map<std::string, std::string> files = inputs.write(part, cut);
    files["{out}"] = folder.file("out-" + part.name + ".npy");
    call(program, part, files, folder);
    outputs.push_back(part.name + "=" + files["{out}"] + "@" + std::to_string(part.first * rows_of_each));
  }
  return outputs;
}

}  // namespace ulpscope::cli
