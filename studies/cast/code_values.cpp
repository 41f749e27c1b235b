// SPDX-License-Identifier: Apache-2.0
// Codes less their zero points, times their scales.
#include "studies/cast/code_values.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"

namespace ulpscope::studies {
namespace {

class DequantizedSource : public tensors::Source {
 public:
  explicit DequantizedSource(CodeParts parts) : parts_(std::move(parts)) {}

  void read(std::uint64_t first, std::span<float> out) const override {
    std::vector<double> values(out.size());
    read(first, std::span(values));
    std::ranges::transform(values, out.begin(), [](double x) { return static_cast<float>(x); });
  }

  void read(std::uint64_t first, std::span<double> out) const override {
    if (out.empty()) return;
    read_values(first, out);
    const double second = tensor_scale();
    const CodeGrid& grid = parts_.grid;
    std::vector<double> scales, zeros;
    for (std::size_t done = 0; done < out.size();) {
      const std::uint64_t index = first + done, row = index / grid.columns, column = index % grid.columns;
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(grid.columns - column, out.size() - done));
      const std::uint64_t block = column / grid.block_columns, last = (column + size - 1) / grid.block_columns;
      scales.resize(static_cast<std::size_t>(last - block + 1));
      const std::uint64_t first_block = grid.row_of_blocks(row) * grid.blocks_per_row + block;
      read_scales(first_block, scales);
      zeros.assign(scales.size(), 0);
      if (parts_.zero_points) parts_.zero_points->source->read(first_block, std::span(zeros));
      for (std::size_t i = 0; i < size; ++i) {
        double& x = out[done + i];
        const auto of_block = static_cast<std::size_t>((column + i) / grid.block_columns - block);
        x = (x - zeros[of_block]) * scales[of_block];
        x = parts_.second == TensorScale::factor ? x * second : x / second;
      }
      done += size;
    }
  }

  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override {
    std::vector<double> values(out.size());
    read(first, std::span(values));
    std::ranges::transform(values, out.begin(), [](double x) { return std::bit_cast<emu::Code>(x); });
  }

  void check() const override {
    parts_.codes.source->check();
    parts_.scales.source->check();
  }

 private:
  void read_values(std::uint64_t first, std::span<double> out) const {
    if (parts_.shape_of_words) return read_words(first, out);
    if (!parts_.is_packed) return parts_.codes.source->read(first, out);
    std::vector<emu::Code> bytes(out.size() / 2 + 1);
    const std::uint64_t last = (first + out.size() - 1) / 2;
    bytes.resize(static_cast<std::size_t>(last - first / 2 + 1));
    parts_.codes.source->read_codes(first / 2, bytes);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint64_t index = first + i;
      const emu::Code byte = bytes[static_cast<std::size_t>(index / 2 - first / 2)];
      out[i] = emu::decode(emu::e2m1, index % 2 == 0 ? byte & 15 : byte >> 4);
    }
  }

  void read_words(std::uint64_t first, std::span<double> out) const {
    const std::uint64_t last = (first + out.size() - 1) / 8;
    std::vector<emu::Code> words(static_cast<std::size_t>(last - first / 8 + 1));
    parts_.codes.source->read_codes(first / 8, words);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint64_t index = first + i;
      const emu::Code word = words[static_cast<std::size_t>(index / 8 - first / 8)];
      out[i] = static_cast<double>(word >> (index % 8 * 4) & 15) - 8;
    }
  }

  void read_scales(std::uint64_t first, std::span<double> out) const {
    if (!parts_.scale_bytes) return parts_.scales.source->read(first, out);
    std::vector<emu::Code> codes(out.size());
    parts_.scales.source->read_codes(first, codes);
    std::ranges::transform(codes, out.begin(), [&](emu::Code code) { return emu::decode(*parts_.scale_bytes, code); });
  }

  double tensor_scale() const {
    if (!parts_.tensor_scale) return 1;
    std::array<double, 1> one{};
    parts_.tensor_scale->source->read(0, std::span<double>(one));
    return parts_.second == TensorScale::amax ? nvfp4_tensor_scale(emu::e2m1, one.front()) : one.front();
  }

  CodeParts parts_;
};

}  // namespace

std::shared_ptr<const tensors::Source> values_of(const CodeParts& parts) { return std::make_shared<DequantizedSource>(parts); }

}  // namespace ulpscope::studies
