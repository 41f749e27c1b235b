// SPDX-License-Identifier: Apache-2.0
// Each kind changes inputs or options of the request.
#include "verify/audit/mutants_of_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "requests/numbers.hpp"
#include "verify/audit/mutant_makers.hpp"

namespace ulpscope::verify {
namespace {

OperationMutant alone(std::string_view name) {
  const MutantOf<CorrectOutput>& kind = output_mutant(name);
  return {kind, kind.required_from,
          [&kind](const OperationSource& source, double severity) { return source.judged(kind.make(source, severity)); }};
}

/// An element of another row, or of the other half of a row, stands where one is.
MutantOutput with_last_operand_elsewhere(const OperationSource& source, double) {
  const CheckInput& last = *source.operands().back();
  std::vector<double> values = elements_of(last);
  if (values.size() < 2) return std::nullopt;
  const std::size_t by = (values.size() / 2 + 1) % values.size();
  std::rotate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(by == 0 ? 1 : by), values.end());
  return source.with({{last.role, tensor_like(last, values)}});
}

/// Operations that compute something of a row of their first input, and what an element is that takes no part in it.
struct Dropped {
  std::string_view operation;
  double value;
};
constexpr std::array rows_read{Dropped{"grouped_matmul", 0},
                               Dropped{"softmax", -std::numeric_limits<double>::infinity()},
                               Dropped{"layer_norm", 0},
                               Dropped{"rms_norm", 0},
                               Dropped{"attention", 0},
                               Dropped{"sum", 0},
                               Dropped{"dot", 0}};

OperationMutant tail_dropped(double value) {
  return {{"tail_dropped", "the last elements of each row of the first input are left out", doubling(), "elements"},
          never,
          [value](const OperationSource& source, double severity) -> MutantOutput {
            const CheckInput& first = *source.operands().front();
            const auto tail = static_cast<std::size_t>(severity);
            const std::size_t row = first.tensor.shape.empty() ? 1 : static_cast<std::size_t>(first.tensor.shape.back());
            const bool has_value = value == 0 || first.format.value_or(emu::float32).has_infinity();
            if (tail >= row || !has_value) return std::nullopt;
            std::vector<double> values = elements_of(first);
            for (std::size_t i = 0; i < values.size(); ++i)
              if (i % row + tail >= row) values[i] = value;
            return source.with({{first.role, tensor_like(first, values)}});
          }};
}

bool is_rounded(const CheckInput& input) { return input.kind == InputKind::numbers && !input.tensor.is_integer(); }

/// The operands after a change of numbers that are computed with; nothing where all are integers.
template <class Change>
MutantOutput with_operands(const OperationSource& source, Change change) {
  std::vector<InputChange> changes;
  for (const CheckInput* const input : source.operands()) {
    if (!is_rounded(*input) || !input->format) continue;
    const std::vector<double> numbers = numbers_of(*input);
    std::vector<double> values = elements_of(*input);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (const double changed = change(*input->format, numbers[i]); changed != numbers[i]) values[i] = changed;
    changes.push_back({input->role, tensor_like(*input, values)});
  }
  return changes.empty() ? std::nullopt : source.with(changes);
}

OperationMutant inputs_in(emu::Format narrow) {
  const std::string name = emu::format_name(narrow);
  return {{"inputs_in_" + name, "the inputs are rounded to " + name, ungraded(), ""},
          never,
          [narrow](const OperationSource& source, double) {
            return with_operands(source, [narrow](emu::Format own, double x) {
              const emu::RoundingOptions saturating{.policy = emu::Policy::saturating};
              return emu::round_to(own, emu::round_to(narrow, x, saturating).value, saturating).value;
            });
          }};
}

MutantOutput with_inputs_flushed(const OperationSource& source, double) {
  return with_operands(source,
                       [](emu::Format own, double x) { return emu::round_to(own, x, {.flush_subnormals = true}).value; });
}

OperationMutant missing(const std::string& role) {
  return {{field_name(role) + "_missing", role + " is left out", ungraded(), ""},
          always,
          [role](const OperationSource& source, double) {
            return source.with({{role, {}}});
          }};
}

OperationMutant shifted(const std::string& role) {
  return {{field_name(role) + "_shifted", role + " is read one element too far", ungraded(), ""},
          never,
          [role](const OperationSource& source, double) -> MutantOutput {
            const CheckInput& input = *source.input(role);
            std::vector<double> values = elements_of(input);
            if (values.size() < 2) return std::nullopt;
            std::rotate(values.begin(), values.begin() + 1, values.end());
            return source.with({{role, tensor_like(input, values)}});
          }};
}

using Options = std::map<std::string, std::vector<std::string>>;

OperationMutant with_option(std::string name, std::string meaning, Options options) {
  return {{std::move(name), std::move(meaning), ungraded(), ""},
          never,
          [options = std::move(options)](const OperationSource& source, double) { return source.with_options(options); }};
}

/// One more key, by a window that reaches one behind the diagonal; one that ends on it must be what is declared.
MutantOutput with_one_more_key(const OperationSource& source, double) {
  const requests::Fields fields = source.fields();
  const std::vector<std::string> window = fields.find("window")->words();
  const std::string left = window.empty() ? "-1" : window.front().substr(0, window.front().find(','));
  const auto up_to = [&](const std::string& right) {
    return source.with_options({{"causal", {"none"}}, {"window", {left + "," + right}}});
  };
  return up_to("0") == source.correct ? up_to("1") : std::nullopt;
}

/// Of options that say what is computed.
std::vector<OperationMutant> of_options(const OperationSource& source) {
  std::vector<OperationMutant> kinds;
  const requests::Fields fields = source.fields();
  if (const requests::Field* const eps = fields.find("eps")) {
    kinds.push_back(with_option("eps_missing", "eps is not added", {{"eps", {"0"}}}));
    kinds.push_back(with_option("eps_off", "eps is ten times as large",
                                {{"eps", {fmt::format("{}", 10 * requests::real_of(eps->words().front()))}}}));
  }
  if (fields.has("scale")) kinds.push_back(with_option("scale_missing", "the scores are not scaled", {{"scale", {"1"}}}));
  if (const requests::Field* const cap = fields.find("softcap"); cap != nullptr && !cap->words().empty())
    kinds.push_back(with_option("softcap_missing", "the scores are not capped", {{"softcap", {}}}));
  if (const requests::Field* const causal = fields.find("causal"); causal != nullptr && causal->words().front() != "none")
    kinds.push_back({{"causal_off", "each query sees one key more", ungraded(), ""}, never, with_one_more_key});
  return kinds;
}

void add(std::vector<OperationMutant>& kinds, std::vector<OperationMutant> more) {
  std::move(more.begin(), more.end(), std::back_inserter(kinds));
}

}  // namespace

