#include "layout.hpp"

#include <cstring>

#include "tables.hpp"

namespace lm {
namespace {

// More than any case needs, and small enough that sizes below can be multiplied without overflow.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 31;

// All formats move whole rows: the heads of one token, in one layer, of K or of V (MLA has one row that is both).
struct Geometry {
    std::int64_t layers, sides, slots, tokens, row;
    std::int32_t format;

    // Where a row starts in paged memory, and in the chunk.
    std::int64_t paged(std::int64_t layer, std::int64_t side, std::int64_t slot) const { return ((layer * sides + side) * slots + slot) * row; }
    std::int64_t chunk(std::int64_t layer, std::int64_t side, std::int64_t token) const {
        if (format == kFormatKvT2d) return (token * sides + side) * row;
        return ((side * layers + layer) * tokens + token) * row;
    }
    std::size_t paged_size() const { return static_cast<std::size_t>(layers * sides * slots * row); }
    std::size_t chunk_size() const { return static_cast<std::size_t>(layers * sides * tokens * row); }
};

std::int64_t product(const Shape& shape, std::int64_t factor) {
    for (std::int64_t dimension : shape) {
        if (dimension <= 0 || dimension > kMostBytes) throw refused("a paged shape has positive dimensions");
        factor *= dimension;
        if (factor > kMostBytes) throw refused("the paged memory is larger than " + std::to_string(kMostBytes) + " bytes");
    }
    return factor;
}

Geometry measure(std::int32_t format, std::int32_t dtype, const Shape& paged_shape, const Shape& slots) {
    const int element = dtype_size(dtype);
    if (element == 0) throw refused("a layout needs a dtype");
    const bool mla = format == kFormatKvMla;
    if (!mla && format != kFormatKv2ltd && format != kFormatKvT2d && format != kFormatKv2td)
        throw refused("only KV_2LTD, KV_T2D, KV_2TD and KV_MLA_FMT describe paged memory");
    if (paged_shape.size() != (mla ? 4u : 6u)) throw refused(mla ? "a paged shape of KV_MLA_FMT has 4 dimensions" : "a paged shape has 6 dimensions");
    product(paged_shape, element);
    if (!mla && paged_shape[1] != 2) throw refused("the second dimension of a paged shape is 2: K, then V");
    Geometry g{};
    g.format = format;
    g.layers = paged_shape[0];
    g.sides = mla ? 1 : 2;
    g.slots = mla ? paged_shape[1] * paged_shape[2] : paged_shape[2] * paged_shape[3];
    g.row = (mla ? paged_shape[3] : paged_shape[4] * paged_shape[5]) * element;
    g.tokens = static_cast<std::int64_t>(slots.size());
    if ((format == kFormatKvT2d || format == kFormatKv2td) && g.layers != 1) throw refused("KV_T2D and KV_2TD hold one layer");
    if (g.tokens > 0 && g.layers * g.sides * g.row > kMostBytes / g.tokens)
        throw refused("the chunk is larger than " + std::to_string(kMostBytes) + " bytes");
    for (std::int64_t slot : slots) {
        if (slot >= g.slots) throw refused("slot " + std::to_string(slot) + " lies behind the last one, " + std::to_string(g.slots - 1));
    }
    return g;
}

Shape chunk_shape(const Geometry& g, std::int32_t dtype) {
    const std::int64_t hidden = g.row / dtype_size(dtype);
    if (g.format == kFormatKvT2d) return {g.tokens, 2, hidden};
    if (g.format == kFormatKv2td) return {2, g.tokens, hidden};
    return {g.sides, g.layers, g.tokens, hidden};
}

// Calls copy(offset in paged memory, offset in the chunk) for every row. A negative slot is the engines' mark for a padding token,
// which moves nothing.
template <typename Copy>
void for_each_row(const Geometry& g, const Shape& slots, Copy copy) {
    for (std::int64_t layer = 0; layer < g.layers; ++layer) {
        for (std::int64_t side = 0; side < g.sides; ++side) {
            for (std::int64_t token = 0; token < g.tokens; ++token) {
                if (slots[token] >= 0) copy(g.paged(layer, side, slots[token]), g.chunk(layer, side, token));
            }
        }
    }
}

}  // namespace

Packed pack_layout(std::int32_t format, std::int32_t dtype, const Bytes& paged, const Shape& paged_shape, const Shape& slots) {
    const Geometry g = measure(format, dtype, paged_shape, slots);
    if (paged.size() != g.paged_size())
        throw refused("paged_shape amounts to " + std::to_string(g.paged_size()) + " bytes, got " + std::to_string(paged.size()));
    Packed packed{Bytes(g.chunk_size()), chunk_shape(g, dtype)};
    for_each_row(g, slots, [&](auto from, auto to) { std::memcpy(packed.bytes.data() + to, paged.data() + from, g.row); });
    return packed;
}

Bytes unpack_layout(std::int32_t format, std::int32_t dtype, const Bytes& bytes, const Shape& shape, const Shape& slots,
                    const Shape& paged_shape) {
    const Geometry g = measure(format, dtype, paged_shape, slots);
    if (shape != chunk_shape(g, dtype)) throw refused("shape disagrees with format, slots and paged_shape");
    if (bytes.size() != g.chunk_size())
        throw refused("the chunk amounts to " + std::to_string(g.chunk_size()) + " bytes, got " + std::to_string(bytes.size()));
    Bytes paged(g.paged_size());
    for_each_row(g, slots, [&](auto to, auto from) { std::memcpy(paged.data() + to, bytes.data() + from, g.row); });
    return paged;
}

}  // namespace lm
