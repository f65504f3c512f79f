// Names of the objects in a server's first tier: one for each whole chunk of tokens and each rank.
#pragma once

#include <string>
#include <vector>

#include "blake3.hpp"
#include "release.hpp"
#include "value.hpp"

namespace mp {

// BLAKE3 of the digest before and the chunk's tokens, as big-endian 32-bit integers. A partial chunk at the end has none.
std::vector<Digest> chunk_hashes(const std::vector<std::uint32_t>& tokens, std::int64_t chunk_size);

struct ObjectKey {
    Bytes chunk_hash;
    std::string model_name;
    std::uint32_t kv_rank;
    std::int64_t group;
    std::string cache_salt;
};

// World size, rank, local world size and local rank in one byte each. Servers know no nodes: the local numbers repeat the others.
std::uint32_t kv_rank(std::int64_t world_size, std::int64_t rank);

// model@rank[@group]@hash[@salt], numbers in hexadecimal.
std::string object_key_text(const ObjectKey& key, Release release);

}  // namespace mp
