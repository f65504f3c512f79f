// The JSON values of the client protocol, to and from this client's own types. Class refused for arguments that are missing or malformed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "frames.hpp"
#include "keys.hpp"

namespace lm {

using Json = nlohmann::json;

const Json& member(const Json& args, const char* name);
std::string text_member(const Json& args, const char* name);
bool bool_member(const Json& args, const char* name);
std::int64_t integer_member(const Json& args, const char* name, std::int64_t least, std::int64_t most);
std::vector<std::int64_t> integers_member(const Json& args, const char* name);

Release release_member(const Json& args);
WireShape shape_member(const Json& args, Release release);
std::int32_t format_member(const Json& args, Release release);
std::int32_t dtype_member(const Json& args);
// Everything but the length; location only where `args` has to have one.
Description description(const Json& args, Release release);

Key key_from(const Json& value);
Json key_to_json(const Key& key);
Hash hash_from(const Json& value);

Json dtype_to_json(std::int32_t number);
Json description_to_json(const Description& about, Release release);

// Where bytes that are too long for a line are passed: files in a folder that the harness names in `hello`.
class Scratch {
  public:
    void use(std::string folder) { folder_ = std::move(folder); }
    Bytes bytes_from(const Json& value) const;
    Json bytes_to_json(const Bytes& bytes);
    // Deletes every file that `args` hands over, whether or not the operation read it.
    void discard_files(const Json& args) const;

  private:
    std::string path(const Json& name) const;

    std::string folder_;
    unsigned long written_ = 0;
};

}  // namespace lm
