// SPDX-License-Identifier: Apache-2.0
// Takes turns among calls, so that a deadline cuts all of them alike.
#include "studies/devices/all_products.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/devices/device_portions.hpp"
#include "studies/devices/worked_library.hpp"

namespace ulpscope::studies {
namespace {

using reports::Table;

/// The calls of all libraries; those of the same operands take turns with the others.
std::vector<std::pair<const gpu::Library*, gpu::LibraryCall>> interleaved_calls(
    std::span<const std::shared_ptr<const gpu::Library>> libraries) {
  struct Numbered {
    std::size_t turn;
    int bits;
    std::pair<const gpu::Library*, gpu::LibraryCall> call;
  };
  std::map<std::string, std::size_t> turns;
  std::vector<Numbered> numbered;
  for (const auto& library : libraries)
    for (gpu::LibraryCall& call : library->calls()) {
      const std::size_t turn = turns[emu::format_name(call.a) + "," + emu::format_name(call.b)]++;
      numbered.push_back({turn, call.a.bits(), {library.get(), std::move(call)}});
    }
  std::stable_sort(numbered.begin(), numbered.end(),
                   [](const Numbered& x, const Numbered& y) { return std::pair(x.turn, x.bits) < std::pair(y.turn, y.bits); });
  std::vector<std::pair<const gpu::Library*, gpu::LibraryCall>> calls;
  for (Numbered& each : numbered) calls.push_back(std::move(each.call));
  return calls;
}

class AllProducts {
 public:
  AllProducts(const std::vector<LibraryPiece>& pieces, const AllProductsConfig& config)
      : pieces_(pieces), config_(config), work_(config.deadline, config.usable, config.log), tables_(pieces.size()) {}

  Table run() {
    const auto most = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
    for_each_portion(pieces_.size(), 1, config_.threads > 0 ? config_.threads : static_cast<int>(most),
                     [&](const Portion& portion) { take(static_cast<std::size_t>(portion.begin)); });
    return so_far();
  }

 private:
  void take(std::size_t i) {
    const LibraryPiece& piece = pieces_[i];
    work_.piece(
        i, piece.call.function, [&] { return explain(i); },
        [&](const std::string& reason) {
          keep(i, reason.empty() ? Table{}
                                 : unexplained_products(*piece.library, piece.call, piece.shape,
                                                        reason == process_ended ? "error" : "not checked", reason));
        });
    const std::lock_guard lock(telling_);
    if (config_.so_far) config_.so_far(so_far());
  }

  /// False where the device failed.
  bool explain(std::size_t i) {
    const LibraryPiece& piece = pieces_[i];
    const WorkedLibrary library(*piece.library, work_, i);
    LibraryProductsConfig config = config_.each;
    config.shapes = {piece.shape};
    config.deadline = config_.deadline;
    std::optional<WorkedEmulator> emulator;
    if (config.emulator != nullptr) config.emulator = &emulator.emplace(*config.emulator, work_, i);
    try {
      Table table = library_products(library, piece.call, config);
      const std::size_t explained = table.column("explained");
      const bool failed = std::any_of(table.rows.begin(), table.rows.end(),
                                      [&](const auto& row) { return row[explained] == reports::Cell("error"); });
      keep(i, std::move(table));
      return !failed;
    } catch (const Error& error) {
      keep(i, unexplained_products(*piece.library, piece.call, piece.shape, "error", error.what()));
      return false;
    }
  }

  void keep(std::size_t i, Table table) {
    const std::lock_guard lock(keeping_);
    tables_[i] = std::move(table);
  }
  Table so_far() {
    const std::lock_guard lock(keeping_);
    Table all = library_products_table();
    for (const Table& table : tables_) all.append(table);
    return all;
  }

  const std::vector<LibraryPiece>& pieces_;
  const AllProductsConfig& config_;
  DeviceWork work_;
  std::mutex keeping_, telling_;
  std::vector<Table> tables_;
};

}  // namespace

std::vector<LibraryPiece> library_pieces(std::span<const std::shared_ptr<const gpu::Library>> libraries,
                                         const std::vector<ProductShape>& shapes) {
  const auto calls = interleaved_calls(libraries);
  std::vector<LibraryPiece> pieces;
  for (const ProductShape& shape : shapes)
    for (const auto& [library, call] : calls) pieces.push_back({library, call, shape});
  return pieces;
}

Table all_library_products(const std::vector<LibraryPiece>& pieces, const AllProductsConfig& config) {
  return AllProducts(pieces, config).run();
}

}  // namespace ulpscope::studies
