#include "chunks.hpp"

#include <algorithm>

namespace lm {
namespace {

using Tokens = std::vector<std::int64_t>;

std::uint32_t token32(std::int64_t token) {
    if (token < 0 || token > UINT32_MAX) throw refused("the token " + std::to_string(token) + " does not fit into 32 bits, unsigned");
    return static_cast<std::uint32_t>(token);
}

// CBOR, as far as the tuples need it: a head is a major type and a number in as few bytes as possible.
void cbor_head(Bytes& out, unsigned major, std::uint64_t number) {
    const int size = number < 24 ? 0 : number <= 0xff ? 1 : number <= 0xffff ? 2 : number <= 0xffffffff ? 4 : 8;
    const unsigned low = size == 0 ? static_cast<unsigned>(number) : size == 1 ? 24 : size == 2 ? 25 : size == 4 ? 26 : 27;
    out.push_back(static_cast<std::uint8_t>(major << 5 | low));
    for (int i = size - 1; i >= 0; --i) out.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
}

void cbor_bytes(Bytes& out, const Bytes& bytes) {
    cbor_head(out, 2, bytes.size());
    out.insert(out.end(), bytes.begin(), bytes.end());
}

void cbor_integer(Bytes& out, const Integer& value) {
    Bytes magnitude = value.magnitude();
    if (value.is_negative()) {
        // CBOR writes a negative n as -1 - n.
        for (auto byte = magnitude.rbegin(); (*byte)-- == 0; ++byte) {
        }
        if (!magnitude.empty() && magnitude.front() == 0) magnitude.erase(magnitude.begin());
    }
    if (magnitude.size() > 8) {
        cbor_head(out, 6, value.is_negative() ? 3 : 2);
        cbor_bytes(out, magnitude);
        return;
    }
    std::uint64_t number = 0;
    for (std::uint8_t byte : magnitude) number = number << 8 | byte;
    cbor_head(out, value.is_negative() ? 1 : 0, number);
}

// sha256 over the canonical CBOR of (previous, tokens), (previous, tokens, None) or (previous, tokens, ()).
Digest cbor_digest(const Hash& previous, const Tokens& tokens, Chain chain) {
    Bytes cbor;
    cbor_head(cbor, 4, chain == Chain::pair ? 2 : 3);
    if (const auto* number = std::get_if<Integer>(&previous)) {
        cbor_integer(cbor, *number);
    } else {
        cbor_bytes(cbor, std::get<Bytes>(previous));
    }
    cbor_head(cbor, 4, tokens.size());
    for (std::int64_t token : tokens) cbor_integer(cbor, token);
    if (chain == Chain::none_third) cbor.push_back(0xf6);
    if (chain == Chain::empty_third) cbor_head(cbor, 4, 0);
    return sha256(cbor.data(), cbor.size());
}

Integer builtin_hash(const Hash& previous, const Tokens& tokens, Chain chain) {
    std::vector<std::int64_t> items;
    for (std::int64_t token : tokens) items.push_back(python_hash(token));
    const std::int64_t outer[3] = {python_hash(std::get<Integer>(previous)), python_tuple_hash(items.data(), items.size()),
                                   python_tuple_hash(nullptr, 0)};
    return python_tuple_hash(outer, chain == Chain::pair ? 2 : 3);
}

std::string hex_digest(const std::string& previous, const Tokens& tokens) {
    Bytes input(previous.begin(), previous.end());
    for (std::int64_t token : tokens) {
        const std::uint32_t word = token32(token);
        for (int shift = 0; shift < 32; shift += 8) input.push_back(static_cast<std::uint8_t>(word >> shift));
    }
    const Digest digest = sha256(input.data(), input.size());
    return to_hex(digest.data(), digest.size());
}

Hash fold(const Hash& hash, Release release) {
    const auto* digest = std::get_if<Bytes>(&hash);
    if (!digest || !at(kDigestsAreFolded, release)) return hash;
    return Integer::from_big_endian(digest->data(), std::min<std::size_t>(8, digest->size()));
}

// vLLM up to 0.10.1 returned integers: of sha256_cbor_64bit the low 64 bits of the digest. Later ones return the 32 bytes. A caller says
// which; otherwise it shows in what the chain starts from, because vLLM makes NONE_HASH with the same function.
bool returns_integer(const ChunkRequest& request) {
    if (request.returns) return *request.returns == "int";
    return std::holds_alternative<Integer>(request.none_hash);
}

using Step = Hash (*)(const Hash&, const Tokens&, Chain);

Step choose_step(const ChunkRequest& request, Release release) {
    const Chain chain = at(kChain, release);
    const bool knows_one_algorithm = chain == Chain::hex_digest;
    if (knows_one_algorithm != (request.algorithm == "sha256_hex"))
        throw Unsupported("lmcache " + release.name() + " has no algorithm " + request.algorithm);
    if (knows_one_algorithm) {
        if (!std::holds_alternative<std::string>(request.none_hash)) throw refused("a sha256_hex chain starts from text");
        return [](const Hash& previous, const Tokens& tokens, Chain) -> Hash { return hex_digest(std::get<std::string>(previous), tokens); };
    }
    if (std::holds_alternative<std::string>(request.none_hash)) throw refused("a chain of " + release.name() + " starts from an integer or bytes");
    if (request.algorithm == "builtin") {
        if (chain == Chain::none_third)
            throw Unsupported("builtin keys of 0.3.4 to 0.3.15 contain hash(None), an address that differs from process to process before "
                              "CPython 3.12: they cannot be derived");
        if (!std::holds_alternative<Integer>(fold(request.none_hash, release)))
            throw Unsupported("builtin over bytes is keyed with PYTHONHASHSEED, which this client does not have");
        return [](const Hash& previous, const Tokens& tokens, Chain c) -> Hash { return builtin_hash(previous, tokens, c); };
    }
    if (request.algorithm == "sha256_cbor" || request.algorithm == "sha256_cbor_64bit") {
        const CborNames unknown = request.algorithm == "sha256_cbor" ? CborNames::only_64bit : CborNames::only_plain;
        if (at(kCborNames, release) == unknown)
            throw Unsupported("lmcache " + release.name() + " does not know " + request.algorithm + " and falls back to builtin");
        if (returns_integer(request)) {
            return [](const Hash& previous, const Tokens& tokens, Chain c) -> Hash {
                const Digest digest = cbor_digest(previous, tokens, c);
                return Integer::from_big_endian(digest.data() + 24, 8);
            };
        }
        return [](const Hash& previous, const Tokens& tokens, Chain c) -> Hash {
            const Digest digest = cbor_digest(previous, tokens, c);
            return Bytes(digest.begin(), digest.end());
        };
    }
    throw Unsupported("this client has no algorithm " + request.algorithm + "; it has builtin, sha256_cbor, sha256_cbor_64bit and sha256_hex");
}

}  // namespace

std::vector<Chunk> chunk_keys(const ChunkRequest& request, Release release) {
    const Step step = choose_step(request, release);
    if (request.chunk_size <= 0) throw refused("chunk_size must be positive");
    if (request.skip < 0 || request.skip % request.chunk_size != 0) throw refused("skip must be a multiple of chunk_size");

    // The grammar decides what a key holds: what this release's keys do not carry is left out rather than refused, because dtype and fmt
    // describe the engine here and not the key.
    Key key = request.key;
    if (!at(kKeyGrammar, release).has_engine) key.engine.reset();
    if (!at(kKeyGrammar, release).has_dtype) key.dtype.reset();

    std::vector<Chunk> chunks;
    Hash hash = fold(request.none_hash, release);
    const auto total = static_cast<std::int64_t>(request.tokens.size());
    const std::int64_t end = request.save_unfull_chunk ? total : total - total % request.chunk_size;
    for (std::int64_t start = 0; start < end; start += std::min(request.chunk_size, end - start)) {
        const std::int64_t stop = start + std::min(request.chunk_size, total - start);
        hash = fold(step(hash, Tokens(request.tokens.begin() + start, request.tokens.begin() + stop), at(kChain, release)), release);
        if (start < request.skip) continue;
        key.chunk_hash = hash;
        chunks.push_back({start, stop, format_key(key, release)});
    }
    return chunks;
}

std::vector<Digest> token_hashes(const std::vector<std::int64_t>& tokens, std::int64_t chunk_size, Release release) {
    if (!at(kHasTokenHasher, release)) throw Unsupported("token hashes exist from lmcache 0.3.14 on");
    if (chunk_size <= 0) throw refused("chunk_size must be positive");
    const auto link = [](const std::uint8_t* previous, std::size_t size, auto first, auto last) {
        Bytes input(previous, previous + size);
        for (; first != last; ++first) {
            const std::uint32_t word = token32(*first);
            for (int shift = 24; shift >= 0; shift -= 8) input.push_back(static_cast<std::uint8_t>(word >> shift));
        }
        return blake3(input.data(), input.size());
    };
    // The chain starts from the hash of an 8-byte zero and the single token 0.
    const std::uint8_t zero[8] = {};
    const std::int64_t zero_token = 0;
    Digest previous = link(zero, sizeof zero, &zero_token, &zero_token + 1);
    std::vector<Digest> hashes;
    for (auto first = tokens.begin(); tokens.end() - first >= chunk_size; first += chunk_size) {
        previous = link(previous.data(), previous.size(), first, first + chunk_size);
        hashes.push_back(previous);
    }
    return hashes;
}

}  // namespace lm
