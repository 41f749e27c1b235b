// SPDX-License-Identifier: Apache-2.0
// Places of windows: padding and extents as the operators' descriptions have them.
#include "studies/onnx/windows.hpp"

#include <algorithm>
#include <utility>

namespace ulpscope::studies::onnx {
namespace {

std::int64_t whole(std::size_t n) { return static_cast<std::int64_t>(n); }

/// One number for each dimension.
std::vector<std::int64_t> of_dimensions(const Call& call, const char* name, std::size_t rank, std::int64_t least) {
  std::vector<std::int64_t> all = call.wholes(name, std::vector<std::int64_t>(rank, 1));
  if (all.size() != rank || std::ranges::any_of(all, [&](std::int64_t n) { return n < least || n > std::int64_t{1} << 20; }))
    throw Error(std::string(name) + " that do not fit");
  return all;
}

/// The attribute must be what the filters are.
void check_kernel(const std::vector<std::int64_t>& given, const Shape& kernel) {
  if (!given.empty() && !std::ranges::equal(given, kernel, [](std::int64_t a, std::size_t b) { return a == whole(b); }))
    throw Error("a kernel_shape that is not that of the filters, " + words_of(kernel));
}

}  // namespace

void Windows::read(const Call& call) {
  const std::size_t rank = kernel.size();
  strides = of_dimensions(call, "strides", rank, 1), dilations = of_dimensions(call, "dilations", rank, 1);
  const std::vector<std::int64_t> pads = call.wholes("pads", std::vector<std::int64_t>(2 * rank, 0));
  if (pads.size() != 2 * rank ||
      std::ranges::any_of(pads, [](std::int64_t n) { return n < -(std::int64_t{1} << 40) || n > std::int64_t{1} << 40; }))
    throw Error("pads that do not fit");
  before.assign(pads.begin(), pads.begin() + whole(rank)), after.assign(pads.begin() + whole(rank), pads.end());
}

Windows::Windows(const Call& call, Shape image, Shape size) : in(std::move(image)), kernel(std::move(size)) {
  const std::vector<std::int64_t> given = call.wholes("kernel_shape");
  if (!kernel.empty()) check_kernel(given, kernel);
  if (kernel.empty())
    for (const std::int64_t n : given)
      kernel.push_back(static_cast<std::size_t>(std::clamp<std::int64_t>(n, 0, std::int64_t{1} << 20)));
  if (kernel.size() != in.size() || std::ranges::find(kernel, std::size_t{0}) != kernel.end())
    throw Error("a kernel of " + words_of(kernel) + " over " + words_of(in));
  read(call);
  const std::string automatic = call.text("auto_pad", "NOTSET");
  const bool up = call.whole("ceil_mode", 0) != 0;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const std::int64_t all = whole(in[d]), reach = (whole(kernel[d]) - 1) * dilations[d] + 1;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const std::int64_t wanted = (all + strides[d] - 1) / strides[d],
                         pad = std::max<std::int64_t>((wanted - 1) * strides[d] + reach - all, 0);
      before[d] = automatic == "SAME_UPPER" ? pad / 2 : pad - pad / 2, after[d] = pad - before[d];
    } else if (automatic == "VALID") {
      before[d] = after[d] = 0;
    } else if (automatic != "NOTSET") {
      throw Error("auto_pad '" + automatic + "'");
    }
    const std::int64_t room = all + before[d] + after[d] - reach;
    if (room < 0)
      throw Error("a kernel that reaches over " + std::to_string(reach) + " of " + std::to_string(all + before[d] + after[d]));
    std::int64_t count = (room + (up ? strides[d] - 1 : 0)) / strides[d] + 1;
    if (up && (count - 1) * strides[d] >= all + before[d]) --count;  // no window begins behind the image
    out.push_back(static_cast<std::size_t>(count));
  }
}

Windows Windows::backwards(const Call& call, Shape image, Shape size) {
  Windows made;
  made.out = std::move(image), made.kernel = std::move(size);
  if (std::ranges::find(made.kernel, std::size_t{0}) != made.kernel.end()) throw Error("a kernel of " + words_of(made.kernel));
  check_kernel(call.wholes("kernel_shape"), made.kernel);
  made.read(call);
  const std::size_t rank = made.kernel.size();
  const std::vector<std::int64_t> more = call.wholes("output_padding", std::vector<std::int64_t>(rank, 0)),
                                  wanted = call.wholes("output_shape");
  const std::string automatic = call.text("auto_pad", "NOTSET");
  const auto is_far = [](std::int64_t n) { return n < 0 || n > std::int64_t{1} << 40; };
  if (more.size() != rank || (!wanted.empty() && wanted.size() != rank) || std::ranges::any_of(more, is_far) ||
      std::ranges::any_of(wanted, is_far))
    throw Error("output_padding or output_shape that do not fit");
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t reach = (whole(made.kernel[d]) - 1) * made.dilations[d] + 1,
                       whole_extent = (whole(made.out[d]) - 1) * made.strides[d] + more[d] + reach;
    std::int64_t extent = whole_extent - made.before[d] - made.after[d];
    const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    if (!wanted.empty() || same) {
      extent = wanted.empty() ? whole(made.out[d]) * made.strides[d] : wanted[d];
      const std::int64_t pad = std::max<std::int64_t>(whole_extent - extent, 0);
      made.before[d] = automatic == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
    } else if (automatic == "VALID") {
      made.before[d] = 0, extent = whole_extent;
    } else if (automatic != "NOTSET") {
      throw Error("auto_pad '" + automatic + "'");
    }
    if (extent < 0 || extent > std::int64_t{1} << 40) throw Error("an extent of " + std::to_string(extent));
    made.in.push_back(static_cast<std::size_t>(extent));
  }
  return made;
}

std::vector<std::size_t> Windows::elements() const {
  const std::size_t taps = count_of(kernel), positions = count_of(out);
  const std::size_t count = count_of({taps, positions});
  tensors::HeldMemory memory("the windows of a node");
  memory.grow(count * std::uint64_t{sizeof(std::size_t)});
  std::vector<std::size_t> all(count);
  const std::vector<std::size_t> steps = strides_of(in);
  Places tap(kernel);
  for (std::size_t t = 0; t < taps; ++t, tap.next()) {
    Places at(out);
    for (std::size_t p = 0; p < positions; ++p, at.next()) {
      std::size_t index = 0;
      for (std::size_t d = 0; d < in.size() && index != nowhere; ++d) {
        const std::int64_t place = whole(at.at()[d]) * strides[d] - before[d] + whole(tap.at()[d]) * dilations[d];
        index = place < 0 || place >= whole(in[d]) ? nowhere : index + static_cast<std::size_t>(place) * steps[d];
      }
      all[t * positions + p] = index;
    }
  }
  return all;
}

}  // namespace ulpscope::studies::onnx
