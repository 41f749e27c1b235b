// SPDX-License-Identifier: Apache-2.0
// The layouts, as data.
#include "studies/cast/layouts.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "emu/visible.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {
namespace {

constexpr const char *hadamard_key = "ulpscope_hadamard", *wide_codes_key = "ulpscope_codes";
constexpr std::string_view transformer_engine = "transformer-engine";  // what has scales of blocks has other names there

bool is_mx(ScaleRule rule) { return clamps(rule) && !is_nvfp4(rule); }
// Readers of NVFP4 but our own take scales of blocks of a row.
bool is_fp4(emu::Format format, ScaleRule rule) { return format == emu::e2m1 && (rule == ScaleRule::nvfp4 || is_mx(rule)); }

bool every_pair(emu::Format, ScaleRule) { return true; }

/// 0.20: naive-quantized, float-quantized, mxfp8-quantized, nvfp4-pack-quantized, mxfp4-pack-quantized, pack-quantized.
bool by_compressed_tensors(emu::Format format, ScaleRule rule) {
  const bool is_one_scale = rule == ScaleRule::amax || rule == ScaleRule::pow2 || rule == ScaleRule::row;
  if (format == emu::integer(8)) return is_one_scale || rule == ScaleRule::minmax || rule == ScaleRule::minmax_row;
  if (format == emu::integer(4)) return rule == ScaleRule::row || rule == ScaleRule::tile_1x128;
  if (format == emu::e4m3) return is_one_scale || rule == ScaleRule::tile_128x128 || is_mx(rule);
  return is_fp4(format, rule);
}

bool by_modelopt(emu::Format format, ScaleRule rule) {
  return (format == emu::e4m3 && (rule == ScaleRule::amax || rule == ScaleRule::pow2)) ||
         (format == emu::e2m1 && rule == ScaleRule::nvfp4);
}

bool by_torchao(emu::Format format, ScaleRule rule) {
  const bool is_fp8 = format == emu::e4m3 || format == emu::e5m2;
  if (format == emu::integer(8)) return rule == ScaleRule::row;
  if (is_mx(rule)) return is_fp8 || format == emu::e2m1;
  if (is_nvfp4(rule)) return is_fp4(format, rule);
  return is_fp8 &&
         (rule == ScaleRule::amax || rule == ScaleRule::pow2 || rule == ScaleRule::row || rule == ScaleRule::tile_128x128);
}

bool by_deepseek(emu::Format format, ScaleRule rule) { return format == emu::e4m3 && rule == ScaleRule::tile_128x128; }

bool by_gpt_oss(emu::Format format, ScaleRule rule) { return format == emu::e2m1 && is_mx(rule); }

/// Of Float8Tensor, MXFP8Tensor and NVFP4Tensor.
bool by_transformer_engine(emu::Format format, ScaleRule rule) {
  const bool is_fp8 = format == emu::e4m3 || format == emu::e5m2;
  return is_fp8 ? rule == ScaleRule::amax || rule == ScaleRule::pow2 || is_mx(rule)
                : format == emu::e2m1 && rule == ScaleRule::nvfp4;
}

using Json = nlohmann::ordered_json;

/// A name of torch in torchao's metadata.
Json torch_value(const char* type, const std::string& name) { return {{"_type", type}, {"_data", name}}; }

std::string word_of(TensorScale scale) {
  switch (scale) {
    case TensorScale::factor: return " (multiplies)";
    case TensorScale::divisor: return " (divides)";
    case TensorScale::amax: break;
  }
  return " (times 1/2688)";
}

/// What torchao's unflatten_tensor_state_dict() makes a tensor of (prototype/safetensors/safetensors_utils.py).
Json torchao_metadata(const StoredAs& stored) {
  const bool is_torch = stored.dtype == "float64" || stored.dtype == "float16" || stored.dtype == "bfloat16";
  const Json dtype = torch_value("torch.dtype", is_torch ? stored.dtype : "float32");
  if (is_nvfp4(stored.rule))
    return {{"_type", "NVFP4Tensor"},
            {"_data",
             {{"is_swizzled_scales", false},
              {"use_triton_kernel", false},
              {"act_quant_kwargs", nullptr},
              {"block_size", 16},
              {"orig_dtype", dtype}}},
            {"_tensor_data_names", {"per_tensor_scale", "qdata", "scale"}}};
  const Json names{"qdata", "scale"};
  if (is_mx(stored.rule)) {
    const char* const elements = stored.format == emu::e2m1   ? "float4_e2m1fn_x2"
                                 : stored.format == emu::e4m3 ? "float8_e4m3fn"
                                                              : "float8_e5m2";
    return {{"_type", "MXTensor"},
            {"_data",
             {{"elem_dtype", torch_value("torch.dtype", elements)},
              {"block_size", 32},
              {"orig_dtype", dtype},
              {"kernel_preference", torch_value("KernelPreference", "EMULATED")},
              {"act_quant_kwargs", nullptr},
              {"is_swizzled_scales", false}}},
            {"_tensor_data_names", names}};
  }
  std::vector<std::uint64_t> block = stored.shape;
  if (stored.rule == ScaleRule::row && !block.empty()) std::fill(block.begin(), block.end() - 1, 1);
  if (stored.rule == ScaleRule::tile_128x128) {
    std::fill(block.begin(), block.end(), 1);
    std::fill(block.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(block.size(), 2)), block.end(), 128);
  }
  if (stored.format == emu::integer(8))
    return {{"_type", "Int8Tensor"},
            {"_data", {{"act_quant_kwargs", nullptr}, {"reduce_range", false}, {"block_size", block}, {"dtype", dtype}}},
            {"_tensor_data_names", names}};
  return {{"_type", "Float8Tensor"},
          {"_data",
           {{"block_size", block},
            {"mm_config", nullptr},
            {"act_quant_kwargs", nullptr},
            {"kernel_preference", torch_value("KernelPreference", "AUTO")},
            {"dtype", dtype}}},
          {"_tensor_data_names", names}};
}

}  // namespace

