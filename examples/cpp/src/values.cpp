#include "values.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lm {
namespace {

constexpr std::size_t kLongestHex = 64 * 1024;

std::int64_t integer_from(const Json& value, const char* name, std::int64_t least, std::int64_t most) {
    // Numbers past 2^63 are read as unsigned, numbers past 2^64 as floating point: neither is what it looks like.
    const bool whole = value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
    if (!whole || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
        throw refused(std::string(name) + " must be an integer from " + std::to_string(least) + " to " + std::to_string(most));
    return value.get<std::int64_t>();
}

std::optional<std::string> optional_text(const Json& args, const char* name) {
    if (!args.contains(name) || args[name].is_null()) return std::nullopt;
    return text_member(args, name);
}

Bytes bytes_from_hex(const std::string& hex) {
    const auto digit = [](char c) {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        if (c >= 'A' && c <= 'F') return c - 'A' + 10;
        return -1;
    };
    if (hex.size() % 2 != 0) throw refused("hexadecimal text has two digits for each byte");
    Bytes bytes(hex.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
        if (high < 0 || low < 0) throw refused("this is no hexadecimal text");
        bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
    }
    return bytes;
}

// A file descriptor that closes itself.
class File {
  public:
    File(const std::string& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)) {
        if (descriptor_ < 0) throw internal_error(path + ": " + std::strerror(errno));
    }
    ~File() { ::close(descriptor_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int operator*() const { return descriptor_; }

  private:
    int descriptor_;
};

}  // namespace

const Json& member(const Json& args, const char* name) {
    if (!args.is_object() || !args.contains(name)) throw refused(std::string("the argument ") + name + " is missing");
    return args[name];
}

std::string text_member(const Json& args, const char* name) {
    const Json& value = member(args, name);
    if (!value.is_string()) throw refused(std::string(name) + " must be a string");
    return value.get<std::string>();
}

bool bool_member(const Json& args, const char* name) {
    const Json& value = member(args, name);
    if (!value.is_boolean()) throw refused(std::string(name) + " must be true or false");
    return value.get<bool>();
}

std::int64_t integer_member(const Json& args, const char* name, std::int64_t least, std::int64_t most) {
    return integer_from(member(args, name), name, least, most);
}

std::vector<std::int64_t> integers_member(const Json& args, const char* name) {
    const Json& value = member(args, name);
    if (!value.is_array()) throw refused(std::string(name) + " must be an array of integers");
    std::vector<std::int64_t> integers;
    integers.reserve(value.size());
    for (const Json& item : value) integers.push_back(integer_from(item, name, INT64_MIN, INT64_MAX));
    return integers;
}

Release release_member(const Json& args) {
    const std::string name = text_member(args, "release");
    const auto release = find_release(name);
    if (!release) throw Unsupported("this client does not know a release " + name + " of lmcache");
    return *release;
}

WireShape shape_member(const Json& args, Release release) { return pad_shape(integers_member(args, "shape"), release); }

std::int32_t format_member(const Json& args, Release release) {
    const std::string name = text_member(args, "format");
    const auto number = format_number(name, release);
    if (!number) throw refused("lmcache " + release.name() + " has no memory format " + name);
    return *number;
}

std::int32_t dtype_member(const Json& args) {
    if (member(args, "dtype").is_null()) return kDtypeNone;
    const std::string name = text_member(args, "dtype");
    const auto number = dtype_number(name);
    if (!number) throw refused("frames have no number for the dtype " + name);
    return *number;
}

Description description(const Json& args, Release release) {
    Description about;
    about.format = format_member(args, release);
    about.dtype = dtype_member(args);
    about.shape = shape_member(args, release);
    if (const auto name = optional_text(args, "location")) {
        const auto number = location_number(*name);
        if (!number) throw refused("frames have no number for the location " + *name);
        about.location = *number;
    }
    return about;
}

Hash hash_from(const Json& value) {
    if (!value.is_object()) throw refused("a hash is an object with one of int, text and bytes");
    if (value.contains("int")) {
        const std::string text = text_member(value, "int");
        const auto number = Integer::parse(text, 10);
        if (!number) throw refused("the hash '" + text + "' is no decimal integer");
        return *number;
    }
    if (value.contains("text")) return text_member(value, "text");
    if (value.contains("bytes")) return bytes_from_hex(text_member(value, "bytes"));
    throw refused("a hash has one of int, text and bytes");
}

Key key_from(const Json& value) {
    if (!value.is_object()) throw refused("key must be an object");
    Key key;
    key.model = text_member(value, "model");
    key.world_size = integer_member(value, "world_size", INT64_MIN, INT64_MAX);
    key.worker_id = integer_member(value, "worker_id", INT64_MIN, INT64_MAX);
    // chunk_keys passes a key whose hash is what is asked for.
    if (value.contains("chunk_hash")) key.chunk_hash = hash_from(value["chunk_hash"]);
    key.dtype = optional_text(value, "dtype");
    key.engine = optional_text(value, "fmt");
    if (value.contains("layer") && !value["layer"].is_null()) key.layer = integer_member(value, "layer", INT64_MIN, INT64_MAX);
    if (value.contains("tags") && !value["tags"].is_null()) {
        if (!value["tags"].is_array()) throw refused("tags must be an array of pairs");
        for (const Json& tag : value["tags"]) {
            if (!tag.is_array() || tag.size() != 2 || !tag[0].is_string() || !tag[1].is_string()) throw refused("a tag is a pair of strings");
            key.tags.emplace_back(tag[0].get<std::string>(), tag[1].get<std::string>());
        }
    }
    return key;
}

Json key_to_json(const Key& key) {
    Json hash;
    if (const auto* number = std::get_if<Integer>(&key.chunk_hash)) hash["int"] = number->to_text(10);
    if (const auto* text = std::get_if<std::string>(&key.chunk_hash)) hash["text"] = *text;
    if (const auto* digest = std::get_if<Bytes>(&key.chunk_hash)) hash["bytes"] = to_hex(digest->data(), digest->size());
    Json tags = Json::array();
    for (const auto& [name, value] : key.tags) tags.push_back(Json::array({name, value}));
    return {{"model", key.model},
            {"world_size", key.world_size},
            {"worker_id", key.worker_id},
            {"chunk_hash", hash},
            {"dtype", key.dtype ? Json(*key.dtype) : Json()},
            {"fmt", key.engine ? Json(*key.engine) : Json()},
            {"layer", key.layer ? Json(*key.layer) : Json()},
            {"tags", tags}};
}

Json dtype_to_json(std::int32_t number) {
    const auto name = dtype_name(number);
    return name ? Json(*name) : Json();
}

Json description_to_json(const Description& about, Release release) {
    const auto location = location_name(about.location);
    return {{"length", about.length},
            {"format", format_name(about.format, release).value_or("")},
            {"dtype", dtype_to_json(about.dtype)},
            {"shape", strip_shape(about.shape, about.format, release)},
            {"location", location ? Json(*location) : Json()}};
}

std::string Scratch::path(const Json& name) const {
    if (folder_.empty()) throw refused("hello named no scratch directory");
    if (!name.is_string()) throw refused("file must be a name");
    const auto& text = name.get_ref<const std::string&>();
    if (text.empty() || text == "." || text == ".." || text.find('/') != std::string::npos || text.find('\0') != std::string::npos)
        throw refused("'" + text + "' is no name of a file in the scratch directory");
    return folder_ + "/" + text;
}

Bytes Scratch::bytes_from(const Json& value) const {
    if (value.is_object() && value.contains("hex")) return bytes_from_hex(text_member(value, "hex"));
    if (!value.is_object() || !value.contains("file")) throw refused("bytes are an object with hex, or with file and length");
    const std::int64_t length = integer_member(value, "length", 0, INT32_MAX);
    const std::string where = path(value["file"]);
    const File file(where, O_RDONLY);
    struct stat about {};
    if (::fstat(*file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size != length)
        throw refused(where + " is no file of " + std::to_string(length) + " bytes");
    Bytes bytes(static_cast<std::size_t>(length));
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t got = ::read(*file, bytes.data() + done, bytes.size() - done);
        if (got > 0) done += static_cast<std::size_t>(got);
        if (got == 0) throw internal_error(where + " became shorter while it was read");
        if (got < 0 && errno != EINTR) throw internal_error(where + ": " + std::strerror(errno));
    }
    return bytes;
}

Json Scratch::bytes_to_json(const Bytes& bytes) {
    if (bytes.size() <= kLongestHex) return {{"hex", to_hex(bytes.data(), bytes.size())}};
    const std::string name = "lmclient-" + std::to_string(::getpid()) + "-" + std::to_string(++written_);
    const std::string where = path(name);
    const File file(where, O_WRONLY | O_CREAT | O_EXCL);
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t put = ::write(*file, bytes.data() + done, bytes.size() - done);
        if (put > 0) done += static_cast<std::size_t>(put);
        if (put < 0 && errno != EINTR) {
            const int error = errno;
            ::unlink(where.c_str());
            throw internal_error(where + ": " + std::strerror(error));
        }
    }
    return {{"file", name}, {"length", bytes.size()}};
}

void Scratch::discard_files(const Json& args) const {
    if (!args.is_object()) return;
    for (const Json& value : args) {
        if (!value.is_object() || !value.contains("file")) continue;
        try {
            ::unlink(path(value["file"]).c_str());
        } catch (const Failure&) {
            // No file of ours to delete.
        }
    }
}

}  // namespace lm
