// SPDX-License-Identifier: Apache-2.0
// Reads the few options with the standard library alone.
#include "cli/devices_program/options.hpp"

#include <charconv>
#include <cstddef>

#include "emu/error.hpp"

namespace ulpscope::cli {
namespace {

template <class Number>
Number number(const std::string& option, const std::string& word) {
  Number value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || word.starts_with('-'))
    throw Error(option + " " + word + ": give a whole number");
  return value;
}

}  // namespace

DevicesOptions parse_devices_options(const std::vector<std::string>& words) {
  DevicesOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-')) {
      if (!options.phase.empty()) throw Error(word + ": there is a phase already, " + options.phase);
      options.phase = word;
      continue;
    }
    if (i + 1 == words.size()) throw Error(word + ": needs a value");
    const std::string& value = words[++i];
    if (word == "--device")
      options.device = value;
    else if (word == "--instruction")
      options.instruction = value;
    else if (word == "-o")
      options.output = value;
    else if (word == "--tests")
      options.tests = number<std::uint64_t>(word, value);
    else if (word == "--seed")
      options.seed = number<std::uint64_t>(word, value);
    else if (word == "--seconds")
      options.seconds = number<int>(word, value);
    else if (word == "--journal")
      options.journal = value;
    else
      throw Error(word + ": no such option; there are --device, --instruction, -o, --tests, --seed, --seconds");
  }
  return options;
}

}  // namespace ulpscope::cli
