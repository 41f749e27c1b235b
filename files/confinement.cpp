// SPDX-License-Identifier: Apache-2.0
// One allowance for the process, compared with what is asked for.
#include "files/confinement.hpp"

#include <filesystem>
#include <utility>

#include "emu/error.hpp"

namespace ulpscope::files {
namespace {

namespace fs = std::filesystem;

std::optional<Allowed> allowed;

/// Without links and `..`, whether it is there or not; nothing where it leads to what has no name, as a descriptor's may.
std::optional<fs::path> resolved(const std::string& path) {
  std::error_code problem;
  fs::path whole = fs::weakly_canonical(fs::absolute(path), problem);
  if (problem) return std::nullopt;
  return whole.has_filename() ? whole : whole.parent_path();
}

bool is_in(const fs::path& folder, const fs::path& path) {
  auto own = path.begin();
  for (const fs::path& part : folder)
    if (own == path.end() || *own++ != part) return false;
  return true;
}

}  // namespace

Confinement::Confinement(Allowed now) : outer_(std::move(allowed)) {
  if (outer_) {
    now.programs = now.programs && outer_->programs;
    if (outer_->writing_below) now.writing_below = outer_->writing_below;
  }
  allowed = std::move(now);
}

Confinement::~Confinement() { allowed = std::move(outer_); }

void check_may_write(const std::string& path) {
  if (!allowed || !allowed->writing_below) return;
  const std::optional<fs::path> folder = resolved(*allowed->writing_below), place = resolved(path);
  if (folder && place && is_in(*folder, *place)) return;
  throw Error(allowed->whose + " would write " + path);
}

std::string writing_below() { return allowed ? allowed->writing_below.value_or("") : std::string(); }

void check_may_start(const std::string& program) {
  if (allowed && !allowed->programs)
    throw Error(allowed->whose + " would start " + program + "; --allow-programs lets it, where you know what that is");
}

}  // namespace ulpscope::files
