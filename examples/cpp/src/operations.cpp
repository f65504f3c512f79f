#include "operations.hpp"

#include <algorithm>
#include <fstream>

#include <dirent.h>
#include <unistd.h>

#include "chunks.hpp"
#include "layout.hpp"

namespace lm {
namespace {

Json ok(Json members) { return {{"ok", std::move(members)}}; }

const Json kNothing = Json::object();

std::string wire_key(const Json& args, Release release) { return format_key(key_from(member(args, "key")), release); }

// HEALTH and LIST are about no key, but their header has the field, and servers refuse one that they cannot parse.
std::string some_key(Release release) {
    const KeyGrammar& grammar = at(kKeyGrammar, release);
    Key key;
    key.model = "lmclient";
    if (grammar.written == HashText::opaque) key.chunk_hash = std::string("0");
    if (grammar.has_engine) key.engine = "vllm";
    if (grammar.has_dtype) key.dtype = "float16";
    return format_key(key, release);
}

Expectation expectation(const Json& value, Release release) {
    Expectation expect{};
    expect.format = format_member(value, release);
    expect.dtype = dtype_member(value);
    expect.shape = shape_member(value, release);
    for (std::int32_t dimension : expect.shape) {
        if (dimension < 0) throw refused("a negative dimension in expect.shape");
    }
    if (is_binary(expect.format)) {
        expect.length = expect.shape[0];
        return expect;
    }
    if (expect.dtype == kDtypeNone) throw refused("expect.dtype is null, so the length of the payload is unknown");
    // The zeros that pad a short shape are no dimensions.
    expect.length = dtype_size(expect.dtype);
    for (std::int64_t dimension : strip_shape(expect.shape, expect.format, release)) {
        expect.length *= dimension;
        if (expect.length > INT32_MAX) throw refused("expect amounts to more bytes than a length field can say");
    }
    return expect;
}

int open_file_descriptors() {
    DIR* folder = ::opendir("/proc/self/fd");
    if (!folder) return -1;
    int count = 0;
    while (const dirent* entry = ::readdir(folder)) count += entry->d_name[0] != '.';
    ::closedir(folder);
    return count - 1;  // the folder itself was open while we counted
}

}  // namespace

const std::map<std::string, Client::Operation>& Client::operations() {
    static const std::map<std::string, Operation> table = {
        {"hello", &Client::hello},
        {"state", &Client::state},
        {"bye", &Client::bye},
        {"encode_request", &Client::encode_request},
        {"decode_request", &Client::decode_request},
        {"encode_reply", &Client::encode_reply},
        {"decode_reply", &Client::decode_reply},
        {"encode_metadata", &Client::encode_metadata},
        {"decode_metadata", &Client::decode_metadata},
        {"format_key", &Client::format_key},
        {"parse_key", &Client::parse_key},
        {"chunk_keys", &Client::chunk_keys},
        {"token_hashes", &Client::token_hashes},
        {"pack_layout", &Client::pack_layout},
        {"unpack_layout", &Client::unpack_layout},
        {"connect", &Client::connect},
        {"put", &Client::put},
        {"get", &Client::get},
        {"exist", &Client::exist},
        {"health", &Client::health},
        {"list", &Client::list},
        {"close", &Client::close},
    };
    return table;
}

Json Client::answer(const std::string& op, const Json& args) {
    Json result;
    try {
        const auto found = operations().find(op);
        if (found == operations().end()) throw Unsupported("this client has no operation " + op);
        result = (this->*found->second)(args);
    } catch (const Unsupported& reason) {
        result = {{"unsupported", {{"reason", reason.what()}}}};
    } catch (const Failure& failure) {
        result = {{"error", {{"class", failure.error_class}, {"message", failure.what()}}}};
    } catch (const std::exception& bug) {
        result = {{"error", {{"class", "internal"}, {"message", bug.what()}}}};
    }
    scratch_.discard_files(args);
    return result;
}

Json Client::hello(const Json& args) {
    if (integer_member(args, "protocol", 0, INT32_MAX) != 1) throw refused("this client speaks version 1 of the client protocol");
    scratch_.use(text_member(args, "scratch"));
    Json names = Json::array(), releases = Json::array();
    for (const auto& [name, operation] : operations()) names.push_back(name);
    for (std::string_view release : kReleases) releases.push_back(release);
    return ok({{"name", "lmclient"}, {"version", "1.0.0"}, {"language", "C++17"}, {"operations", names}, {"releases", releases}});
}

Json Client::state(const Json&) {
    const auto is_open = [](const auto& entry) { return entry.second->is_open(); };
    Json members{{"connections", std::count_if(connections_.begin(), connections_.end(), is_open)}};
    if (const int count = open_file_descriptors(); count >= 0) members["file_descriptors"] = count;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("Threads:", 0) == 0) members["threads"] = std::stoi(line.substr(8));
    }
    std::ifstream memory("/proc/self/statm");
    std::int64_t total = 0, resident = 0;
    if (memory >> total >> resident) members["resident_bytes"] = resident * ::sysconf(_SC_PAGESIZE);
    return ok(members);
}

