// SPDX-License-Identifier: Apache-2.0
// The module ulpscope._core: the rooms as Python calls them. What people call is in python/ulpscope/.
#include <exception>
#include <new>
#include <stdexcept>

#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "python/bindings.hpp"
#include "reports/build_info.hpp"

namespace {

/// Errors name files and tensors: what others wrote is printed in tracebacks, too.
void raise_visible(const std::exception_ptr& thrown, void* type) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ulpscope::Error& error) {
    PyErr_SetString(static_cast<PyObject*>(type), ulpscope::emu::visible(error.what()).c_str());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "out of memory");
  } catch (const std::length_error&) {  // of a container that would be larger than memory can be
    PyErr_SetString(PyExc_MemoryError, "out of memory");
  }
}

}  // namespace

NB_MODULE(_core, m) {
  using namespace ulpscope;
  m.doc() = "The rooms of ulpscope. Use the package ulpscope.";
  m.attr("version") = reports::version();
  nanobind::set_leak_warnings(false);  // at the end of a program a loss may still hold its graph, which is no fault of anybody
  nanobind::exception<Error> error(m, "Error", PyExc_ValueError);
  nanobind::register_exception_translator(raise_visible, error.ptr());
  python::add_numbers(m);
  python::add_facts(m);
  python::add_files(m);
  python::add_requests(m);
  python::add_checks(m);
  python::add_scalers(m);
  python::add_emulation(m);
}
