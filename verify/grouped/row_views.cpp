// SPDX-License-Identifier: Apache-2.0
// Sources that read through to others.
#include "verify/grouped/row_views.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace ulpscope::verify {
namespace {

using Source = std::shared_ptr<const tensors::Source>;

class RowsOf final : public tensors::Source {
 public:
  RowsOf(verify::Source of, std::vector<std::uint64_t> rows, std::uint64_t columns)
      : of_(std::move(of)), rows_(std::move(rows)), columns_(columns) {}

  void read(std::uint64_t first, std::span<float> out) const override {
    each_run(first, out, [this](std::uint64_t from, std::span<float> to) { of_->read(from, to); });
  }
  void read(std::uint64_t first, std::span<double> out) const override {
    each_run(first, out, [this](std::uint64_t from, std::span<double> to) { of_->read(from, to); });
  }
  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override {
    each_run(first, out, [this](std::uint64_t from, std::span<emu::Code> to) { of_->read_codes(from, to); });
  }
  void check() const override { of_->check(); }

 private:
  /// Elements that lie one behind the other in both.
  template <class T, class Read>
  void each_run(std::uint64_t first, std::span<T> out, const Read& read) const {
    while (!out.empty()) {
      auto row = static_cast<std::size_t>(first / columns_);
      const std::uint64_t from = rows_[row] * columns_ + first % columns_;
      std::uint64_t count = columns_ - first % columns_;
      for (; count < out.size() && rows_[row + 1] == rows_[row] + 1; ++row) count += columns_;
      count = std::min<std::uint64_t>(count, out.size());
      read(from, out.first(static_cast<std::size_t>(count)));
      out = out.subspan(static_cast<std::size_t>(count));
      first += count;
    }
  }

  verify::Source of_;
  std::vector<std::uint64_t> rows_;
  std::uint64_t columns_;
};

class WithZeroRows final : public tensors::Source {
 public:
  WithZeroRows(verify::Source of, std::vector<bool> is_zero, std::uint64_t columns)
      : of_(std::move(of)), is_zero_(std::move(is_zero)), columns_(columns) {}

  void read(std::uint64_t first, std::span<float> out) const override { of_->read(first, out), put_zeros(first, out); }
  void read(std::uint64_t first, std::span<double> out) const override { of_->read(first, out), put_zeros(first, out); }
  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override {
    of_->read_codes(first, out), put_zeros(first, out);
  }
  void check() const override { of_->check(); }

 private:
  template <class T>
  void put_zeros(std::uint64_t first, std::span<T> out) const {
    for (std::size_t i = 0; i < out.size(); ++i)
      if (is_zero_[static_cast<std::size_t>((first + i) / columns_)]) out[i] = T{};
  }

  verify::Source of_;
  std::vector<bool> is_zero_;
  std::uint64_t columns_;
};

/// Elements at one first index.
std::uint64_t row_size(const tensors::Tensor& tensor) {
  std::uint64_t size = 1;
  for (std::size_t i = 1; i < tensor.shape.size(); ++i) size *= tensor.shape[i];
  return size;
}

}  // namespace

tensors::Tensor rows_of_tensor(const tensors::Tensor& tensor, std::vector<std::uint64_t> rows) {
  tensors::Tensor out = tensor;
  out.shape[0] = rows.size();
  out.source = std::make_shared<RowsOf>(tensor.source, std::move(rows), row_size(tensor));
  return out;
}

tensors::Tensor member_of_tensor(const tensors::Tensor& tensor, std::uint64_t index) {
  tensors::Tensor out = rows_of_tensor(tensor, {index});
  out.shape.erase(out.shape.begin());
  return out;
}

tensors::Tensor with_zero_rows(const tensors::Tensor& tensor, std::vector<bool> is_zero) {
  tensors::Tensor out = tensor;
  out.source = std::make_shared<WithZeroRows>(tensor.source, std::move(is_zero), row_size(tensor));
  return out;
}

}  // namespace ulpscope::verify
