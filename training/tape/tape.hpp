// SPDX-License-Identifier: Apache-2.0
// The tape: every operation of a computation in the order in which it was done, so that gradients can be carried back through
// it (reverse-mode differentiation; Griewank and Walther, Evaluating Derivatives, 2008, chapter 3). Each value has a format, to
// which it was rounded when it was stored; its gradient is rounded to the same format, as frameworks give a gradient the type
// of its tensor. A value that is used several times gets the sum of its gradients, rounded at each addition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "training/tape/array.hpp"
#include "training/tape/causal_mask.hpp"
#include "training/tape/multiplier.hpp"
#include "training/tape/padding.hpp"
#include "training/tape/precision.hpp"
#include "training/tape/product_tally.hpp"
#include "training/tape/workspace.hpp"

namespace ulpscope::training {

/// A value on a tape.
struct Variable {
  std::size_t index = 0;
};

/// Numbers that were stored: told of every rounding, before and after.
template <class Real>
struct Stored {
  std::string_view operation;  ///< `softmax`, `linear`, ...
  std::string_view layer;
  std::string_view
      place;  ///< `output`, `gradient`, `input`, `weight`, `grad_output`, `grad_input`, `grad_weight`, `bias`, `grad_bias`
  emu::Format format;
  std::span<const Real> before, after;  ///< the same memory where nothing was rounded
  Padding padding = {};                 ///< that was stored with them
  CausalMask mask = {};                 ///< what it hides is infinite, or anything else, on purpose
};

template <class Real>
class Tape {
 public:
  /// `seed` is the key of stochastic rounding; the same computation gives the same bits. Tapes that follow one another share
  /// a workspace, and with it memory; without one it is the tape's own.
  Tape(Precision precision, std::uint64_t seed, int threads, std::shared_ptr<Workspace<Real>> workspace = {});
  ~Tape();
  Tape(Tape&&) noexcept = default;
  Tape& operator=(Tape&&) = delete;

  /// Told of every rounding from now on; of what is stored as it is, too.
  void on_stored(std::function<void(const Stored<Real>&)> told) { told_ = std::move(told); }

  /// Products are formed by it from now on, which must outlive the tape; null: by the emulated engines.
  void multiply_by(Multiplier* multiplier) { multiplier_ = multiplier; }
  /// What forms products, or null.
  Multiplier* multiplier() const { return multiplier_; }
  /// Products are counted there from now on, which must outlive the tape; null: nowhere.
  void tally_into(ProductTally* tally) { tally_ = tally; }
  /// Where products are counted, or null.
  ProductTally* tally() const { return tally_; }

  /// A value that was computed elsewhere, numbers of `format`. With `trained` it has a gradient.
  Variable input(Array<Real> value, emu::Format format, bool trained);
  /// The same of numbers that are copied.
  Variable input(const Shape& shape, std::span<const Real> values, emu::Format format, bool trained);

  const Array<Real>& value(Variable v) const { return nodes_[v.index].value; }
  emu::Format format(Variable v) const { return nodes_[v.index].format; }
  const Shape& shape(Variable v) const { return value(v).shape; }
  /// After backward(); empty where nothing depends on it, or it has none.
  const Array<Real>& gradient(Variable v) const { return nodes_[v.index].gradient; }
  const CausalMask& mask(Variable v) const { return nodes_[v.index].mask; }
  bool has_gradient(Variable v) const { return nodes_[v.index].needs_gradient; }
  /// The same, which is the caller's from then on.
  std::vector<Real> take_gradient(Variable v) { return std::exchange(nodes_[v.index].gradient, {}).values; }

  /// Gradients of all values that `of` depends on, `of` being a single number. `scale` is what its own gradient is: the loss
  /// scale. @throws ulpscope::Error
  void backward(Variable of, Real scale = 1);
  /// The same where `of` has any shape, `seed` being its gradient.
  void backward(Variable of, Array<Real> seed);

  /// What the next operation will be.
  Variable next() const { return {nodes_.size()}; }

