// BLAKE3, from its specification: the plain hash of 32 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mp {

using Digest = std::array<std::uint8_t, 32>;

Digest blake3(const std::uint8_t* data, std::size_t size);

}  // namespace mp
