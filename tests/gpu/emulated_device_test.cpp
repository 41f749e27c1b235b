// SPDX-License-Identifier: Apache-2.0
// Emulated devices: all that their engines can do, under names of its own, with the results of the engines.
#include "gpu/emulated/emulated_device.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "gpu/adversarial.hpp"
#include "gpu/element_model.hpp"
#include "gpu/element_words.hpp"

namespace {

using namespace ulpscope;
using Catch::Matchers::ContainsSubstring;
using emu::Code;

}  // namespace

TEST_CASE("an emulated device has every mode and pair of formats of its engines") {
  for (const std::string& name : gpu::emulated_names()) {
    CAPTURE(name);
    std::size_t expected = 0;
    for (const emu::EngineMode& mode : emu::engine_modes()) {
      const std::string engine(mode.engine);
      const std::size_t formats = mode.inputs.size();
      if (engine == name || engine.starts_with(name + "/")) expected += mode.mixed ? formats * formats : formats;
    }
    const auto operations = gpu::emulated_device(name).unit->operations();
    std::set<std::string> instructions;
    for (const auto& operation : operations) instructions.insert(operation.instruction);

    CHECK(operations.size() == expected);
    CHECK(instructions.size() == expected);
  }
}

TEST_CASE("an operation of an emulated device gives what the engine that it names gives") {
  for (const std::string& name : gpu::emulated_names()) {
    const gpu::Device device = gpu::emulated_device(name);
    for (const gpu::Operation& o : device.unit->operations()) {
      CAPTURE(name, o.instruction);
      const emu::Engine engine = emu::find_engine(o.engine, {o.a, o.b, o.accumulator, o.scales, o.scale_format}).model;
      const auto problems = gpu::test_problems(gpu::TestShape(o), 1, 0, 100);
      std::vector<Code> d(problems.c.size());
      device.unit->multiply(o, problems.view(), d);
      const std::size_t k = problems.products, blocks = gpu::TestShape(o).blocks();
      std::size_t different = 0;
      for (std::size_t i = 0; i < d.size(); ++i) {
        const auto part = [&](const std::vector<Code>& codes, std::size_t each) {
          return std::span(codes).subspan(i * each, each);
        };
        const emu::BlockScales scales{o.scale_format, part(problems.a_scales, blocks), part(problems.b_scales, blocks)};
        different +=
            d[i] != emu::inner_product(engine, o.a, part(problems.a, k), o.b, part(problems.b, k), problems.c[i], scales);
      }

      CHECK(different == 0);
    }
  }
}

TEST_CASE("shapes of emulated instructions are those of their names") {
  const auto products = [](const char* device, const std::string& instruction) {
    for (const auto& operation : gpu::emulated_device(device).unit->operations())
      if (operation.instruction == instruction) return operation.products;
    return std::size_t{0};
  };

  CHECK(products("sm_70", "mma.sync.m8n8k4.f32.f16.f16") == 4);
  CHECK(products("sm_80", "mma.sync.m16n8k16.f32.bf16.bf16") == 16);  // two steps of the engine
  CHECK(products("sm_90", "wgmma.f16.e4m3.e5m2") == 32);
  CHECK(products("sm_90", "mma.sync.m16n8k32.f32.e5m2.e4m3") == 32);
  CHECK(products("sm_90", "mma.sync.m8n8k4.f64.f64.f64") == 4);
  CHECK(products("sm_120", "mma.sync.m16n8k64.mxf4nvf4.f32.e2m1.e2m1") == 64);
  CHECK(products("cdna3", "v_mfma_f32_f16.f32.bf16.bf16") == 8);
}

