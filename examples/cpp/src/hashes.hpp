// Hash functions, from their specifications: SHA-256 (FIPS 180-4), BLAKE3 (the paper), and CPython's hashes of integers and tuples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "integer.hpp"

namespace lm {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(const std::uint8_t* data, std::size_t size);
Digest blake3(const std::uint8_t* data, std::size_t size);

// hash(x) of CPython 3.8 and later on 64-bit machines, for an integer and for a tuple of values with these hashes.
std::int64_t python_hash(const Integer& value);
std::int64_t python_tuple_hash(const std::int64_t* item_hashes, std::size_t count);

}  // namespace lm
