// SPDX-License-Identifier: Apache-2.0
// Values in the order in which they came, and gradients in the reverse of it.
#include "training/tape/tape.hpp"

#include <algorithm>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/error.hpp"

namespace ulpscope::training {

std::string words_of(const Shape& shape) {
  if (shape.empty()) return "()";
  std::string words;
  for (const std::size_t extent : shape) words += (words.empty() ? "" : "x") + std::to_string(extent);
  return words;
}

Precision uniform_precision(emu::Format format) {
  const Storage storage{format, {}};
  const OperandPrecision operand{storage, {}};
  return {[storage](std::string_view, const std::string&) {
            return OperationPrecision{std::nullopt, storage};
          },
          [storage, operand](std::string_view, const std::string&) {
            return ProductPrecision{.input = operand,
                                    .weight = operand,
                                    .grad_output = operand,
                                    .engine = "fma",
                                    .accumulate = storage.format,
                                    .promote = 0,
                                    .output = storage,
                                    .grad_input = storage,
                                    .grad_weight = storage};
          }};
}

namespace {

/// As frameworks promote types: the one with more bits, of two of 16 bits (fp16 and bf16) float32.
emu::Format wider(emu::Format x, emu::Format y) {
  if (x == y || x.bits() > y.bits()) return x;
  return y.bits() > x.bits() ? y : emu::float32;
}

}  // namespace

template <class Real>
Tape<Real>::Tape(Precision precision, std::uint64_t seed, int threads, std::shared_ptr<Workspace<Real>> workspace)
    : precision_(std::move(precision)),
      seed_(seed),
      threads_(threads),
      workspace_(workspace ? std::move(workspace) : std::make_shared<Workspace<Real>>()) {}

template <class Real>
Tape<Real>::~Tape() {
  for (Node& node : nodes_) {
    workspace_->arrays.give_back(std::move(node.value.values));
    workspace_->arrays.give_back(std::move(node.gradient.values));
  }
}

template <class Real>
Array<Real> Tape<Real>::zeros(Shape shape) const {
  Array<Real> out = array(std::move(shape));
  std::fill(out.values.begin(), out.values.end(), Real{0});
  return out;
}

template <class Real>
Array<Real> Tape<Real>::copy(Shape shape, std::span<const Real> values) const {
  Array<Real> out = array(std::move(shape));
  std::copy(values.begin(), values.end(), out.values.begin());
  return out;
}

template <class Real>
Variable Tape<Real>::add_node(Node node) {
  nodes_.push_back(std::move(node));
  return {nodes_.size() - 1};
}

template <class Real>
Variable Tape<Real>::input(Array<Real> value, emu::Format format, bool trained) {
  return add_node({"input", layer_, std::move(value), {}, format, trained, {}, {}});
}

template <class Real>
Variable Tape<Real>::input(const Shape& shape, std::span<const Real> values, emu::Format format, bool trained) {
  return input(copy(shape, values), format, trained);
}

template <class Real>
Variable Tape<Real>::record(std::string_view operation, std::vector<Variable> inputs, Array<Real> value,
                            const std::optional<Storage>& named, Backward backward, const CausalMask& mask) {
  Storage storage;
  if (named) {
    storage = *named;
  } else {
    storage.format = format(inputs.front());
    for (const Variable v : inputs) storage.format = wider(storage.format, format(v));
  }
  store(value.values, storage, operation, layer_, "output", {}, mask);
  const bool needs = std::any_of(inputs.begin(), inputs.end(), [&](Variable v) { return has_gradient(v); });
  return add_node({std::string(operation),
                   layer_,
                   std::move(value),
                   {},
                   storage.format,
                   needs,
                   std::move(inputs),
                   needs ? std::move(backward) : Backward{},
                   false,
                   mask});
}

template <class Real>
Variable Tape<Real>::record_moved(std::string_view operation, Variable input, Array<Real> value, Backward backward) {
  const bool needs = has_gradient(input);
  return add_node({std::string(operation),
                   layer_,
                   std::move(value),
                   {},
                   format(input),
                   needs,
                   {input},
                   needs ? std::move(backward) : Backward{}});
}

template <class Real>
std::uint64_t Tape<Real>::take_random(std::size_t roundings) {
  return std::exchange(next_random_, next_random_ + roundings);
}

template <class Real>
void Tape<Real>::store(std::span<Real> values, const Storage& storage, std::string_view operation, std::string_view layer,
                       std::string_view place, const Padding& padding, const CausalMask& mask) {
  const emu::Format own = sizeof(Real) == sizeof(float) ? emu::float32 : emu::float64;
  const bool as_it_is = storage.format == own && !storage.options.flush_subnormals && !storage.options.subnormals_are_zero;
  if (as_it_is) {
    if (told_) told_({operation, layer, place, storage.format, values, values, padding, mask});
    return;
  }
  std::vector<Real>& before = workspace_->before;
  if (told_) before.assign(values.begin(), values.end());
  emu::RandomBits random{seed_, 0};
  if (storage.options.rounding == emu::Rounding::stochastic) random.first = take_random(values.size());
  emu::round_to(storage.format, std::span<const Real>(values), values, storage.options, random);
  if (told_) told_({operation, layer, place, storage.format, before, values, padding, mask});
}

template <class Real>
void Tape<Real>::add_gradient(Variable to, Array<Real> gradient, const Node& from) {
  Node& node = nodes_[to.index];
  if (!node.needs_gradient || gradient.empty()) return;
  if (gradient.shape != node.value.shape)
    throw Error(from.operation + ": a gradient of shape " + words_of(gradient.shape) + " for a value of " +
                words_of(node.value.shape));
  const Storage storage{node.format, {}};
  if (!from.gradients_stored) store(gradient.values, storage, from.operation, from.layer, "gradient");
  if (node.gradient.empty()) {
    node.gradient = std::move(gradient);
    return;
  }
  for (std::size_t i = 0; i < gradient.count(); ++i) node.gradient.values[i] += gradient.values[i];
  workspace_->arrays.give_back(std::move(gradient.values));
  store(node.gradient.values, storage, from.operation, from.layer, "gradient");
}

template <class Real>
void Tape<Real>::backward(Variable of, Real scale) {
  if (value(of).count() != 1) throw Error("a gradient is that of one number, not of " + words_of(shape(of)));
  backward(of, Array<Real>(shape(of), scale));
}

template <class Real>
void Tape<Real>::backward(Variable of, Array<Real> seed) {
  for (Node& node : nodes_) node.gradient = {};
  add_gradient(of, std::move(seed), nodes_[of.index]);
  carry_back(of);
}

template <class Real>
void Tape<Real>::carry_back(Variable from) {
  for (std::size_t i = from.index + 1; i-- > 0;) {
    Node& node = nodes_[i];
    if (node.gradient.empty() || !node.backward) continue;
    std::vector<Array<Real>> gradients = node.backward(node.gradient);
    for (std::size_t k = 0; k < gradients.size(); ++k) add_gradient(node.inputs[k], std::move(gradients[k]), node);
  }
}

template <class Real>
Tape<Real> Tape<Real>::on_its_own(const std::vector<Variable>& inputs, std::uint64_t first_random,
                                  std::vector<Variable>& own) const {
  Tape tape(precision_, seed_, threads_, workspace_);
  tape.layer_ = layer_, tape.next_random_ = first_random, tape.multiplier_ = multiplier_, tape.tally_ = tally_;
  for (const Variable v : inputs) own.push_back(tape.input(shape(v), value(v).values, format(v), has_gradient(v)));
  return tape;
}

template <class Real>
Variable Tape<Real>::checkpointed(const std::vector<Variable>& inputs, Segment segment) {
  const std::uint64_t first_random = next_random_;
  const std::string layer = layer_;
  Node node;
  node.operation = "checkpoint", node.layer = layer;
  {
    std::vector<Variable> own;
    Tape tape = on_its_own(inputs, first_random, own);
    tape.told_ = told_;
    const Variable result = segment(tape, own);
    next_random_ = tape.next_random_;
    node.value = std::move(tape.nodes_[result.index].value);
    node.format = tape.format(result);
  }
  node.needs_gradient = std::any_of(inputs.begin(), inputs.end(), [&](Variable v) { return has_gradient(v); });
  node.inputs = inputs;
  node.gradients_stored = true;
  if (node.needs_gradient)
    node.backward = [this, inputs, segment = std::move(segment), first_random, layer](const Array<Real>& gradient) {
      std::vector<Variable> own;
      const std::string present = std::exchange(layer_, layer);
      Tape tape = on_its_own(inputs, first_random, own);
      layer_ = present;
      const Variable result = segment(tape, own);
      tape.next_random_ = next_random_, tape.told_ = told_;
      tape.nodes_[result.index].gradient = gradient;
      tape.carry_back(result);
      next_random_ = tape.next_random_;
      std::vector<Array<Real>> gradients;
      for (const Variable v : own) gradients.push_back(std::move(tape.nodes_[v.index].gradient));
      return gradients;
    };
  return add_node(std::move(node));
}

template <class Real>
std::uint64_t Tape<Real>::kept_bytes() const {
  std::uint64_t bits = 0;
  for (const Node& node : nodes_)
    if (!node.inputs.empty()) bits += node.value.count() * static_cast<std::uint64_t>(node.format.bits());
  return (bits + 7) / 8;
}

template <class Real>
std::uint64_t Tape<Real>::kept_numbers() const {
  std::uint64_t count = 0;
  for (const Node& node : nodes_)
    if (!node.inputs.empty()) count += node.value.count();
  return count;
}

template class Tape<float>;
template class Tape<double>;

}  // namespace ulpscope::training
