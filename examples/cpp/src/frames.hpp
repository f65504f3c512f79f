// Request and reply headers of lm://, and the RemoteMetadata prefix. Bytes in, values out; no sockets here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "failure.hpp"
#include "tables.hpp"

namespace lm {

constexpr std::size_t kKeyField = 150;

using WireShape = std::array<std::int32_t, 4>;

// What a header says about its payload, as the numbers that stand on the wire (see tables.hpp for their names).
struct Description {
    std::int32_t length = 0;
    std::int32_t format = 0;
    std::int32_t dtype = 0;
    std::int32_t location = 0;
    WireShape shape{};
};

struct Request {
    std::int32_t command;
    std::string key;  // as text, white space stripped from its ends
    Description about;
};

struct Reply {
    std::int32_t code;
    Description about;
};

struct Group {
    std::int32_t dtype;
    WireShape shape;
};

struct Metadata {
    std::int32_t length;
    std::int32_t format;
    std::vector<Group> groups;
};

std::size_t reply_size(Release release);

Bytes encode_request(const Request& request, Release release);
Request decode_request(const Bytes& bytes, Release release);
Bytes encode_reply(const Reply& reply, Release release);
Reply decode_reply(const Bytes& bytes, Release release);
Bytes encode_metadata(const Metadata& metadata, Release release);
Metadata decode_metadata(const Bytes& bytes, std::size_t groups, Release release);

// Shapes: dimensions as a caller has them, and the four numbers that stand on the wire.
WireShape pad_shape(const std::vector<std::int64_t>& shape, Release release);
std::vector<std::int64_t> strip_shape(const WireShape& shape, std::int32_t format, Release release);

}  // namespace lm
