// What can go wrong. Everything in this library throws Failure or Unsupported and nothing else on purpose.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace mp {

using Bytes = std::vector<std::uint8_t>;

// Where a failure comes from; error_class is spelled as the client protocol of lmconform wants it.
struct Failure : std::runtime_error {
    Failure(const char* error_class, const std::string& message) : std::runtime_error(message), error_class(error_class) {}
    const char* error_class;
};

// The caller asked for something that cannot be said on this wire.
inline Failure refused(const std::string& message) { return {"refused", message}; }
// The peer said something that is not legal.
inline Failure protocol_error(const std::string& message) { return {"protocol", message}; }
// There is no peer.
inline Failure connection_error(const std::string& message) { return {"connection", message}; }
// The peer said nothing. On this wire that is also how a server says no: it logs what is wrong and never answers.
inline Failure timed_out(const std::string& message) { return {"timeout", message}; }
inline Failure internal_error(const std::string& message) { return {"internal", message}; }

// Not an error: this client does not do that, or not for this release.
struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace mp
