#include "hashes.hpp"

#include <cstring>

namespace lm {
namespace {

constexpr std::uint32_t rotate_right(std::uint32_t x, int n) { return x >> n | x << (32 - n); }

constexpr std::uint32_t kSha256Constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// SHA-256's start value is also BLAKE3's.
constexpr std::array<std::uint32_t, 8> kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

void sha256_block(std::array<std::uint32_t, 8>& state, const std::uint8_t* block) {
    std::uint32_t w[64];
    for (int i = 0; i < 16; ++i) {
        w[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 | std::uint32_t{block[4 * i + 2]} << 8 |
               std::uint32_t{block[4 * i + 3]};
    }
    for (int i = 16; i < 64; ++i) {
        const std::uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
        const std::uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (int i = 0; i < 64; ++i) {
        const std::uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kSha256Constants[i] + w[i];
        const std::uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::uint32_t done[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) state[i] += done[i];
}

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

Digest sha256(const std::uint8_t* data, std::size_t size) {
    auto state = kStart;
    std::size_t done = 0;
    for (; size - done >= kBlock; done += kBlock) sha256_block(state, data + done);
    std::uint8_t tail[2 * kBlock] = {};
    const std::size_t rest = size - done;
    if (rest != 0) std::memcpy(tail, data + done, rest);
    tail[rest] = 0x80;
    const std::size_t tail_size = rest < 56 ? kBlock : 2 * kBlock;
    const std::uint64_t bits = static_cast<std::uint64_t>(size) * 8;
    for (int i = 0; i < 8; ++i) tail[tail_size - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
    for (std::size_t at = 0; at < tail_size; at += kBlock) sha256_block(state, tail + at);
    Digest digest;
    for (int i = 0; i < 32; ++i) digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
}

Digest blake3(const std::uint8_t* data, std::size_t size) {
    Node root = tree_node(data, size, 0);
    root.flags |= kRoot;
    root.counter = 0;
    const auto words = compress(root);
    Digest digest;
    for (int i = 0; i < 32; ++i) digest[i] = static_cast<std::uint8_t>(words[i / 4] >> (8 * (i % 4)));
    return digest;
}

std::int64_t python_hash(const Integer& value) {
    const auto magnitude = static_cast<std::int64_t>(value.magnitude_mod_mersenne61());
    const std::int64_t hash = value.is_negative() ? -magnitude : magnitude;
    // -1 means "error" inside CPython, so no object hashes to it.
    return hash == -1 ? -2 : hash;
}

std::int64_t python_tuple_hash(const std::int64_t* item_hashes, std::size_t count) {
    constexpr std::uint64_t kPrime1 = 11400714785074694791u, kPrime2 = 14029467366897019727u, kPrime5 = 2870177450012600261u;
    std::uint64_t acc = kPrime5;
    for (std::size_t i = 0; i < count; ++i) {
        acc += static_cast<std::uint64_t>(item_hashes[i]) * kPrime2;
        acc = acc << 31 | acc >> 33;
        acc *= kPrime1;
    }
    acc += count ^ (kPrime5 ^ 3527539u);
    return acc == ~std::uint64_t{0} ? 1546275796 : static_cast<std::int64_t>(acc);
}

}  // namespace lm
