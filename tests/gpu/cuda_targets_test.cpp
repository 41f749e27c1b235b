// SPDX-License-Identifier: Apache-2.0
// Which instructions a GPU is said to have. The lists are those of the PTX ISA 9.0, target notes of mma, wgmma.mma_async,
// wmma.mma and tcgen05.mma.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <vector>

#include "emu/engines.hpp"
#include "gpu/cuda/instruction_set.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::gpu::cuda;

std::set<std::string> names(int capability) {
  std::set<std::string> all;
  for (const Instruction& entry : instructions(capability)) CHECK(all.insert(entry.operation.instruction).second);
  return all;
}

std::set<std::string> mma(const std::vector<std::string>& shapes, const std::string& d, const std::string& a,
                          const std::string& b) {
  std::set<std::string> all;
  for (const std::string& shape : shapes)
    all.insert("mma.sync.aligned." + shape + ".row.col." + d + "." + a + "." + b + "." + d);
  return all;
}

void operator+=(std::set<std::string>& all, const std::set<std::string>& more) { all.insert(more.begin(), more.end()); }

std::set<std::string> of_turing() {
  std::set<std::string> all;
  for (const std::string d : {"f16", "f32"}) {
    all += mma({"m16n8k8"}, d, "f16", "f16");
    for (const std::string shape : {"m16n16k16", "m32n8k16", "m8n32k16"})
      all.insert("wmma.mma.sync.aligned.row.col." + shape + "." + d + "." + d);
  }
  return all;
}

std::set<std::string> of_ampere() {
  std::set<std::string> all = of_turing();
  all += mma({"m16n8k16"}, "f16", "f16", "f16");
  all += mma({"m16n8k16"}, "f32", "f16", "f16");
  all += mma({"m16n8k8", "m16n8k16"}, "f32", "bf16", "bf16");
  all += mma({"m16n8k4", "m16n8k8"}, "f32", "tf32", "tf32");
  all += mma({"m8n8k4"}, "f64", "f64", "f64");
  for (const std::string shape : {"m16n16k16", "m32n8k16", "m8n32k16"})
    all.insert("wmma.mma.sync.aligned.row.col." + shape + ".f32.bf16.bf16.f32");
  all.insert("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32");
  all.insert("wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64");
  return all;
}

std::set<std::string> of_ada() {
  std::set<std::string> all = of_ampere();
  for (const std::string a : {"e4m3", "e5m2"})
    for (const std::string b : {"e4m3", "e5m2"})
      for (const std::string d : {"f16", "f32"}) all += mma({"m16n8k16", "m16n8k32"}, d, a, b);
  return all;
}

std::set<std::string> of_hopper_warps() {
  std::set<std::string> all = of_ada();
  all += mma({"m16n8k4", "m16n8k8", "m16n8k16"}, "f64", "f64", "f64");
  return all;
}

std::set<std::string> of_hopper() {
  std::set<std::string> all = of_hopper_warps();
  const std::string wgmma = "wgmma.mma_async.sync.aligned.m64n8";
  for (const std::string types : {"k16.f16.f16.f16", "k16.f32.f16.f16", "k16.f32.bf16.bf16", "k8.f32.tf32.tf32"})
    all.insert(wgmma + types);
  for (const std::string a : {"e4m3", "e5m2"})
    for (const std::string b : {"e4m3", "e5m2"})
      for (const std::string d : {"f16", "f32"}) all.insert(wgmma + "k32." + d + "." + a + "." + b);
  return all;
}

