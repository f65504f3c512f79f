#include "json_values.hpp"

#include <cstdio>
#include <fstream>

#include <unistd.h>

namespace adapter {
namespace {

using mp::Bytes;
using mp::refused;
using mp::Value;

constexpr std::size_t kLongestHex = 64 * 1024;
constexpr std::int64_t kLongestFile = 1 << 30;
// Each level costs stack.
constexpr int kDeepest = 200;
constexpr std::int64_t kLongestRange = 1 << 24;

std::int64_t integer_from(const Json& value, const std::string& name, std::int64_t least, std::int64_t most) {
    // Numbers past 2^63 are read as unsigned, numbers past 2^64 as floating point: neither is what it looks like.
    const bool whole = value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
    if (!whole || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
        throw refused(name + " must be an integer" + (least > INT64_MIN ? " from " + std::to_string(least) + " to " + std::to_string(most) : ""));
    return value.get<std::int64_t>();
}

Bytes bytes_from_hex(const Json& value) {
    if (!value.is_string()) throw refused("hex must be a string");
    const auto& hex = value.get_ref<const std::string&>();
    const auto digit = [](char c) {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        if (c >= 'A' && c <= 'F') return c - 'A' + 10;
        throw refused("hex has characters that are no hexadecimal digits");
    };
    if (hex.size() % 2 != 0) throw refused("hex needs two digits for each byte");
    Bytes bytes;
    bytes.reserve(hex.size() / 2);
    for (std::size_t i = 0; i < hex.size(); i += 2) bytes.push_back(static_cast<std::uint8_t>(digit(hex[i]) << 4 | digit(hex[i + 1])));
    return bytes;
}

std::string to_hex(const Bytes& bytes) {
    std::string text;
    text.reserve(2 * bytes.size());
    for (std::uint8_t byte : bytes) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 0xf];
    }
    return text;
}

bool has_only(const Json& object, std::initializer_list<const char*> names) {
    if (!object.is_object() || object.size() != names.size()) return false;
    for (const char* name : names) {
        if (!object.contains(name)) return false;
    }
    return true;
}

// The two ends of {"range": [first, end]}.
std::pair<std::int64_t, std::int64_t> range_from(const Json& value) {
    const Json& ends = value["range"];
    if (!ends.is_array() || ends.size() != 2) throw refused("a range has two ends");
    const std::int64_t first = integer_from(ends[0], "a range's end", -kLongestRange, INT64_MAX);
    const std::int64_t end = integer_from(ends[1], "a range's end", -kLongestRange, INT64_MAX);
    if (end - first > kLongestRange) throw refused("a range of more than " + std::to_string(kLongestRange) + " integers");
    return {first, std::max(first, end)};
}

bool is_null(const Json& args, const char* name) { return !args.contains(name) || args[name].is_null(); }

}  // namespace

const Json& member(const Json& args, const char* name) {
    if (!args.is_object() || !args.contains(name)) throw refused(std::string("the argument ") + name + " is missing");
    return args[name];
}

std::string text_member(const Json& args, const char* name) {
    const Json& value = member(args, name);
    if (!value.is_string()) throw refused(std::string(name) + " must be a string");
    return value.get<std::string>();
}

std::string text_member(const Json& args, const char* name, const char* fallback) {
    return is_null(args, name) ? fallback : text_member(args, name);
}

bool bool_member(const Json& args, const char* name) {
    const Json& value = member(args, name);
    if (!value.is_boolean()) throw refused(std::string(name) + " must be true or false");
    return value.get<bool>();
}

std::int64_t integer_member(const Json& args, const char* name, std::int64_t least, std::int64_t most) {
    return integer_from(member(args, name), name, least, most);
}

std::int64_t integer_member_or(const Json& args, const char* name, std::int64_t fallback) {
    return is_null(args, name) ? fallback : integer_member(args, name);
}

std::optional<std::int64_t> optional_member(const Json& args, const char* name) {
    if (is_null(args, name)) return std::nullopt;
    return integer_member(args, name);
}

mp::Release release_member(const Json& args) { return mp::find_release(text_member(args, "release")); }

mp::Key key_from(const Json& value) {
    if (!value.is_object()) throw refused("key must be an object");
    mp::Key key;
    key.model_name = text_member(value, "model_name");
    key.world_size = integer_member(value, "world_size");
    key.worker_id = optional_member(value, "worker_id");
    const Json& tokens = member(value, "tokens");
    if (has_only(tokens, {"range"})) {
        for (auto [token, end] = range_from(tokens); token < end; ++token) key.tokens.push_back(token);
    } else if (tokens.is_array()) {
        for (const Json& token : tokens) key.tokens.push_back(integer_from(token, "a token", INT64_MIN, INT64_MAX));
    } else {
        throw refused("tokens must be an array of integers, or a range");
    }
    key.start = integer_member_or(value, "start", 0);
    key.end = integer_member_or(value, "end", static_cast<std::int64_t>(key.tokens.size()));
    key.request_id = text_member(value, "request_id");
    key.cache_salt = text_member(value, "cache_salt", "");
    if (!is_null(value, "request_configs")) key.request_configs = value_from(value["request_configs"]);
    key.num_kv_readers = integer_member_or(value, "num_kv_readers", 1);
    return key;
}

