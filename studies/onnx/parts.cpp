// SPDX-License-Identifier: Apache-2.0
// Operators that join values and take them apart, and those of sequences.
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "studies/onnx/operators.hpp"

namespace ulpscope::studies::onnx {
namespace {

using Kind = Value::Kind;
using Items = std::vector<std::shared_ptr<const Value>>;

/// One value of several along an axis.
Value joined(const std::vector<const Value*>& parts, std::int64_t along) {
  const Value& first = *parts.front();
  const std::size_t axis = axis_of(along, first.shape.size());
  Shape shape = first.shape;
  shape[axis] = 0;
  for (const Value* const part : parts) {
    Shape other = part->shape;
    if (other.size() != shape.size() || part->kind != first.kind)
      throw Error("of " + words_of(first.shape) + " and " + words_of(other));
    shape[axis] += other[axis];
    other[axis] = first.shape[axis];
    if (other != first.shape) throw Error("of " + words_of(first.shape) + " and " + words_of(part->shape));
  }
  Value out = make_like(first, shape);
  const std::size_t rows = count_of(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis)));
  const auto join = [&](auto elements, auto& to) {
    auto at = to.begin();
    for (std::size_t row = 0; row < rows; ++row)
      for (const Value* const part : parts) {
        const auto& from = elements(*part);
        const std::size_t length = from.size() / std::max<std::size_t>(rows, 1);
        at = std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(row * length), length, at);
      }
  };
  if (out.is_real())
    join(
        [](const Value& value) -> const auto& { return value.reals; }, out.reals);
  else
    join(
        [](const Value& value) -> const auto& { return value.wholes; }, out.wholes);
  return out;
}

std::vector<Value> concat(const Call& call) {
  std::vector<const Value*> parts;
  for (std::size_t i = 0; i < std::max<std::size_t>(call.inputs.size(), 1); ++i) parts.push_back(&call.in(i));
  return {joined(parts, call.whole("axis", 1))};
}

constexpr std::int64_t most_parts = 1 << 20;

/// Parts of these sizes along an axis, one after the other.
std::vector<Value> parts_of(const Value& x, std::size_t axis, const std::vector<std::int64_t>& sizes) {
  std::int64_t rest = static_cast<std::int64_t>(x.shape[axis]);
  for (const std::int64_t size : sizes) rest = size < 0 || size > rest ? -1 : rest - size;
  if (rest != 0 || static_cast<std::int64_t>(sizes.size()) > most_parts)
    throw Error("parts that do not make up extent " + std::to_string(x.shape[axis]));
  tensors::HeldMemory memory("the parts of a node");  // however few elements they have
  memory.grow(sizes.size() * std::uint64_t{sizeof(Value)});
  const std::vector<std::size_t> strides = strides_of(x.shape);
  std::vector<Value> out;
  std::size_t first = 0;
  for (const std::int64_t size : sizes) {
    Shape shape = x.shape;
    shape[axis] = static_cast<std::size_t>(size);
    out.push_back(moved(x, shape, [&](const std::vector<std::size_t>& at) {
      return std::inner_product(at.begin(), at.end(), strides.begin(), first * strides[axis]);
    }));
    first += shape[axis];
  }
  return out;
}

std::vector<Value> split(const Call& call) {
  const Value& x = call.in(0);
  const std::size_t axis = axis_of(call.whole("axis", 0), x.shape.size());
  std::vector<std::int64_t> sizes = call.wholes_of("split", 1);
  if (sizes.empty()) {
    const std::int64_t parts = call.whole("num_outputs", static_cast<std::int64_t>(call.node.outputs.size()));
    if (parts < 1 || parts > most_parts) throw Error("num_outputs " + std::to_string(parts));
    const auto all = static_cast<std::int64_t>(x.shape[axis]), most = (all + parts - 1) / parts;
    for (std::int64_t i = 0, rest = all; i < parts; ++i, rest -= most) sizes.push_back(std::clamp<std::int64_t>(rest, 0, most));
  }
  return parts_of(x, axis, sizes);
}

const Items& items_of(const Call& call) {
  const Value& given = call.in(0);
  if (!given.is_sequence()) throw Error("of a tensor, where a sequence is wanted");
  return given.items;
}

/// An item of a sequence must be an array.
std::shared_ptr<const Value> item_of(const Value& value) {
  if (value.is_sequence()) throw Error("of a sequence, where a tensor is wanted");
  auto item = std::make_shared<Value>(value);
  count_again(*item);
  return item;
}

