#include "objects.hpp"

namespace mp {
namespace {

constexpr Era<bool> kHaveGroups[] = {{"0.3.9.post1", false}, {"0.4.7", true}};
constexpr Era<bool> kHaveSalts[] = {{"0.3.9.post1", false}, {"0.4.4", true}};

std::string hex(std::uint64_t number, std::size_t width) {
    std::string text;
    for (; number != 0 || text.size() < width; number >>= 4) text.insert(text.begin(), "0123456789abcdef"[number & 0xf]);
    return text;
}

Digest link(const std::uint8_t* before, std::size_t size, const std::uint32_t* first, const std::uint32_t* last) {
    Bytes input(before, before + size);
    for (; first != last; ++first) {
        for (int shift = 24; shift >= 0; shift -= 8) input.push_back(static_cast<std::uint8_t>(*first >> shift));
    }
    return blake3(input.data(), input.size());
}

}  // namespace

std::vector<Digest> chunk_hashes(const std::vector<std::uint32_t>& tokens, std::int64_t chunk_size) {
    if (chunk_size <= 0) throw refused("chunk_size must be positive");
    // The chain starts from the hash of an 8-byte zero and the single token 0.
    const std::uint8_t zero[8] = {};
    const std::uint32_t zero_token = 0;
    Digest before = link(zero, sizeof zero, &zero_token, &zero_token + 1);
    std::vector<Digest> hashes;
    const auto step = static_cast<std::size_t>(chunk_size);
    for (std::size_t start = 0; tokens.size() - start >= step; start += step) {
        before = link(before.data(), before.size(), tokens.data() + start, tokens.data() + start + step);
        hashes.push_back(before);
    }
    return hashes;
}

std::uint32_t kv_rank(std::int64_t world_size, std::int64_t rank) {
    if (world_size < 1 || world_size > 255 || rank < 0 || rank >= world_size) throw refused("a rank needs a world of 1 to 255 workers, and to be one of them");
    const auto half = static_cast<std::uint32_t>(world_size << 8 | rank);
    return half << 16 | half;
}

std::string object_key_text(const ObjectKey& key, Release release) {
    std::string text = key.model_name + "@" + hex(key.kv_rank, 8);
    if (*at(kHaveGroups, release)) text += "@" + hex(static_cast<std::uint64_t>(key.group), 1);
    text += "@";
    for (std::uint8_t byte : key.chunk_hash) text += hex(byte, 2);
    if (*at(kHaveSalts, release) && !key.cache_salt.empty()) text += "@" + key.cache_salt;
    return text;
}

}  // namespace mp
