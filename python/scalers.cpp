// SPDX-License-Identifier: Apache-2.0
// Loss scalers as Python steps them.
#include "python/bindings.hpp"
#include "recipes/scaler.hpp"
#include "requests/parts.hpp"
#include "training/scale/scale_study.hpp"

namespace ulpscope::python {

void add_scalers(nb::module_& m) {
  using recipes::Scaler;
  nb::class_<recipes::ScalerStep>(m, "ScalerStep")
      .def_ro("scale", &recipes::ScalerStep::scale)
      .def_ro("skipped", &recipes::ScalerStep::skipped)
      .def_ro("next_scale", &recipes::ScalerStep::next_scale)
      .def_ro("raised", &recipes::ScalerStep::raised);
  nb::class_<Scaler>(m, "Scaler")
      .def("__init__", [](Scaler* self, const std::string& words,
                          const std::string& to) { new (self) Scaler(words, requests::parse_format(to)); })
      .def("words", &Scaler::words)
      .def_prop_ro("name", &Scaler::name)
      .def_prop_ro("scale", &Scaler::scale)
      .def_prop_ro("floor", &Scaler::floor)
      .def_prop_ro("cap", &Scaler::cap)
      .def_prop_ro("follows_amax", &Scaler::follows_amax)
      .def_prop_ro("bin_edge", &Scaler::bin_edge)
      .def("step",
           [](Scaler& self, bool found_inf, std::optional<double> amax, std::optional<double> upper) {
             return self.step({.found_inf = found_inf, .amax = amax, .upper = upper});
           })
      .def("state", &Scaler::state)
      .def("set_state", &Scaler::set_state);
  m.def("scalers", [](const std::string& name) { return as_python(training::scalers_table(name)); });
}

}  // namespace ulpscope::python