mp::Context context_from(const Json& value) {
    mp::Context context;
    context.model_name = text_member(value, "model_name");
    context.world_size = integer_member(value, "world_size");
    context.block_size = integer_member(value, "block_size");
    context.num_layers = integer_member(value, "num_layers");
    context.hidden_dim_size = integer_member(value, "hidden_dim_size");
    context.dtype = text_member(value, "dtype");
    context.use_mla = bool_member(value, "use_mla");
    return context;
}

Value value_from(const Json& json, int depth) {
    if (depth > kDeepest) throw refused("a value of more than " + std::to_string(kDeepest) + " levels");
    if (has_only(json, {"hex"})) return bytes_from_hex(json["hex"]);
    if (has_only(json, {"ext", "data"})) {
        const auto type = static_cast<std::int8_t>(integer_member(json, "ext", INT8_MIN, INT8_MAX));
        return mp::Ext{type, bytes_from_hex(member(json["data"], "hex"))};
    }
    if (has_only(json, {"range"})) {
        Value::Array elements;
        for (auto [number, end] = range_from(json); number < end; ++number) elements.emplace_back(number);
        return elements;
    }
    if (json.is_object()) {
        Value::Map members;
        for (const auto& [name, value] : json.items()) members.push_back({name, value_from(value, depth + 1)});
        return members;
    }
    if (json.is_array()) {
        Value::Array elements;
        for (const Json& element : json) elements.push_back(value_from(element, depth + 1));
        return elements;
    }
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_unsigned()) return json.get<std::uint64_t>();
    if (json.is_number_integer()) return json.get<std::int64_t>();
    if (json.is_number_float()) return json.get<double>();
    if (json.is_string()) return json.get<std::string>();
    return {};
}

Json value_to_json(const Value& value) {
    struct Writer {
        Json operator()(Value::Nil) const { return nullptr; }
        Json operator()(bool found) const { return found; }
        Json operator()(std::int64_t number) const { return number; }
        Json operator()(std::uint64_t number) const { return number; }
        Json operator()(double number) const { return number; }
        Json operator()(const std::string& text) const { return text; }
        Json operator()(const Bytes& bytes) const { return {{"hex", to_hex(bytes)}}; }
        Json operator()(const Value::Array& elements) const {
            Json array = Json::array();
            for (const Value& element : elements) array.push_back(value_to_json(element));
            return array;
        }
        Json operator()(const Value::Map& members) const {
            Json object = Json::object();
            for (const mp::Member& member : members) {
                const auto* name = member.key.as<std::string>();
                object[name ? *name : value_to_json(member.key).dump()] = value_to_json(member.value);
            }
            return object;
        }
        Json operator()(const mp::Ext& ext) const { return {{"ext", ext.type}, {"data", {{"hex", to_hex(ext.data)}}}}; }
    };
    return std::visit(Writer{}, value.held());
}

Bytes inline_bytes_from(const Json& value) {
    if (!has_only(value, {"hex"})) throw refused("a frame is an object with hex");
    return bytes_from_hex(value["hex"]);
}

Json inline_bytes_to_json(const Bytes& bytes) { return {{"hex", to_hex(bytes)}}; }

std::string Scratch::path(const Json& name) const {
    if (folder_.empty()) throw refused("hello named no scratch directory");
    if (!name.is_string()) throw refused("file must be a name");
    const auto& text = name.get_ref<const std::string&>();
    if (text.empty() || text == "." || text == ".." || text.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
        throw refused("'" + text + "' is no name of a file in the scratch directory");
    return folder_ + "/" + text;
}

Bytes Scratch::bytes_from(const Json& value) const {
    if (value.is_object() && value.contains("hex")) return bytes_from_hex(value["hex"]);
    if (!value.is_object() || !value.contains("file")) throw refused("bytes are an object with hex, or with file and length");
    Bytes bytes(static_cast<std::size_t>(integer_member(value, "length", 0, kLongestFile)));
    const std::string where = path(value["file"]);
    std::ifstream file(where, std::ios::binary);
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file || file.peek() != std::ifstream::traits_type::eof()) throw refused(where + " is no file of " + std::to_string(bytes.size()) + " bytes");
    return bytes;
}

std::vector<Bytes> Scratch::list_from(const Json& value) const {
    if (!value.is_array()) throw refused("a list of bytes must be an array");
    std::vector<Bytes> list;
    for (const Json& bytes : value) list.push_back(bytes_from(bytes));
    return list;
}

Json Scratch::bytes_to_json(const Bytes& bytes) {
    if (bytes.size() <= kLongestHex) return {{"hex", to_hex(bytes)}};
    const std::string name = "lmclient-mp-" + std::to_string(::getpid()) + "-" + std::to_string(++written_);
    const std::string where = path(name);
    std::ofstream file(where, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) throw mp::internal_error("cannot write " + where);
    return {{"file", name}, {"length", bytes.size()}};
}

Json Scratch::list_to_json(const std::vector<Bytes>& list) {
    Json array = Json::array();
    for (const Bytes& bytes : list) array.push_back(bytes_to_json(bytes));
    return array;
}

void Scratch::discard(const Json& value) const {
    if (!value.is_object() || !value.contains("file")) return;
    try {
        std::remove(path(value["file"]).c_str());
    } catch (const mp::Failure&) {
        // No file of ours to delete.
    }
}

void Scratch::discard_files(const Json& args) const {
    if (!args.is_object()) return;
    for (const Json& value : args) {
        discard(value);
        if (!value.is_array()) continue;
        for (const Json& element : value) discard(element);
    }
}

}  // namespace adapter
