#include "frames.hpp"

#include <utility>

#include "integer.hpp"
#include "utf8.hpp"

namespace lm {
namespace {

// Upstream packs native integers; every machine it runs on is little-endian, so that is what the wire is.
class Writer {
  public:
    void number(std::int32_t value) {
        const auto bits = static_cast<std::uint32_t>(value);
        for (int shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<std::uint8_t>(bits >> shift));
    }
    void shape(const WireShape& shape) {
        for (std::int32_t dimension : shape) number(dimension);
    }
    void padded_text(const std::string& text, std::size_t size) {
        bytes_.insert(bytes_.end(), text.begin(), text.end());
        bytes_.insert(bytes_.end(), size - text.size(), ' ');
    }
    Bytes take() { return std::move(bytes_); }

  private:
    Bytes bytes_;
};

class Reader {
  public:
    explicit Reader(const Bytes& bytes) : bytes_(bytes) {}
    std::int32_t number() {
        std::uint32_t bits = 0;
        for (int shift = 0; shift < 32; shift += 8) bits |= std::uint32_t{bytes_.at(next_++)} << shift;
        return static_cast<std::int32_t>(bits);
    }
    WireShape shape() {
        WireShape shape;
        for (std::int32_t& dimension : shape) dimension = number();
        return shape;
    }
    std::string text(std::size_t size) {
        std::string text(bytes_.begin() + next_, bytes_.begin() + next_ + size);
        next_ += size;
        return text;
    }
    std::int32_t format(Release release) {
        const std::int32_t value = number();
        if (!format_name(value, release)) unknown("format", value, release);
        return value;
    }
    std::int32_t dtype(Release release) {
        const std::int32_t value = number();
        if (value != kDtypeNone && !dtype_name(value)) unknown("dtype", value, release);
        return value == 1 ? kDtypeFloat16 : value;
    }
    std::int32_t location(Release release) {
        const std::int32_t value = number();
        if (value != 0 && !location_name(value)) unknown("location", value, release);
        return value;
    }
    [[noreturn]] static void unknown(const char* what, std::int32_t value, Release release) {
        throw protocol_error(std::string("unknown ") + what + " " + std::to_string(value) + " for " + release.name());
    }

