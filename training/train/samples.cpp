// SPDX-License-Identifier: Apache-2.0
// Reads samples, and puts them into batches.
#include "training/train/samples.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "emu/error.hpp"
#include "emu/math.hpp"
#include "emu/philox.hpp"
#include "files/own_files.hpp"
#include "tensors/tensor.hpp"
#include "training/train/gan.hpp"

namespace ulpscope::training {
namespace {

std::vector<double> values_of(const tensors::Tensor& tensor) {
  if (tensor.opaque) throw Error(tensor.label + ": " + tensor.opaque->why);
  std::vector<double> values(tensor.count());
  tensor.source->read(0, std::span<double>(values));
  return values;
}

/// The first extent, which is at least 1.
std::size_t samples_in(const tensors::Tensor& tensor) {
  if (tensor.shape.empty() || tensor.count() == 0)
    throw Error(tensor.label + ": holds no samples; the first dimension counts them");
  return static_cast<std::size_t>(tensor.shape.front());
}

std::vector<std::size_t> classes_in(const tensors::Tensor& tensor) {
  std::vector<std::size_t> classes;
  for (const double x : values_of(tensor)) {
    if (!(x >= 0 && x < 1e9) || x != static_cast<double>(static_cast<std::size_t>(x)))
      throw Error(tensor.label + ": classes are whole numbers from 0");
    classes.push_back(static_cast<std::size_t>(x));
  }
  return classes;
}

/// `each` numbers of every sample of a batch.
std::vector<std::size_t> taken(const std::vector<std::size_t>& all, std::size_t each, const std::vector<std::size_t>& batch) {
  std::vector<std::size_t> out;
  for (const std::size_t i : batch)
    out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(i * each),
               all.begin() + static_cast<std::ptrdiff_t>((i + 1) * each));
  return out;
}

template <class Real>
Array<Real> rows_of(const std::vector<double>& values, const Shape& shape, const std::vector<std::size_t>& batch) {
  Shape all{batch.size()};
  all.insert(all.end(), shape.begin(), shape.end());
  Array<Real> out(all);
  const std::size_t size = count_of(shape);
  for (std::size_t i = 0; i < batch.size(); ++i)
    for (std::size_t j = 0; j < size; ++j) out.values[i * size + j] = static_cast<Real>(values[batch[i] * size + j]);
  return out;
}

}  // namespace

template <class Real>
Array<Real> Samples::inputs_of(const std::vector<std::size_t>& batch) const {
  return rows_of<Real>(inputs, shape, batch);
}
template <class Real>
Array<Real> Samples::targets_of(const std::vector<std::size_t>& batch) const {
  return rows_of<Real>(targets, target_shape, batch);
}
template Array<float> Samples::inputs_of(const std::vector<std::size_t>&) const;
template Array<double> Samples::inputs_of(const std::vector<std::size_t>&) const;
template Array<float> Samples::targets_of(const std::vector<std::size_t>&) const;
template Array<double> Samples::targets_of(const std::vector<std::size_t>&) const;

std::vector<std::size_t> Samples::classes_of(const std::vector<std::size_t>& batch) const {
  return taken(classes, classes.size() / std::max<std::size_t>(count, 1), batch);
}
std::vector<std::size_t> Samples::tokens_of(const std::vector<std::size_t>& batch) const {
  return taken(tokens, tokens.size() / std::max<std::size_t>(count, 1), batch);
}

Samples markov_samples(std::size_t count, std::size_t context, std::size_t vocabulary) {
  if (vocabulary < 4) throw Error("[model] vocabulary: " + std::to_string(vocabulary) + "; markov needs 4 or more");
  Samples samples;
  samples.count = count;
  for (std::size_t i = 0; i < count; ++i) {
    // The token before the sequence is one that the model does not see.
    std::size_t a = emu::random_word(0, i * (context + 2)) % vocabulary,
                b = emu::random_word(0, i * (context + 2) + 1) % vocabulary;
    for (std::size_t t = 0; t < context; ++t) {
      const std::uint32_t chance = emu::random_word(0, i * (context + 2) + 2 + t) >> 29;  // of eight
      const std::size_t d = chance < 4 ? 0 : chance < 6 ? 1 : chance == 6 ? 2 : 3;
      const std::size_t next = (a + d) % vocabulary;
      samples.tokens.push_back(b);
      samples.classes.push_back(next);
      a = b, b = next;
    }
  }
  return samples;
}