std::string StorageLayout::stem_of(const std::string& tensor) const {
  if (!has_leaves) return tensor;
  const std::size_t dot = tensor.rfind('.');
  if (dot == tensor.npos || dot == 0 || dot + 1 == tensor.size())
    throw Error("layout " + std::string(name) + " has names MODULE.LEAF, and '" + tensor + "' is none");
  return tensor.substr(0, dot) + "._" + tensor.substr(dot + 1);
}

std::string StorageLayout::name_of(const std::string& stem) const {
  if (!has_leaves) return stem;
  const std::size_t dot = stem.rfind("._");
  return dot == stem.npos ? std::string() : stem.substr(0, dot) + "." + stem.substr(dot + 2);
}

std::string metadata_of(const StorageLayout& layout, const std::string& metadata, const std::vector<StoredAs>& stored,
                        const std::vector<std::string>& copied) {
  if (!layout.has_leaves) return metadata;
  Json all = metadata.empty() ? Json::object() : emu::parse_json<Json>(metadata);
  std::map<std::string, std::string> words;  // of tensors: `all` would be searched for every name
  const Json plain = {{"_type", "Tensor"}};
  for (const StoredAs& tensor : stored)
    words[tensor.name] = (tensor.rule == ScaleRule::none ? plain : torchao_metadata(tensor)).dump();
  for (const std::string& name : copied) words[name] = plain.dump();
  for (auto& [key, value] : all.get_ref<Json::object_t&>())
    if (const auto found = words.find(key); found != words.end()) value = words.extract(found).mapped();
  Json names = Json::array();
  const auto add = [&](const std::string& name) {
    if (const auto found = words.find(name); found != words.end()) emu::append_member(all, name, words.extract(found).mapped());
    names.push_back(name);
  };
  for (const StoredAs& tensor : stored) add(tensor.name);
  for (const std::string& name : copied) add(name);
  all["tensor_names"] = names.dump();
  return all.dump();
}

std::string with_hadamard(const std::string& metadata, const std::string& word) {
  if (word.empty() && hadamard_in(metadata).empty()) return metadata;
  Json all = metadata.empty() ? Json::object() : emu::parse_json<Json>(metadata);
  if (word.empty())
    all.erase(hadamard_key);
  else
    all[hadamard_key] = word;
  return all.empty() ? std::string() : all.dump();
}

