// SPDX-License-Identifier: Apache-2.0
// What a declaration that was not made would say of wrong elements.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "products/product.hpp"
#include "verify/expected.hpp"

namespace ulpscope::verify {

/// Whether a correct kernel may return such an element.
constexpr bool is_right(Standing standing) noexcept { return standing == Standing::equal || standing == Standing::within; }

/// `240 of 256 wrong elements looked at are right ` and `words`, where `right` is nine tenths of `all` or more; else empty.
std::string right_if(std::size_t right, std::size_t all, const std::string& words);

/// What is expected of a product.
using ProductExpectation = std::function<std::unique_ptr<Expectation>(const products::Product&)>;
/// Of a product whose inputs are said to be cut to tf32: whether the wrong elements are right where inputs are rounded to
/// nearest. Empty where they are not, or where no input is cut.
std::string diagnosis_of_cut_inputs(const products::Product& problem, const ProductExpectation& expect,
                                    std::span<const std::uint64_t> indices, std::span<const double> outputs,
                                    const LastRounding& last);

}  // namespace ulpscope::verify
