// SPDX-License-Identifier: Apache-2.0
// Gradients of every operation against central differences in float64, element by element.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "training/tape/operations.hpp"

using namespace ulpscope;
using training::Array;
using training::Shape;
using training::Variable;
using Tape = training::Tape<double>;

namespace {

/// An operation of several inputs, as a function of them.
struct Case {
  std::string name;
  std::vector<Shape> inputs;
  std::function<Variable(Tape&, const std::vector<Variable>&)> result;
  double least = -2, most = 2;  ///< of the inputs' elements
};

std::vector<Case> cases() {
  using V = const std::vector<Variable>&;
  namespace t = training;
  return {
      {"add", {{3, 4}, {4}}, [](Tape& tape, V x) { return t::add(tape, x[0], x[1]); }},
      {"add to itself", {{3}}, [](Tape& tape, V x) { return t::add(tape, x[0], x[0]); }},
      {"subtract", {{2, 1, 3}, {4, 1}}, [](Tape& tape, V x) { return t::subtract(tape, x[0], x[1]); }},
      {"multiply", {{2, 3}, {2, 1}}, [](Tape& tape, V x) { return t::multiply(tape, x[0], x[1]); }},
      {"divide", {{2, 3}, {3}}, [](Tape& tape, V x) { return t::divide(tape, x[0], x[1]); }, 0.5, 2},
      {"affine", {{5}}, [](Tape& tape, V x) { return t::affine(tape, x[0], 0.75, -3.0); }},
      {"exp", {{7}}, [](Tape& tape, V x) { return t::exp(tape, x[0]); }},
      {"log", {{7}}, [](Tape& tape, V x) { return t::log(tape, x[0]); }, 0.1, 4},
      {"sqrt", {{7}}, [](Tape& tape, V x) { return t::sqrt(tape, x[0]); }, 0.1, 4},
      {"square", {{7}}, [](Tape& tape, V x) { return t::square(tape, x[0]); }},
      {"relu", {{9}}, [](Tape& tape, V x) { return t::relu(tape, x[0]); }},
      {"sigmoid", {{7}}, [](Tape& tape, V x) { return t::sigmoid(tape, x[0]); }, -9, 9},
      {"tanh", {{7}}, [](Tape& tape, V x) { return t::tanh(tape, x[0]); }},
      {"gelu", {{9}}, [](Tape& tape, V x) { return t::gelu(tape, x[0]); }, -4, 4},
      {"silu", {{9}}, [](Tape& tape, V x) { return t::silu(tape, x[0]); }, -4, 4},
      {"cast", {{4}}, [](Tape& tape, V x) { return t::cast(tape, x[0], {emu::float64, {}}); }},
      {"sum", {{2, 3, 2}}, [](Tape& tape, V x) { return t::sum(tape, x[0]); }},
      {"sum over 1", {{2, 3, 2}}, [](Tape& tape, V x) { return t::sum(tape, x[0], 1); }},
      {"mean over 0", {{3, 2}}, [](Tape& tape, V x) { return t::mean(tape, x[0], 0); }},
      {"softmax", {{3, 5}}, [](Tape& tape, V x) { return t::softmax(tape, x[0]); }},
      {"log_softmax", {{3, 5}}, [](Tape& tape, V x) { return t::log_softmax(tape, x[0]); }},
      {"layer_norm", {{4, 6}, {6}, {6}}, [](Tape& tape, V x) { return t::layer_norm(tape, x[0], x[1], x[2], 1e-5); }},
      {"rms_norm", {{4, 6}, {6}}, [](Tape& tape, V x) { return t::rms_norm(tape, x[0], x[1], 1e-6); }},
      {"batch_norm", {{3, 2, 2, 2}, {2}, {2}}, [](Tape& tape, V x) { return t::batch_norm(tape, x[0], x[1], x[2], 1e-5); }},
      {"reshape", {{2, 6}}, [](Tape& tape, V x) { return t::reshape(tape, x[0], {3, 4}); }},
      {"permute", {{2, 3, 4}}, [](Tape& tape, V x) { return t::permute(tape, x[0], {2, 0, 1}); }},
      {"slice", {{2, 5, 3}}, [](Tape& tape, V x) { return t::slice(tape, x[0], 1, 1, 4); }},
      {"concatenate", {{2, 1, 3}, {2, 2, 3}}, [](Tape& tape, V x) { return t::concatenate(tape, {x[0], x[1], x[0]}, 1); }},
      {"gather", {{4, 3}}, [](Tape& tape, V x) { return t::gather(tape, x[0], {1, 3, 1, 0, 1}); }},
      {"max_pool", {{2, 2, 5, 4}}, [](Tape& tape, V x) { return t::max_pool(tape, x[0], 2); }},
      {"mask_future", {{2, 3, 3}}, [](Tape& tape, V x) { return t::softmax(tape, t::mask_future(tape, x[0], -1e9)); }},
      {"matmul", {{2, 3, 4}, {2, 4, 5}}, [](Tape& tape, V x) { return t::matmul(tape, x[0], x[1]); }},
      {"matmul with a transpose",
       {{2, 3, 4}, {2, 5, 4}},
       [](Tape& tape, V x) { return t::matmul(tape, x[0], x[1], t::Transpose::yes); }},
      {"matmul of one by itself", {{3, 3}}, [](Tape& tape, V x) { return t::matmul(tape, x[0], x[0]); }},
      {"linear", {{2, 3, 4}, {5, 4}, {5}}, [](Tape& tape, V x) { return t::linear(tape, x[0], x[1], x[2]); }},
      {"linear without bias", {{3, 4}, {5, 4}}, [](Tape& tape, V x) { return t::linear(tape, x[0], x[1], {}); }},
      {"convolution",
       {{2, 3, 5, 4}, {4, 3, 3, 2}, {4}},
       [](Tape& tape, V x) { return t::convolution(tape, x[0], x[1], x[2], {2, 1}); }},
      {"convolution of single pixels",
       {{1, 2, 3, 3}, {3, 2, 1, 1}},
       [](Tape& tape, V x) { return t::convolution(tape, x[0], x[1], {}, {1, 0}); }},
      {"cross_entropy", {{4, 3}}, [](Tape& tape, V x) { return t::cross_entropy(tape, x[0], {2, 0, 1, 1}); }},
      {"mse", {{4, 3}, {4, 3}}, [](Tape& tape, V x) { return t::mean_squared_error(tape, x[0], x[1]); }},
      {"bce_with_logits",
       {{4, 3}, {4, 3}},
       [](Tape& tape, V x) { return t::binary_cross_entropy_with_logits(tape, x[0], x[1]); }},
      {"a chain of many",
       {{3, 4}, {4, 4}, {4}},
       [](Tape& tape, V x) {
         const Variable hidden = t::gelu(tape, t::linear(tape, x[0], x[1], x[2]));
         const Variable normal = t::layer_norm(tape, t::add(tape, hidden, x[0]), x[2], x[2], 1e-5);
         return t::cross_entropy(tape, t::matmul(tape, normal, x[1]), {0, 3, 1});
       }},
  };
}

using Arrays = std::vector<Array<double>>;

/// The sum of the result's elements, each times a number of its own.
double weighted(const Array<double>& result) {
  double sum = 0;
  for (std::size_t i = 0; i < result.count(); ++i) sum += result.values[i] * std::cos(1.0 + static_cast<double>(i));
  return sum;
}

double value_of(const Case& what, const Arrays& inputs) {
  Tape tape(training::uniform_precision(emu::float64), 0, 1);
  std::vector<Variable> variables;
  for (const auto& input : inputs) variables.push_back(tape.input(input, emu::float64, true));
  return weighted(tape.value(what.result(tape, variables)));
}

Arrays gradients_of(const Case& what, const Arrays& inputs) {
  Tape tape(training::uniform_precision(emu::float64), 0, 1);
  std::vector<Variable> variables;
  for (const auto& input : inputs) variables.push_back(tape.input(input, emu::float64, true));
  const Variable result = what.result(tape, variables);
  Array<double> seed(tape.shape(result));
  for (std::size_t i = 0; i < seed.count(); ++i) seed.values[i] = std::cos(1.0 + static_cast<double>(i));
  tape.backward(result, seed);
  Arrays out;
  for (const Variable v : variables) out.push_back(tape.gradient(v));
  return out;
}

}  // namespace

