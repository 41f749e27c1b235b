// SPDX-License-Identifier: Apache-2.0
// JSON that others have written. Every reader of JSON begins here: one limit of depth, no key twice, nothing behind the value.
// Opt in: it includes nlohmann-json.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "emu/error.hpp"

namespace ulpscope::emu {

/// Objects and arrays in each other deeper than this are refused before any is made: values are compared, copied, printed and
/// destroyed by functions that call themselves. The files that are read have at most five levels.
inline constexpr std::size_t deepest_json = 64;

/// Why a text is refused, in words that follow the name of the file.
class BadJson : public Error {
 public:
  using Error::Error;
};

/// The text is no JSON at all, from a byte on.
class NoJson : public BadJson {
 public:
  using BadJson::BadJson;
};

namespace detail {

/// Hears of every value before there is one.
class JsonCheck final : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Json = nlohmann::json;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(Json::number_integer_t) override { return true; }
  bool number_unsigned(Json::number_unsigned_t) override { return true; }
  bool number_float(Json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return deeper();
  }
  bool end_object() override {
    keys_.pop_back();
    return --depth_, true;
  }
  bool start_array(std::size_t) override { return deeper(); }
  bool end_array() override { return --depth_, true; }
  bool key(std::string& word) override {
    if (keys_.back().insert(word).second) return true;
    throw BadJson("the key '" + word + "' occurs twice");
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    if (dynamic_cast<const nlohmann::detail::out_of_range*>(&error) != nullptr)
      throw BadJson("holds a number that is too large");
    throw NoJson("is no JSON at byte " + std::to_string(position));
  }

 private:
  bool deeper() {
    if (++depth_ <= deepest_json) return true;
    throw BadJson("JSON is nested more than " + std::to_string(deepest_json) + " deep");
  }
  std::size_t depth_ = 0;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace detail

/// Adds a member, whose key the object has not yet: ordered_json looks through all of its keys for each that it is asked for.
inline void append_member(nlohmann::ordered_json& object, std::string key, nlohmann::ordered_json value) {
  auto& members = object.get_ref<nlohmann::ordered_json::object_t&>();
  members.nlohmann::ordered_json::object_t::Container::emplace_back(std::move(key), std::move(value));
}

namespace detail {

/// Makes what JsonCheck has let pass, in the order of the text.
class OrderedMaker final : public nlohmann::json_sax<nlohmann::ordered_json> {
 public:
  using Json = nlohmann::ordered_json;
  Json root;  ///< what was made

  bool null() override { return add(nullptr), true; }
  bool boolean(bool value) override { return add(value), true; }
  bool number_integer(Json::number_integer_t value) override { return add(value), true; }
  bool number_unsigned(Json::number_unsigned_t value) override { return add(value), true; }
  bool number_float(Json::number_float_t value, const std::string&) override { return add(value), true; }
  bool string(std::string& value) override { return add(std::move(value)), true; }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return around_.push_back(&add(Json::object())), true; }
  bool end_object() override { return around_.pop_back(), true; }
  bool start_array(std::size_t) override { return around_.push_back(&add(Json::array())), true; }
  bool end_array() override { return around_.pop_back(), true; }
  bool key(std::string& word) override { return key_ = std::move(word), true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  Json& add(Json value) {
    if (around_.empty()) return root = std::move(value);
    Json& in = *around_.back();
    if (in.is_object())
      append_member(in, std::move(key_), std::move(value));
    else
      in.push_back(std::move(value));
    return in.is_object() ? in.get_ref<Json::object_t&>().back().second : in.back();
  }
  std::vector<Json*> around_;  // each in the one before, which does not grow meanwhile
  std::string key_;
};

}  // namespace detail

/// The value, of nlohmann::json or ordered_json. @throws BadJson, which names no file
template <class Json = nlohmann::json>
Json parse_json(std::string_view text) {
  // nlohmann-json takes a NUL for the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != text.npos) throw NoJson("is no JSON at byte " + std::to_string(nul + 1));
  detail::JsonCheck check;
  nlohmann::json::sax_parse(text, &check);
  if constexpr (std::is_same_v<Json, nlohmann::ordered_json>) {
    detail::OrderedMaker maker;
    Json::sax_parse(text, &maker);
    return std::move(maker.root);
  } else {
    return Json::parse(text, nullptr, false);
  }
}

/// A whole number within T's range: the library would make one of truth values, fractions and what is far too large as well.
/// @throws BadJson
template <std::integral T, class Json>
T whole_number(const Json& value) {
  if (value.is_number_unsigned()) {
    if (const auto x = value.template get<std::uint64_t>(); std::in_range<T>(x)) return static_cast<T>(x);
  } else if (value.is_number_integer()) {
    if (const auto x = value.template get<std::int64_t>(); std::in_range<T>(x)) return static_cast<T>(x);
  }
  throw BadJson("holds what is no whole number, or too large a one");
}

}  // namespace ulpscope::emu