std::set<std::string> of_consumer_blackwell() {
  std::set<std::string> all = of_hopper_warps();
  const std::string mma = "mma.sync.aligned.m16n8";
  for (const std::string a : {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"})
    for (const std::string b : {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}) {
      for (const std::string d : {"f16", "f32"})
        all.insert(mma + "k32.row.col.kind::f8f6f4." + d + "." + a + "." + b + "." + d);
      all.insert(mma + "k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32." + a + "." + b + ".f32.ue8m0");
    }
  for (const std::string kind :
       {"mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", "mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        "mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"})
    all.insert(mma + "k64.row.col.kind::" + kind);
  return all;
}

std::set<std::string> of_blackwell() {
  std::set<std::string> all = of_hopper_warps();
  const std::string tcgen05 = "tcgen05.mma.cta_group::1.kind::";
  for (const std::string types : {"f16.f16.f16", "f32.f16.f16", "f32.bf16.bf16"})
    all.insert(tcgen05 + "f16.m128n16k16." + types);
  all.insert(tcgen05 + "tf32.m128n16k8.f32.tf32.tf32");
  const std::vector<std::string> narrow{"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"};
  for (const std::string& a : narrow)
    for (const std::string& b : narrow) {
      for (const std::string d : {"f16", "f32"}) all.insert(tcgen05 + "f8f6f4.m128n16k32." + d + "." + a + "." + b);
      all.insert(tcgen05 + "mxf8f6f4.block_scale.block32.m128n16k32.f32." + a + "." + b + ".ue8m0");
    }
  for (const std::string types : {"mxf4.block_scale.block32.m128n16k64.f32.e2m1.e2m1.ue8m0",
                                  "mxf4nvf4.block_scale.block32.m128n16k64.f32.e2m1.e2m1.ue8m0",
                                  "mxf4nvf4.block_scale.block16.m128n16k64.f32.e2m1.e2m1.ue4m3"})
    all.insert(tcgen05 + types);
  return all;
}

TEST_CASE("a GPU is listed with the instructions that its architecture has", "[gpu]") {
  std::set<std::string> turing = of_turing();
  turing += mma({"m8n8k4"}, "f16", "f16", "f16");
  turing += mma({"m8n8k4"}, "f32", "f16", "f16");

  CHECK(names(70).empty());
  CHECK(names(75) == turing);
  CHECK(names(80) == of_ampere());
  CHECK(names(86) == of_ampere());
  CHECK(names(87) == of_ampere());
  CHECK(names(89) == of_ada());
  CHECK(names(90) == of_hopper());
  CHECK(names(100) == of_blackwell());
  CHECK(names(103) == of_blackwell());
  CHECK(names(110).empty());
  CHECK(names(120) == of_consumer_blackwell());
  CHECK(names(121) == of_consumer_blackwell());
}

TEST_CASE("every instruction claims an engine that there is", "[gpu]") {
  for (const int capability : {75, 80, 86, 87, 89, 90, 100, 103, 120, 121})
    for (const Instruction& entry : instructions(capability)) {
      const gpu::Operation& o = entry.operation;
      CAPTURE(capability, o.instruction, o.engine);
      CHECK_NOTHROW(emu::parse_engine(o.engine, {o.a, o.b, o.accumulator, o.scales, o.scale_format}));
    }
}

std::string engine_of(int capability, const std::string& instruction) {
  for (const Instruction& entry : instructions(capability))
    if (entry.operation.instruction == instruction) return entry.operation.engine;
  return "none";
}

TEST_CASE("engines are those of the instruction's own path through the hardware", "[gpu]") {
  const std::string float8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32",
                    half = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32";

  CHECK(engine_of(87, half) == "sm_86");
  CHECK(engine_of(89, float8) == "sm_89");
  CHECK(engine_of(90, float8) == "sm_90/mma");
  CHECK(engine_of(90, half) == "sm_90:n=8");
  CHECK(engine_of(80, half) == "sm_80");
  CHECK(engine_of(90, "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32") == "sm_90/mma:n=16");
  CHECK(engine_of(90, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32") == "sm_90:n=4");
  CHECK(engine_of(90, "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32") == "sm_90:n=4");
  CHECK(engine_of(80, "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32") == "sm_80");
  CHECK(engine_of(90, "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2") == "sm_90");
  CHECK(engine_of(103, float8) == "sm_100/mma");
  CHECK(engine_of(103, "tcgen05.mma.cta_group::1.kind::f8f6f4.m128n16k32.f32.e4m3.e5m2") == "sm_100");
  CHECK(engine_of(121, float8) == "sm_120");
  CHECK(engine_of(121, half) == "sm_120:n=8");
}

TEST_CASE("scales are described as the instruction takes them", "[gpu]") {
  const auto operation = [](const std::string& kind) {
    for (const Instruction& entry : instructions(120))
      if (entry.operation.instruction.find("kind::" + kind) != std::string::npos) {
        CHECK(entry.matrices == nullptr);
        return entry.operation;
      }
    return gpu::Operation{};
  };
  using enum emu::EngineScales;
  const gpu::Operation mx8 = operation("mxf8f6f4."), mx4 = operation("mxf4."),
                       nv2 = operation("mxf4nvf4.block_scale.scale_vec::2X"),
                       nv4 = operation("mxf4nvf4.block_scale.scale_vec::4X");

  CHECK((mx8.scales == products && mx8.scale_products == 32 && mx8.scale_format == emu::float8_e8m0fnu));
  CHECK((mx4.scales == group_sums && mx4.scale_products == 32 && mx4.scale_format == emu::float8_e8m0fnu));
  CHECK((nv2.scales == group_sums && nv2.scale_products == 32 && nv2.scale_format == emu::float8_e8m0fnu));
  CHECK((nv4.scales == group_sums && nv4.scale_products == 16 && nv4.scale_format == emu::float8_e4m3fn));
}

TEST_CASE("wmma of tf32 is a chain of steps of four products everywhere", "[gpu]") {
  for (const int capability : {80, 86, 89, 90, 100, 120}) {
    CAPTURE(capability);
    const emu::EngineRequest request{emu::tf32, emu::tf32};
    const std::string words = engine_of(capability, "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32");
    const emu::Engine engine = emu::parse_engine(words, request);
    emu::Engine whole = emu::find_engine("sm_" + std::to_string(capability), request).model;

    CHECK(engine.products == 4);
    whole.products = whole.stages[0].terms = 4;
    CHECK(engine == whole);
  }
}

TEST_CASE("what code runs where", "[gpu]") {
  const auto architecture = [](int capability, const char* compiled) {
    const auto target = target_for(capability, compiled);
    return target ? target->architecture : 0;
  };
  const auto has_wgmma = [](int capability, const char* compiled) {
    const auto target = target_for(capability, compiled);
    return target && target->has_wgmma();
  };
  const auto has_narrow_mma = [](int capability, const char* compiled) {
    const auto target = target_for(capability, compiled);
    return target && target->has_narrow_mma();
  };

  const auto has_tcgen05 = [](int capability, const char* compiled) {
    const auto target = target_for(capability, compiled);
    return target && target->has_tcgen05();
  };

  CHECK(architecture(86, "75-real,80-real,90a-real") == 80);
  CHECK(architecture(75, "80-real") == 0);
  CHECK(architecture(90, "75-real,80-real") == 0);
  CHECK(architecture(90, "75-real,80") == 80);
  CHECK(architecture(90, "75-real,80-virtual") == 80);
  CHECK(architecture(90, "90a-real,75") == 90);
  CHECK(architecture(100, "90a-real") == 0);
  CHECK(architecture(103, "100-real,103a") == 103);
  CHECK(architecture(86, "") == 0);
  CHECK(architecture(121, "120f-real") == 120);
  CHECK(architecture(120, "121f-real") == 0);
  CHECK(architecture(103, "100f") == 100);
  CHECK(architecture(110, "100f") == 0);
  CHECK(architecture(121, "120a-real") == 0);
  CHECK(has_narrow_mma(120, "120a-real"));
  CHECK(has_narrow_mma(120, "120-virtual,120a-real"));
  CHECK(has_narrow_mma(121, "120-real,121a-real"));
  CHECK(has_narrow_mma(121, "120f-real,120-real"));
  CHECK(!has_narrow_mma(121, "120a-real,120-real"));
  CHECK(!has_narrow_mma(121, "121-real,120f-real"));
  CHECK(!has_narrow_mma(120, "120-real"));
  CHECK(!has_narrow_mma(103, "100f"));
  CHECK(has_wgmma(90, "90a-real"));
  CHECK(!has_wgmma(90, "90-real"));
  CHECK(!has_wgmma(100, "100a-real"));
  CHECK(!has_wgmma(90, "80"));
  CHECK(has_tcgen05(100, "100a-real"));
  CHECK(has_tcgen05(103, "100a-real,103a"));
  CHECK(has_tcgen05(110, "110a-real"));
  CHECK(!has_tcgen05(103, "100a-real,100-real"));
  CHECK(!has_tcgen05(120, "120a-real"));
  CHECK(!has_tcgen05(90, "90a-real"));
}

}  // namespace