std::string hadamard_in(const std::string& metadata) {
  if (metadata.empty()) return {};
  const Json all = emu::parse_json<Json>(metadata);
  const auto found = all.find(hadamard_key);
  return found == all.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

std::string hadamard_of(const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs)
    for (const std::string& metadata : tensors::all_metadata(input))
      if (std::string word = hadamard_in(metadata); !word.empty()) return word;
  return {};
}

std::string with_wide_codes(const std::string& metadata, const std::vector<std::string>& names) {
  Json all = metadata.empty() ? Json::object() : emu::parse_json<Json>(metadata);
  if (names.empty() && all.erase(wide_codes_key) == 0) return metadata;
  if (!names.empty()) all[wide_codes_key] = Json(names).dump();
  return all.empty() ? std::string() : all.dump();
}

std::set<std::string> wide_codes_in(const std::string& metadata, const std::string& input) {
  if (metadata.empty()) return {};
  const Json all = emu::parse_json<Json>(metadata);
  const auto found = all.find(wide_codes_key);
  if (found == all.end()) return {};
  const auto refuse = [&] {
    return Error(emu::visible(input + ": its __metadata__ has " + wide_codes_key + ", which is no list of names"));
  };
  Json list;
  try {
    if (found->is_string()) list = emu::parse_json(found->get<std::string>());
  } catch (const emu::BadJson&) {
    throw refuse();
  }
  if (!list.is_array() || !std::ranges::all_of(list, [](const Json& name) { return name.is_string(); })) throw refuse();
  std::set<std::string> names;
  for (const Json& name : list) names.insert(name.get<std::string>());
  return names;
}

std::set<std::string> wide_codes_of(const std::string& input) {
  std::set<std::string> names;
  for (const std::string& metadata : tensors::all_metadata(input)) names.merge(wide_codes_in(metadata, input));
  return names;
}

const std::vector<StorageLayout>& layouts() {
  static const std::vector<StorageLayout> all{
      {.name = "ulpscope",
       .reader = "safetensors; docs/checkpoints.md",
       .formats = "every format that safetensors names, under every rule",
       .stores_scaled = every_pair,
       .codes = "",
       .codes_of_4_bits = "",
       .scale = ".scale",
       .tensor_scale = ".global_scale",
       .zero_point = ".zero_point",
       .stores_codes_alone = true},
      {.name = "compressed-tensors",
       .reader = "vLLM; compressed-tensors 0.20, compressors/",
       .formats =
           "e4m3: amax, pow2, row, 128x128, mx; int8: amax, pow2, row, minmax, minmax:row; int4: row, 1x128; e2m1: mx, nvfp4",
       .stores_scaled = by_compressed_tensors,
       .codes = "",
       .codes_of_4_bits = "_packed",
       .scale = "_scale",
       .tensor_scale = "_global_scale",
       .zero_point = "_zero_point",
       .tensor_scale_is = TensorScale::divisor,
       .bytes_of_codes = true,
       .bytes_of_scales = true,
       .shape_of_words = "_shape",
       .groups_of_columns = "_g_idx",
       .one_scale = OneScale::vector},
      {.name = "modelopt",
       .reader = "TensorRT-LLM, vLLM; nvidia-modelopt 0.47, torch/export/",
       .formats = "e4m3: amax, pow2; e2m1: nvfp4",
       .stores_scaled = by_modelopt,
       .codes = "",
       .codes_of_4_bits = "",
       .scale = "_scale",
       .tensor_scale = "_scale_2",
       .bytes_of_codes = true},
      {.name = "torchao",
       .reader = "torchao 0.18, prototype/safetensors, with its metadata",
       .formats = "e4m3, e5m2: amax, pow2, row, 128x128; e4m3, e5m2, e2m1: mx; int8: row; e2m1: nvfp4",
       .stores_scaled = by_torchao,
       .codes = "_qdata",
       .codes_of_4_bits = "_qdata",
       .scale = "_scale",
       .tensor_scale = "_per_tensor_scale",
       .bytes_of_codes = true,
       .whole_blocks = true,
       .one_scale = OneScale::as_tensor,
       .has_leaves = true},
      {.name = "deepseek",
       .reader = "DeepSeek-V3 inference, transformers' FineGrainedFP8Config",
       .formats = "e4m3: 128x128",
       .stores_scaled = by_deepseek,
       .codes = "",
       .codes_of_4_bits = "",
       .scale = "_scale_inv",
       .tensor_scale = ""},
      {.name = "gpt-oss",
       .reader = "transformers' Mxfp4Config, gpt-oss",
       .formats = "e2m1: mx",
       .stores_scaled = by_gpt_oss,
       .codes = "",
       .codes_of_4_bits = "_blocks",
       .scale = "_scales",
       .tensor_scale = "",
       .bytes_of_codes = true,
       .bytes_of_scales = true,
       .blocks_apart = true},
      {.name = transformer_engine,
       .reader = "the attributes of TransformerEngine's Float8Tensor; it has no file format of its own",
       .formats = "e4m3, e5m2: amax, pow2",
       .stores_scaled = by_transformer_engine,
       .codes = "._data",
       .codes_of_4_bits = "",
       .scale = "._scale_inv",
       .tensor_scale = "",
       .one_scale = OneScale::vector},
      {.name = transformer_engine,
       .reader = "the attributes of its MXFP8Tensor and NVFP4Tensor, rowwise",
       .formats = "e4m3, e5m2: mx; e2m1: nvfp4",
       .stores_scaled = by_transformer_engine,
       .codes = "._rowwise_data",
       .codes_of_4_bits = "._rowwise_data",
       .scale = "._rowwise_scale_inv",
       .tensor_scale = "._amax_rowwise",
       .tensor_scale_is = TensorScale::amax,
       .bytes_of_codes = true,
       .bytes_of_scales = true,
       .whole_blocks = true,
       .padded_scales = true,
       .one_scale = OneScale::vector},
  };
  return all;
}