TEST_CASE("element operations of emulated devices grow with the architecture and give what their models give") {
  std::size_t before = 0;
  for (const char* const name : {"sm_70", "sm_80", "sm_89", "sm_90", "sm_100"}) {
    const gpu::Device device = gpu::emulated_device(name);
    const auto operations = device.elementwise->operations();
    CAPTURE(name);
    CHECK(operations.size() > before);
    before = operations.size();
    for (const gpu::ElementOperation& operation : operations) {
      const auto test = gpu::test_operands(operation.model, 3, 5);
      std::vector<Code> d(1), a{test.a}, b{test.b}, c{test.c};
      device.elementwise->apply(operation, {a, b, c}, d);
      CHECK(d[0] == gpu::element_result(operation.model, a[0], b[0], c[0]));
      CHECK(gpu::model_words(gpu::parse_model(gpu::model_words(operation.model)).value()) == gpu::model_words(operation.model));
    }
  }
  CHECK(gpu::emulated_device("cdna3").elementwise == nullptr);
}

TEST_CASE("a device that is not there is refused, and what is there is named") {
  CHECK_THROWS_AS(gpu::open_device("emulated:sm_91"), gpu::NoDevice);
  CHECK_THROWS_WITH(gpu::open_device("emulated:fma"), ContainsSubstring("no device 'emulated:fma'; there are "));
  CHECK_THROWS_WITH(gpu::open_device(""), ContainsSubstring("emulated:sm_90"));
  CHECK(gpu::open_device("emulated:sm_90/mma").description.architecture == "sm_90");
}

TEST_CASE("what is no model of an element operation is refused") {
  CHECK(gpu::parse_model("convert float32 float16 nearest_even nan=canonical:7fff"));
  const std::string of_arm = "fma float16 float16 upward nan=signaling_operand:7e00";
  const auto arm = gpu::parse_model(of_arm);
  REQUIRE(arm);
  CHECK(arm->nan_result == emu::NanResult::signaling_operand);
  CHECK(gpu::model_words(*arm) == of_arm);
  const auto cut = gpu::parse_model("convert bfloat16 float32 nearest_even nans_are_cut nan=canonical:7fffffff");
  REQUIRE(cut);
  CHECK(cut->nans_are_cut);
  CHECK_FALSE(gpu::parse_model("add bfloat16 bfloat16 nearest_even nans_are_cut nan=canonical:7fff"));
  CHECK_FALSE(gpu::parse_model("convert bfloat16 float8_e4m3fn nearest_even nans_are_cut nan=canonical:7f"));
  const auto random =
      gpu::parse_model("convert_randomly float32 float4_e2m1fn stochastic saturating random=8:15,24:31 nan=canonical:7");
  REQUIRE(random);
  CHECK(random->options.random_bits == 16);
  CHECK(random->random.of(0x0000'0100) == 0x8000);
  CHECK(random->random.of(0x8000'0000) == 0x0001);
  for (const char* const words : {"convert_randomly float32 float16 stochastic nan=canonical:7fff",
                                  "convert_randomly float32 float16 nearest_even random=12:0 nan=canonical:7fff",
                                  "convert_randomly float32 float16 stochastic random=12:0,32:32 nan=canonical:7fff",
                                  "convert_randomly float32 float16 stochastic random=12 nan=canonical:7fff",
                                  "convert_randomly float16 float8_e5m2 stochastic random=12:0 nan=canonical:7f",
                                  "convert float32 float16 nearest_even random=12:0 nan=canonical:7fff"})
    CHECK_FALSE(gpu::parse_model(words));
  for (const char* const words :
       {"", "convert", "convert float32 float16 nearest_even", "convert float32 float16 nearest_even nan=canonical:",
        "convert float32 float16 nearest_even nan=canonical:10000", "convert float32 float16 stochastic nan=canonical:7fff",
        "convert float32 float16 rn nan=canonical:7fff", "convert  float32 float16 nearest_even nan=canonical:7fff",
        "convert float32 float16 nearest_even relu saturating nan=canonical:7fff",
        "round float32 float16 nearest_even nan=canonical:7fff", "convert float32 float16 nearest_even nan=canonical:07fff",
        "convert float32 float8_e4m3fn nearest_even nan=operand:7f",
        "add float8_e8m0fnu float32 nearest_even nan=canonical:7fff",
        "convert float32 float16 nearest_even nan=canonical:7fff "}) {
    CAPTURE(words);
    CHECK_FALSE(gpu::parse_model(words));
  }
}
