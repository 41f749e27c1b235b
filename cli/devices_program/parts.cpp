// SPDX-License-Identifier: Apache-2.0
// Joins recordings and tables of several processes in the order of their pieces.
#include "cli/devices_program/parts.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "files/new_file.hpp"
#include "files/read_file.hpp"
#include "gpu/recording.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

void join_recordings(const std::string& whole, const std::string& part) {
  gpu::Recording all = gpu::read_recording(whole);
  gpu::Recording more = gpu::read_recording(part);
  std::move(more.products.begin(), more.products.end(), std::back_inserter(all.products));
  std::move(more.elements.begin(), more.elements.end(), std::back_inserter(all.elements));
  gpu::write_recording(whole, all);
}

void join_tables(const std::string& whole, const std::string& part) {
  const std::string more = files::read_file(part);
  const std::size_t header = std::min(more.find('\n'), more.size() - 1) + 1;
  files::write_file(whole, files::read_file(whole) + more.substr(header));
}

}  // namespace

void join_parts(const std::string& whole, const std::string& part) {
  if (!fs::exists(part)) return;
  if (!fs::exists(whole)) return fs::rename(part, whole);
  whole.ends_with(".csv") ? join_tables(whole, part) : join_recordings(whole, part);
  fs::remove(part);
}

}  // namespace ulpscope::cli