  private:
    const Bytes& bytes_;
    std::ptrdiff_t next_ = 0;
};

void require_size(const Bytes& bytes, std::size_t size, const char* what, Release release) {
    if (bytes.size() != size)
        throw protocol_error(std::string("a ") + what + " header of " + release.name() + " has " + std::to_string(size) + " bytes, got " +
                             std::to_string(bytes.size()));
}

void require_expressible(const Description& about, Release release) {
    if (about.location != 0 && !at(kFramesHaveLocation, release)) throw refused("frames of " + release.name() + " have no location");
}

}  // namespace

std::size_t reply_size(Release release) { return at(kFramesHaveLocation, release) ? 36 : 32; }

// Note where the location stands: in the middle of a request, at the end of a reply.

Bytes encode_request(const Request& request, Release release) {
    require_expressible(request.about, release);
    // Upstream counts characters here; the field counts bytes.
    if (request.key.size() > kKeyField)
        throw refused("the key has " + std::to_string(request.key.size()) + " bytes in UTF-8, and its field holds " +
                      std::to_string(kKeyField) + ": " + request.key);
    Writer writer;
    writer.number(request.command);
    writer.number(request.about.length);
    writer.number(request.about.format);
    writer.number(request.about.dtype);
    if (at(kFramesHaveLocation, release)) writer.number(request.about.location);
    writer.shape(request.about.shape);
    writer.padded_text(request.key, kKeyField);
    return writer.take();
}

Request decode_request(const Bytes& bytes, Release release) {
    require_size(bytes, reply_size(release) + kKeyField, "request", release);
    Reader reader(bytes);
    Request request;
    request.command = reader.number();
    if (!command_name(request.command)) Reader::unknown("command", request.command, release);
    request.about.length = reader.number();
    request.about.format = reader.format(release);
    request.about.dtype = reader.dtype(release);
    if (at(kFramesHaveLocation, release)) request.about.location = reader.location(release);
    request.about.shape = reader.shape();
    const std::string field = reader.text(kKeyField);
    if (!is_utf8(field)) throw protocol_error("the key field is not UTF-8");
    request.key = python_strip(field);
    return request;
}

Bytes encode_reply(const Reply& reply, Release release) {
    require_expressible(reply.about, release);
    Writer writer;
    writer.number(reply.code);
    writer.number(reply.about.length);
    writer.number(reply.about.format);
    writer.number(reply.about.dtype);
    writer.shape(reply.about.shape);
    if (at(kFramesHaveLocation, release)) writer.number(reply.about.location);
    return writer.take();
}

Reply decode_reply(const Bytes& bytes, Release release) {
    require_size(bytes, reply_size(release), "reply", release);
    Reader reader(bytes);
    Reply reply;
    reply.code = reader.number();
    if (!code_name(reply.code)) Reader::unknown("code", reply.code, release);
    reply.about.length = reader.number();
    reply.about.format = reader.format(release);
    reply.about.dtype = reader.dtype(release);
    reply.about.shape = reader.shape();
    if (at(kFramesHaveLocation, release)) reply.about.location = reader.location(release);
    return reply;
}

Bytes encode_metadata(const Metadata& metadata, Release release) {
    if (!at(kMetadataHasGroups, release) && metadata.groups.size() != 1)
        throw refused("RemoteMetadata of " + release.name() + " describes exactly one group");
    Writer writer;
    writer.number(metadata.length);
    writer.number(metadata.format);
    for (const Group& group : metadata.groups) {
        writer.number(group.dtype);
        writer.shape(group.shape);
    }
    return writer.take();
}

Metadata decode_metadata(const Bytes& bytes, std::size_t groups, Release release) {
    if (!at(kMetadataHasGroups, release) && groups != 1) throw refused("RemoteMetadata of " + release.name() + " describes exactly one group");
    // It is a prefix: more bytes may follow, fewer may not.
    if (bytes.size() < 8 || (bytes.size() - 8) / 20 < groups)
        throw protocol_error("RemoteMetadata of " + std::to_string(groups) + " groups has " + std::to_string(8 + 20 * groups) +
                             " bytes, got " + std::to_string(bytes.size()));
    Reader reader(bytes);
    Metadata metadata;
    metadata.length = reader.number();
    metadata.format = reader.format(release);
    for (std::size_t i = 0; i < groups; ++i) {
        Group group;
        group.dtype = reader.dtype(release);
        group.shape = reader.shape();
        metadata.groups.push_back(group);
    }
    return metadata;
}

WireShape pad_shape(const std::vector<std::int64_t>& shape, Release release) {
    const bool may_be_short = at(kShapesMayBeShort, release);
    if (shape.size() > 4 || shape.empty() || (shape.size() != 4 && !may_be_short))
        throw refused("a shape of " + release.name() + " has " + (may_be_short ? "1 to 4" : "exactly 4") + " dimensions, got " +
                      std::to_string(shape.size()));
    WireShape wire{};
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] < INT32_MIN || shape[i] > INT32_MAX) throw refused("the dimension " + std::to_string(shape[i]) + " does not fit into 32 bits");
        wire[i] = static_cast<std::int32_t>(shape[i]);
    }
    return wire;
}

std::vector<std::int64_t> strip_shape(const WireShape& shape, std::int32_t format, Release release) {
    std::vector<std::int64_t> dimensions(shape.begin(), shape.end());
    // The zeros behind a BINARY length are real: its shape is always [length, 0, 0, 0].
    if (!at(kShapesMayBeShort, release) || is_binary(format)) return dimensions;
    while (dimensions.size() > 1 && dimensions.back() == 0) dimensions.pop_back();
    return dimensions;
}

}  // namespace lm
