// SPDX-License-Identifier: Apache-2.0
// What a node of a model takes and gives: an array of floats, of integers or of truth values, or a sequence of arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "tensors/memory_limit.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies::onnx {

/// Extents, the last of which runs fastest.
using Shape = std::vector<std::size_t>;

/// What an operator cannot do, and others could: what follows from it is not computed, and all else is.
class NotComputed : public Error {
 public:
  using Error::Error;
};

/// Product of the extents. @throws ulpscope::Error where it overflows
std::size_t count_of(const Shape& shape);
/// `2x3`, or `a scalar`.
std::string words_of(const Shape& shape);

/// An array, or a sequence of them. Floating types of every width are computed in float32, integers in int64.
struct Value {
  /// What the elements are.
  enum class Kind : std::uint8_t { real, whole, truth, sequence };

  Kind kind = Kind::real;                                ///< of every element
  std::string dtype = "float32";                         ///< as the model has it: `uint8`
  Shape shape;                                           ///< of the array
  std::vector<float> reals;                              ///< of a real value
  std::vector<std::int64_t> wholes;                      ///< of integers and truth values
  std::vector<std::shared_ptr<const Value>> items = {};  ///< of a sequence
  std::shared_ptr<tensors::HeldMemory> memory = {};      ///< that it takes

  bool is_real() const { return kind == Kind::real; }          ///< whether its elements are floats
  bool is_sequence() const { return kind == Kind::sequence; }  ///< whether it has no elements but items
  /// How many there are.
  std::size_t count() const { return is_real() ? reals.size() : wholes.size(); }
  /// The value, if it is of reals. @throws NotComputed
  const Value& as_real() const;
  /// The value, if it is of integers or truth values. @throws ulpscope::Error
  const Value& as_integers() const;
  /// An element as a double; an integer beyond 2^53 is rounded.
  double at(std::size_t i) const { return is_real() ? static_cast<double>(reals[i]) : static_cast<double>(wholes[i]); }
};

/// A value of zeros. @throws ulpscope::Error where the memory that tensors may take does not suffice
Value make(Value::Kind kind, Shape shape, std::string dtype = {});
/// The same of the kind and type of another.
inline Value make_like(const Value& value, Shape shape) { return make(value.kind, std::move(shape), value.dtype); }
/// Integers in one row.
Value row_of(const std::vector<std::int64_t>& wholes);

/// A sequence of arrays. @throws ulpscope::Error as make()
Value sequence_of(std::vector<std::shared_ptr<const Value>> items);
/// An operator that gives a copy of what it takes has the same count of memory: from now on it is another.
/// @throws ulpscope::Error as make()
void count_again(Value& value);

/// All of a tensor. @throws ulpscope::Error
Value value_of(const tensors::Tensor& tensor);

/// Integers come back into the range of their type. @throws NotComputed for numbers that int64 does not hold
void wrap(Value& value);

/// The kind of elements of a type by its name.
Value::Kind kind_of(std::string_view dtype);

/// Walks over the places of a shape in order.
class Places {
 public:
  /// At its first. `shape` must outlive this.
  explicit Places(const Shape& shape) : shape_(shape), at_(shape.size(), 0) {}
  /// The place, an index into each dimension.
  const std::vector<std::size_t>& at() const { return at_; }
  /// Goes on; behind the last the first comes again.
  void next() {
    for (std::size_t d = at_.size(); d-- > 0;) {
      if (++at_[d] < shape_[d]) return;
      at_[d] = 0;
    }
  }

 private:
  const Shape& shape_;
  std::vector<std::size_t> at_;
};

/// Elements from one place of each dimension to the next; 0 where an extent is 1 and `stretches`.
std::vector<std::size_t> strides_of(const Shape& shape, bool stretches = false);

/// The index of no element.
inline constexpr std::size_t nowhere = ~std::size_t{0};
/// What there is of `in` at the index that from(place) says, for each place of `shape`; `fill` where that is `nowhere`.
template <class From>
Value moved(const Value& in, const Shape& shape, From from, double fill = 0) {
  Value out = make_like(in, shape);
  Places places(shape);
  const auto move = [&](const auto& source, auto& to) {
    using Element = typename std::remove_reference_t<decltype(to)>::value_type;
    for (auto& element : to) {
      const std::size_t index = from(places.at());
      element = index == nowhere ? static_cast<Element>(fill) : source[index];
      places.next();
    }
  };
  in.is_real() ? move(in.reals, out.reals) : move(in.wholes, out.wholes);
  return out;
}

/// The shape of both, stretched to each other (NumPy's broadcasting). @throws ulpscope::Error
Shape broadcast(const Shape& a, const Shape& b);
/// The value stretched to a shape that broadcast() gave.
Value stretched(const Value& value, const Shape& shape);
/// The same elements in another shape of as many.
Value reshaped(Value value, Shape shape);

}  // namespace ulpscope::studies::onnx
