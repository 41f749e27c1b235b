// SPDX-License-Identifier: Apache-2.0
// Tensors of which not all scales are held at once.
#include "studies/cast/stored_tensor.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "emu/names.hpp"
#include "studies/cast/layouts.hpp"
#include "studies/census/scaling.hpp"
#include "tensors/synthetic.hpp"
#include "tensors/tensor.hpp"

using namespace ulpscope;

namespace {

/// The codes of each entry, asked for as a file is written, in pieces that end anywhere.
std::vector<std::vector<emu::Code>> codes_of(const std::vector<tensors::NamedCodes>& entries) {
  constexpr std::size_t piece = 1000;
  std::vector<std::vector<emu::Code>> all;
  for (const tensors::NamedCodes& entry : entries) {
    std::vector<emu::Code>& codes =
        all.emplace_back(std::accumulate(entry.shape.begin(), entry.shape.end(), std::size_t{1}, std::multiplies<>()));
    for (std::size_t first = 0; first < codes.size(); first += piece)
      entry.codes(first, std::span(codes).subspan(first, std::min(piece, codes.size() - first)));
  }
  return all;
}

}  // namespace

TEST_CASE("codes and scales are the same however many scales are held at once", "[cast]") {
  const std::vector<tensors::Tensor> some{tensors::synthetic("normal:0,1:128x96", 1),
                                          tensors::synthetic("studentt:2:2x144x32", 2),
                                          tensors::synthetic("normal:0,3:7x1100", 3), tensors::synthetic("normal:0,1:2112", 4)};
  std::set<std::string> rules;
  std::size_t tried = 0;
  for (const studies::StorageLayout& layout : studies::layouts())
    for (const std::string& word : studies::scaling_words())
      for (const char* const to : {"e4m3", "e5m2", "e2m1", "int8", "int4"})
        for (const tensors::Tensor& tensor : some) {
          const emu::Format format = *emu::parse_format_or_integer(to);
          const studies::Quantizing how{.format = format, .scaling = studies::parse_scaling(word), .options = {}};
          const studies::StorageLayout& stored = studies::layout_for(layout, how.scaling.rule);
          if (how.scaling.rule == studies::ScaleRule::none || !stored.stores(format, how.scaling.rule)) continue;
          if (studies::has_zero_point(how.scaling.rule) && !format.is_integer()) continue;
          if (!studies::obstacle_in(layout, "t", tensor.shape, format, how.scaling.rule).empty()) continue;
          const auto entries = [&](std::uint64_t most_blocks) {
            return studies::entries_of(layout, "t", tensor, how, std::make_shared<studies::QuantizedOne>(most_blocks));
          };
          const auto whole = codes_of(entries(std::uint64_t{1} << 22));
          CAPTURE(layout.name, word, to, tensor.label);
          for (const std::uint64_t most_blocks : {1U, 7U}) REQUIRE(codes_of(entries(most_blocks)) == whole);
          rules.insert(word);
          ++tried;
        }
  CHECK(rules.size() == studies::scaling_words().size() - 1);  // each but `none` is stored by some layout
  CHECK(tried > rules.size());
}
