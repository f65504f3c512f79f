// Messages: a request is [uid, operation, payload ...], a reply [uid, operation as sent, result]; each frame but the uid is one msgpack value.
// The functions here deal in the frames behind the uid.
#pragma once

#include <vector>

#include "msgpack.hpp"
#include "operations.hpp"

namespace mp {

using Frames = std::vector<Bytes>;

struct Request {
    const Operation& operation;
    std::vector<Value> payloads;
};

// As a client of this release writes it. Class refused where the release does not have the operation, or it takes something else.
Frames encode_request(const Operation& operation, const std::vector<Value>& payloads, Release release);

// As a server of this release reads it.
Request decode_request(const Frames& frames, Release release);

Frames encode_reply(const Operation& operation, const Value& result, Release release);

// The result in a reply to this operation: nil where it gives none. Class protocol for a reply to another operation. What follows the result is passed over,
// as lmcache does.
Value decode_reply(const Operation& operation, const Frames& frames, Release release);

}  // namespace mp
