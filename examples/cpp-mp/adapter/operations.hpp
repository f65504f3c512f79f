// The operations of the client protocol: each takes `args` and returns the members of an answer other than `id`.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "json_values.hpp"

namespace adapter {

class Operations {
  public:
    // {"ok": ...}, {"miss": true}, {"unsupported": ...} or {"error": ...}; never throws.
    Json answer(const std::string& name, const Json& args);

  private:
    using Operation = Json (Operations::*)(const Json& args);
    static const std::map<std::string, Operation>& table();

    Json hello(const Json& args);
    Json state(const Json& args);
    Json bye(const Json& args);
    Json encode_request(const Json& args);
    Json decode_request(const Json& args);
    Json encode_reply(const Json& args);
    Json decode_reply(const Json& args);
    Json object_keys(const Json& args);
    Json connect(const Json& args);
    Json noop(const Json& args);
    Json ping(const Json& args);
    Json chunk_size(const Json& args);
    Json register_context(const Json& args);
    Json unregister(const Json& args);
    Json store(const Json& args);
    Json lookup(const Json& args);
    Json retrieve(const Json& args);
    Json free_locks(const Json& args);
    Json end_session(const Json& args);
    Json clear(const Json& args);
    Json close(const Json& args);

    mp::Client& connection(const Json& args);

    Scratch scratch_;
    std::map<std::string, std::unique_ptr<mp::Client>> connections_;
};

}  // namespace adapter
