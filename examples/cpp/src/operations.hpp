// The operations of the client protocol: each takes `args` and returns the members of an answer other than `id`.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "connection.hpp"
#include "values.hpp"

namespace lm {

class Client {
  public:
    // {"ok": ...}, {"miss": true}, {"unsupported": ...} or {"error": ...}; never throws.
    Json answer(const std::string& op, const Json& args);

  private:
    using Operation = Json (Client::*)(const Json& args);
    static const std::map<std::string, Operation>& operations();

    Json hello(const Json& args);
    Json state(const Json& args);
    Json bye(const Json& args);
    Json encode_request(const Json& args);
    Json decode_request(const Json& args);
    Json encode_reply(const Json& args);
    Json decode_reply(const Json& args);
    Json encode_metadata(const Json& args);
    Json decode_metadata(const Json& args);
    Json format_key(const Json& args);
    Json parse_key(const Json& args);
    Json chunk_keys(const Json& args);
    Json token_hashes(const Json& args);
    Json pack_layout(const Json& args);
    Json unpack_layout(const Json& args);
    Json connect(const Json& args);
    Json put(const Json& args);
    Json get(const Json& args);
    Json exist(const Json& args);
    Json health(const Json& args);
    Json list(const Json& args);
    Json close(const Json& args);

    Connection& connection(const Json& args);

    Scratch scratch_;
    std::map<std::string, std::unique_ptr<Connection>> connections_;
};

}  // namespace lm
