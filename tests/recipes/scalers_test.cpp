// SPDX-License-Identifier: Apache-2.0
// Loss scalers against traces worked out by hand from their sources' rules; each is told from its nearest neighbour.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "recipes/scaler.hpp"

namespace ulpscope::recipes {
namespace {

using Catch::Matchers::ContainsSubstring;

/// The scales that the steps used, and that of the step behind them. An o is a step that overflowed.
std::vector<double> scales(const std::string& words, const std::string& trace) {
  Scaler scaler(words);
  std::vector<double> all;
  for (const char step : trace) {
    const ScalerStep made = scaler.step({.found_inf = step == 'o'});
    CHECK(made.skipped == (step == 'o'));
    CHECK(made.next_scale == scaler.scale());
    all.push_back(made.scale);
  }
  all.push_back(scaler.scale());
  return all;
}

using Scales = std::vector<double>;

TEST_CASE("PyTorch backs off at once, and grows after an interval", "[recipes]") {
  CHECK(scales("pytorch:init_scale=8,growth_interval=2", "..o....") == Scales{8, 8, 16, 8, 8, 16, 16, 32});
  CHECK(scales("pytorch:init_scale=8,growth_interval=2", ".o.o..") ==
        Scales{8, 8, 4, 4, 2, 2, 4});  // an overflow clears the count
}

TEST_CASE("PyTorch has no floor, and float32's cap", "[recipes]") {
  Scaler scaler("pytorch");
  for (int i = 0; i < 165; ++i) scaler.step({.found_inf = true});
  CHECK(scaler.scale() == 0x1p-149);
  CHECK(scaler.step({.found_inf = true}).next_scale == 0);
  CHECK(scaler.step({}).next_scale == 0);

  Scaler growing("pytorch:growth_interval=1");
  for (int i = 0; i < 111; ++i) growing.step({});
  CHECK(growing.scale() == 0x1p127);
  CHECK(growing.step({}).next_scale == 0x1p127);
}

TEST_CASE("PyTorch multiplies a float32 scale by a double and rounds once", "[recipes]") {
  CHECK(scales("pytorch:init_scale=3,backoff_factor=0.3", "o").back() == static_cast<double>(static_cast<float>(3 * 0.3)));
  // The float32 product of two float32 numbers is another one.
  CHECK(scales("pytorch:init_scale=0.7,backoff_factor=0.7", "o").back() ==
        static_cast<double>(static_cast<float>(static_cast<double>(0.7F) * 0.7)));
}

TEST_CASE("Apex is PyTorch with a cap, and a floor if there is one", "[recipes]") {
  CHECK(scales("apex:init_scale=2^23,scale_window=1", "...") == Scales{0x1p23, 0x1p24, 0x1p24, 0x1p24});
  CHECK(scales("apex:init_scale=2^30", ".") == Scales{0x1p24, 0x1p24});
  CHECK(scales("apex:init_scale=4,min_loss_scale=3", "oo") == Scales{4, 3, 3});
  CHECK(scales("apex:init_scale=4,min_loss_scale=none", "ooo") == Scales{4, 2, 1, 0.5});
}

TEST_CASE("hysteresis counts overflows in a row, Megatron those since the last growth", "[recipes]") {
  const std::string trace = "o.ooo...";
  CHECK(scales("apex_hysteresis:init_scale=8,growth_interval=2", trace) == Scales{8, 8, 8, 8, 4, 2, 2, 4, 4});
  CHECK(scales("megatron:initial_scale=8,growth_interval=2", trace) == Scales{8, 8, 8, 4, 2, 1, 1, 2, 2});
  // With one, the first overflow backs off in both.
  CHECK(scales("apex_hysteresis:init_scale=8,hysteresis=1", "o.o") == Scales{8, 4, 4, 2});
  CHECK(scales("megatron:initial_scale=8,hysteresis=1", "o.o") == Scales{8, 4, 4, 2});
  CHECK(scales("megatron:initial_scale=2,hysteresis=1,min_scale=1", "ooo") == Scales{2, 1, 1, 1});
  // Growth refills the counter: the next overflow is forgiven again.
  CHECK(scales("megatron:initial_scale=8,growth_interval=2", "o..o") == Scales{8, 8, 8, 16, 16});
}

TEST_CASE("DeepSpeed grows a step later, and keeps its counter used up", "[recipes]") {
  CHECK(scales("deepspeed:initial_scale_power=3,loss_scale_window=2", "o....ooo") == Scales{8, 8, 8, 8, 16, 16, 16, 8, 4});
  CHECK(scales("deepspeed:initial_scale_power=3", "o.o.o") == Scales{8, 8, 8, 4, 4, 2});
  CHECK(scales("deepspeed:initial_scale_power=3,consecutive_hysteresis=true", "o.o.o") == Scales{8, 8, 8, 8, 8, 8});
  // 1000 good steps are not enough for the first growth.
  const std::vector<double> first = scales("deepspeed", std::string(1001, '.'));
  CHECK(first[1000] == 65536);
  CHECK(first[1001] == 131072);
}

TEST_CASE("DeepSpeed raises at its minimum, FP16_Optimizer stays there", "[recipes]") {
  const std::string parameters = ":initial_scale_power=1,hysteresis=1,min_loss_scale=1";
  Scaler scaler("deepspeed" + parameters), optimizer("deepspeed_fp16_optimizer" + parameters);
  CHECK_FALSE(scaler.step({.found_inf = true}).raised);
  CHECK(scaler.step({.found_inf = true}).raised);
  CHECK(scaler.scale() == 1);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(optimizer.step({.found_inf = true}).raised);
  CHECK(optimizer.scale() == 1);
}

TEST_CASE("fairseq grows at multiples of its window since the overflow, and tolerates a share of overflows", "[recipes]") {
  CHECK(scales("fairseq:init_scale=8,scale_window=2", "...o..") == Scales{8, 8, 16, 16, 8, 8, 16});
  CHECK(scales("fairseq:init_scale=8,scale_window=100,tolerance=0.3", "...oo") == Scales{8, 8, 8, 8, 8, 4});
  CHECK(scales("fairseq:init_scale=8,threshold=3", "oo") == Scales{8, 4, 3});
  Scaler scaler("fairseq:init_scale=8,min_loss_scale=4");
  const ScalerStep step = scaler.step({.found_inf = true});
  CHECK(step.raised);
  CHECK(step.next_scale == 8);
}

TEST_CASE("TensorFlow stays at 1, Keras does not, jmp has a floor of its own", "[recipes]") {
  CHECK(scales("tensorflow:initial_loss_scale=4,increment_period=2", "ooo....") == Scales{4, 2, 1, 1, 1, 2, 2, 4});
  CHECK(scales("keras:initial_scale=4,dynamic_growth_steps=2", "ooo....") == Scales{4, 2, 1, 0.5, 0.5, 1, 1, 2});
  CHECK(scales("jmp:loss_scale=4,period=2,min_loss_scale=2", "oo...") == Scales{4, 2, 2, 2, 4, 4});
  // Keras grows to infinity, the others not beyond float32.
  CHECK(scales("keras:initial_scale=2^127,dynamic_growth_steps=1", ".").back() == std::numeric_limits<double>::infinity());
  CHECK(scales("tensorflow:initial_loss_scale=2^127,increment_period=1", ".").back() == 0x1p127);
  CHECK(scales("jmp:loss_scale=2^127,period=1", ".").back() == 0x1p127);
}

TEST_CASE("MXNet decides a step late: one event costs two steps and two halvings", "[recipes]") {
  CHECK(scales("mxnet:loss_scale=4,scale_seq_len=2", "oo.....") == Scales{4, 4, 2, 1, 1, 2, 2, 4});
  CHECK(scales("mxnet:loss_scale=2^24,scale_seq_len=1", "..") == Scales{0x1p24, 0x1p24, 0x1p24});
}

TEST_CASE("Paddle counts bad steps in a row", "[recipes]") {
  CHECK(scales("paddle:init_loss_scaling=4,incr_every_n_steps=2,decr_every_n_nan_or_inf=2", "o.oooo..") ==
        Scales{4, 4, 4, 4, 2, 2, 1, 1, 2});
  CHECK(scales("paddle:init_loss_scaling=4", "oooo") == Scales{4, 2, 1, 0.5, 0.25});  // one is enough, as GradScaler has it
  CHECK(scales("paddle:init_loss_scaling=4,static_graph=true", "oooo") == Scales{4, 2, 1, 1, 1});
  CHECK(scales("paddle:init_loss_scaling=2^127,incr_every_n_steps=1", ".").back() == HUGE_VAL);
  CHECK(scales("paddle:init_loss_scaling=2^127,incr_every_n_steps=1,static_graph=true", ".").back() == 0x1p127);
  CHECK(scales("paddle:init_loss_scaling=4,decr_every_n_nan_or_inf=1,decr_ratio=0.25", "o") == Scales{4, 1});
}

TEST_CASE("the plain ones", "[recipes]") {
  CHECK(scales("static:2^3", "o..") == Scales{8, 8, 8, 8});
  CHECK(scales("static:scale=0.5", ".") == Scales{0.5, 0.5});
  CHECK(scales("every_step:init_scale=2^23", "..o.") == Scales{0x1p23, 0x1p24, 0x1p24, 0x1p23, 0x1p24});
  CHECK(scales("every_step:init_scale=2", "oo") == Scales{2, 1, 1});
  CHECK(scales("adaptive:init_scale=8,growth_interval=2", "..o..") == Scales{8, 8, 16, 8, 8, 16});
  CHECK(scales("genesis:init_scale=2^24,growth_interval=1", "..") == Scales{0x1p24, 0x1p25, 0x1p26});
  CHECK(scales("genesis:init_scale=2", "oo") == Scales{2, 1, 1});
  CHECK(Scaler("genesis").unscales_in_format());
  CHECK_FALSE(Scaler("adaptive").unscales_in_format());
}

TEST_CASE("PopART moves at every period and skips nothing", "[recipes]") {
  Scaler scaler("popart", emu::float16);
  CHECK(scaler.bin_edge() == 65504 * 0.0625);
  CHECK(scaler.step({.upper = 0}).next_scale == 2);
  CHECK(scaler.step({.upper = 1e-8}).next_scale == 4);
  const ScalerStep down = scaler.step({.found_inf = true, .upper = 1e-6});
  CHECK(down.next_scale == 2);
  CHECK_FALSE(down.skipped);

  Scaler slow("popart:updatePeriod=2");
  CHECK(slow.step({.upper = 1e-6}).next_scale == 0.5);
  CHECK(slow.step({.upper = 1}).next_scale == 0.5);  // not looked at
  for (const double none : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(slow.step({.upper = none}), Error);
  CHECK(slow.step({.upper = 0}).next_scale == 1);
  CHECK(slow.step({.upper = 1}).next_scale == 1);

  // test_auto_loss_scaling_identical_weight_updates_update_period2 of popart has these scales.
  Scaler tested("popart:lossScaling=10,updatePeriod=2");
  std::vector<double> scales;
  for (int i = 0; i < 8; ++i) scales.push_back(tested.step({.upper = 0}).scale);
  CHECK(scales == std::vector<double>{10, 20, 20, 40, 40, 80, 80, 160});
}

/// The scales of e4m3 tensors of these largest magnitudes, and the one behind them.
std::vector<double> tensor_scales(const std::string& words, const std::vector<double>& amaxes) {
  Scaler scaler(words, emu::float8_e4m3fn);
  std::vector<double> all;
  for (const double amax : amaxes) {
    const ScalerStep step = scaler.step({.found_inf = true, .amax = amax});
    CHECK_FALSE(step.skipped);
    all.push_back(step.scale);
  }
  all.push_back(scaler.scale());
  return all;
}

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("delayed scaling knows the past, current scaling the present", "[recipes]") {
  const std::vector<double> amaxes{2, 1, 4, 0, 1, 1};
  CHECK(tensor_scales("te_delayed:amax_history_len=2", amaxes) == Scales{1, 224, 224, 112, 112, 112, 448});
  CHECK(tensor_scales("te_delayed:amax_history_len=2,amax_compute_algo=most_recent", amaxes) ==
        Scales{1, 224, 448, 112, 112, 448, 448});
  CHECK(tensor_scales("te_current", amaxes) == Scales{224, 448, 112, 1, 448, 448, 448});
  CHECK(tensor_scales("te_delayed:margin=1", {1, 1}) == Scales{1, 224, 224});
  // Behind an amax of 0 nothing changes: neither the history, nor a scale that the history alone would move.
  CHECK(tensor_scales("te_delayed:amax_history_len=2", {4, 1, 0, 0}) == Scales{1, 112, 112, 112, 112});
  CHECK(tensor_scales("te_delayed:amax_history_len=3", {8, 1, 1, 0, 1}) == Scales{1, 56, 56, 56, 56, 448});
}

TEST_CASE("an infinite amax freezes a delayed scale until it is forgotten, NaN is not seen", "[recipes]") {
  CHECK(tensor_scales("te_delayed:amax_history_len=2", {1, infinity, 2, 2}) == Scales{1, 448, 448, 448, 224});
  CHECK(tensor_scales("te_delayed:amax_history_len=2", {1, nan, 2}) == Scales{1, 448, 448, 224});
  CHECK(tensor_scales("te_delayed:amax_history_len=2", {1, nan, 0.5}) == Scales{1, 448, 448, 896});  // it takes a place
  CHECK(tensor_scales("te_current", {infinity, nan}) == Scales{1, 1, 1});
}

TEST_CASE("current scaling has an epsilon, powers of two, and float32's range", "[recipes]") {
  CHECK(tensor_scales("te_current:amax_epsilon=4", {1, 0}) == Scales{112, 112, 112});
  CHECK(tensor_scales("te_current:power_2_scale=true", {3}) == Scales{128, 128});
  constexpr double largest = std::numeric_limits<float>::max();
  CHECK(tensor_scales("te_current", {1e-40}) == Scales{largest, largest});
  CHECK(tensor_scales("te_current:power_2_scale=true", {1e-40}) == Scales{0x1p127, 0x1p127});
  CHECK(tensor_scales("te_current", {3}).front() == static_cast<double>(448.0F / 3.0F));
}

TEST_CASE("MS-AMP takes powers of two, and turns the scale over where amax is infinite", "[recipes]") {
  CHECK(tensor_scales("ms_amp", {1, 0.5, 0, 1000, nan, infinity, 448}) == Scales{256, 512, 512, 0.25, 0.25, 4, 1, 1});
  CHECK(tensor_scales("ms_amp:margin=2", {1}) == Scales{64, 64});
}

/// Steps at which scale * 1 >= 65520, of 10000.
std::vector<int> skipped_steps(const std::string& words, double& last) {
  Scaler scaler(words);
  std::vector<int> skipped;
  for (int i = 0; i < 10000; ++i)
    if (scaler.step({.found_inf = scaler.scale() >= 65520}).skipped) skipped.push_back(i);
  last = scaler.scale();
  return skipped;
}

TEST_CASE("10000 steps whose largest gradient is 1", "[recipes]") {
  double last = 0;
  for (const char* const words : {"pytorch", "apex"}) {
    CHECK(skipped_steps(words, last) == std::vector{0, 2001, 4002, 6003, 8004});
    CHECK(last == 0x1p15);
  }
  for (const char* const words : {"keras", "tensorflow", "jmp"}) {
    CHECK(skipped_steps(words, last) == std::vector{2000, 4001, 6002, 8003});
    CHECK(last == 0x1p15);
  }
  const std::vector<int> deepspeed = skipped_steps("deepspeed", last);
  CHECK(deepspeed.size() == 20);
  CHECK(std::vector(deepspeed.begin(), deepspeed.begin() + 6) == std::vector{0, 1, 1003, 1004, 2006, 2007});
  CHECK(last == 0x1p15);

  Scaler isolated("pytorch");
  std::vector<double> used;
  for (int i = 0; i < 2200; ++i) used.push_back(isolated.step({.found_inf = i == 100}).next_scale);
  CHECK(used[99] == 65536);
  CHECK(used[100] == 32768);
  CHECK(used[2099] == 32768);
  CHECK(used[2100] == 65536);
}

TEST_CASE("a scaler is a value: copies go their own way, and a state brings one back", "[recipes]") {
  const ScalerKind& kind = GENERATE(from_range(scaler_kinds()));
  CAPTURE(kind.name);
  Scaler scaler(kind.name);
  std::uint32_t word = 12345;
  const auto step = [&](Scaler& of) {
    word = word * 1664525 + 1013904223;
    const bool found = (word >> 29) == 0;
    return of.step({.found_inf = found, .amax = static_cast<double>(word >> 8), .upper = found ? 1.0 : 0.0});
  };
  for (int i = 0; i < 3000; ++i) step(scaler);
  Scaler copy = scaler, restored(kind.name);
  restored.set_state(scaler.state());
  const std::uint32_t here = word;
  std::vector<double> first, second, third;
  for (int i = 0; i < 3000; ++i) first.push_back(step(scaler).next_scale);
  word = here;
  for (int i = 0; i < 3000; ++i) second.push_back(step(copy).next_scale);
  word = here;
  for (int i = 0; i < 3000; ++i) third.push_back(step(restored).next_scale);
  CHECK(std::equal(first.begin(), first.end(), second.begin(),
                   [](double x, double y) { return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y); }));
  CHECK(first == third);
  CHECK_THROWS_AS(restored.set_state({{"nothing", {1}}}), Error);
}

TEST_CASE("a state that no steps lead to is refused, and nothing of it is taken", "[recipes]") {
  Scaler scaler("pytorch");
  const auto refusal = [](Scaler& of, const std::vector<std::pair<std::string, std::vector<double>>>& state) -> std::string {
    try {
      of.set_state(state);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal(scaler, {{"scale", {4}}, {"growth_tracker", {1.5}}}) ==
        "scaler pytorch: growth_tracker: 1.5: is a count: give a whole number of at most 2^53");
  CHECK_THAT(refusal(scaler, {{"scale", {4}}, {"growth_tracker", {1e300}}}),
             ContainsSubstring("growth_tracker: 1e+300: is a count"));
  CHECK_THAT(refusal(scaler, {{"scale", {4}}, {"growth_tracker", {nan}}}), ContainsSubstring("is a count"));
  CHECK_THAT(refusal(scaler, {{"scale", {nan}}, {"growth_tracker", {0}}}), ContainsSubstring("scale: nan: is a scale"));
  CHECK_THAT(refusal(scaler, {{"scale", {-4}}, {"growth_tracker", {0}}}), ContainsSubstring("scale: -4: is a scale"));
  CHECK_THAT(refusal(scaler, {{"scale", {1e300}}, {"growth_tracker", {0}}}), ContainsSubstring("in float32"));
  CHECK(scaler.scale() == 65536);
  CHECK(refusal(scaler, {{"scale", {0}}, {"growth_tracker", {3}}}).empty());  // where it may have got to
  Scaler keras("keras"), history("te_delayed:amax_history_len=3");
  CHECK(refusal(keras, {{"dynamic_scale", {infinity}}, {"step_counter", {0}}}).empty());
  CHECK(refusal(history, {{"scale", {1}}, {"amax_history", {nan, infinity, 0}}}).empty());
  CHECK_THAT(refusal(history, {{"scale", {1}}, {"amax_history", {0, -1, 0}}}), ContainsSubstring("is an amax"));
}

TEST_CASE("words make scalers, and scalers words", "[recipes]") {
  CHECK(Scaler("pytorch:growth_interval=100,init_scale=4").words() == "pytorch:init_scale=4,growth_interval=100");
  CHECK(Scaler("pytorch:init_scale=65536").words() == "pytorch");
  CHECK(Scaler("static:2^10").words() == "static:scale=1024");
  CHECK(Scaler("deepspeed:consecutive_hysteresis=true").words() == "deepspeed:consecutive_hysteresis=true");
  CHECK(split_scalers("pytorch:growth_interval=100,init_scale=4,apex") ==
        std::vector<std::string>{"pytorch:growth_interval=100,init_scale=4", "apex"});
  CHECK(split_scalers("apex,megatron:hysteresis=2,static:2^4") ==
        std::vector<std::string>{"apex", "megatron:hysteresis=2", "static:2^4"});
  CHECK(split_scalers("").empty());
}

TEST_CASE("parameters that contradict each other are refused", "[recipes]") {
  const auto refusal = [](const char* words) -> std::string {
    try {
      Scaler{words};
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  for (const char* const words :
       {"pytorch:init_scale=1e300", "megatron:initial_scale=1e39", "keras:initial_scale=1e300", "popart:lossScaling=1e39"})
    CHECK(refusal(words).find("its first scale would be inf: give one between the least and the largest float32 number") !=
          std::string::npos);
  CHECK(refusal("pytorch:init_scale=1e-300").find("its first scale would be 0: ") != std::string::npos);
  CHECK(refusal("every_step:min_scale=2^30,max_scale=2") ==
        "scaler every_step: its least scale, 1073741824, is above its greatest, 2");
  CHECK(refusal("apex:min_loss_scale=2^20,max_loss_scale=2") ==
        "scaler apex: its least scale, 1048576, is above its greatest, 2");
  CHECK(refusal("pytorch:init_scale=4,init_scale=8") == "scaler pytorch: init_scale is given twice");
  CHECK(refusal("pytorch:init_scale=4,growth_interval=8").empty());
}

TEST_CASE("what is no scaler is refused in words", "[recipes]") {
  const auto message = [](const std::string& words) -> std::string {
    try {
      Scaler{words};
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message("pytorh") == "unknown scaler 'pytorh'; nearest: pytorch, popart, paddle");
  CHECK(message("pytorch:growth=2") ==
        "scaler pytorch: unknown parameter 'growth'; known: init_scale, growth_factor, backoff_factor, growth_interval");
  CHECK(message("pytorch:growth_factor=1") == "scaler pytorch: growth_factor: '1': give more than 1");
  CHECK(message("pytorch:backoff_factor=1") == "scaler pytorch: backoff_factor: '1': give more than 0 and less than 1");
  CHECK_THAT(message("pytorch:growth_interval=0"), ContainsSubstring("growth_interval: '0': give a whole number from 1"));
  for (const char* const words :
       {"keras:dynamic_growth_steps=", "tensorflow:increment_period=", "fairseq:scale_window=", "deepspeed:loss_scale_window=",
        "popart:updatePeriod=", "mxnet:scale_seq_len=", "paddle:incr_every_n_steps=", "pytorch:growth_interval="}) {
    CHECK_THAT(message(words + std::string("9223372036854775808")), ContainsSubstring("give a whole number from 1"));
    Scaler scaler(words + std::string("9223372036854775807"));
    const double first = scaler.scale();
    for (int i = 0; i < 3; ++i) scaler.step({});
    CHECK((scaler.scale() == first || scaler.name() == "popart"));  // whose first step is the one of a period that is looked at
  }
  CHECK(message("jmp:min_loss_scale=1e39") == "scaler jmp: min_loss_scale: '1e39': give a float32 number of more than 0");
  CHECK_THAT(message("megatron:min_scale=1e-46"), ContainsSubstring("a float32 number of more than 0"));
  CHECK_THAT(message("paddle:decr_ratio=0.9999999999"), ContainsSubstring("a float32 number of more than 0 and less than 1"));
  CHECK(message("pytorch:growth_factor=1.0000000001").empty());  // which multiplies in double
  CHECK_THAT(message("static:-1"), ContainsSubstring("give more than 0"));
  CHECK_THAT(message("static:nan"), ContainsSubstring("give a finite number"));
  CHECK_THAT(message("apex:scale_factor=4"), ContainsSubstring("scale_factor"));  // which Apex takes, and never uses
  CHECK_THAT(message("te_delayed:amax_compute_algo=min"), ContainsSubstring("give max or most_recent"));
  CHECK_THAT(message("pytorch:"), ContainsSubstring(""));
  CHECK_THROWS_AS(Scaler("te_current").step({}), Error);
}

}  // namespace
}  // namespace ulpscope::recipes
