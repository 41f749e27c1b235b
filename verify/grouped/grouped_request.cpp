// SPDX-License-Identifier: Apache-2.0
// From the words of `verify grouped_matmul` to its open files.
#include "verify/grouped/grouped_request.hpp"

#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "verify/grouped/grouped_matmul.hpp"
#include "verify/grouped/row_views.hpp"
#include "verify/integer_matmul.hpp"

namespace ulpscope::verify {
namespace {

/// `numbers`: what was given, to be kept with a failing case.
RowGroups read_groups(const GroupedMatmulRequest& request, const GroupedInputs& inputs, CheckInput& numbers) {
  const bool by_ends = !request.offsets.empty();
  if (by_ends == !request.group_of_row.empty())
    throw Error("--offsets, --group-of-row: give one of them, to say which rows belong to which group");
  const char* const option = by_ends ? "--offsets" : "--group-of-row";
  const std::string& word = by_ends ? request.offsets : request.group_of_row;
  numbers = {by_ends ? "offsets" : "group_of_row", word, tensors::open_one(word), {}, {}, InputKind::whole};
  const Integers integers = read_integers(numbers.tensor, option);
  return by_ends ? groups_by_ends(integers, inputs.rows(), inputs.groups())
                 : groups_by_row(integers, inputs.rows(), inputs.groups());
}

/// Integers that are summed in int32 are of no format.
std::string heading_of(const products::ProductInputs& whole, const products::Product& product, bool sums_integers,
                       const RowGroups& groups, const std::vector<std::uint64_t>& shape) {
  const auto line = [](const char* name, const tensors::Tensor& tensor, const std::string& format) {
    return std::string(name) + "  " + tensor.label + " (" + tensors::shape_text(tensor.shape) + ")" +
           (format.empty() ? "" : ", " + format) + "\n";
  };
  std::string text = line("A", whole.a, sums_integers ? whole.a.dtype.name : emu::format_name(product.a.rounding.format));
  text += line("B", whole.b, sums_integers ? whole.b.dtype.name : emu::format_name(product.b.rounding.format));
  if (whole.c) text += line("C", *whole.c, "");
  const std::size_t k = products::matmul_shape(product.a.input, product.b.input).k;
  return text + groups.words() + "\nD  " + tensors::shape_text(shape) + ", K = " + std::to_string(k) + ", accumulator " +
         (sums_integers ? "int32" : emu::format_name(product.acc)) + ", out " + output_name(product.out) + "\n";
}

/// The output, rows in no group replaced by zeros.
tensors::Tensor judged_rows(const tensors::Tensor& output, const RowGroups& groups) {
  if (groups.padding() == 0 || output.shape.empty() || output.shape[0] != groups.group_of.size()) return output;
  std::vector<bool> is_zero;
  for (const std::size_t group : groups.group_of) is_zero.push_back(group == RowGroups::none);
  return with_zero_rows(output, std::move(is_zero));
}

GroupExpectation of_integers(const GroupedMatmulRequest& request) {
  return [overflow = overflow_of_integers(request)](const products::Product& product, std::uint64_t) {
    return expect_integer_matmul(product, overflow);
  };
}

/// `judged`: rows of all groups.
GroupExpectation of_floats(const GroupedMatmulRequest& request, double judged) {
  return [declared = declaration_of(request), judged](const products::Product& product, std::uint64_t count) {
    Declaration of_rows = declared;  // the probability of a false alarm is that of all groups together
    if (of_rows.false_alarm && *of_rows.false_alarm < 1) *of_rows.false_alarm *= static_cast<double>(count) / judged;
    return expectation_of(product, of_rows);
  };
}

}  // namespace

void GroupedMatmulRequest::describe(requests::Fields& fields) {
  fields.add("offsets", offsets, "where the rows of each group end, one number a group").as_value("FILE");
  fields.add("group_of_row", group_of_row, "the group of each row of A, -1 of rows that are not judged").as_value("FILE");
  MatmulRequest::describe(fields);
  fields.remove("transpose_a");
  fields.at("a").help = "rows of all groups (M,K): tensor file, FILE:NAME, or synthetic";
  fields.at("b").help = "a matrix for each group (G,K,N)";
  fields.at("c").help = "where the sums start: a row for all, (G,N) or (G,1,N), or shaped like D";
  fields.at("scale_a").help = "scales of A: a number, or a row of them for each of A; given again: one more for all of A";
  fields.at("scale_b").help = "scales of B; where the first extent is G, each group's own";
}

ResolvedCheck resolve(const GroupedMatmulRequest& request) {
  ResolvedCheck check;
  GroupedInputs inputs(product_of(request), request.engine);
  CheckInput numbers;
  RowGroups groups = read_groups(request, inputs, numbers);
  products::Product any = inputs.product({}, 0);
  const bool sums_integers = request.product.acc == "int32";
  const bool out_is_stated = !request.product.out.empty() && request.product.out != "int32";
  const std::optional<emu::Format> out = out_is_stated ? std::optional(any.out) : std::nullopt;
  const tensors::Tensor output = request.output.open(request.output.output, out);
  if (sums_integers || !out_is_stated) {
    any.out = sums_integers ? out_of_integers(request.product, any, output) : format_of_output(output, out);
    inputs.set_out(any.out);
  }
  if (!out_is_stated) check.stated = {"--out", output_name(any.out)};
  if (request.product.in.empty() && !sums_integers) check.stated.insert(check.stated.end(), {"--in", in_words(any)});
  if (groups.padding() != 0 && request.output.is_against_file())
    throw Error("--against '" + request.output.against + "': of rows in no group nothing is known; leave them away");
  check.output = judged_rows(output, groups);
  const products::ProductInputs whole = inputs.whole();
  const RowGroups kept = groups;
  const GroupExpectation expect =
      sums_integers ? of_integers(request) : of_floats(request, static_cast<double>(groups.group_of.size() - groups.padding()));
  check.expectation = expect_grouped_matmul(std::move(inputs), std::move(groups), expect);
  check.last = any.out == int32_values ? LastRounding{.out = int32_values} : request.output.last_rounding(any.out);
  check.operation = "grouped_matmul";
  check.heading = heading_of(whole, any, sums_integers, kept, check.expectation->shape());
  check.inputs = inputs_of(request.product, whole);
  if (!sums_integers) check.inputs[0].format = any.a.rounding.format, check.inputs[1].format = any.b.rounding.format;
  check.inputs.push_back(std::move(numbers));
  return check;
}

}  // namespace ulpscope::verify
