#include "objects.hpp"

#include <algorithm>

namespace mp {
namespace {

constexpr Era<bool> kHaveGroups[] = {{"0.3.9.post1", false}, {"0.4.7", true}};
constexpr Era<bool> kHaveSalts[] = {{"0.3.9.post1", false}, {"0.4.4", true}};

constexpr Era<bool> kLookupsHeedTheEnd[] = {{"0.3.9.post1", false}, {"0.5.6", true}};
constexpr Era<bool> kEndIsAmongTheTokens[] = {{"0.3.9.post1", false}, {"0.5.5", true}};
constexpr Era<bool> kModelsHaveNoSeparator[] = {{"0.3.9.post1", false}, {"0.4.4", true}};

std::string hex(std::uint64_t number, std::size_t width) {
    std::string text;
    for (; number != 0 || text.size() < width; number >>= 4) text.insert(text.begin(), "0123456789abcdef"[number & 0xf]);
    return text;
}

// World size, rank, local world size and local rank in one byte each. Servers know no nodes: the local numbers repeat the others. Nothing
// stops them from being larger than a byte.
std::int64_t kv_rank(std::int64_t world_size, std::int64_t rank) { return world_size << 24 | rank << 16 | world_size << 8 | rank; }

// BLAKE3 of the digest before and of the tokens, each as four bytes, the highest first.
Digest link(const Bytes& before, const std::int64_t* first, const std::int64_t* last) {
    Bytes input = before;
    for (; first != last; ++first) {
        if (*first < 0 || *first > UINT32_MAX) throw refused("the token " + std::to_string(*first) + " does not fit into 32 bits, unsigned");
        for (int shift = 24; shift >= 0; shift -= 8) input.push_back(static_cast<std::uint8_t>(*first >> shift));
    }
    return blake3(input.data(), input.size());
}

std::vector<std::int64_t> integers(const Value& key, const char* name) {
    const Value* member = key.find(name);
    const auto* elements = member ? member->as<Value::Array>() : nullptr;
    if (!elements) throw refused(std::string("a key without ") + name);
    std::vector<std::int64_t> numbers;
    for (const Value& element : *elements) {
        const auto* number = element.as<std::int64_t>();
        if (!number) throw refused(std::string(name) + " holds " + element.kind());
        numbers.push_back(*number);
    }
    return numbers;
}

template <typename T>
const T& member(const Value& key, const char* name) {
    const Value* found = key.find(name);
    if (!found || !found->as<T>()) throw refused(std::string("a key without ") + name);
    return *found->as<T>();
}

}  // namespace

std::vector<Digest> chunk_hashes(const Value& key, std::int64_t chunk_size, bool for_lookup, Release release) {
    if (chunk_size <= 0) throw refused("chunk_size must be positive");
    const std::vector<std::int64_t> tokens = integers(key, "token_ids");
    const auto count = static_cast<std::int64_t>(tokens.size());
    std::int64_t start = member<std::int64_t>(key, "start"), end = member<std::int64_t>(key, "end");
    if (for_lookup) {
        end = *at(kLookupsHeedTheEnd, release) ? std::min(end, count) : count;
        start = 0, end -= end % chunk_size;
    }
    if (start < 0 || start % chunk_size != 0 || end % chunk_size != 0) throw refused("start and end must be at whole chunks");
    if (end > count && *at(kEndIsAmongTheTokens, release)) throw refused("end is behind the last token");

    // The chain starts from the hash of an 8-byte zero and the single token 0.
    const std::int64_t zero_token = 0;
    Digest before = link(Bytes(8), &zero_token, &zero_token + 1);
    std::vector<Digest> hashes;
    for (std::int64_t at = 0; at < end && at < count; at += chunk_size) {
        before = link(Bytes(before.begin(), before.end()), tokens.data() + at, tokens.data() + std::min(at + chunk_size, count));
        if (at >= start) hashes.push_back(before);
    }
    return hashes;
}

std::vector<ObjectKey> object_keys(const Value& key, const std::vector<Digest>& hashes, std::int64_t group, Release release) {
    const auto& model = member<std::string>(key, "model_name");
    if (*at(kModelsHaveNoSeparator, release) && model.find('@') != std::string::npos) throw refused("model_name has an @ in it");
    const std::int64_t world_size = member<std::int64_t>(key, "world_size");
    const Value* worker = key.find("worker_id");
    const bool all = !worker || worker->is_nil();
    const std::int64_t first = all ? 0 : member<std::int64_t>(key, "worker_id"), last = all ? world_size - 1 : first;
    const std::string salt = key.find("cache_salt") ? member<std::string>(key, "cache_salt") : "";
    if (!*at(kHaveGroups, release)) group = 0;
    std::vector<ObjectKey> keys;
    for (const Digest& hash : hashes) {
        for (std::int64_t rank = first; rank <= last; ++rank) keys.push_back({hash, model, kv_rank(world_size, rank), group, salt});
    }
    return keys;
}

std::string object_key_text(const ObjectKey& key, Release release) {
    std::string text = key.model_name + "@" + hex(static_cast<std::uint64_t>(key.kv_rank), 8);
    if (*at(kHaveGroups, release)) text += "@" + hex(static_cast<std::uint64_t>(key.group), 1);
    text += "@";
    for (std::uint8_t byte : key.chunk_hash) text += hex(byte, 2);
    if (*at(kHaveSalts, release) && !key.cache_salt.empty()) text += "@" + key.cache_salt;
    return text;
}

}  // namespace mp