Samples text_samples(std::string_view text, const std::string& name, std::size_t context, std::size_t vocabulary) {
  std::array<bool, 256> occurs{};
  for (const char c : text) occurs[static_cast<unsigned char>(c)] = true;
  std::array<std::size_t, 256> token{};
  std::size_t tokens = 0;
  for (std::size_t byte = 0; byte < occurs.size(); ++byte)
    if (occurs[byte]) token[byte] = tokens++;
  if (tokens > vocabulary)
    throw Error("[model] vocabulary: " + std::to_string(vocabulary) + "; " + name + " has " + std::to_string(tokens) +
                " different bytes");
  Samples samples;
  samples.count = text.empty() ? 0 : (text.size() - 1) / context;  // the last token of all is a target alone
  if (samples.count == 0)
    throw Error(name + ": " + std::to_string(text.size()) + " bytes; a sequence of " + std::to_string(context) +
                " and its last target need " + std::to_string(context + 1));
  for (std::size_t i = 0; i < samples.count * context; ++i) {
    samples.tokens.push_back(token[static_cast<unsigned char>(text[i])]);
    samples.classes.push_back(token[static_cast<unsigned char>(text[i + 1])]);
  }
  return samples;
}

double markov_optimum(std::size_t context, std::size_t vocabulary) {
  const double first = emu::log(static_cast<double>(vocabulary)), others = 1.75 * emu::log(2.0);
  return (first + others * static_cast<double>(context - 1)) / static_cast<double>(context);
}

Samples read_samples(const TrainStudy& study) {
  const DataSpec& data = study.data;
  const std::string& loss = study.loss;
  if (data.table == "markov") return markov_samples(data.samples, study.model.context, study.model.vocabulary);
  if (!data.text.empty())
    return text_samples(files::read_file_or_own(data.text), data.text, study.model.context, study.model.vocabulary);
  if (data.table == "normal") {
    Samples samples;
    samples.inputs = normal_points(data.samples);
    samples.count = data.samples, samples.shape = {2};
    return samples;
  }
  const bool digits = !data.table.empty();
  const std::string file = "studies/data/digits.safetensors";
  const tensors::Tensor inputs = tensors::open_one(digits ? file + ":images" : data.inputs);
  Samples samples;
  samples.inputs = values_of(inputs);
  samples.count = samples_in(inputs);
  samples.shape.assign(inputs.shape.begin() + 1, inputs.shape.end());
  if (digits)
    for (double& x : samples.inputs) x /= 16;  // pixels are 0 to 16
  if (loss == "sum" || study.model.kind == "gan") return samples;
  const tensors::Tensor targets = tensors::open_one(digits ? file + ":labels" : data.targets);
  if (samples_in(targets) != samples.count)
    throw Error(targets.label + ": " + std::to_string(samples_in(targets)) + " targets for " + std::to_string(samples.count) +
                " samples");
  samples.target_shape.assign(targets.shape.begin() + 1, targets.shape.end());
  if (loss == "cross_entropy") {
    samples.classes = classes_in(targets);
    if (samples.classes.size() != samples.count) throw Error(targets.label + ": give one class for each sample");
  } else {
    samples.targets = values_of(targets);
  }
  return samples;
}

Batches::Batches(const DataSpec& data, std::size_t trained, std::uint64_t seed)
    : trained_(trained),
      batch_(data.batch == 0 ? trained : static_cast<std::size_t>(data.batch)),
      per_epoch_(0),
      shuffled_(data.order == "shuffled"),
      seed_(seed),
      order_(trained) {
  if (trained == 0) throw Error("[data] held_back: nothing is left to train on");
  if (batch_ > trained) throw Error("[data] batch: " + std::to_string(batch_) + " of " + std::to_string(trained) + " samples");
  per_epoch_ = shuffled_ ? trained / batch_ : (trained + batch_ - 1) / batch_;
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

std::vector<std::size_t> Batches::at(std::uint64_t index) {
  const std::uint64_t epoch = index / per_epoch_;
  if (shuffled_ && epoch != epoch_) {
    epoch_ = epoch;
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    // Fisher and Yates; a place among n from 32 random bits, by multiplication.
    for (std::size_t n = order_.size(); n > 1; --n) {
      const std::uint64_t word = emu::random_word(seed_ ^ 0x5bd1e995a2f1c0deU, epoch * trained_ + n - 1);
      std::swap(order_[n - 1], order_[static_cast<std::size_t>(word * n >> 32)]);
    }
  }
  const std::size_t begin = static_cast<std::size_t>(index % per_epoch_) * batch_;
  const std::size_t end = std::min(trained_, begin + batch_);
  return {order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace ulpscope::training
