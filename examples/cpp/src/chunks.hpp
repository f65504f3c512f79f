// From tokens to keys: how a prompt is cut into chunks, and how each chunk's hash is chained to the one before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hashes.hpp"
#include "keys.hpp"

namespace lm {

struct ChunkRequest {
    std::vector<std::int64_t> tokens;
    std::string algorithm;
    Hash none_hash;  // what the chain starts from
    std::int64_t chunk_size;
    bool save_unfull_chunk;
    std::int64_t skip;
    Key key;  // everything but the hash
    std::optional<std::string> returns;  // "int" or "bytes": what the hash function gives back
};

struct Chunk {
    std::int64_t start, end;
    std::string key;
};

std::vector<Chunk> chunk_keys(const ChunkRequest& request, Release release);

// The chain of the multiprocess server: BLAKE3, full chunks only.
std::vector<Digest> token_hashes(const std::vector<std::int64_t>& tokens, std::int64_t chunk_size, Release release);

}  // namespace lm