const StorageLayout& find_layout(std::string_view name) {
  std::vector<std::string> names;
  for (const StorageLayout& layout : layouts()) {
    if (layout.name == name) return layout;
    if (names.empty() || names.back() != layout.name) names.emplace_back(layout.name);
  }
  throw Error("--layout: unknown layout '" + std::string(name) +
              "'; nearest: " + emu::comma_separated(emu::closest_words(name, names)));
}

const StorageLayout& layout_for(const StorageLayout& layout, ScaleRule rule) {
  const auto of_blocks = std::ranges::find_if(
      layouts(), [&](const StorageLayout& other) { return other.name == layout.name && other.padded_scales; });
  return clamps(rule) && of_blocks != layouts().end() ? *of_blocks : find_layout(layout.name);
}

std::string stored_words(const StorageLayout& layout) {
  std::string words;
  for (const StorageLayout& one : layouts())
    if (one.name == layout.name) words += (words.empty() ? "" : "; ") + std::string(one.formats);
  return words;
}

std::string layout_words() {
  std::vector<std::string> names;
  for (const StorageLayout& layout : layouts())
    if (names.empty() || names.back() != layout.name) names.emplace_back(layout.name);
  return emu::comma_separated(names);
}

reports::Table layout_table() {
  reports::Table table{
      "layouts", {"layout", "codes", "codes_of_4_bits", "scales", "tensor_scale", "zero_points", "stores", "read_by"}, {}};
  for (const StorageLayout& layout : layouts()) {
    const auto named = [&](std::string_view ending) {
      return (layout.has_leaves ? "MODULE._LEAF" : "NAME") + std::string(ending);
    };
    const bool has_tensor_scale = !layout.tensor_scale.empty();  // which stores NVFP4
    const bool has_4_bits = has_tensor_scale || layout.stores(emu::e2m1, ScaleRule::mx_floor);
    const bool has_8_bits = layout.stores(emu::e4m3, ScaleRule::amax) || layout.stores(emu::e4m3, ScaleRule::tile_128x128);
    table.rows.push_back(
        {std::string(layout.name), has_8_bits ? named(layout.codes) : "",
         has_4_bits ? named(layout.codes_of_4_bits) + (layout.bytes_of_codes ? " (U8)" : " (F4)") : "", named(layout.scale),
         has_tensor_scale ? named(layout.tensor_scale) + word_of(layout.tensor_scale_is) : "",
         layout.zero_point.empty() ? "" : named(layout.zero_point), std::string(layout.formats), std::string(layout.reader)});
  }
  return table;
}

}  // namespace ulpscope::studies