TEST_CASE("gradients are the central differences", "[training]") {
  const Case what = GENERATE(from_range(cases()));
  CAPTURE(what.name);
  std::mt19937_64 random(7);
  Arrays inputs;
  for (const Shape& shape : what.inputs) {
    inputs.emplace_back(shape);
    for (double& x : inputs.back().values)
      x = what.least + (what.most - what.least) * static_cast<double>(random() >> 11) * 0x1p-53;
  }
  const Arrays gradients = gradients_of(what, inputs);

  constexpr double h = 0x1p-17;  // error of the difference: h^2 f''' / 6 and 2^-53 / h, both about 1e-11
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    REQUIRE(gradients[k].shape == inputs[k].shape);
    for (std::size_t i = 0; i < inputs[k].count(); ++i) {
      Arrays above = inputs, below = inputs;
      above[k].values[i] += h, below[k].values[i] -= h;
      const double difference = (value_of(what, above) - value_of(what, below)) / (2 * h);
      CAPTURE(k, i);
      CHECK(std::fabs(gradients[k].values[i] - difference) <= 1e-8 * std::max(1.0, std::fabs(difference)));
    }
  }
}

TEST_CASE("shapes that do not fit are refused", "[training]") {
  const auto refused = [](const std::vector<Shape>& shapes, const auto& result) {
    Tape tape(training::uniform_precision(emu::float64), 0, 1);
    std::vector<Variable> x;
    for (const Shape& shape : shapes) x.push_back(tape.input(Array<double>(shape, 1), emu::float64, true));
    CHECK_THROWS_AS(result(tape, x), Error);
  };
  namespace t = training;
  refused({{2, 3}, {4}}, [](Tape& tape, auto& x) { return t::add(tape, x[0], x[1]); });
  refused({{2, 3}, {4, 3}}, [](Tape& tape, auto& x) { return t::matmul(tape, x[0], x[1]); });
  refused({{2, 3}, {4, 2}}, [](Tape& tape, auto& x) { return t::linear(tape, x[0], x[1], {}); });
  refused({{2, 3}}, [](Tape& tape, auto& x) { return t::reshape(tape, x[0], {4}); });
  refused({{2, 3}}, [](Tape& tape, auto& x) { return t::permute(tape, x[0], {0, 0}); });
  refused({{2, 3}}, [](Tape& tape, auto& x) { return t::slice(tape, x[0], 1, 2, 4); });
  refused({{2, 3}}, [](Tape& tape, auto& x) { return t::gather(tape, x[0], {2}); });
  refused({{2, 3}}, [](Tape& tape, auto& x) { return t::cross_entropy(tape, x[0], {0, 3}); });
  refused({{2, 3}, {2}}, [](Tape& tape, auto& x) { return t::rms_norm(tape, x[0], x[1], 1e-6); });
  refused({{1, 2, 4, 4}, {1, 3, 2, 2}}, [](Tape& tape, auto& x) { return t::convolution(tape, x[0], x[1], {}, {}); });
  refused({{1, 2, 4, 4}}, [](Tape& tape, auto& x) { return t::max_pool(tape, x[0], 5); });
  Tape tape(training::uniform_precision(emu::float64), 0, 1);
  const Variable x = tape.input(Array<double>({2}, 1), emu::float64, true);
  CHECK_THROWS_AS(tape.backward(x), Error);
}
