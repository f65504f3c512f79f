#include "operations.hpp"

#include <algorithm>

namespace mp {
namespace {

// Instead of a number.
constexpr int kGone = 0;     // the release does not have the operation any more
constexpr int kByName = -1;  // the frame holds the name, in lower case

constexpr std::string_view kNothing = {};

struct Row {
    std::string_view name, since;
    int number;
    std::string_view payloads, result;
};

// A row holds until the next one of the same operation; before its first row an operation does not exist. The numbers moved whenever upstream
// put a new operation between others, until 0.5.6 froze them. What this means to a client: a number is right for the releases of its row and
// executes something else in others. GET_CHUNK_SIZE of 0.4.7 is CLEAR in 0.5.1.
// clang-format off
constexpr Row kRows[] = {
    {"REGISTER_KV_CACHE", "0.3.9.post1", 1, "int, [ext]", kNothing},
    {"REGISTER_KV_CACHE", "0.3.15", 1, "int, [ext], str, int", kNothing},
    {"REGISTER_KV_CACHE", "0.4.3", 1, "int, [ext], str, int, map", kNothing},
    {"REGISTER_KV_CACHE", "0.4.5", 1, "int, [ext], str, int, EngineType, map", kNothing},
    {"REGISTER_KV_CACHE", "0.4.7", 1, "int, [ext], str, int, EngineType, map, [EngineGroupInfo]", kNothing},
    {"UNREGISTER_KV_CACHE", "0.3.9.post1", 2, "int", kNothing},
    {"REGISTER_Q_CACHE", "0.5.3", 3, "int, [ext], str, int, EngineType, map, [EngineGroupInfo]", kNothing},
    {"UNREGISTER_Q_CACHE", "0.5.3", 4, "int", kNothing},
    {"STORE_Q", "0.5.3", 5, "Key, int, [[int]], bytes", "(bytes, bool)"},
    {"STORE", "0.3.9.post1", 3, "[Key], int, [int]", "bool"},
    {"STORE", "0.3.10", 3, "[Key], int, [int], bytes", "(bytes, bool)"},
    {"STORE", "0.3.15", 3, "Key, int, [int], bytes", "(bytes, bool)"},
    {"STORE", "0.4.7", 3, "Key, int, [[int]], bytes", "(bytes, bool)"},
    {"STORE", "0.5.3", 6, "Key, int, [[int]], bytes", "(bytes, bool)"},
    {"RETRIEVE", "0.3.9.post1", 4, "[Key], int, [int]", "[bool]"},
    {"RETRIEVE", "0.3.10", 4, "[Key], int, [int], bytes", "(bytes, [bool])"},
    {"RETRIEVE", "0.3.15", 4, "Key, int, [int], bytes", "(bytes, bool)"},
    {"RETRIEVE", "0.4.1", 4, "Key, int, [int], bytes, int", "(bytes, bool)"},
    {"RETRIEVE", "0.4.7", 4, "Key, int, [[int]], bytes, int", "(bytes, bool)"},
    {"RETRIEVE", "0.5.3", 7, "Key, int, [[int]], bytes, int", "(bytes, bool)"},
    {"LOOKUP", "0.3.9.post1", 5, "[Key], bool?", "[bool]"},
    {"LOOKUP", "0.3.14", 5, "[Key]", "int"},
    {"LOOKUP", "0.3.15", 5, "Key", "int"},
    {"LOOKUP", "0.4.1", 5, "Key, int", "int"},
    {"LOOKUP", "0.4.4", 5, "Key, int", kNothing},
    {"LOOKUP", "0.5.3", 8, "Key, int", kNothing},
    {"QUERY_PREFETCH_STATUS", "0.4.1", 6, "int", "int?"},
    {"QUERY_PREFETCH_STATUS", "0.4.4", 6, "str", "int?"},
    {"QUERY_PREFETCH_STATUS", "0.5.3", 9, "str", "int?"},
    {"WAIT_PREFETCH_STATUS", "0.5.0", 7, "str, float", "int?"},
    {"WAIT_PREFETCH_STATUS", "0.5.3", 10, "str, float", "int?"},
    {"FREE_LOOKUP_LOCKS", "0.4.1", 7, "Key, int", kNothing},
    {"FREE_LOOKUP_LOCKS", "0.4.3", 8, "Key, int", kNothing},
    {"FREE_LOOKUP_LOCKS", "0.5.0", 9, "Key, int", kNothing},
    {"FREE_LOOKUP_LOCKS", "0.5.3", 12, "Key, int", kNothing},
    {"END_SESSION", "0.3.14", 6, "str", kNothing},
    {"END_SESSION", "0.4.1", 8, "str", kNothing},
    {"END_SESSION", "0.4.3", 9, "str", kNothing},
    {"END_SESSION", "0.5.0", 10, "str", kNothing},
    {"END_SESSION", "0.5.3", 13, "str", kNothing},
    {"REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "0.5.0", 11, "Context", "Pool"},
    {"REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "0.5.3", 14, "Context", "Pool"},
    {"UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "0.5.0", 12, "int", kNothing},
    {"UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "0.5.3", 15, "int", kNothing},
    {"PREPARE_STORE", "0.4.6", 11, "Key, int", "PrepareStoreResponse"},
    {"PREPARE_STORE", "0.4.7", 12, "Key, int", "PrepareStoreResponse"},
    {"PREPARE_STORE", "0.5.0", 13, "Key, int", "PrepareStoreResponse"},
    {"PREPARE_STORE", "0.5.3", 16, "Key, int", "PrepareStoreResponse"},
    {"COMMIT_STORE", "0.4.6", 12, "Key, int, bytes", "bool"},
    {"COMMIT_STORE", "0.4.7", 13, "Key, int, bytes", "bool"},
    {"COMMIT_STORE", "0.5.0", 14, "Key, int, bytes", "bool"},
    {"COMMIT_STORE", "0.5.3", 17, "Key, int, bytes", "bool"},
    {"PREPARE_RETRIEVE", "0.4.6", 13, "Key, int", "PrepareRetrieveResponse"},
    {"PREPARE_RETRIEVE", "0.4.7", 14, "Key, int", "PrepareRetrieveResponse"},
    {"PREPARE_RETRIEVE", "0.5.0", 15, "Key, int", "PrepareRetrieveResponse"},
    {"PREPARE_RETRIEVE", "0.5.3", 18, "Key, int", "PrepareRetrieveResponse"},
    {"COMMIT_RETRIEVE", "0.4.6", 14, "Key, int", "bool"},
    {"COMMIT_RETRIEVE", "0.4.7", 15, "Key, int", "bool"},
    {"COMMIT_RETRIEVE", "0.5.0", 16, "Key, int", "bool"},
    {"COMMIT_RETRIEVE", "0.5.3", 19, "Key, int", "bool"},
    {"CLEAR", "0.3.10", 6, "", kNothing},
    {"CLEAR", "0.3.14", 7, "", kNothing},
    {"CLEAR", "0.4.1", 9, "", kNothing},
    {"CLEAR", "0.4.3", 10, "", kNothing},
    {"CLEAR", "0.4.6", 15, "", kNothing},
    {"CLEAR", "0.4.7", 16, "", kNothing},
    {"CLEAR", "0.5.0", 17, "", kNothing},
    {"CLEAR", "0.5.3", 20, "", kNothing},
    {"CLEAR", "0.5.6", 20, "bool", kNothing},
    {"GET_CHUNK_SIZE", "0.3.10", 7, "", "int"},
    {"GET_CHUNK_SIZE", "0.3.14", 8, "", "int"},
    {"GET_CHUNK_SIZE", "0.4.1", 10, "", "int"},
    {"GET_CHUNK_SIZE", "0.4.3", 11, "", "int"},
    {"GET_CHUNK_SIZE", "0.4.6", 16, "", "int"},
    {"GET_CHUNK_SIZE", "0.4.7", 17, "", "int"},
    {"GET_CHUNK_SIZE", "0.5.0", 18, "", "int"},
    {"GET_CHUNK_SIZE", "0.5.3", 21, "", "int"},
    {"PING", "0.4.2", 11, "", "bool"},
    {"PING", "0.4.3", 12, "", "bool"},
    {"PING", "0.4.6", 17, "", "bool"},
    {"PING", "0.4.7", 18, "", "bool"},
    {"PING", "0.5.0", 19, "int?", "bool"},
    {"PING", "0.5.3", 22, "int?", "bool"},
    {"REPORT_BLOCK_ALLOCATION", "0.4.3", 13, "[BlockAllocationRecord]", kNothing},
    {"REPORT_BLOCK_ALLOCATION", "0.4.4", 13, "int, str, [BlockAllocationRecord]", kNothing},
    {"REPORT_BLOCK_ALLOCATION", "0.4.6", 18, "int, str, [BlockAllocationRecord]", kNothing},
    {"REPORT_BLOCK_ALLOCATION", "0.4.7", 19, "int, str, [BlockAllocationRecord]", kNothing},
    {"REPORT_BLOCK_ALLOCATION", "0.5.0", 20, "int, str, [BlockAllocationRecord]", kNothing},
    {"REPORT_BLOCK_ALLOCATION", "0.5.3", 23, "int, str, [BlockAllocationRecord]", kNothing},
    {"NOOP", "0.3.9.post1", 6, "", "str"},
    {"NOOP", "0.3.10", 8, "", "str"},
    {"NOOP", "0.3.14", 9, "", "str"},
    {"NOOP", "0.4.1", 11, "", "str"},
    {"NOOP", "0.4.2", 12, "", "str"},
    {"NOOP", "0.4.3", 14, "", "str"},
    {"NOOP", "0.4.6", 19, "", "str"},
    {"NOOP", "0.4.7", 20, "", "str"},
    {"NOOP", "0.5.0", 21, "", "str"},
    {"NOOP", "0.5.3", 24, "", "str"},
    {"CB_REGISTER_ROPE", "0.5.5", 25, "int, [ext], int, bool, [int], [[int]]", kNothing},
    {"CB_REGISTER_ROPE", "0.5.6", 25, "int, [ext], int, bool, [int], [[int]], [int], str", kNothing},
    {"CB_UNREGISTER_ROPE", "0.5.5", 26, "int", kNothing},
    {"CB_RETRIEVE_PRE_COMPUTED", "0.3.14", 14, "Key, [(int, int)], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED", "0.4.1", 16, "Key, [(int, int)], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED", "0.4.2", 17, "Key, [(int, int)], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED", "0.4.3", 19, "Key, [(int, int)], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED", "0.4.6", 24, "Key, [(int, int)], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED", "0.4.7", 25, "Key, [(int, int)], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED", "0.5.0", 26, "Key, [(int, int)], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED", "0.5.3", 29, "Key, [(int, int)], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED", "0.5.5", 27, "Key, [CBMatchResult], [[int]], int, bytes", "(bytes, bool)"},
    {"CB_UNIFIED_LOOKUP", "0.4.7", 32, "Key, int", "CBUnifiedLookupResult?"},
    {"CB_UNIFIED_LOOKUP", "0.5.0", 33, "Key, int", "CBUnifiedLookupResult?"},
    {"CB_UNIFIED_LOOKUP", "0.5.3", 36, "Key, int", "CBUnifiedLookupResult?"},
    {"CB_UNIFIED_LOOKUP", "0.5.5", 28, "Key, int", "CBUnifiedLookupResult?"},
    {"P2P_LOOKUP_AND_LOCK", "0.5.0", 34, "[ObjectKey], MemoryLayoutDesc", "int"},
    {"P2P_LOOKUP_AND_LOCK", "0.5.3", 37, "[ObjectKey], {int: MemoryLayoutDesc}", "int"},
    {"P2P_LOOKUP_AND_LOCK", "0.5.5", 29, "[ObjectKey], {int: MemoryLayoutDesc}", "int"},
    {"P2P_QUERY_LOOKUP_RESULTS", "0.5.0", 35, "int", "[TransferChannelAddress]?"},
    {"P2P_QUERY_LOOKUP_RESULTS", "0.5.3", 38, "int", "[TransferChannelAddress]?"},
    {"P2P_QUERY_LOOKUP_RESULTS", "0.5.5", 30, "int", "[TransferChannelAddress]?"},
    {"P2P_UNLOCK_OBJECTS", "0.5.0", 36, "[ObjectKey]", kNothing},
    {"P2P_UNLOCK_OBJECTS", "0.5.3", 39, "[ObjectKey]", kNothing},
    {"P2P_UNLOCK_OBJECTS", "0.5.5", 31, "[ObjectKey]", kNothing},
    {"GET_EXPERIMENTAL", "0.5.3", 40, "", "[str]"},
    {"GET_EXPERIMENTAL", "0.5.5", 32, "", "[str]"},
    {"CB_PROTOCOL_HANDSHAKE", "0.5.5", 33, "int", "(int, bool)"},
    {"CB_REORDER_PLAN", "0.5.6", kByName, "Key, int, int", "[int]"},
    {"SUBSCRIBE_KV_EVENTS", "0.5.6", kByName, "int, str, int, int", "KVEventBatch"},
    {"SERVER_MODULE_CALL", "0.5.6", kByName, "ServerModuleCallRequest", "ServerModuleCallResponse"},
    {"QUERY_PREFETCH_LOOKUP_HITS", "0.4.3", 7, "int", "int?"},
    {"QUERY_PREFETCH_LOOKUP_HITS", "0.4.4", 7, "str", "int?"},
    {"QUERY_PREFETCH_LOOKUP_HITS", "0.5.0", 8, "str", "int?"},
    {"QUERY_PREFETCH_LOOKUP_HITS", "0.5.3", 11, "str", "int?"},
    {"QUERY_PREFETCH_LOOKUP_HITS", "0.5.6", kGone, "", kNothing},
    {"CB_REGISTER_KV_CACHE", "0.3.14", 10, "int, [ext]", kNothing},
    {"CB_REGISTER_KV_CACHE", "0.3.15", 10, "int, [ext], str, int", kNothing},
    {"CB_REGISTER_KV_CACHE", "0.4.1", 12, "int, [ext], str, int", kNothing},
    {"CB_REGISTER_KV_CACHE", "0.4.2", 13, "int, [ext], str, int", kNothing},
    {"CB_REGISTER_KV_CACHE", "0.4.3", 15, "int, [ext], str, int", kNothing},
    {"CB_REGISTER_KV_CACHE", "0.4.6", 20, "int, [ext], str, int", kNothing},
    {"CB_REGISTER_KV_CACHE", "0.4.7", 21, "int, [ext], str, int", kNothing},
    {"CB_REGISTER_KV_CACHE", "0.5.0", 22, "int, [ext], str, int", kNothing},
    {"CB_REGISTER_KV_CACHE", "0.5.3", 25, "int, [ext], str, int", kNothing},
    {"CB_REGISTER_KV_CACHE", "0.5.5", kGone, "", kNothing},
    {"CB_UNREGISTER_KV_CACHE", "0.3.14", 11, "int", kNothing},
    {"CB_UNREGISTER_KV_CACHE", "0.4.1", 13, "int", kNothing},
    {"CB_UNREGISTER_KV_CACHE", "0.4.2", 14, "int", kNothing},
    {"CB_UNREGISTER_KV_CACHE", "0.4.3", 16, "int", kNothing},
    {"CB_UNREGISTER_KV_CACHE", "0.4.6", 21, "int", kNothing},
    {"CB_UNREGISTER_KV_CACHE", "0.4.7", 22, "int", kNothing},
    {"CB_UNREGISTER_KV_CACHE", "0.5.0", 23, "int", kNothing},
    {"CB_UNREGISTER_KV_CACHE", "0.5.3", 26, "int", kNothing},
    {"CB_UNREGISTER_KV_CACHE", "0.5.5", kGone, "", kNothing},
    {"CB_STORE_PRE_COMPUTED", "0.3.14", 12, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_PRE_COMPUTED", "0.4.1", 14, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_PRE_COMPUTED", "0.4.2", 15, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_PRE_COMPUTED", "0.4.3", 17, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_PRE_COMPUTED", "0.4.6", 22, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_PRE_COMPUTED", "0.4.7", 23, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_PRE_COMPUTED", "0.5.0", 24, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_PRE_COMPUTED", "0.5.3", 27, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_PRE_COMPUTED", "0.5.5", kGone, "", kNothing},
    {"CB_LOOKUP_PRE_COMPUTED", "0.3.14", 13, "Key", "[(int, int)]"},
    {"CB_LOOKUP_PRE_COMPUTED", "0.4.1", 15, "Key", "[(int, int)]"},
    {"CB_LOOKUP_PRE_COMPUTED", "0.4.2", 16, "Key", "[(int, int)]"},
    {"CB_LOOKUP_PRE_COMPUTED", "0.4.3", 18, "Key", "[(int, int)]"},
    {"CB_LOOKUP_PRE_COMPUTED", "0.4.6", 23, "Key", "[(int, int)]"},
    {"CB_LOOKUP_PRE_COMPUTED", "0.4.7", 24, "Key", "[(int, int)]"},
    {"CB_LOOKUP_PRE_COMPUTED", "0.5.0", 25, "Key", "[(int, int)]"},
    {"CB_LOOKUP_PRE_COMPUTED", "0.5.3", 28, "Key", "[(int, int)]"},
    {"CB_LOOKUP_PRE_COMPUTED", "0.5.5", kGone, "", kNothing},
    {"CB_STORE_FINAL", "0.3.14", 15, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_FINAL", "0.4.1", 17, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_FINAL", "0.4.2", 18, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_FINAL", "0.4.3", 20, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_FINAL", "0.4.6", 25, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_FINAL", "0.4.7", 26, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_FINAL", "0.5.0", 27, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_FINAL", "0.5.3", 30, "Key, int, int, bytes", "(bytes, bool)"},
    {"CB_STORE_FINAL", "0.5.5", kGone, "", kNothing},
    {"CB_LOOKUP_PRE_COMPUTED_V2", "0.4.1", 18, "Key", "[CBMatchResult]"},
    {"CB_LOOKUP_PRE_COMPUTED_V2", "0.4.2", 19, "Key", "[CBMatchResult]"},
    {"CB_LOOKUP_PRE_COMPUTED_V2", "0.4.3", 21, "Key", "[CBMatchResult]"},
    {"CB_LOOKUP_PRE_COMPUTED_V2", "0.4.6", 26, "Key", "[CBMatchResult]"},
    {"CB_LOOKUP_PRE_COMPUTED_V2", "0.4.7", 27, "Key", "[CBMatchResult]"},
    {"CB_LOOKUP_PRE_COMPUTED_V2", "0.5.0", 28, "Key", "[CBMatchResult]"},
    {"CB_LOOKUP_PRE_COMPUTED_V2", "0.5.3", 31, "Key", "[CBMatchResult]"},
    {"CB_LOOKUP_PRE_COMPUTED_V2", "0.5.5", kGone, "", kNothing},
    {"CB_RETRIEVE_PRE_COMPUTED_V2", "0.4.1", 19, "Key, [CBMatchResult], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED_V2", "0.4.2", 20, "Key, [CBMatchResult], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED_V2", "0.4.3", 22, "Key, [CBMatchResult], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED_V2", "0.4.6", 27, "Key, [CBMatchResult], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED_V2", "0.4.7", 28, "Key, [CBMatchResult], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED_V2", "0.5.0", 29, "Key, [CBMatchResult], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED_V2", "0.5.3", 32, "Key, [CBMatchResult], int, int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED_V2", "0.5.5", kGone, "", kNothing},
    {"CB_REGISTER_ROPE_V3", "0.4.7", 29, "int, ext, int, bool", kNothing},
    {"CB_REGISTER_ROPE_V3", "0.5.0", 30, "int, ext, int, bool", kNothing},
    {"CB_REGISTER_ROPE_V3", "0.5.2", 30, "int, [ext], int, bool, [int]", kNothing},
    {"CB_REGISTER_ROPE_V3", "0.5.3", 33, "int, [ext], int, bool, [int], [[int]]", kNothing},
    {"CB_REGISTER_ROPE_V3", "0.5.5", kGone, "", kNothing},
    {"CB_UNREGISTER_ROPE_V3", "0.4.7", 30, "int", kNothing},
    {"CB_UNREGISTER_ROPE_V3", "0.5.0", 31, "int", kNothing},
    {"CB_UNREGISTER_ROPE_V3", "0.5.3", 34, "int", kNothing},
    {"CB_UNREGISTER_ROPE_V3", "0.5.5", kGone, "", kNothing},
    {"CB_RETRIEVE_PRE_COMPUTED_V3", "0.4.7", 31, "Key, [CBMatchResult], [int], int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED_V3", "0.5.0", 32, "Key, [CBMatchResult], [int], int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED_V3", "0.5.2", 32, "Key, [CBMatchResult], [[int]], int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED_V3", "0.5.3", 35, "Key, [CBMatchResult], [[int]], int, bytes", "(bytes, bool)"},
    {"CB_RETRIEVE_PRE_COMPUTED_V3", "0.5.5", kGone, "", kNothing},
    {"REGISTER_KV_CACHE_NON_GPU_CONTEXT", "0.4.6", 10, "Context", kNothing},
    {"REGISTER_KV_CACHE_NON_GPU_CONTEXT", "0.4.7", 10, "Context", "Pool"},
    {"REGISTER_KV_CACHE_NON_GPU_CONTEXT", "0.5.0", kGone, "", kNothing},
    {"UNREGISTER_KV_CACHE_NON_GPU_CONTEXT", "0.4.7", 11, "int", kNothing},
    {"UNREGISTER_KV_CACHE_NON_GPU_CONTEXT", "0.5.0", kGone, "", kNothing},
};
// clang-format on

// From 0.5.6 on servers take the name in lower case for every operation.
constexpr Era<bool> kNamesAreAccepted[] = {{"0.3.9.post1", false}, {"0.5.6", true}};

std::string lower(std::string_view name) {
    std::string text(name);
    for (char& letter : text) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    return text;
}

Operation parsed(const Row& row) {
    Operation operation;
    operation.name = row.name;
    operation.number = row.number == kByName ? Value(lower(row.name)) : Value(row.number);
    operation.payloads = parse_types(row.payloads);
    if (row.result != kNothing) operation.result = parse_type(row.result);
    return operation;
}

std::vector<Operation> operations_of(Release release) {
    std::vector<Operation> operations;
    for (const Row* row = std::begin(kRows); row != std::end(kRows);) {
        const std::string_view name = row->name;
        const Row* found = nullptr;
        for (; row != std::end(kRows) && row->name == name; ++row) {
            if (release_index(row->since) <= release.index) found = row;
        }
        if (found && found->number != kGone) operations.push_back(parsed(*found));
    }
    return operations;
}

const std::vector<Operation>& operations(Release release) {
    static const auto tables = [] {
        std::vector<std::vector<Operation>> all;
        for (int index = 0; index < static_cast<int>(std::size(kReleases)); ++index) all.push_back(operations_of(Release{index}));
        return all;
    }();
    return tables[static_cast<std::size_t>(release.index)];
}

}  // namespace

const Operation* find_operation(std::string_view name, Release release) {
    for (const Operation& operation : operations(release)) {
        if (operation.name == name) return &operation;
    }
    return nullptr;
}

const Operation& operation_named(std::string_view name, Release release) {
    const Operation* found = find_operation(name, release);
    if (!found) throw refused("lmcache " + release.name() + " has no operation " + std::string(name));
    return *found;
}

const Operation& operation_numbered(const Value& number, Release release) {
    const auto* integer = number.as<std::int64_t>();
    const auto* text = number.as<std::string>();
    for (const Operation& operation : operations(release)) {
        const auto* own = operation.number.as<std::int64_t>();
        if (integer && own && *integer == *own) return operation;
        if (text && *at(kNamesAreAccepted, release) && *text == lower(operation.name)) return operation;
    }
    throw protocol_error("lmcache " + release.name() + " has no operation " + (integer ? std::to_string(*integer) : text ? "'" + *text + "'" : number.kind()));
}

}  // namespace mp
