// SPDX-License-Identifier: Apache-2.0
// From the words of `verify attention` to its open files.
#include <charconv>
#include <optional>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "verify/operations/attention.hpp"
#include "verify/operations/making.hpp"
#include "verify/operations/operation_requests.hpp"

namespace ulpscope::verify {
namespace {

Causal parse_causal(const std::string& word) {
  if (word == "none") return Causal::none;
  if (word == "top_left") return Causal::top_left;
  if (word == "bottom_right") return Causal::bottom_right;
  throw Error("--causal '" + word + "': give none, top_left or bottom_right");
}

AttentionLayout parse_layout(const std::string& word) {
  if (word == "bhld") return AttentionLayout::bhld;
  if (word == "blhd") return AttentionLayout::blhd;
  throw Error("--layout '" + word + "': give bhld or blhd");
}

/// Keys on one side of the diagonal: -1 are all of them.
std::optional<std::uint64_t> parse_side(const std::string& word, const std::string& all) {
  if (word == "-1") return std::nullopt;
  std::string number = word;
  constexpr std::uint64_t most = std::uint64_t{1} << 48;
  if (!requests::read_whole(number, {.most = most}).empty())
    throw Error("--window '" + all + "': give LEFT,RIGHT, keys before and behind the diagonal, -1 for all of them");
  std::uint64_t keys = 0;
  std::from_chars(number.data(), number.data() + number.size(), keys);
  return keys;
}

AttentionWindow parse_window(const std::string& word) {
  if (word.empty()) return {};
  const std::size_t comma = word.find(',');
  if (comma == std::string::npos) return {parse_side(word, word), parse_side("", word)};
  return {parse_side(word.substr(0, comma), word), parse_side(word.substr(comma + 1), word)};
}

}  // namespace

ResolvedCheck resolve(const AttentionRequest& request) {
  Making making(request, "attention");
  Attention operation{.q = making.read("Q", request.q),
                      .k = making.read("K", request.k),
                      .v = making.read("V", request.v),
                      .mask = making.read_mask("mask", request.mask),
                      .scale = request.scale,
                      .softcap = request.softcap,
                      .causal = parse_causal(request.causal),
                      .window = parse_window(request.window),
                      .sinks = making.read_own("sinks", request.sinks),
                      .descales = {.q = making.read_own_or_number("q_descale", request.q_descale),
                                   .k = making.read_own_or_number("k_descale", request.k_descale),
                                   .v = making.read_own_or_number("v_descale", request.v_descale)},
                      .sequences = {.layout = parse_layout(request.layout),
                                    .block_table = making.read_integers_if_given("--block-table", request.block_table),
                                    .key_lengths = making.read_integers_if_given("--key-lengths", request.key_lengths),
                                    .query_starts = making.read_integers_if_given("--query-starts", request.query_starts),
                                    .key_starts = making.read_integers_if_given("--key-starts", request.key_starts)},
                      .arithmetic = request.arithmetic(),
                      .scores = format_if_given(request.scores),
                      .probabilities = format_if_given(request.probabilities),
                      .fully_masked = parse_fully_masked(request.fully_masked),
                      .block = request.block,
                      .last = making.last()};
  operation.arithmetic.function_abs = request.function_abs;
  if (request.lse.empty()) return making.made(expect_attention(std::move(operation)));
  if (request.output.is_against_file()) throw Error("--lse: is judged against the exact value; leave --against away");
  tensors::Tensor lse = tensors::open_one(request.lse);
  if (!lse.dtype.format) throw Error("--lse " + request.lse + ": holds " + lse.dtype.name + "; floats are needed");
  const LastRounding last{.out = *lse.dtype.format};
  AttentionExpectations both = expect_attention_and_lse(std::move(operation), last);
  making.add_output({"lse", request.lse, std::move(lse), std::move(both.lse), last});
  return making.made(std::move(both.output));
}

}  // namespace ulpscope::verify