  /// Operations on a tape of their own, from values on it.
  using Segment = std::function<Variable(Tape& tape, const std::vector<Variable>& inputs)>;
  /// What `segment` makes of `inputs`, and nothing else of it, is kept: it is computed again when gradients come back
  /// (activation checkpointing; Chen et al., arXiv 1604.06174), from the same random words, so that no bit differs. Who is told
  /// of roundings is told of each once. An input that a segment takes several times must not be taken outside of it: its
  /// gradients would be added in another order.
  Variable checkpointed(const std::vector<Variable>& inputs, Segment segment);

  /// Bytes of all results that are kept for the gradients, each number in the bits of its format; inputs are not counted.
  std::uint64_t kept_bytes() const;
  /// How many numbers these are.
  std::uint64_t kept_numbers() const;

  /// Names the layer of the operations to come.
  void enter(std::string layer) { layer_ = std::move(layer); }
  const std::string& layer() const { return layer_; }
  int threads() const { return threads_; }

  // For operations (training/tape/operations.hpp).

  /// Memory and engines.
  Workspace<Real>& workspace() const { return *workspace_; }
  /// An array whose numbers may be anything; with zeros; with these numbers.
  ///@{
  Array<Real> array(Shape shape) const { return workspace_->arrays.take(std::move(shape)); }
  Array<Real> zeros(Shape shape) const;
  Array<Real> copy(Shape shape, std::span<const Real> values) const;
  ///@}

  /// The gradients of an operation's inputs, one each, empty for those that have none, from that of its result.
  using Backward = std::function<std::vector<Array<Real>>(const Array<Real>& gradient)>;

  OperationPrecision precision_of(std::string_view operation) const { return precision_.operation(operation, layer_); }
  ProductPrecision product_precision_of(std::string_view operation) const { return precision_.product(operation, layer_); }

  /// A result, stored as `storage` says; without it in the widest format of the inputs, to nearest even. `mask` has written
  /// some of its numbers.
  Variable record(std::string_view operation, std::vector<Variable> inputs, Array<Real> value,
                  const std::optional<Storage>& storage, Backward backward, const CausalMask& mask = {});
  /// A result that has the numbers of its input in another place: nothing is rounded.
  Variable record_moved(std::string_view operation, Variable input, Array<Real> value, Backward backward);

  /// Rounds in place. `padding` is stored with the numbers: zeros, which no rounding changes and none takes random words for.
  void store(std::span<Real> values, const Storage& storage, std::string_view operation, std::string_view layer,
             std::string_view place, const Padding& padding = {}, const CausalMask& mask = {});
  /// Random words of the roundings to come: the n-th takes rounding_bits(seed, n).
  std::uint64_t take_random(std::size_t roundings);
  std::uint64_t seed() const { return seed_; }
  /// The n of the next one; set, a computation goes on where another tape left off.
  ///@{
  std::uint64_t next_random() const { return next_random_; }
  void go_on_from(std::uint64_t next_random) { next_random_ = next_random; }
  ///@}

 private:
  struct Node {
    std::string operation, layer;
    Array<Real> value, gradient;
    emu::Format format = emu::float32;
    bool needs_gradient = false;
    std::vector<Variable> inputs;
    Backward backward;
    bool gradients_stored = false;  ///< of its inputs: they come rounded from where they were formed
    CausalMask mask = {};
  };
  Variable add_node(Node node);
  void add_gradient(Variable to, Array<Real> gradient, const Node& from);
  /// From the gradients that nodes have, back to the first.
  void carry_back(Variable from);
  /// A tape that goes on as this one does, with copies of the inputs.
  Tape on_its_own(const std::vector<Variable>& inputs, std::uint64_t first_random, std::vector<Variable>& own) const;

  Precision precision_;
  std::uint64_t seed_, next_random_ = 0;
  int threads_;
  std::string layer_;
  std::shared_ptr<Workspace<Real>> workspace_;
  std::vector<Node> nodes_;
  std::function<void(const Stored<Real>&)> told_;
  Multiplier* multiplier_ = nullptr;
  ProductTally* tally_ = nullptr;
};

}  // namespace ulpscope::training
