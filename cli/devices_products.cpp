// SPDX-License-Identifier: Apache-2.0
// The commands `devices products` and `devices cost`.
#include <charconv>
#include <iterator>
#include <memory>
#include <utility>

#include "cli/devices.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "requests/parts.hpp"
#include "studies/devices/device_cost.hpp"
#include "studies/devices/library_products.hpp"

namespace ulpscope::cli {
namespace {

struct Products {
  CommonOptions common;
  std::string device, function;
  std::vector<std::string> shapes, inputs;
  std::size_t most_algorithms = studies::LibraryProductsConfig{}.most_algorithms;
};

studies::ProductShape parse_shape(const std::string& word) {
  studies::ProductShape shape;
  const char *next = word.data(), *const stop = word.data() + word.size();
  for (std::size_t* const size : {&shape.m, &shape.n, &shape.k}) {
    const auto [last, error] = std::from_chars(next, stop, *size);
    const bool ends = size == &shape.k ? last == stop : last != stop && *last == 'x';
    if (error != std::errc() || !ends || *size == 0 || *size > 1 << 16)
      throw Error("--shape '" + word + "': give MxNxK, each from 1 to 65536");
    next = last + (last == stop ? 0 : 1);
  }
  return shape;
}

std::vector<studies::ProductShape> shapes_of(const Products& products, const gpu::Device& device) {
  std::vector<studies::ProductShape> shapes;
  for (const std::string& word : products.shapes) shapes.push_back(parse_shape(word));
  return shapes.empty() ? studies::library_product_shapes(device) : shapes;
}

using Libraries = std::vector<std::shared_ptr<const gpu::Library>>;

/// The device named, else the first that has libraries.
std::pair<gpu::Device, Libraries> device_with_libraries(const std::string& id) {
  for (const gpu::Device& device : devices_named(id))
    if (device.libraries) return {device, device.libraries()};
  throw gpu::NoDevice(id.empty() ? "no GPU here; --device emulated:sm_90 has an emulated library"
                                 : "no library of matrix products on " + id);
}

bool is_wanted(const Products& products, const gpu::LibraryCall& call) {
  if (products.inputs.empty()) return true;
  return call.a == requests::parse_format(products.inputs.front()) && call.b == requests::parse_format(products.inputs.back());
}

int run_products(const Products& products) {
  if (products.inputs.size() > 2) throw Error("--in takes one format, or one for A and one for B");
  const auto [device, libraries] = device_with_libraries(products.device);
  studies::LibraryProductsConfig config;
  config.engine = studies::engine_of_device(device);
  config.shapes = shapes_of(products, device);
  config.most_algorithms = products.most_algorithms;
  config.seed = products.common.reading.seed;
  config.emulator = device.emulator.get();
  reports::Table all;
  for (const auto& library : libraries)
    for (const gpu::LibraryCall& call : library->calls())
      if (is_wanted(products, call)) all.append(studies::library_products(*library, call, config));
  if (all.rows.empty()) throw Error("no call of a library of " + device.description.id + " takes these formats");
  print(all, products.common, 12);
  return done;
}

int run_cost(const Products& products) {
  const auto [device, libraries] = device_with_libraries(products.device);
  studies::DeviceCostConfig config;
  config.seed = products.common.reading.seed;
  const bool emulated = device.description.id.starts_with("emulated:");
  if (emulated || !products.shapes.empty()) config.shapes = shapes_of(products, device);
  reports::Table all;
  for (const auto& library : libraries) all.append(studies::device_cost(*library, config));
  print(all, products.common, 4);
  return done;
}

std::shared_ptr<Products> add_common(Command& command) {
  auto products = std::make_shared<Products>();
  command.add_option("--device", products->device, "the device; the first GPU by default")->type_name("D");
  command.add_option("--shape", products->shapes, "of the products; a few by default")->delimiter(',')->type_name("MxNxK,...");
  command.add_option("--seed", products->common.reading.seed, "of the operands")->whole()->capture_default_str();
  products->common.add_output(command);
  return products;
}

}  // namespace

void add_devices_products(Command& devices, int& exit_code) {
  Command& command =
      *devices.add_subcommand("products", "which chain of instructions predicts what a library computes, for each algorithm");
  const auto products = add_common(command);
  command.add_option("--in", products->inputs, "operand format, or one for A and one for B; all by default")
      ->delimiter(',')
      ->type_name("F[,F]");
  command.add_option("--most-algorithms", products->most_algorithms, "of each call and shape")
      ->whole({1, requests::most_elements})
      ->capture_default_str();
  command.footer("Example: ulpscope devices products --device emulated:sm_90 --in fp16 --shape 16x16x64");
  command.callback([products, &exit_code] { exit_code = run_products(*products); });
}

void add_devices_cost(Command& devices, int& exit_code) {
  Command& command = *devices.add_subcommand("cost", "how long a library's products take in each format, and what they lose");
  const auto products = add_common(command);
  command.footer("Example: ulpscope devices cost --device emulated:sm_90 --shape 64x64x64");
  command.callback([products, &exit_code] { exit_code = run_cost(*products); });
}

}  // namespace ulpscope::cli
