// The JSON values of the client protocol, to and from the library's types. Class refused for arguments that are missing or malformed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "../client/client.hpp"

namespace adapter {

// Ordered: the members of a map keep their order on the wire.
using Json = nlohmann::ordered_json;

const Json& member(const Json& args, const char* name);
std::string text_member(const Json& args, const char* name);
std::string text_member(const Json& args, const char* name, const char* fallback);
bool bool_member(const Json& args, const char* name);
std::int64_t integer_member(const Json& args, const char* name, std::int64_t least = INT64_MIN, std::int64_t most = INT64_MAX);
std::int64_t integer_member_or(const Json& args, const char* name, std::int64_t fallback);
// Null, or an integer.
std::optional<std::int64_t> optional_member(const Json& args, const char* name);
mp::Release release_member(const Json& args);
mp::Key key_from(const Json& value);
mp::Context context_from(const Json& value);

// msgpack values: {"hex": "00ff"} are bytes, {"ext": 1, "data": {"hex": ""}} is an extension value, {"range": [0, 3]} is [0, 1, 2].
mp::Value value_from(const Json& json, int depth = 0);
Json value_to_json(const mp::Value& value);

// {"hex": "00ff"} at any length.
mp::Bytes inline_bytes_from(const Json& value);
Json inline_bytes_to_json(const mp::Bytes& bytes);

// Bytes that are too long for a line travel in files of a folder that the harness names in `hello`.
class Scratch {
  public:
    void use(std::string folder) { folder_ = std::move(folder); }
    mp::Bytes bytes_from(const Json& value) const;
    std::vector<mp::Bytes> list_from(const Json& value) const;
    Json bytes_to_json(const mp::Bytes& bytes);
    Json list_to_json(const std::vector<mp::Bytes>& list);
    // Deletes every file that `args` hands over, whether or not the operation read it.
    void discard_files(const Json& args) const;

  private:
    std::string path(const Json& name) const;
    void discard(const Json& value) const;

    std::string folder_;
    unsigned long written_ = 0;
};

}  // namespace adapter
