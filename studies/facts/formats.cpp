// SPDX-License-Identifier: Apache-2.0
// Limits of a format, and its names elsewhere.
#include "studies/facts/formats.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/names.hpp"

namespace ulpscope::studies {
namespace {

/// Decimal digits that survive decimal -> format -> decimal (C's FLT_DIG): floor((p - 1) log10 2).
std::int64_t decimal_digits(emu::Format format) {
  std::int64_t digits = 0;
  for (unsigned __int128 power = 10; power <= static_cast<unsigned __int128>(1) << format.fraction_bits; power *= 10) ++digits;
  return digits;
}

/// `7f ff`, or ranges `7c01-7fff fc01-ffff`.
std::string nan_codes(emu::Format format) {
  if (!format.has_nan()) return "";
  if (format.negative_zero_is_nan() || !format.is_signed()) return emu::hex_code(format, format.nan_code());
  const emu::Code last = format.magnitude_mask();
  const emu::Code first = format.has_infinity() ? format.infinity_code() + 1 : last;
  const auto range = [&](emu::Code sign) {
    return emu::hex_code(format, first | sign) + (first == last ? "" : "-" + emu::hex_code(format, last | sign));
  };
  return range(0) + " " + range(format.sign_mask());
}

const emu::NamedFormat* named(emu::Format format) {
  for (const emu::NamedFormat& entry : emu::catalogue)
    if (entry.format == format) return &entry;
  return nullptr;
}

std::vector<reports::Cell> row_of(emu::Format format) {
  const emu::NamedFormat* const entry = named(format);
  const auto word = [&](std::string_view emu::NamedFormat::* member) {
    return entry ? std::string(entry->*member) : std::string();
  };
  return {emu::format_name(format),
          word(&emu::NamedFormat::aliases),
          std::int64_t{format.bits()},
          std::int64_t{format.exponent_bits},
          std::int64_t{format.fraction_bits},
          std::int64_t{format.bias},
          emu::max_finite(format),
          emu::min_normal(format),
          format.has_subnormals() ? reports::Cell(emu::min_positive(format)) : reports::Cell(std::string()),
          emu::epsilon(format),
          decimal_digits(format),
          std::string(format.has_infinity() ? "true" : "false"),
          nan_codes(format),
          word(&emu::NamedFormat::numpy),
          word(&emu::NamedFormat::torch),
          word(&emu::NamedFormat::safetensors),
          word(&emu::NamedFormat::cuda),
          word(&emu::NamedFormat::hardware)};
}

}  // namespace

reports::Table formats_table(const std::vector<emu::Format>& formats) {
  reports::Table table{
      "formats",
      {"name", "aliases", "bits", "exponent_bits", "fraction_bits", "bias", "max_finite", "min_normal", "min_subnormal",
       "epsilon", "decimal_digits", "has_inf", "nan_codes", "numpy", "torch", "safetensors", "cuda", "hardware"},
      {}};
  for (const emu::Format format : formats) table.rows.push_back(row_of(format));
  return table;
}

}  // namespace ulpscope::studies
