// What can go wrong, in the words of the client protocol. Everything below main.cpp throws these and nothing else.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace lm {

using Bytes = std::vector<std::uint8_t>;

// The five error classes of the client protocol, spelled as they stand in an answer.
struct Failure : std::runtime_error {
    Failure(const char* error_class, const std::string& message) : std::runtime_error(message), error_class(error_class) {}
    const char* error_class;
};

inline Failure refused(const std::string& message) { return {"refused", message}; }
inline Failure protocol_error(const std::string& message) { return {"protocol", message}; }
inline Failure connection_error(const std::string& message) { return {"connection", message}; }
inline Failure timed_out(const std::string& message) { return {"timeout", message}; }
inline Failure internal_error(const std::string& message) { return {"internal", message}; }

// Not an error: this client does not do that, or not for this release.
struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace lm
