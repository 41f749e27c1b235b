// SPDX-License-Identifier: Apache-2.0
// A product on one engine as Python asks for it; all other requests are those of the rooms.
#pragma once

#include <string>

#include "products/request.hpp"
#include "requests/field.hpp"

namespace ulpscope::python {

/// D = A.B + C on one engine.
struct EngineProductRequest {
  products::ProductRequest product;  ///< what is multiplied
  std::string engine = "fma";        ///< a word for `ulpscope engines`

  /// Names the members.
  void describe(requests::Fields& fields) {
    product.describe(fields);
    fields.add("engine", engine, "what multiplies: engine, `exact`, or block:n=16,f=25,out=rz").as_value("E").shown();
  }
};

}  // namespace ulpscope::python
