// SPDX-License-Identifier: Apache-2.0
// The .npz reader: each member of the archive is an .npy, whose header is read when it is opened and whose data when they are
// asked for.
#include <zip.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "emu/error.hpp"
#include "tensors/npy.hpp"
#include "tensors/npz_archive.hpp"
#include "tensors/npz_member.hpp"
#include "tensors/readers.hpp"

namespace ulpscope::tensors {
namespace {

/// Bytes of a member when it is inflated. @throws ulpscope::Error where its compressed bytes cannot hold so many
std::uint64_t size_of(zip_t* archive, zip_uint64_t index, const std::string& name) {
  constexpr std::uint64_t most_of_deflate = 1032;  // zlib, "Maximum Expansion Factor": 258 bytes of two bits
  constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  zip_stat_t stat;
  if (zip_stat_index(archive, index, 0, &stat) != 0 || (stat.valid & needed) != needed)
    throw Error(name + ": the archive does not say how it is stored");
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
    throw Error(name + ": is compressed by method " + std::to_string(stat.comp_method) + "; members are stored or deflated");
  const std::uint64_t most = stat.comp_method == ZIP_CM_STORE ? 1 : most_of_deflate;
  if (stat.size / most > stat.comp_size)
    throw Error(name + ": " + std::to_string(stat.comp_size) + " bytes in the archive cannot hold the " +
                std::to_string(stat.size) + " that it promises");
  return stat.size;
}

/// The header of a member, and no more of it.
NpyHeader header_of(const NpzArchive& archive, zip_uint64_t index, const std::string& name, std::optional<emu::Format> dtype) {
  NpzStream stream(archive, index, name);
  std::vector<std::byte> start(npy_start_bytes);
  start.resize(stream.read(start));
  const std::size_t size = npy_header_bytes(name, start), have = start.size();
  if (size > have) {
    start.resize(size);
    start.resize(have + stream.read(std::span(start).subspan(have)));
  }
  return parse_npy_header(name, start, dtype);
}

Tensor member_of(const std::shared_ptr<const NpzArchive>& archive, zip_uint64_t index, const std::string& name,
                 std::optional<emu::Format> dtype) {
  const std::string label = archive->file().name + ":" + name;
  try {
    const std::uint64_t size = size_of(archive->zip(), index, label);
    const NpyHeader header = header_of(*archive, index, label, dtype);
    check_npy_size(label, header, size - std::min<std::uint64_t>(size, header.bytes));
    StoredElements elements = npy_elements(header);
    elements.label = label;
    elements.bytes = inflated(archive, {index, label, header.bytes, header.data_bytes});
    return {label, name, header.dtype, header.shape, make_source(std::move(elements))};
  } catch (const UnknownDType& error) {
    Tensor tensor = error.tensor();
    tensor.name = name;
    return tensor;
  }
}

/// The names of all members, without `.npy`.
std::vector<std::string> names_of(const NpzArchive& archive) {
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  const zip_int64_t members = zip_get_num_entries(archive.zip(), 0);
  names.reserve(static_cast<std::size_t>(members));
  for (zip_int64_t i = 0; i < members; ++i) {
    const char* const raw = zip_get_name(archive.zip(), static_cast<zip_uint64_t>(i), 0);
    std::string name = raw == nullptr ? "" : raw;
    if (!name.ends_with(".npy")) throw Error(archive.file().name + ": member '" + name + "' is not a .npy file");
    name.resize(name.size() - 4);
    names.push_back(std::move(name));
    if (!seen.insert(names.back()).second) throw Error(archive.file().name + ": two members are named '" + names.back() + "'");
  }
  if (names.empty()) throw Error(archive.file().name + ": holds no arrays");
  return names;
}

/// Several, of which those that may be codes of `dtype` are, and the others what they say themselves. @throws ulpscope::Error
/// where none of them is
std::vector<Tensor> members_of(const std::shared_ptr<const NpzArchive>& archive, const std::vector<std::string>& names,
                               const std::vector<std::size_t>& chosen, emu::Format dtype) {
  std::vector<Tensor> tensors;
  std::optional<Error> refusal;
  bool is_any = false;
  for (const std::size_t i : chosen) {
    try {
      tensors.push_back(member_of(archive, i, names[i], dtype));
      is_any = is_any || tensors.back().dtype.format == dtype;
    } catch (const Error& error) {
      if (!refusal) refusal = error;
      tensors.push_back(member_of(archive, i, names[i], {}));  // where the file itself is at fault it is again
    }
  }
  if (refusal && !is_any) throw *refusal;
  return tensors;
}

}  // namespace

std::vector<std::size_t> choose_all(const std::vector<std::string>& names) {
  std::vector<std::size_t> all(names.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::vector<Tensor> read_npz(const FileBytes& file, std::optional<emu::Format> dtype, const Choose& choose) {
  const auto archive = std::make_shared<const NpzArchive>(file);
  const std::vector<std::string> names = names_of(*archive);
  const std::vector<std::size_t> chosen = choose(names);
  std::vector<Tensor> tensors;
  if (dtype && chosen.size() > 1) return members_of(archive, names, chosen, *dtype);
  for (const std::size_t i : chosen) tensors.push_back(member_of(archive, i, names[i], dtype));
  return tensors;
}

}  // namespace ulpscope::tensors