std::vector<OperationMutant> mutants_of(const OperationSource& source) {
  std::vector<OperationMutant> kinds{alone("zeros"), alone("constant_mean"), alone("nan_everywhere"), alone("nan_element"),
                                     alone("infinite_element")};
  kinds.push_back({{"stale_output", "the output is that of the same numbers in other places", ungraded(), ""},
                   always,
                   with_last_operand_elsewhere});
  add(kinds, {alone("rows_swapped"), alone("tile_transposed")});
  const std::vector<std::string> roles = source.dispensable();
  for (const std::string& role : roles) kinds.push_back(missing(role));
  kinds.push_back(alone("scale_off"));
  const auto dropped = std::ranges::find(rows_read, source.name(), &Dropped::operation);
  if (dropped != rows_read.end()) kinds.push_back(tail_dropped(dropped->value));
  for (const std::string& role : roles)
    if (const CheckInput* const input = source.input(role); input != nullptr && is_rounded(*input))
      kinds.push_back(shifted(role));
  add(kinds, of_options(source));
  add(kinds,
      {alone("element_off"), alone("noise"), inputs_in(emu::tf32), inputs_in(emu::bfloat16), inputs_in(emu::float8_e4m3fn)});
  kinds.push_back(with_option("out_truncated", "the last rounding is toward zero", {{"out_rounding", {"toward_zero"}}}));
  add(kinds, {alone("overflow_saturated"), alone("saturation_missing")});
  kinds.push_back(
      {{"subnormal_inputs_flushed", "subnormal numbers of the inputs are zero", ungraded(), ""}, never, with_inputs_flushed});
  kinds.push_back(alone("subnormal_outputs_flushed"));
  return kinds;
}

}  // namespace ulpscope::verify
