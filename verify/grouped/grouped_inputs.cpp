// SPDX-License-Identifier: Apache-2.0
// Cuts operands, scales and C into those of each group.
#include "verify/grouped/grouped_inputs.hpp"

#include <fmt/format.h>

#include <utility>

#include "emu/error.hpp"
#include "verify/grouped/row_views.hpp"
#include "verify/integer_matmul.hpp"

namespace ulpscope::verify {
namespace {

/// Scales of rows of A: one for all, or a row of them for each.
std::vector<tensors::Tensor> scales_of_rows(std::vector<tensors::Tensor> scales, const std::vector<std::uint64_t>& rows,
                                            std::uint64_t all) {
  if (scales.empty() || scales.front().count() == 1) return scales;
  const auto& shape = scales.front().shape;
  if (shape.size() > 2 || shape[0] != all)
    throw Error(fmt::format("--scale-a {} ({}): with groups, one for all of A, or a row of scales for each of its {} rows",
                            scales.front().label, tensors::shape_text(shape), all));
  scales.front() = rows_of_tensor(scales.front(), rows);
  return scales;
}

/// Scales of a matrix of B: where the first extent is that of the groups, the group's own.
std::vector<tensors::Tensor> scales_of_group(std::vector<tensors::Tensor> scales, std::size_t group, std::uint64_t groups) {
  if (scales.empty() || scales.front().count() == 1) return scales;
  const auto& shape = scales.front().shape;
  if (shape[0] == groups)
    scales.front() = member_of_tensor(scales.front(), group);
  else if (shape.size() > 2)
    throw Error(fmt::format("--scale-b {} ({}): B has {} matrices", scales.front().label, tensors::shape_text(shape), groups));
  return scales;
}

tensors::Tensor addend(const tensors::Tensor& c, const std::vector<std::uint64_t>& rows, std::uint64_t all, std::size_t group,
                       std::uint64_t groups) {
  const std::size_t rank = c.shape.size();
  if (rank < 2) return c;
  const std::uint64_t first = c.shape[0], columns = c.shape[rank - 1];
  if (rank == 2 && first == all && first == groups && groups > 1)
    throw Error(fmt::format("C {} ({}): is a row for each group or for each row of A; say which, as {}x1x{} or 1x{}x{}",
                            c.label, tensors::shape_text(c.shape), groups, columns, all, columns));
  if (rank == 2 && first == all) return rows_of_tensor(c, rows);
  if (rank == 2 && first == groups) return member_of_tensor(c, group);
  if (rank == 3 && first == groups && c.shape[1] == 1) return member_of_tensor(c, group);
  if (rank == 3 && first == 1 && c.shape[1] == all) return rows_of_tensor(member_of_tensor(c, 0), rows);
  throw Error(fmt::format("C {} ({}): with groups, a row for all, one for each of {} groups, or one for each of {} rows of A",
                          c.label, tensors::shape_text(c.shape), groups, all));
}

}  // namespace

GroupedInputs::GroupedInputs(products::ProductRequest request, std::string engine)
    : request_(std::move(request)), engine_(std::move(engine)) {
  if (request_.acc == "int32") request_ = integers_as_floats(request_);
  if (request_.transpose_a) throw Error("--transpose-a: not with groups, to which the rows of A are dealt out");
  if (request_.rounding.options().rounding == emu::Rounding::stochastic) throw Error("--rounding stochastic: not with groups");
  whole_ = products::open(request_);
  const auto &a = whole_.a.shape, &b = whole_.b.shape;
  if (a.size() != 2 || b.size() != 3 || b[0] == 0)
    throw Error(fmt::format("{} ({}) by {} ({}): grouped products are of A (rows, K) and B (groups, K, N)", whole_.a.label,
                            tensors::shape_text(a), whole_.b.label, tensors::shape_text(b)));
}

products::Product GroupedInputs::product(const std::vector<std::uint64_t>& rows, std::size_t group) const {
  products::ProductInputs inputs{.a = rows_of_tensor(whole_.a, rows),
                                 .b = member_of_tensor(whole_.b, group),
                                 .scale_a = scales_of_rows(whole_.scale_a, rows, this->rows()),
                                 .scale_b = scales_of_group(whole_.scale_b, group, groups())};
  if (whole_.c) inputs.c = addend(*whole_.c, rows, this->rows(), group, groups());
  products::Product product = products::resolve(request_, inputs, engine_);
  if (out_) product.out = *out_;
  return product;
}

}  // namespace ulpscope::verify
