// SPDX-License-Identifier: Apache-2.0
// Gives bytes to the reader of recordings, once as they are and once under a right checksum. What it accepts is written again,
// byte by byte the same, and replayed if it is small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "emu/error.hpp"
#include "gpu/crc64.hpp"
#include "gpu/recording.hpp"
#include "studies/devices/device_record.hpp"

inline void read_recording_bytes(const std::vector<std::byte>& bytes) {
  using namespace ulpscope;
  gpu::Recording recording;
  try {
    recording = gpu::parse_recording(bytes, "input");
  } catch (const Error&) {
    return;
  }
  if (gpu::recording_bytes(recording) != bytes) std::abort();
  if (bytes.size() < 4096) studies::replay(recording, "", 1);
}

inline void read_recording_input(const std::uint8_t* data, std::size_t size) {
  const auto* const first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  read_recording_bytes(bytes);
  if (size < 8) return;
  bytes.resize(size - 8);
  const std::uint64_t checksum = ulpscope::gpu::crc64(bytes);
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(checksum >> (8 * i) & 0xff));
  read_recording_bytes(bytes);
}
