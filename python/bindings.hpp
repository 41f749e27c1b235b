// SPDX-License-Identifier: Apache-2.0
// What the files of the module ulpscope._core have in common: arrays that come in and go out, and work that Ctrl-C ends.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/table.hpp"
#include "requests/field.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::python {

namespace nb = nanobind;

/// The bytes of an array, C-contiguous, in main memory.
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
/// A new array of numpy.
template <class T>
using NewArray = nb::ndarray<nb::numpy, T, nb::c_contig>;

/// A tensor over the bytes of an array, which it keeps alive. `dtype` is a format's name (`float32`, `float8_e4m3fn`), `int8`
/// to `int64`, `uint8` to `uint64` or `bool`; `item_bytes` are those of an element. @throws ulpscope::Error
tensors::Tensor tensor_of(Bytes bytes, const std::string& dtype, std::size_t item_bytes, std::vector<std::uint64_t> shape,
                          std::string label);

/// So many numbers, of memory that nobody has touched: it is written to piece by piece.
template <class T>
struct NewNumbers {
  explicit NewNumbers(std::size_t of) : count(of), data(std::make_unique_for_overwrite<T[]>(of)) {}
  std::span<T> piece(std::size_t first, std::size_t size) { return {data.get() + first, size}; }

  std::size_t count;          ///< of them
  std::unique_ptr<T[]> data;  ///< all of them
};

/// Hands memory over to numpy.
///@{
template <class T>
NewArray<T> new_array(NewNumbers<T> values, const std::vector<std::uint64_t>& shape) {
  T* const data = values.data.release();
  const nb::capsule owner(data, [](void* all) noexcept { delete[] static_cast<T*>(all); });
  std::vector<std::size_t> extents(shape.begin(), shape.end());
  return NewArray<T>(data, extents.size(), extents.data(), owner);
}
template <class T>
NewArray<T> new_array(std::vector<T> values, const std::vector<std::uint64_t>& shape) {
  auto* const owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* all) noexcept { delete static_cast<std::vector<T>*>(all); });
  std::vector<std::size_t> extents(shape.begin(), shape.end());
  return NewArray<T>(owned->data(), extents.size(), extents.data(), owner);
}
///@}

/// Columns, and rows of int, float and str, as Python has them.
nb::object as_python(const reports::Table& table);

/// Words of a request's fields, by key.
using Values = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Sets fields from words. @throws ulpscope::Error
void set_fields(requests::Fields& fields, const Values& values);

/// A request with these words. @throws ulpscope::Error
template <class Request>
Request request_of(const Values& values) {
  Request request;
  requests::Fields fields = requests::fields_of(request);
  set_fields(fields, values);
  return request;
}

/// What Python knows of fields: a dictionary each.
nb::list as_python(const requests::Fields& fields);

/// Called with work done and all of it.
using Told = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Runs `work` on another thread while this one waits for it and for Ctrl-C, which ends it where it next tells of progress or
/// a loop of it looks (emu/stop.hpp). `shown` is called now and then, in this thread. The lock of the interpreter is not held.
/// @throws what `work` throws
void work_apart(const nb::object& shown, const std::function<void(const Told& told)>& work);

/// The same of work on so many numbers, which stays in this thread where they are so few that a thread would cost more.
void work_on(std::size_t numbers, const std::function<void()>& work);

// The parts of the module.
void add_emulation(nb::module_& m);
void add_numbers(nb::module_& m);
void add_facts(nb::module_& m);
void add_files(nb::module_& m);
void add_requests(nb::module_& m);
void add_checks(nb::module_& m);
void add_scalers(nb::module_& m);

}  // namespace ulpscope::python
