// SPDX-License-Identifier: Apache-2.0
// From a request to products on engines and a device.
#include "studies/matmul/matmul_request.hpp"

#include "emu/error.hpp"

namespace ulpscope::studies {

MatmulConfig resolve(const MatmulRequest& request) {
  MatmulConfig config{.engines = {}, .against = {}, .product = {}};
  for (const std::string& engine : request.engine) config.engines.push_back(products::engine_word(engine));
  for (const std::string& engine : request.against) config.against.push_back(products::engine_word(engine));
  config.product =
      products::resolve(request.product, products::open(request.product), config.engines.empty() ? "" : config.engines.front());
  const products::Product& product = config.product;
  if (request.device.empty() && !request.instruction.empty())
    throw Error("--instruction: --device is missing, whose instructions these are");
  if (!request.device.empty())
    config.devices.push_back(products::choose_device(request.device, request.instruction,
                                                     {product.a.rounding.format, product.b.rounding.format, product.acc},
                                                     config.engines));
  config.partial_sums = request.partial_sums;
  if (request.partial_sums && (product.a.scales || product.b.scales || product.split_k != 1))
    throw Error("--partial-sums: not with scales or --split-k");
  if (!request.compares()) config.against.clear();
  if (request.against.empty()) config.against = {"exact"};
  return config;
}

StudyResult run(const MatmulRequest& request, const Progress& progress) {
  MatmulConfig config = resolve(request);
  config.progress = progress;
  return {.tables = {matmul_table(config, matmul(config))}};
}

Work work_of(const MatmulRequest& request) {
  const MatmulConfig config = resolve(request);
  const products::MatmulShape shape = products::matmul_shape(config.product.a.input, config.product.b.input);
  const std::uint64_t engines = config.engines.size() + config.against.size() + config.devices.size();
  return {.operations = shape.batch() * shape.m * shape.n * shape.k * engines, .rows = config.engines.size()};
}

void MatmulRequest::describe(requests::Fields& fields) {
  product.describe(fields);
  fields.add("engine", engine, "engine, split product (bf16x9), or block:n=16,f=25,out=rz for one of your own; may be repeated")
      .as_repeated()
      .as_value("E")
      .needed();
  fields.add("against", against, "engine to compare with, or none; may be repeated (default exact; none with -o)")
      .as_repeated()
      .as_value("E");
  fields.add("device", device, "multiply on this device too and compare: cuda:0, cpu:amx_bf16 (`ulpscope devices`)")
      .as_value("D");
  fields.add("partial_sums", partial_sums, "columns max_partial_sum and max_log2_scale: what the accumulator must hold");
  fields.add("instruction", instruction, "with --device: a part of the name of the instruction to use").as_value("TEXT");
}

}  // namespace ulpscope::studies
