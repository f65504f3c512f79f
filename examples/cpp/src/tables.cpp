#include "tables.hpp"

namespace lm {
namespace {

struct Row {
    std::int32_t number;
    std::string_view name;
};

constexpr Row kCommands[] = {{1, "PUT"}, {2, "GET"}, {3, "EXIST"}, {4, "LIST"}, {5, "HEALTH"}};
constexpr Row kCodes[] = {{200, "SUCCESS"}, {400, "FAIL"}};
constexpr Row kFormats[] = {{0, "UNDEFINED"}, {1, "KV_2LTD"}, {2, "KV_T2D"}, {3, "KV_2TD"}, {4, "BINARY"}, {5, "BINARY_BUFFER"},
                            {6, "KV_MLA_FMT"}, {7, "EC_TD"}, {8, "HS_TD"}};
constexpr Row kLocations[] = {{1, "LocalCPUBackend"}, {2, "LocalDiskBackend"}};
// Number 1 is torch.half, which is the same thing as torch.float16: it is read, and never written, because name lookup finds 2 first.
constexpr Row kDtypes[] = {{2, "float16"}, {1, "float16"}, {3, "bfloat16"}, {4, "float32"}, {5, "float64"},
                           {6, "uint8"}, {7, "float8_e4m3fn"}, {8, "float8_e5m2"}};

template <std::size_t N>
std::optional<std::int32_t> number_of(const Row (&rows)[N], std::string_view name) {
    for (const Row& row : rows) {
        if (row.name == name) return row.number;
    }
    return std::nullopt;
}

template <std::size_t N>
std::optional<std::string> name_of(const Row (&rows)[N], std::int32_t number) {
    for (const Row& row : rows) {
        if (row.number == number) return std::string(row.name);
    }
    return std::nullopt;
}

struct KeyDtype {
    std::string_view name;
    // Until 0.3.13 the two FP8 families share a text. Upstream reads it back through a reversed dictionary, where the later entry
    // wins, so "fp8_e4m3" written for float8_e4m3fn is read as float8_e4m3fnuz. Hence: first match writes, last match reads.
    std::string_view shared_text, own_text;
};

constexpr KeyDtype kKeyDtypes[] = {
    {"float16", "half", "half"},
    {"bfloat16", "bfloat16", "bfloat16"},
    {"float32", "float", "float"},
    {"float64", "double", "double"},
    {"int8", "int8", "int8"},
    {"uint8", "uint8", "uint8"},
    {"int16", "int16", "int16"},
    {"int32", "int32", "int32"},
    {"int64", "int64", "int64"},
    {"bool", "bool", "bool"},
    {"float8_e4m3fn", "fp8_e4m3", "fp8_e4m3fn"},
    {"float8_e4m3fnuz", "fp8_e4m3", "fp8_e4m3fnuz"},
    {"float8_e5m2", "fp8_e5m2", "fp8_e5m2"},
    {"float8_e5m2fnuz", "fp8_e5m2", "fp8_e5m2fnuz"},
};
constexpr Era<bool> kKeyDtypesAreDistinct[] = {{"0.3.9.post1", false}, {"0.3.14", true}};

}  // namespace

std::optional<Release> find_release(std::string_view name) {
    int index = 0;
    for (std::string_view release : kReleases) {
        if (release == name) return Release{index};
        ++index;
    }
    return std::nullopt;
}

std::optional<std::int32_t> command_number(std::string_view name) { return number_of(kCommands, name); }
std::optional<std::string> command_name(std::int32_t number) { return name_of(kCommands, number); }
std::optional<std::int32_t> code_number(std::string_view name) { return number_of(kCodes, name); }
std::optional<std::string> code_name(std::int32_t number) { return name_of(kCodes, number); }
std::optional<std::int32_t> location_number(std::string_view name) { return number_of(kLocations, name); }
std::optional<std::string> location_name(std::int32_t number) { return name_of(kLocations, number); }
std::optional<std::int32_t> dtype_number(std::string_view name) { return number_of(kDtypes, name); }
std::optional<std::string> dtype_name(std::int32_t number) { return name_of(kDtypes, number); }

std::optional<std::int32_t> format_number(std::string_view name, Release release) {
    auto number = number_of(kFormats, name);
    if (number && *number > at(kHighestFormat, release)) return std::nullopt;
    return number;
}

std::optional<std::string> format_name(std::int32_t number, Release release) {
    if (number > at(kHighestFormat, release)) return std::nullopt;
    return name_of(kFormats, number);
}

int dtype_size(std::int32_t number) {
    constexpr int kSizes[] = {0, 2, 2, 2, 4, 8, 1, 1, 1};
    return number >= 0 && number < static_cast<int>(std::size(kSizes)) ? kSizes[number] : 0;
}

std::optional<std::string> key_dtype_text(std::string_view name, Release release) {
    for (const KeyDtype& row : kKeyDtypes) {
        if (row.name == name) return std::string(at(kKeyDtypesAreDistinct, release) ? row.own_text : row.shared_text);
    }
    return std::nullopt;
}

std::optional<std::string> key_dtype_name(std::string_view text, Release release) {
    std::optional<std::string> found;
    for (const KeyDtype& row : kKeyDtypes) {
        if ((at(kKeyDtypesAreDistinct, release) ? row.own_text : row.shared_text) == text) found = std::string(row.name);
    }
    return found;
}

}  // namespace lm