Json Client::bye(const Json&) {
    connections_.clear();
    return ok(kNothing);
}

Json Client::encode_request(const Json& args) {
    const Release release = release_member(args);
    const std::string name = text_member(args, "command");
    const auto command = command_number(name);
    if (!command) throw refused("there is no command " + name);
    Description about = description(args, release);
    about.length = static_cast<std::int32_t>(integer_member(args, "length", INT32_MIN, INT32_MAX));
    return ok({{"bytes", scratch_.bytes_to_json(lm::encode_request({*command, wire_key(args, release), about}, release))}});
}

Json Client::decode_request(const Json& args) {
    const Release release = release_member(args);
    const Request request = lm::decode_request(scratch_.bytes_from(member(args, "bytes")), release);
    Json members = description_to_json(request.about, release);
    members["command"] = *command_name(request.command);
    members["key"] = key_to_json(lm::parse_key(request.key, release, ReadBy::server));
    return ok(members);
}

Json Client::encode_reply(const Json& args) {
    const Release release = release_member(args);
    const std::string name = text_member(args, "code");
    const auto code = code_number(name);
    if (!code) throw refused("there is no code " + name);
    Description about = description(args, release);
    about.length = static_cast<std::int32_t>(integer_member(args, "length", INT32_MIN, INT32_MAX));
    return ok({{"bytes", scratch_.bytes_to_json(lm::encode_reply({*code, about}, release))}});
}

Json Client::decode_reply(const Json& args) {
    const Release release = release_member(args);
    const Reply reply = lm::decode_reply(scratch_.bytes_from(member(args, "bytes")), release);
    Json members = description_to_json(reply.about, release);
    members["code"] = *code_name(reply.code);
    return ok(members);
}

Json Client::encode_metadata(const Json& args) {
    const Release release = release_member(args);
    Metadata metadata;
    metadata.length = static_cast<std::int32_t>(integer_member(args, "length", INT32_MIN, INT32_MAX));
    metadata.format = format_member(args, release);
    if (!member(args, "groups").is_array()) throw refused("groups must be an array");
    for (const Json& group : args["groups"]) metadata.groups.push_back({dtype_member(group), shape_member(group, release)});
    return ok({{"bytes", scratch_.bytes_to_json(lm::encode_metadata(metadata, release))}});
}

Json Client::decode_metadata(const Json& args) {
    const Release release = release_member(args);
    const auto count = static_cast<std::size_t>(integer_member(args, "groups", 0, INT32_MAX));
    const Metadata metadata = lm::decode_metadata(scratch_.bytes_from(member(args, "bytes")), count, release);
    Json groups = Json::array();
    for (const Group& group : metadata.groups)
        groups.push_back({{"dtype", dtype_to_json(group.dtype)}, {"shape", strip_shape(group.shape, metadata.format, release)}});
    return ok({{"length", metadata.length}, {"format", *format_name(metadata.format, release)}, {"groups", groups}});
}

Json Client::format_key(const Json& args) { return ok({{"text", wire_key(args, release_member(args))}}); }

Json Client::parse_key(const Json& args) {
    const Release release = release_member(args);
    return ok({{"key", key_to_json(lm::parse_key(text_member(args, "text"), release, ReadBy::any_class))}});
}