/// A place in a sequence of `count` items by an input, at most `last`, from the end where it is negative.
std::ptrdiff_t position_of(const Call& call, std::size_t i, std::ptrdiff_t count, std::ptrdiff_t last) {
  const Value& given = call.in(i).as_integers();
  if (given.count() != 1) throw Error("a position of " + words_of(given.shape));
  const std::int64_t at = given.wholes[0];
  if (at < -count || at > last) throw Error("position " + std::to_string(at) + " in a sequence of " + std::to_string(count));
  return static_cast<std::ptrdiff_t>(at < 0 ? at + count : at);
}
std::ptrdiff_t position_of(const Call& call, std::size_t i, const Items& items) {
  return position_of(call, i, std::ssize(items), std::ssize(items) - 1);
}

std::vector<Value> sequence_empty(const Call& /*call*/) { return {sequence_of({})}; }

std::vector<Value> sequence_construct(const Call& call) {
  Items items;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) items.push_back(item_of(call.in(i)));
  return {sequence_of(std::move(items))};
}

std::vector<Value> sequence_length(const Call& call) {
  return {reshaped(row_of({static_cast<std::int64_t>(items_of(call).size())}), {})};
}

std::vector<Value> sequence_at(const Call& call) {
  const Items& items = items_of(call);
  return {*items[static_cast<std::size_t>(position_of(call, 1, items))]};
}

std::vector<Value> sequence_insert(const Call& call) {
  Items items = items_of(call);
  const std::ptrdiff_t at =
      call.maybe(2) == nullptr ? std::ssize(items) : position_of(call, 2, std::ssize(items), std::ssize(items));
  items.insert(items.begin() + at, item_of(call.in(1)));
  return {sequence_of(std::move(items))};
}

std::vector<Value> sequence_erase(const Call& call) {
  Items items = items_of(call);
  if (items.empty()) throw Error("of an empty sequence");
  items.erase(items.begin() + (call.maybe(1) == nullptr ? std::ssize(items) - 1 : position_of(call, 1, items)));
  return {sequence_of(std::move(items))};
}

std::vector<Value> concat_from_sequence(const Call& call) {
  const Items& items = items_of(call);
  if (items.empty()) throw Error("of an empty sequence");
  const bool stacks = call.whole("new_axis", 0) != 0;
  const std::int64_t along = call.whole("axis", 0);
  std::vector<const Value*> parts;
  for (const auto& item : items) parts.push_back(item.get());
  if (!stacks) return {joined(parts, along)};
  const std::size_t axis = axis_of(along, items.front()->shape.size() + 1);
  std::vector<Value> stacked;
  for (const auto& item : items) {
    Shape shape = item->shape;
    if (shape.size() != items.front()->shape.size()) throw Error("of items of unlike ranks");
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    stacked.push_back(reshaped(*item, shape));
    count_again(stacked.back());
  }
  std::ranges::transform(stacked, parts.begin(), [](const Value& part) { return &part; });
  return {joined(parts, along)};
}

std::vector<Value> split_to_sequence(const Call& call) {
  const Value& x = call.in(0);
  const std::size_t axis = axis_of(call.whole("axis", 0), x.shape.size());
  const Value* const given = call.maybe(1);
  const auto all = static_cast<std::int64_t>(x.shape[axis]);
  std::vector<std::int64_t> sizes = given == nullptr ? std::vector<std::int64_t>{1} : given->as_integers().wholes;
  if (given == nullptr || given->shape.empty()) {  // parts of one size, the last of what is left
    const std::int64_t size = sizes[0];
    if (size < 1 || all / size >= most_parts) throw Error("parts of " + std::to_string(size) + " of " + std::to_string(all));
    sizes.assign(static_cast<std::size_t>(all / size), size);
    if (all % size != 0) sizes.push_back(all % size);
  }
  Items items;
  for (Value& part : parts_of(x, axis, sizes)) {
    Shape shape = part.shape;
    if (given == nullptr && call.whole("keepdims", 1) == 0) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    items.push_back(std::make_shared<const Value>(reshaped(std::move(part), shape)));
  }
  return {sequence_of(std::move(items))};
}

constexpr Operator part_table[] = {{"Concat", concat},
                                   {"ConcatFromSequence", concat_from_sequence, true},
                                   {"SequenceAt", sequence_at, true},
                                   {"SequenceConstruct", sequence_construct},
                                   {"SequenceEmpty", sequence_empty},
                                   {"SequenceErase", sequence_erase, true},
                                   {"SequenceInsert", sequence_insert, true},
                                   {"SequenceLength", sequence_length, true},
                                   {"Split", split},
                                   {"SplitToSequence", split_to_sequence}};

}  // namespace

std::span<const Operator> part_operators() { return part_table; }

}  // namespace ulpscope::studies::onnx
