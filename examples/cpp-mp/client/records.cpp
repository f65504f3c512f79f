#include "records.hpp"

#include <algorithm>
#include <map>

namespace mp {
namespace {

struct Row {
    std::string_view name, since, fields;
};

// "name: type = default"; a row holds until the next one of the same name. What upstream calls IPCCacheEngineKey, and IPCCacheServerKey from
// 0.5.0 on, is Key here; the names of records are not on the wire.
constexpr Row kRecords[] = {
    {"Key", "0.3.9.post1", "model_name: str; world_size: int; worker_id: int; chunk_hash: bytes"},
    {"Key", "0.3.13", "model_name: str; world_size: int; worker_id: int?; chunk_hash: bytes"},
    {"Key", "0.3.14",
     "model_name: str; world_size: int; worker_id: int?; token_ids: [int]; start: int; end: int; request_id: str; chunk_hash: bytes? = nil"},
    {"Key", "0.4.2", "model_name: str; world_size: int; worker_id: int?; token_ids: [int]; start: int; end: int; request_id: str"},
    {"Key", "0.4.4",
     "model_name: str; world_size: int; worker_id: int?; token_ids: [int]; start: int; end: int; request_id: str; cache_salt: str = ''"},
    {"Key", "0.5.5",
     "model_name: str; world_size: int; worker_id: int?; token_ids: [int]; start: int; end: int; request_id: str; cache_salt: str = ''; "
     "request_configs: map? = nil; num_kv_readers: int = 0"},
    {"Context", "0.4.6",
     "instance_id: int; model_name: str; world_size: int; block_size: int; num_layers: int; hidden_dim_size: int; dtype_str: str; "
     "use_mla: bool"},
    {"Context", "0.5.5",
     "instance_id: int; model_name: str; world_size: int; block_size: int; num_layers: int; hidden_dim_size: int; dtype_str: str; "
     "use_mla: bool; num_physical_slots: int? = nil"},
    {"Pool", "0.4.7", "shm_name: str = ''; pool_size: int = 0"},
    {"PrepareStoreResponse", "0.4.6", "context: map = {}"},
    {"PrepareRetrieveResponse", "0.4.6", "success: bool; data: bytes = ''; context: map = {}"},
    {"BlockAllocationRecord", "0.4.3", "req_id: str; new_block_ids: [int]; new_token_ids: [int]"},
    {"EngineGroupInfo", "0.4.7", "engine_group_id: int; layer_indices: [int] = []; tokens_per_block: int = 0; sw_size_tokens: int = -1"},
    {"EngineGroupInfo", "0.5.5",
     "engine_group_id: int; layer_indices: [int] = []; tokens_per_block: int = 0; sw_size_tokens: int = -1; "
     "extra_object_group_tag: int = 0; recurrent_state: bool = false"},
    {"CBMatchResult", "0.4.1", "old_st: int; old_ed: int; cur_st: int; cur_ed: int; hash: bytes"},
    {"CBUnifiedLookupResult", "0.4.7", "prefix_coverage_tokens: int; non_prefix_segments: [CBMatchResult]"},
    {"CBUnifiedLookupResult", "0.5.0",
     "prefix_coverage_tokens: int; non_prefix_segments: [CBMatchResult]; segmented_prefix_segments: [CBMatchResult] = []"},
    {"ObjectKey", "0.5.0", "chunk_hash: bytes; model_name: str; kv_rank: int; object_group_id: int = 0; cache_salt: str = ''"},
    {"MemoryLayoutDesc", "0.5.0", "shapes: [[int]]; dtypes: [str]"},
    {"TransferChannelAddress", "0.5.0", "offset: int; size: int"},
    {"KVEventRecord", "0.5.6",
     "seq: int; kind: str; medium: str; model_name: str; block_hashes: [bytes]; parent_block_hash: bytes?; token_ids: [int]"},
    {"KVEventBatch", "0.5.6", "enabled: bool; incarnation: int; next_cursor: int; lost: bool; events: [KVEventRecord]"},
    {"ServerModuleCallRequest", "0.5.6", "method: str; payload: bytes"},
    {"ServerModuleCallResponse", "0.5.6", "success: bool; payload: bytes; error: str"},
};

// The fields stand for texts.
constexpr Row kEnumerations[] = {
    {"EngineType", "0.4.5", "vllm; sglang; trtllm; mock"},
    {"EngineType", "0.5.5", "vllm; atom; sglang; trtllm; mock"},
};

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + separator.size());
    }
}

Value fallback(std::string_view text, const Type& type) {
    if (text == "nil") return {};
    if (text == "false") return false;
    if (text == "[]") return Value::Array{};
    if (text == "{}") return Value::Map{};
    if (text == "''") return type.is(Type::Kind::bytes) ? Value(Bytes{}) : Value("");
    return std::stoi(std::string(text));
}

Record parse_record(std::string_view text) {
    Record record;
    for (std::string_view field : split(text, "; ")) {
        const std::size_t colon = field.find(": ");
        const auto halves = split(field.substr(colon + 2), " = ");
        const Type type = parse_type(halves[0]);
        record.push_back({std::string(field.substr(0, colon)), type, std::nullopt});
        if (halves.size() == 2) record.back().fallback = fallback(halves[1], type);
    }
    return record;
}

std::vector<std::string> parse_texts(std::string_view text) {
    const auto texts = split(text, "; ");
    return {texts.begin(), texts.end()};
}

template <typename T>
using Parsed = std::map<std::string_view, std::vector<Era<T>>>;

template <typename T, std::size_t N>
Parsed<T> parse(const Row (&rows)[N], T (*read)(std::string_view)) {
    Parsed<T> parsed;
    for (const Row& row : rows) parsed[row.name].emplace_back(row.since, read(row.fields));
    return parsed;
}

template <typename T>
const T* find(const Parsed<T>& tables, std::string_view name, Release release) {
    const auto found = tables.find(name);
    return found == tables.end() ? nullptr : at(found->second, release);
}

}  // namespace

const Record* find_record(std::string_view name, Release release) {
    static const auto parsed = parse(kRecords, parse_record);
    return find(parsed, name, release);
}

const std::vector<std::string>* find_enumeration(std::string_view name, Release release) {
    static const auto parsed = parse(kEnumerations, parse_texts);
    return find(parsed, name, release);
}

}  // namespace mp
