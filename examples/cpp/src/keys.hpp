// Cache keys: the structured form and the text that travels in the 150-byte field of a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "integer.hpp"
#include "tables.hpp"

namespace lm {

// An integer, opaque text (0.3.1 and 0.3.2), or the bytes of a digest (written from 0.3.13 on, read back as an integer).
using Hash = std::variant<Integer, std::string, Bytes>;

struct Key {
    std::string model;
    std::int64_t world_size = 1;
    std::int64_t worker_id = 0;
    Hash chunk_hash;
    std::optional<std::string> dtype;   // a name of the client protocol, such as "float16"
    std::optional<std::string> engine;  // "fmt" in the client protocol
    std::optional<std::int64_t> layer;
    std::vector<std::pair<std::string, std::string>> tags;
};

// Refused: a key that this release cannot write, or that would read back as another one ('@' inside a field).
std::string format_key(const Key& key, Release release);

// Reads as lmcache of this release does, odd spellings included. Class protocol where it would raise. Every release has a class that reads
// the layer keys it wrote, but servers before 0.3.14 do not use it: a layer key ends the connection there.
enum class ReadBy { any_class, server };
Key parse_key(const std::string& text, Release release, ReadBy reader);

std::string to_hex(const std::uint8_t* bytes, std::size_t size);

}  // namespace lm
