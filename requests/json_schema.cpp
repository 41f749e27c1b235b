// SPDX-License-Identifier: Apache-2.0
// A description of requests as a JSON schema. Where one value may stand a list may too: it is an axis.
#include "requests/json_schema.hpp"

#include <nlohmann/json.hpp>

namespace ulpscope::requests {
namespace {

using Json = nlohmann::ordered_json;

Json one_value(const Field& field, const std::vector<std::string>& choices) {
  if (field.is_flag()) return {{"type", "boolean"}};
  if (field.is_whole()) {
    const WholeBounds bounds = field.whole_bounds.value_or(WholeBounds{});
    Json json{{"type", "integer"}, {"minimum", bounds.least}};
    if (bounds.most != WholeBounds{}.most) json["maximum"] = bounds.most;
    return json;
  }
  if (field.is_real()) {
    const RealBounds bounds = field.real_bounds.value_or(RealBounds{});
    Json json{{"type", "number"}};
    if (bounds.least != RealBounds{}.least) json["minimum"] = bounds.least;
    if (bounds.most != RealBounds{}.most) json["maximum"] = bounds.most;
    return json;
  }
  if (choices.empty()) return {{"type", "string"}};
  // Names are written in any case, and some take parameters: known words are offered, others are accepted.
  return {{"anyOf", Json::array({Json{{"enum", choices}}, Json{{"type", "string"}}})}};
}

Json property(const Field& field, const std::vector<std::string>& choices) {
  Json one = one_value(field, choices);
  if (field.is_list()) one = {{"type", "array"}, {"items", std::move(one)}, {"minItems", 1}};
  Json json{{"description", field.help}};
  const Json axis{{"type", "array"}, {"items", one}, {"minItems", 1}};
  json["anyOf"] = Json::array({std::move(one), axis});
  if (!field.standard.empty()) json["description"] = field.help + " [" + field.standard + "]";
  return json;
}

}  // namespace

std::string json_schema(const std::vector<SchemaKind>& kinds,
                        const std::function<std::vector<std::string>(const Field&)>& choices) {
  Json tables = Json::array();
  for (const SchemaKind& kind : kinds) {
    Json properties{{"kind", {{"const", kind.name}, {"description", kind.help}}},
                    {"name", {{"type", "string"}, {"description", "of the study, and of its files; one of each"}}}};
    Json required = Json::array({"kind"});
    for (const Field& field : *kind.fields) {
      if (field.scope != Scope::result) continue;
      properties[field.name] = property(field, choices(field));
      if (field.required) required.push_back(field.name);
    }
    tables.push_back({{"title", kind.name},
                      {"type", "object"},
                      {"properties", std::move(properties)},
                      {"required", std::move(required)},
                      {"additionalProperties", false}});
  }
  const Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                    {"title", "ulpscope studies"},
                    {"type", "object"},
                    {"properties", {{"study", {{"type", "array"}, {"items", {{"anyOf", std::move(tables)}}}}}}},
                    {"required", {"study"}},
                    {"additionalProperties", false}};
  return schema.dump(2) + "\n";
}

}  // namespace ulpscope::requests
