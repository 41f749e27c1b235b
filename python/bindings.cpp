// SPDX-License-Identifier: Apache-2.0
// Arrays as tensors, tables as lists, and waiting that can be interrupted.
#include "python/bindings.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/stop.hpp"
#include "tensors/elements.hpp"

namespace ulpscope::python {
namespace {

tensors::Layout layout_of(const std::string& dtype, bool floating, std::size_t item_bytes) {
  using Kind = tensors::Layout::Kind;
  const Kind kind = floating                   ? Kind::floating
                    : dtype == "bool"          ? Kind::boolean
                    : dtype.starts_with("int") ? Kind::signed_integer
                                               : Kind::unsigned_integer;
  return {kind, static_cast<int>(8 * item_bytes), false};
}

bool is_integer_word(const std::string& dtype) {
  for (const char* word : {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
    if (dtype == word) return true;
  return false;
}

/// As NumPy loads codes of ml_dtypes from an .npy.
bool is_void_word(const std::string& dtype) { return dtype.starts_with("void"); }

/// What such codes are tensors of until `dtype` says their format.
tensors::Opaque codes_without_format(const std::string& dtype) {
  const bool is_byte = dtype == "void8";
  return {.why = "dtype " + dtype + " does not say which format; give dtype=" + (is_byte ? "'e4m3'" : "'bf16'") +
                 " (of output: output_dtype), or the array's view(ml_dtypes." + (is_byte ? "float8_e4m3fn" : "bfloat16") + ")",
          .bytes = {}};
}

}  // namespace

tensors::Tensor tensor_of(Bytes bytes, const std::string& dtype, std::size_t item_bytes, std::vector<std::uint64_t> shape,
                          std::string label) {
  tensors::DType type{dtype, {}};
  std::optional<tensors::Opaque> opaque;
  if (is_void_word(dtype)) {
    opaque = codes_without_format(dtype);
  } else if (!is_integer_word(dtype)) {
    type.format = emu::parse_format(dtype);
    if (!type.format) throw Error(label + ": there are no numbers of dtype " + dtype);
    type.name = emu::format_name(*type.format);
    const auto bits = static_cast<std::size_t>(type.format->bits());
    if (8 * item_bytes < bits || (bits >= 32 && 8 * item_bytes != bits))  // the processor's own are read as they are
      throw Error(label + ": elements of " + std::to_string(item_bytes) + " bytes hold no codes of " + type.name);
  }
  const auto owner = std::make_shared<const Bytes>(std::move(bytes));
  const auto* const first = reinterpret_cast<const std::byte*>(owner->data());
  const std::span<const std::byte> all(first, owner->size());
  const bool floating = type.format.has_value();
  auto source = tensors::make_source({.bytes = tensors::bytes_in_memory(all, owner),
                                      .size = all.size(),
                                      .dtype = type,
                                      .layout = layout_of(dtype, floating, item_bytes)});
  return {std::move(label), {}, std::move(type), std::move(shape), std::move(source), std::move(opaque)};
}

nb::object as_python(const reports::Table& table) {
  nb::list rows;
  for (const auto& row : table.rows) {
    nb::list cells;
    for (const reports::Cell& cell : row) std::visit([&](const auto& value) { cells.append(nb::cast(value)); }, cell);
    rows.append(cells);
  }
  return nb::make_tuple(table.name, table.columns, rows);
}

void set_fields(requests::Fields& fields, const Values& values) {
  for (const auto& [key, words] : values) {
    requests::Field* const field = fields.find(key);
    if (field == nullptr) throw Error("there is no '" + key + "' here");
    field->set(words);
  }
}

nb::list as_python(const requests::Fields& fields) {
  nb::list all;
  for (const requests::Field& field : fields) {
    nb::dict one;
    one["name"] = field.name, one["help"] = field.help, one["option"] = field.option();
    one["value"] = field.value, one["words"] = field.words();
    one["input"] = field.is_input(), one["flag"] = field.is_flag(), one["list"] = field.is_list();
    one["commas"] = field.is_list() && (field.form == requests::ListForm::commas || field.form == requests::ListForm::either);
    one["whole"] = field.is_whole(), one["real"] = field.is_real(), one["required"] = field.required;
    all.append(one);
  }
  return all;
}

void work_apart(const nb::object& shown, const std::function<void(const Told& told)>& work) {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::atomic<bool> cancelled = false;
  std::atomic<std::uint64_t> so_far = 0, of = 0;
  std::exception_ptr failed, interrupted;  // each of its own thread
  const Told told = [&](std::uint64_t part, std::uint64_t total) {
    if (cancelled) throw emu::Stopped();
    so_far = part, of = total;
  };
  std::thread worker([&] {
    const emu::StopScope scope(&cancelled);
    try {
      work(told);
    } catch (...) {
      failed = std::current_exception();
    }
    const std::scoped_lock lock(mutex);
    done = true;
    ended.notify_one();
  });
  for (;;) {
    {
      const nb::gil_scoped_release released;
      std::unique_lock lock(mutex);
      if (ended.wait_for(lock, std::chrono::milliseconds(100), [&] { return done; })) break;
    }
    if (interrupted) continue;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!shown.is_none() && of != 0) shown(so_far.load(), of.load());
    } catch (...) {
      cancelled = true;
      interrupted = std::current_exception();
    }
  }
  {
    const nb::gil_scoped_release released;
    worker.join();
  }
  if (interrupted) std::rethrow_exception(interrupted);
  if (failed) std::rethrow_exception(failed);
}

void work_on(std::size_t numbers, const std::function<void()>& work) {
  constexpr std::size_t few = 1 << 16;
  if (numbers >= few) return work_apart(nb::none(), [&](const Told&) { work(); });
  const nb::gil_scoped_release released;
  work();
}

}  // namespace ulpscope::python