Json Client::chunk_keys(const Json& args) {
    const Release release = release_member(args);
    ChunkRequest request{integers_member(args, "tokens"),
                         text_member(args, "algorithm"),
                         hash_from(member(args, "none_hash")),
                         integer_member(args, "chunk_size", INT64_MIN, INT64_MAX),
                         bool_member(args, "save_unfull_chunk"),
                         integer_member(args, "skip", INT64_MIN, INT64_MAX),
                         key_from(args),
                         args.contains("returns") ? std::optional(text_member(args, "returns")) : std::nullopt};
    Json chunks = Json::array();
    for (const Chunk& chunk : lm::chunk_keys(request, release))
        chunks.push_back({{"start", chunk.start}, {"end", chunk.end}, {"key", chunk.key}});
    return ok({{"chunks", chunks}});
}

Json Client::token_hashes(const Json& args) {
    Json hashes = Json::array();
    const auto digests = lm::token_hashes(integers_member(args, "tokens"), integer_member(args, "chunk_size", INT64_MIN, INT64_MAX), release_member(args));
    for (const Digest& digest : digests) hashes.push_back(to_hex(digest.data(), digest.size()));
    return ok({{"hashes", hashes}});
}

Json Client::pack_layout(const Json& args) {
    const Packed packed = lm::pack_layout(format_member(args, release_member(args)), dtype_member(args), scratch_.bytes_from(member(args, "paged")),
                                          integers_member(args, "paged_shape"), integers_member(args, "slots"));
    return ok({{"bytes", scratch_.bytes_to_json(packed.bytes)}, {"shape", packed.shape}});
}

Json Client::unpack_layout(const Json& args) {
    const Bytes paged = lm::unpack_layout(format_member(args, release_member(args)), dtype_member(args), scratch_.bytes_from(member(args, "bytes")),
                                          integers_member(args, "shape"), integers_member(args, "slots"), integers_member(args, "paged_shape"));
    return ok({{"paged", scratch_.bytes_to_json(paged)}});
}

Connection& Client::connection(const Json& args) {
    const std::string name = text_member(args, "connection");
    const auto found = connections_.find(name);
    if (found == connections_.end()) throw connection_error("there is no connection '" + name + "'");
    return *found->second;
}

Json Client::connect(const Json& args) {
    const std::string protocol = text_member(args, "protocol");
    if (protocol != "lm") throw Unsupported("this client speaks lm, not " + protocol);
    const Release release = release_member(args);
    const std::string name = text_member(args, "connection");
    connections_.erase(name);
    auto opened = std::make_unique<Connection>(text_member(args, "host"), static_cast<int>(integer_member(args, "port", 1, 65535)), release,
                                               static_cast<int>(integer_member(args, "timeout_ms", 0, INT32_MAX)));
    connections_[name] = std::move(opened);
    return ok(kNothing);
}

Json Client::put(const Json& args) {
    Connection& server = connection(args);
    server.put(wire_key(args, server.release()), description(args, server.release()), scratch_.bytes_from(member(args, "payload")));
    return ok(kNothing);
}

Json Client::get(const Json& args) {
    Connection& server = connection(args);
    const Expectation expect = expectation(member(args, "expect"), server.release());
    const auto payload = server.get(wire_key(args, server.release()), expect);
    if (!payload) return {{"miss", true}};
    return ok({{"payload", scratch_.bytes_to_json(*payload)},
               {"format", *format_name(expect.format, server.release())},
               {"dtype", dtype_to_json(expect.dtype)},
               {"shape", strip_shape(expect.shape, expect.format, server.release())}});
}

Json Client::exist(const Json& args) {
    Connection& server = connection(args);
    return ok({{"exists", server.exist(wire_key(args, server.release()))}});
}

Json Client::health(const Json& args) {
    Connection& server = connection(args);
    return ok({{"healthy", server.health(some_key(server.release()))}});
}

Json Client::list(const Json& args) {
    Connection& server = connection(args);
    return ok({{"keys", server.list(some_key(server.release()))}});
}

Json Client::close(const Json& args) {
    connections_.erase(text_member(args, "connection"));
    return ok(kNothing);
}

}  // namespace lm
