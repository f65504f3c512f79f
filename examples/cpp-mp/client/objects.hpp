// Names of the objects in a server's first tier: one for each whole chunk of tokens and each rank.
#pragma once

#include <string>
#include <vector>

#include "blake3.hpp"
#include "release.hpp"
#include "value.hpp"

namespace mp {

struct ObjectKey {
    Digest chunk_hash;
    std::string model_name;
    std::int64_t kv_rank;
    std::int64_t group;
    std::string cache_salt;
};

// The hashes of the chunks that a key record of the release means. LOOKUP means those from the first token on, other operations those in
// [start, end). Class refused for a key that the server cannot hash.
std::vector<Digest> chunk_hashes(const Value& key, std::int64_t chunk_size, bool for_lookup, Release release);

// The objects of these chunks: chunk by chunk, and within a chunk rank by rank.
std::vector<ObjectKey> object_keys(const Value& key, const std::vector<Digest>& hashes, std::int64_t group, Release release);

// model@rank[@group]@hash[@salt], numbers in hexadecimal.
std::string object_key_text(const ObjectKey& key, Release release);

}  // namespace mp
