// Everything that differs between releases of lmcache, as data. No other file compares release names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lm {

// Every release on the package index, oldest first. 0.3.8 and 0.4.0 were never published.
inline constexpr std::string_view kReleases[] = {
    "0.3.1", "0.3.1.post1", "0.3.2", "0.3.3", "0.3.4", "0.3.5", "0.3.6", "0.3.7", "0.3.9", "0.3.9.post1", "0.3.9.post2",
    "0.3.10", "0.3.10.post1", "0.3.10.post2", "0.3.11", "0.3.12", "0.3.13", "0.3.14", "0.3.15",
    "0.4.1", "0.4.2", "0.4.3", "0.4.4", "0.4.5", "0.4.6", "0.4.7",
    "0.5.0", "0.5.1", "0.5.2", "0.5.3", "0.5.4", "0.5.5", "0.5.6",
};

// A position in kReleases: later releases compare greater.
struct Release {
    int index;
    std::string name() const { return std::string(kReleases[index]); }
};

std::optional<Release> find_release(std::string_view name);

// Misspelled names do not compile: the throw below is not a constant expression, and every table is constexpr.
constexpr int release_index(std::string_view name) {
    int index = 0;
    for (std::string_view release : kReleases) {
        if (release == name) return index;
        ++index;
    }
    throw std::logic_error("no such release");
}

// One row of a table: this value holds from this release until the next row's.
template <typename T>
struct Era {
    constexpr Era(std::string_view since, T value) : first(release_index(since)), value(value) {}
    int first;
    T value;
};

template <typename T, std::size_t N>
constexpr const T& at(const Era<T> (&table)[N], Release release) {
    const T* found = &table[0].value;
    for (const Era<T>& era : table) {
        if (era.first <= release.index) found = &era.value;
    }
    return *found;
}

// Frames

inline constexpr Era<bool> kFramesHaveLocation[] = {{"0.3.1", false}, {"0.3.3", true}};
inline constexpr Era<int> kHighestFormat[] = {{"0.3.1", 6}, {"0.4.5", 7}, {"0.5.1", 8}};
// true: shapes of 1 to 4 dimensions, padded with trailing zeros on the wire. false: exactly 4 dimensions.
inline constexpr Era<bool> kShapesMayBeShort[] = {{"0.3.1", false}, {"0.4.4", true}};
inline constexpr Era<bool> kMetadataHasGroups[] = {{"0.3.1", false}, {"0.3.12", true}};

// Keys

enum class HashText { opaque, decimal, hex };

struct KeyGrammar {
    bool has_engine;            // the serving engine's name ("vllm") stands in front
    HashText written, read;     // not the same in 0.3.4 and 0.3.5: written in decimal, read as base 16
    bool has_tags;
    std::string_view tag_mark;  // what a tag's name must begin with to be recognised as one when a key is read
    bool has_dtype;
    bool takes_digests;         // a hash may be bytes
    bool reads_layers;          // layer keys can be written in every release, but only servers of some read them back
};

inline constexpr Era<KeyGrammar> kKeyGrammar[] = {
    {"0.3.1", {true, HashText::opaque, HashText::opaque, false, "", false, false, false}},
    {"0.3.3", {true, HashText::decimal, HashText::decimal, false, "", false, false, false}},
    // Tags are written without the mark but need it when read: in these two releases a tag is lost on its way through a server.
    {"0.3.4", {true, HashText::decimal, HashText::hex, true, "lmcache.tag.", false, false, false}},
    {"0.3.6", {true, HashText::hex, HashText::hex, true, "", false, false, false}},
    {"0.3.9.post1", {true, HashText::hex, HashText::hex, true, "", true, false, false}},
    {"0.3.13", {false, HashText::hex, HashText::hex, true, "", true, true, false}},
    {"0.3.14", {false, HashText::hex, HashText::hex, true, "", true, true, true}},
};

// Chunk hashes

enum class Chain {
    hex_digest,   // sha256 over the text of the previous digest and the tokens
    pair,         // H((previous, tokens))
    none_third,   // H((previous, tokens, None))
    empty_third,  // H((previous, tokens, ()))
};

inline constexpr Era<Chain> kChain[] = {
    {"0.3.1", Chain::hex_digest}, {"0.3.3", Chain::pair}, {"0.3.4", Chain::none_third}, {"0.4.1", Chain::empty_third}};
// Under which names vLLM's hash over CBOR was looked for. Under any other name lmcache falls back to builtin, silently.
enum class CborNames { none, only_64bit, only_plain, both };
inline constexpr Era<CborNames> kCborNames[] = {{"0.3.1", CborNames::none},
                                                {"0.3.3", CborNames::only_64bit},
                                                {"0.3.9", CborNames::only_plain},
                                                {"0.3.9.post2", CborNames::both}};
// true: a digest is cut to its first 8 bytes, as an integer, before it goes into a key or into the next link.
inline constexpr Era<bool> kDigestsAreFolded[] = {{"0.3.1", false}, {"0.4.6", true}};
inline constexpr Era<bool> kHasTokenHasher[] = {{"0.3.1", false}, {"0.3.14", true}};

// Numbers on the wire and their names in the client protocol

inline constexpr std::int32_t kPut = 1, kGet = 2, kExist = 3, kList = 4, kHealth = 5;
inline constexpr std::int32_t kSuccess = 200, kFail = 400;
inline constexpr std::int32_t kFormatKv2ltd = 1, kFormatKvT2d = 2, kFormatKv2td = 3, kFormatBinary = 4, kFormatBinaryBuffer = 5,
                              kFormatKvMla = 6;
inline constexpr std::int32_t kDtypeNone = 0, kDtypeFloat16 = 2;

std::optional<std::int32_t> command_number(std::string_view name);
std::optional<std::string> command_name(std::int32_t number);
std::optional<std::int32_t> code_number(std::string_view name);
std::optional<std::string> code_name(std::int32_t number);
std::optional<std::int32_t> format_number(std::string_view name, Release release);
std::optional<std::string> format_name(std::int32_t number, Release release);
std::optional<std::int32_t> location_number(std::string_view name);
std::optional<std::string> location_name(std::int32_t number);

// "No dtype" is number 0 and has no name; callers deal with it before they ask.
std::optional<std::int32_t> dtype_number(std::string_view name);
std::optional<std::string> dtype_name(std::int32_t number);
int dtype_size(std::int32_t number);

inline bool is_binary(std::int32_t format) { return format == kFormatBinary || format == kFormatBinaryBuffer; }

// dtype names inside key strings are another vocabulary: "half" there is "float16" in the client protocol.
std::optional<std::string> key_dtype_text(std::string_view name, Release release);
std::optional<std::string> key_dtype_name(std::string_view text, Release release);

}  // namespace lm
