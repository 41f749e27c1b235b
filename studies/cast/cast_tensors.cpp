// SPDX-License-Identifier: Apache-2.0
// Applies the rules of a plan to tensors.
#include "studies/cast/cast_tensors.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "studies/cast/dequantized.hpp"

namespace ulpscope::studies {

namespace {

/// Whether the file can hold the codes of a tensor. Without elements there is nothing to scale, and many layouts store no codes
/// without scales.
bool is_stored(const StorageLayout& layout, const tensors::Tensor& tensor, const PlanRule& rule) {
  const bool is_empty = tensor.count() == 0 && rule.scaling().rule != ScaleRule::none;
  return fills_bytes(rule.format(), tensor.count()) && (!is_empty || layout.stores(rule.format(), ScaleRule::none));
}

/// What to do about a tensor whose codes do not fill bytes.
std::string end_in_byte(const PlanRule& rule) {
  const int bits = rule.format().bits();
  return ": its codes end within a byte, which readers of .safetensors refuse; pad the last extent with zeros to a multiple "
         "of " +
         std::to_string(8 / std::gcd(8, bits)) +
         (rule.scaling().rule == ScaleRule::none ? ", or write --codes to an .npy"
                                                 : ", or take codes and scales from ulpscope.quantize() of Python");
}

}  // namespace

CastTensors::CastTensors(const CastFileRequest& request, const CastPlan& plan, const tensors::Inputs& inputs,
                         const Progress& progress)
    : request_(request), plan_(plan), rules_(plan), fused_(plan.fused), progress_(progress), remarks_(inputs.remarks) {
  if (!plan.hadamard.empty()) hadamard_ = tensors::parse_hadamard(plan.hadamard);
  std::vector<std::string> names;
  Asked asked;
  std::vector<std::string> odd;
  for (const tensors::Tensor& tensor : inputs.kept) {
    const std::string& name = names.emplace_back(tensors::written_name(tensor));
    const std::string set = fused_.key_of(name);
    asked.has_set = asked.has_set || !set.empty();
    const PlanRule* const rule = rules_.rule_for(name);
    if (rule == nullptr) continue;
    asked.shares = asked.shares || (!set.empty() && has_tensor_scale(rule->scaling().rule));
    asked.scales = asked.scales || rule->scaling().rule != ScaleRule::none;
    asked.rotates = asked.rotates || is_rotated(tensor, *rule);
    total_ += tensor.count();
    asked.rounded.insert(name);
    if (!fills_bytes(rule->format(), tensor.count())) odd.push_back(tensor.label + end_in_byte(*rule));
    if (!set.empty()) sets_[key_of(set, *rule)].members.push_back(before_rounding(tensor, *rule));
  }
  refuse_idle_rules(inputs, std::move(names));
  refuse_idle_options(asked);
  decide_rotation(inputs, asked);
  if (!odd.empty() && odd.size() == asked.rounded.size()) throw Error(odd.front());
}

void CastTensors::refuse_idle_rules(const tensors::Inputs& inputs, std::vector<std::string> names) const {
  const PlanRule* const rounds_none = rules_.idle(names, RuleIndex::Rules::rounding);
  for (const std::vector<tensors::Tensor>* const others : {&inputs.integers, &inputs.opaque, &inputs.others})
    for (const tensors::Tensor& tensor : *others) names.push_back(tensors::written_name(tensor));
  if (names.empty()) throw Error(tensors::inputs_words(request_.inputs) + ": holds no tensors");
  if (const PlanRule* const idle = rules_.idle(names))
    throw Error(tensors::inputs_words(request_.inputs) + ": no tensor matches '" + idle->match + "'; nearest of " +
                std::to_string(names.size()) + ": " + emu::comma_separated(emu::closest_words(idle->match, names)));
  if (rounds_none != nullptr)
    throw Error(request_.plan + ": '" + rounds_none->match +
                "' matches tensors that are copied as they are, integers or of dtypes that are not known, alone; say to = \"" +
                PlanRule::copy + "\"");
}

void CastTensors::refuse_idle_options(const Asked& asked) const {
  if (!plan_.fused.empty() && !asked.has_set)
    throw Error(tensors::inputs_words(request_.inputs) + ": no tensor's name has a part of --fused " + plan_.fused.front());
  if (!request_.naming.fused.empty() && !asked.shares)
    throw Error("--fused " + request_.naming.fused.front() +
                ": none of these tensors has a scale for all of it to share, as amax, pow2 and nvfp4 have");
  if (!request_.naming.hadamard.empty() && !asked.rotates)
    throw Error("--hadamard " + plan_.hadamard + ": none of these tensors has scales and rows that are a multiple of " +
                std::to_string(hadamard_->size()));
}

void CastTensors::decide_rotation(const tensors::Inputs& inputs, const Asked& asked) {
  const CodesUnderScales found = codes_under_scales(request_.inputs, inputs, request_.reading.options());
  refuse_codes(found, "cast what they were made of, or --copy them and their scales",
               [&](const tensors::Tensor& codes) { return asked.rounded.contains(tensors::written_name(codes)); });
  const bool copies_codes = !found.codes.empty();
  for (const tensors::Tensor& codes : found.codes) codes_.insert(tensors::written_name(codes));
  if (asked.scales || !copies_codes) rotation_ = copies_codes || asked.rotates ? plan_.hadamard : std::string();
  const std::string known = copies_codes ? hadamard_of(request_.inputs) : plan_.hadamard;
  if (!asked.scales || known == plan_.hadamard) return;
  throw Error(tensors::inputs_words(request_.inputs) + ": holds codes under scales " +
              (known.empty() ? std::string("that were not rotated") : "that were rotated by " + known) +
              ", as all that has scales in a file; cast " +
              (known.empty() ? std::string("without --hadamard") : "with --hadamard " + known));
}

std::string CastTensors::key_of(const std::string& set, const PlanRule& rule) {
  return set + "\n" + rule.to + "\n" + rule.scale;
}

std::optional<double> CastTensors::shared_amax(const std::string& name, const PlanRule& rule) {
  const std::string of_name = fused_.key_of(name);
  if (of_name.empty()) return std::nullopt;
  const auto found = sets_.find(key_of(of_name, rule));
  if (found == sets_.end()) return std::nullopt;
  FusedSet& set = found->second;
  if (!set.amax) {
    set.amax = 0;
    for (const tensors::Tensor& member : set.members) set.amax = std::max(*set.amax, amax_of(member, {}, 0));
  }
  return set.amax;
}

tensors::Producer<emu::Code> CastTensors::counted(tensors::Producer<emu::Code> codes) {
  if (!progress_) return codes;
  return [this, codes = std::move(codes)](std::uint64_t first, std::span<emu::Code> out) {
    codes(first, out);
    progress_(done_ += out.size(), total_);
  };
}

void CastTensors::pass_by(const FileContents& contents) {
  for (const std::function<void()>& recount : contents.recounts) recount();
  for (const StoredAs& stored : contents.stored)
    done_ += std::accumulate(stored.shape.begin(), stored.shape.end(), std::uint64_t{1}, std::multiplies<>());
  if (progress_) progress_(done_, total_);
}

bool CastTensors::is_rotated(const tensors::Tensor& tensor, const PlanRule& rule) const {
  return hadamard_ && rule.scaling().rule != ScaleRule::none && hadamard_->fits(tensor);
}

tensors::Tensor CastTensors::before_rounding(const tensors::Tensor& tensor, const PlanRule& rule) const {
  return is_rotated(tensor, rule) ? tensors::rotated(tensor, *hadamard_) : tensor;
}

void CastTensors::add_rounded(const tensors::Tensor& of_file, const PlanRule& rule, FileContents& contents) {
  const std::string name = tensors::written_name(of_file);
  const tensors::Tensor tensor = before_rounding(of_file, rule);
  if (hadamard_ && !is_rotated(of_file, rule)) unrotated_.push_back(of_file);
  Quantizing how{.format = rule.format(), .scaling = rule.scaling(), .options = {}, .seed = request_.reading.seed};
  if (tensor.count() == 0 && !how.format.is_integer()) how.scaling = {};  // there is nothing to scale
  const bool has_scales = how.scaling.rule != ScaleRule::none;
  const bool saturates = has_scales && (clamps(how.scaling.rule) || how.format.is_integer());
  how.options = request_.rounding.options(saturates ? emu::Policy::saturating : emu::Policy::nonsaturating);
  if (has_tensor_scale(how.scaling.rule)) how.scaling.shared_amax = shared_amax(name, rule);
  how.made_finite = made_finite_.of(of_file.label, request_.rounding);
  std::vector<tensors::NamedCodes> entries = entries_of(find_layout(plan_.layout), name, tensor, how, quantized_);
  if (!how.format.has_nan() || clamps(how.scaling.rule))
    contents.recounts.push_back([tensor, codes = entries.front().codes] {
      if (is_finite(tensor)) return;
      std::vector<emu::Code> made(std::size_t{1} << 16);
      for (std::uint64_t first = 0; first < tensor.count(); first += made.size()) {
        made.resize(static_cast<std::size_t>(std::min<std::uint64_t>(made.size(), tensor.count() - first)));
        codes(first, made);
      }
    });
  entries.front().codes = counted(std::move(entries.front().codes));
  std::ranges::move(entries, std::back_inserter(contents.rounded));
  contents.stored.push_back({name, of_file.dtype.name, tensor.shape, how.format, how.scaling.rule});
  ++cast_[emu::format_name(how.format) + (has_scales ? " under " + how.scaling.word : "") +
          (is_rotated(of_file, rule) ? ", rotated" : "")];
}

FileContents CastTensors::of(const tensors::Inputs& inputs, const std::string& metadata) {
  FileContents contents;
  const auto copy = [&](const tensors::Tensor& tensor, std::vector<tensors::Tensor>& told) {
    (tensor.dtype.stored_bits ? blocks_ : told).push_back(tensor);
    contents.beside.copied.push_back(tensor);
    contents.beside.copied.back().name = tensors::written_name(tensor);
  };
  for (const tensors::Tensor& tensor : inputs.kept) {
    const PlanRule* const rule = rules_.rule_for(tensors::written_name(tensor));
    if (rule != nullptr && is_stored(find_layout(plan_.layout), tensor, *rule))
      add_rounded(tensor, *rule, contents);
    else
      copy(tensor, rule != nullptr && tensor.count() != 0 ? odd_ : kept_);
  }
  for (const tensors::Tensor& tensor : inputs.integers) copy(tensor, integers_);
  const auto copy_unknown = [&](const tensors::Tensor& tensor) {
    if (tensor.opaque->bytes)
      copy(tensor, unknown_);
    else
      left_out_.push_back(tensor);
  };
  for (const tensors::Tensor& tensor : inputs.opaque) copy_unknown(tensor);
  for (const tensors::Tensor& tensor : inputs.others) tensor.opaque ? copy_unknown(tensor) : copy(tensor, kept_);
  std::vector<std::string> copied, wide;
  const auto has_many_bits = [](double bits) { return bits > most_bits_of_codes; };
  for (const tensors::Tensor& tensor : contents.beside.copied) {
    copied.push_back(tensor.name);
    if (codes_.contains(tensor.name) && has_many_bits(tensors::stored_bits(tensor))) wide.push_back(tensor.name);
  }
  for (const StoredAs& stored : contents.stored)
    if (stored.rule != ScaleRule::none && has_many_bits(stored.format.bits())) wide.push_back(stored.name);
  contents.beside.metadata = metadata_of(find_layout(plan_.layout), metadata, contents.stored, copied);
  contents.beside.metadata = with_wide_codes(contents.beside.metadata, wide);
  if (rotation_) contents.beside.metadata = with_hadamard(contents.beside.metadata, *rotation_);
  return contents;
}

std::vector<std::string> CastTensors::remarks() const {
  std::vector<std::string> lines;
  if (std::string words = made_finite_.words(); !words.empty()) lines.push_back(std::move(words));
  if (!request_.plan.empty() || request_.scale != "none" || !kept_.empty() || !blocks_.empty() || !odd_.empty())
    for (const auto& [what, count] : cast_)
      lines.push_back(std::to_string(count) + (count == 1 ? " tensor as " : " tensors as ") + what);
  const std::string copied = "copied as they are: ";
  if (!unrotated_.empty()) lines.push_back(tensors::unrotated_words(unrotated_));
  if (!kept_.empty()) lines.push_back(copied + tensors::named_words(kept_, "tensor"));
  if (!blocks_.empty())
    lines.push_back("copied as " + emu::format_name(*blocks_.front().dtype.format) +
                    ", for a .safetensors holds no blocks: " + tensors::named_words(blocks_, "tensor"));
  if (!odd_.empty())
    lines.push_back(copied + tensors::named_words(odd_, "tensor") + ": their codes end within a byte, which readers refuse");
  if (!integers_.empty()) lines.push_back(copied + tensors::named_words(integers_, "integer tensor"));
  if (!unknown_.empty()) lines.push_back(copied + tensors::unknown_words(unknown_));
  lines.insert(lines.end(), remarks_.begin(), remarks_.end());
  if (!left_out_.empty()) lines.push_back("left out: " + tensors::unknown_words(left_out_));
  return lines;
}

}  // namespace ulpscope::studies
