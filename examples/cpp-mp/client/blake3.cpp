#include "blake3.hpp"

#include <cstring>

namespace mp {
namespace {

constexpr std::uint32_t rotate_right(std::uint32_t x, int n) { return x >> n | x << (32 - n); }

constexpr std::array<std::uint32_t, 8> kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

// BLAKE3 splits its input into chunks of 1024 bytes and joins them in a binary tree.
enum Blake3Flag : std::uint32_t { kChunkStart = 1, kChunkEnd = 2, kParent = 4, kRoot = 8 };
constexpr std::size_t kBlock = 64, kChunk = 1024;

// What is left to compress at a node: only whoever knows whether the node is the root may do it.
struct Node {
    std::array<std::uint32_t, 8> chaining;
    std::array<std::uint32_t, 16> words;
    std::uint64_t counter;
    std::uint32_t size, flags;
};

std::array<std::uint32_t, 8> compress(const Node& node) {
    constexpr int kSchedule[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
    const auto& c = node.chaining;
    std::uint32_t v[16] = {c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], kStart[0], kStart[1], kStart[2], kStart[3],
                           static_cast<std::uint32_t>(node.counter), static_cast<std::uint32_t>(node.counter >> 32), node.size, node.flags};
    std::array<std::uint32_t, 16> m = node.words;
    const auto mix = [&v](int a, int b, int c, int d, std::uint32_t x, std::uint32_t y) {
        v[a] += v[b] + x, v[d] = rotate_right(v[d] ^ v[a], 16);
        v[c] += v[d], v[b] = rotate_right(v[b] ^ v[c], 12);
        v[a] += v[b] + y, v[d] = rotate_right(v[d] ^ v[a], 8);
        v[c] += v[d], v[b] = rotate_right(v[b] ^ v[c], 7);
    };
    for (int round = 0; round < 7; ++round) {
        for (int i = 0; i < 4; ++i) mix(i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1]);
        for (int i = 0; i < 4; ++i) mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i]);
        std::array<std::uint32_t, 16> next;
        for (int i = 0; i < 16; ++i) next[i] = m[kSchedule[i]];
        m = next;
    }
    std::array<std::uint32_t, 8> out;
    for (int i = 0; i < 8; ++i) out[i] = v[i] ^ v[i + 8];
    return out;
}

Node chunk_node(const std::uint8_t* data, std::size_t size, std::uint64_t index) {
    Node node{kStart, {}, index, 0, kChunkStart};
    for (;;) {
        const std::size_t here = size < kBlock ? size : kBlock;
        std::uint8_t block[kBlock] = {};
        if (here != 0) std::memcpy(block, data, here);
        for (int i = 0; i < 16; ++i) {
            node.words[i] = std::uint32_t{block[4 * i]} | std::uint32_t{block[4 * i + 1]} << 8 | std::uint32_t{block[4 * i + 2]} << 16 |
                            std::uint32_t{block[4 * i + 3]} << 24;
        }
        node.size = static_cast<std::uint32_t>(here);
        if (size <= kBlock) {
            node.flags |= kChunkEnd;
            return node;
        }
        node.chaining = compress(node);
        node.flags = 0;
        data += kBlock;
        size -= kBlock;
    }
}

Node tree_node(const std::uint8_t* data, std::size_t size, std::uint64_t first_chunk) {
    if (size <= kChunk) return chunk_node(data, size, first_chunk);
    // The left side takes the largest power of two of whole chunks that still leaves something for the right side.
    std::size_t left = kChunk;
    while (left * 2 < size) left *= 2;
    const auto a = compress(tree_node(data, left, first_chunk));
    const auto b = compress(tree_node(data + left, size - left, first_chunk + left / kChunk));
    Node node{kStart, {}, 0, kBlock, kParent};
    for (int i = 0; i < 8; ++i) node.words[i] = a[i], node.words[8 + i] = b[i];
    return node;
}

}  // namespace

Digest blake3(const std::uint8_t* data, std::size_t size) {
    Node root = tree_node(data, size, 0);
    root.flags |= kRoot;
    root.counter = 0;
    const auto words = compress(root);
    Digest digest;
    for (int i = 0; i < 32; ++i) digest[i] = static_cast<std::uint8_t>(words[i / 4] >> (8 * (i % 4)));
    return digest;
}

}  // namespace mp
