#include "operations.hpp"

#include <dirent.h>

#include "../client/objects.hpp"

namespace adapter {
namespace {

using mp::Bytes;
using mp::Release;

Json ok(Json members = Json::object()) { return {{"ok", std::move(members)}}; }

const mp::Operation& operation_member(const Json& args, Release release) {
    return mp::operation_named(text_member(args, "operation"), release);
}

mp::Frames frames_from(const Json& value) {
    if (!value.is_array()) throw mp::refused("frames must be an array");
    mp::Frames frames;
    for (const Json& frame : value) frames.push_back(inline_bytes_from(frame));
    return frames;
}

Json frames_to_json(const mp::Frames& frames) {
    Json array = Json::array();
    for (const Bytes& frame : frames) array.push_back(inline_bytes_to_json(frame));
    return array;
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

const std::map<std::string, Operations::Operation>& Operations::table() {
    static const std::map<std::string, Operation> operations = {
        {"hello", &Operations::hello},
        {"state", &Operations::state},
        {"bye", &Operations::bye},
        {"mp_encode_request", &Operations::encode_request},
        {"mp_decode_request", &Operations::decode_request},
        {"mp_encode_reply", &Operations::encode_reply},
        {"mp_decode_reply", &Operations::decode_reply},
        {"mp_object_keys", &Operations::object_keys},
        {"connect", &Operations::connect},
        {"mp_noop", &Operations::noop},
        {"mp_ping", &Operations::ping},
        {"mp_chunk_size", &Operations::chunk_size},
        {"mp_register", &Operations::register_context},
        {"mp_unregister", &Operations::unregister},
        {"mp_store", &Operations::store},
        {"mp_lookup", &Operations::lookup},
        {"mp_retrieve", &Operations::retrieve},
        {"mp_free_locks", &Operations::free_locks},
        {"mp_end_session", &Operations::end_session},
        {"mp_clear", &Operations::clear},
        {"close", &Operations::close},
    };
    return operations;
}

Json Operations::answer(const std::string& name, const Json& args) {
    Json answer;
    try {
        const auto found = table().find(name);
        if (found == table().end()) throw mp::Unsupported("this client has no operation " + name);
        answer = (this->*found->second)(args);
    } catch (const mp::Unsupported& reason) {
        answer = {{"unsupported", {{"reason", reason.what()}}}};
    } catch (const mp::Failure& failure) {
        answer = {{"error", {{"class", failure.error_class}, {"message", failure.what()}}}};
    } catch (const std::exception& bug) {
        answer = {{"error", {{"class", "internal"}, {"message", bug.what()}}}};
    }
    scratch_.discard_files(args);
    return answer;
}

Json Operations::hello(const Json& args) {
    if (integer_member(args, "protocol") != 1) throw mp::refused("this client speaks version 1 of the client protocol");
    scratch_.use(text_member(args, "scratch"));
    Json names = Json::array(), releases = Json::array();
    for (const auto& [name, operation] : table()) {
        // These three are always there, and need not be listed.
        if (name != "hello" && name != "state" && name != "bye") names.push_back(name);
    }
    for (std::string_view release : mp::kReleases) releases.push_back(release);
    return ok({{"name", "lmclient-mp"}, {"version", "1.0.0"}, {"language", "C++17"}, {"operations", names}, {"releases", releases}});
}

Json Operations::state(const Json&) {
    Json members{{"connections", connections_.size()}};
    if (const int count = open_file_descriptors(); count >= 0) members["file_descriptors"] = count;
    return ok(members);
}

Json Operations::bye(const Json&) {
    connections_.clear();
    return ok();
}

Json Operations::encode_request(const Json& args) {
    const Release release = release_member(args);
    const Json& given = member(args, "payloads");
    if (!given.is_array()) throw mp::refused("payloads must be an array");
    std::vector<mp::Value> payloads;
    for (const Json& payload : given) payloads.push_back(value_from(payload));
    return ok({{"frames", frames_to_json(mp::encode_request(operation_member(args, release), payloads, release))}});
}

Json Operations::decode_request(const Json& args) {
    const mp::Request request = mp::decode_request(frames_from(member(args, "frames")), release_member(args));
    Json payloads = Json::array();
    for (const mp::Value& payload : request.payloads) payloads.push_back(value_to_json(payload));
    return ok({{"operation", request.operation.name}, {"payloads", payloads}});
}

Json Operations::encode_reply(const Json& args) {
    const Release release = release_member(args);
    return ok({{"frames", frames_to_json(mp::encode_reply(operation_member(args, release), value_from(member(args, "result")), release))}});
}

Json Operations::decode_reply(const Json& args) {
    const Release release = release_member(args);
    return ok({{"result", value_to_json(mp::decode_reply(operation_member(args, release), frames_from(member(args, "frames")), release))}});
}

Json Operations::object_keys(const Json& args) {
    const Release release = release_member(args);
    const mp::Value key = value_from(member(args, "key"));
    if (!key.find("token_ids")) throw mp::Unsupported("keys of lmcache " + release.name() + " hold the hash of an engine, not tokens");
    const auto hashes = mp::chunk_hashes(key, integer_member(args, "chunk_size"), bool_member(args, "lookup"), release);
    Json keys = Json::array(), names = Json::array();
    for (const mp::ObjectKey& object : mp::object_keys(key, hashes, integer_member_or(args, "group", 0), release)) {
        keys.push_back({{"model_name", object.model_name},
                        {"kv_rank", object.kv_rank},
                        {"chunk_hash", inline_bytes_to_json(Bytes(object.chunk_hash.begin(), object.chunk_hash.end()))},
                        {"object_group_id", object.group},
                        {"cache_salt", object.cache_salt}});
        names.push_back(mp::object_key_text(object, release));
    }
    return ok({{"keys", keys}, {"names", names}});
}

Json Operations::connect(const Json& args) {
    const std::string protocol = text_member(args, "protocol");
    if (protocol != "mp") throw mp::Unsupported("this client speaks mp, not " + protocol);
    const Release release = release_member(args);
    const auto port = static_cast<int>(integer_member(args, "port", 1, 65535));
    const std::chrono::milliseconds timeout(integer_member(args, "timeout_ms", 0, INT32_MAX));
    connections_[text_member(args, "connection")] = std::make_unique<mp::Client>(text_member(args, "host"), port, release, timeout);
    return ok();
}

mp::Client& Operations::connection(const Json& args) {
    const std::string name = text_member(args, "connection");
    const auto found = connections_.find(name);
    if (found == connections_.end()) throw mp::connection_error("there is no connection '" + name + "'");
    return *found->second;
}

Json Operations::noop(const Json& args) { return ok({{"text", connection(args).noop()}}); }

Json Operations::ping(const Json& args) { return ok({{"alive", connection(args).ping(optional_member(args, "instance_id"))}}); }

Json Operations::chunk_size(const Json& args) { return ok({{"chunk_size", connection(args).chunk_size()}}); }

Json Operations::register_context(const Json& args) {
    const std::int64_t size = connection(args).register_context(integer_member(args, "instance_id"), context_from(member(args, "context")));
    return ok({{"pool_size", size}, {"shared_memory", size != 0}});
}

Json Operations::unregister(const Json& args) {
    connection(args).unregister(integer_member(args, "instance_id"));
    return ok();
}

Json Operations::store(const Json& args) {
    const std::vector<Bytes> chunks = scratch_.list_from(member(args, "chunks"));
    return ok({{"stored", connection(args).store(integer_member(args, "instance_id"), key_from(member(args, "key")), chunks)}});
}

Json Operations::lookup(const Json& args) {
    return ok({{"hits", connection(args).lookup(key_from(member(args, "key")), integer_member_or(args, "tp_size", 1))}});
}

Json Operations::retrieve(const Json& args) {
    const auto chunks = connection(args).retrieve(integer_member(args, "instance_id"), key_from(member(args, "key")));
    if (!chunks) return {{"miss", true}};
    return ok({{"chunks", scratch_.list_to_json(*chunks)}});
}

Json Operations::free_locks(const Json& args) {
    connection(args).free_locks(key_from(member(args, "key")), integer_member_or(args, "tp_size", 1));
    return ok();
}

Json Operations::end_session(const Json& args) {
    connection(args).end_session(text_member(args, "request_id"));
    return ok();
}

Json Operations::clear(const Json& args) {
    connection(args).clear(args.contains("force") && bool_member(args, "force"));
    return ok();
}

Json Operations::close(const Json& args) {
    connections_.erase(text_member(args, "connection"));
    return ok();
}

}  // namespace adapter
