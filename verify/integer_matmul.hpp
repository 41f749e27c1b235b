// SPDX-License-Identifier: Apache-2.0
// D = A.B + C of integers, summed in int32: each element is equal or wrong. With scales, or an output in floating point, the
// sums are what float32 goes on with: scaled, added to C and rounded once to the output (W8A8 kernels).
#pragma once

#include <memory>
#include <string>

#include "emu/catalogue.hpp"
#include "products/product.hpp"
#include "products/request.hpp"
#include "verify/expected.hpp"
#include "verify/integer_sums.hpp"

namespace ulpscope::verify {

/// The numbers of int32 among equally spaced ones that have both signs of each magnitude.
inline constexpr emu::Format int32_values = emu::integer(33);

/// The name of an output's format: that of the format, and `int32`.
std::string output_name(emu::Format format);
/// The code of a number of it in hexadecimal digits: of int32 its two's complement.
std::string output_code(emu::Format format, double value);

/// D of integers of up to 16 bits. Where `product.out` is int32_values D is the sums, and C of int32; else D is what float32
/// makes of them, which starts from the sums of stretches of K whose scales are the same. Engine, promote and split_k play no
/// part. @throws ulpscope::Error where shapes do not fit or an element is no such integer
std::unique_ptr<Expectation> expect_integer_matmul(const products::Product& product, IntegerOverflow overflow);

/// What a request whose accumulator is int32 asks of floats that hold its integers: what products::resolve() takes.
/// @throws ulpscope::Error where integers are to be rounded
products::ProductRequest integers_as_floats(const products::ProductRequest& request);

/// The format of D, that of `output` where the request does not say it: int32_values where D is the sums themselves.
/// @throws ulpscope::Error where that fits no sums, or scales
emu::Format out_of_integers(const products::ProductRequest& request, const products::Product& product,
                            const tensors::Tensor& output);

}  // namespace ulpscope::verify
