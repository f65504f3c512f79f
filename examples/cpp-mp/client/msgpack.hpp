// msgpack, as far as this wire needs it: one value to bytes and back.
#pragma once

#include <cstddef>

#include "value.hpp"

namespace mp {

// Every number and length in its shortest form; a float has eight bytes.
Bytes pack(const Value& value);

// Exactly one value. Class protocol for anything else: cut, nested too deeply, followed by more bytes, text that is no UTF-8.
Value unpack(const std::uint8_t* data, std::size_t size);
inline Value unpack(const Bytes& bytes) { return unpack(bytes.data(), bytes.size()); }

}  // namespace mp
