// SPDX-License-Identifier: Apache-2.0
// What an operation reads.
#pragma once

#include "training/tape/operations.hpp"

namespace ulpscope::training {

/// An input, cast first where the operation's precision says so.
template <class Real>
Variable taken(Tape<Real>& tape, Variable x, const OperationPrecision& precision) {
  if (!precision.input || precision.input->format == tape.format(x)) return x;
  return cast(tape, x, *precision.input);
}

}  // namespace ulpscope::training
