// SPDX-License-Identifier: Apache-2.0
// D = A.B + C of integers, summed in int32: each element is equal or wrong. Beyond the range sums wrap around, or saturate.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "emu/catalogue.hpp"
#include "products/product.hpp"
#include "products/request.hpp"
#include "verify/expected.hpp"

namespace ulpscope::verify {

/// What a sum does beyond -2^31 .. 2^31 - 1.
enum class IntegerOverflow : std::uint8_t {
  wrap,     ///< modulo 2^32, as mma.s32 without .satfinite and VPDPBUSD do: whatever the order, one result
  saturate  ///< to the nearest end, as mma.s32 with .satfinite and VPDPBUSDS do: where parts saturate, results depend on the
            ///< order
};

/// The numbers of int32 among equally spaced ones that have both signs of each magnitude.
inline constexpr emu::Format int32_values = emu::integer(33);

/// The name of an output's format: that of the format, and `int32`.
std::string output_name(emu::Format format);
/// The code of a number of it in hexadecimal digits: of int32 its two's complement.
std::string output_code(emu::Format format, double value);

/// D of integers of up to 16 bits; C is of int32. `product.out` is int32_values; engine, scales, alpha and beta play no part.
/// @throws ulpscope::Error where shapes do not fit or an element is no such integer
std::unique_ptr<Expectation> expect_integer_matmul(const products::Product& product, IntegerOverflow overflow);

/// The product of a request whose accumulator is int32, its operands exact. @throws ulpscope::Error where the request asks for
/// what such a sum has not
products::Product integer_product(const products::ProductRequest& request);

}  // namespace ulpscope::verify
