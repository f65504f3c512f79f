// Between an engine's paged memory and the contiguous bytes of one chunk, in each of the KV memory formats.
#pragma once

#include <cstdint>
#include <vector>

#include "failure.hpp"

namespace lm {

using Shape = std::vector<std::int64_t>;

struct Packed {
    Bytes bytes;
    Shape shape;
};

Packed pack_layout(std::int32_t format, std::int32_t dtype, const Bytes& paged, const Shape& paged_shape, const Shape& slots);
Bytes unpack_layout(std::int32_t format, std::int32_t dtype, const Bytes& bytes, const Shape& shape, const Shape& slots,
                    const Shape& paged_shape);

}  // namespace lm
