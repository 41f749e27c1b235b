// SPDX-License-Identifier: Apache-2.0
// What models compute, for scripts that know better: for each line `MODEL INPUTS` of standard input (or `MODEL` alone) a line
// for each value of a node, `NAME SHAPE HEX...`, the bits of floats, then what there is to say of the model.
#include <bit>
#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "studies/onnx/graph.hpp"
#include "tensors/mapped_file.hpp"

int main() {
  using namespace ulpscope;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string model, inputs;
    words >> model >> inputs;
    std::printf("model %s\n", model.c_str());
    try {
      const std::vector<std::string> given = inputs.empty() ? std::vector<std::string>{} : std::vector{inputs};
      const studies::OnnxValues values = studies::onnx_values({model, std::make_shared<tensors::MappedFile>(model)},
                                                              {.inputs = studies::model_inputs_of(given, {}), .threads = 1});
      for (const tensors::Tensor& tensor : values.tensors) {
        if (tensor.is_integer() || tensor.opaque || !tensor.dtype.fits_float()) continue;
        std::string shape = tensors::shape_text(tensor.shape);
        std::printf("value %s %s", tensor.name.c_str(), shape.empty() ? "scalar" : shape.c_str());
        std::vector<float> all(static_cast<std::size_t>(tensor.count()));
        tensor.source->read(0, std::span(all));
        for (const float one : all) std::printf(" %08x", std::bit_cast<std::uint32_t>(one));
        std::printf("\n");
      }
      for (const std::string& remark : values.remarks) std::printf("remark %s\n", remark.c_str());
    } catch (const Error& error) {
      std::printf("error %s\n", error.what());
    }
  }
  return 0;
}
