#include "keys.hpp"

#include <algorithm>

namespace lm {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::size_t start = 0;
    for (;;) {
        const std::size_t end = text.find(separator, start);
        parts.push_back(text.substr(start, end == std::string::npos ? end : end - start));
        if (end == std::string::npos) return parts;
        start = end + 1;
    }
}

void require_no_at(const std::string& text, const char* what) {
    if (text.find('@') != std::string::npos)
        throw refused(std::string("the ") + what + " '" + text + "' contains '@', which separates the fields of a key");
}

std::string hash_text(const Hash& hash, const KeyGrammar& grammar, Release release) {
    if (grammar.written == HashText::opaque) {
        if (const auto* text = std::get_if<std::string>(&hash)) return require_no_at(*text, "hash"), *text;
        throw refused("keys of " + release.name() + " carry a hash as opaque text");
    }
    if (const auto* number = std::get_if<Integer>(&hash)) return number->to_text(grammar.written == HashText::hex ? 16 : 10);
    if (const auto* digest = std::get_if<Bytes>(&hash)) {
        if (!grammar.takes_digests) throw refused("keys of " + release.name() + " cannot carry a hash of bytes, only an integer");
        if (digest->empty()) throw refused("a hash of no bytes leaves an empty field in the key, which no server can read");
        return to_hex(digest->data(), digest->size());
    }
    throw refused("keys of " + release.name() + " carry a hash as an integer, not as text");
}

std::int64_t small_int(const std::string& text, const char* what) {
    const auto number = python_int(text, 10);
    if (!number) throw protocol_error(std::string("the ") + what + " '" + text + "' of the key is no integer");
    const auto value = number->to_int64();
    // Legal for Python, absurd for us.
    if (!value) throw refused(std::string("the ") + what + " '" + text + "' of the key does not fit into 64 bits");
    return *value;
}

}  // namespace

std::string to_hex(const std::uint8_t* bytes, std::size_t size) {
    std::string text;
    text.reserve(size * 2);
    for (std::size_t i = 0; i < size; ++i) {
        text += "0123456789abcdef"[bytes[i] >> 4];
        text += "0123456789abcdef"[bytes[i] & 15];
    }
    return text;
}

std::string format_key(const Key& key, Release release) {
    const KeyGrammar& grammar = at(kKeyGrammar, release);
    std::string text;
    if (grammar.has_engine) {
        if (!key.engine) throw refused("keys of " + release.name() + " begin with the engine's name, and fmt is null");
        require_no_at(*key.engine, "fmt");
        text += *key.engine + '@';
    } else if (key.engine) {
        throw refused("keys of " + release.name() + " have no fmt");
    }
    require_no_at(key.model, "model name");
    text += key.model + '@' + std::to_string(key.world_size) + '@' + std::to_string(key.worker_id) + '@';
    text += hash_text(key.chunk_hash, grammar, release);
    if (grammar.has_dtype) {
        const auto dtype = key.dtype ? key_dtype_text(*key.dtype, release) : std::nullopt;
        if (!dtype) throw refused("keys of " + release.name() + " carry a dtype, and there is no name for " + key.dtype.value_or("null"));
        text += '@' + *dtype;
    } else if (key.dtype) {
        throw refused("keys of " + release.name() + " have no dtype");
    }
    if (key.layer) {
        if (*key.layer < 0) throw refused("a negative layer reads back as a tag");
        text += '@' + std::to_string(*key.layer);
    }
    if (!key.tags.empty() && !grammar.has_tags) throw refused("keys of " + release.name() + " have no tags");
    for (auto tag = key.tags.begin(); tag != key.tags.end(); ++tag) {
        require_no_at(tag->first, "tag name");
        require_no_at(tag->second, "tag value");
        if (tag->first.find('%') != std::string::npos) throw refused("the tag name '" + tag->first + "' contains '%', which ends a tag name");
        const auto same_name = [tag](const auto& other) { return other.first == tag->first; };
        if (std::any_of(key.tags.begin(), tag, same_name)) throw refused("the tag '" + tag->first + "' occurs twice");
        text += '@' + tag->first + '%' + tag->second;
    }
    return text;
}

Key parse_key(const std::string& text, Release release, ReadBy reader) {
    const KeyGrammar& grammar = at(kKeyGrammar, release);
    const std::vector<std::string> parts = split(text, '@');
    const std::size_t fields = 4 + (grammar.has_engine ? 1 : 0) + (grammar.has_dtype ? 1 : 0);
    const auto wrong_count = [&] {
        return protocol_error("the key '" + text + "' has " + std::to_string(parts.size()) + " fields, and " + release.name() + " wants " +
                              std::to_string(fields));
    };
    if (parts.size() < fields) throw wrong_count();
    auto part = parts.begin();
    Key key;
    if (grammar.has_engine) key.engine = *part++;
    key.model = *part++;
    key.world_size = small_int(*part++, "world size");
    key.worker_id = small_int(*part++, "worker id");
    if (grammar.read == HashText::opaque) {
        key.chunk_hash = *part++;
    } else {
        const auto hash = python_int(*part, grammar.read == HashText::hex ? 16 : 10);
        if (!hash) throw protocol_error("the hash '" + *part + "' of the key is no integer");
        key.chunk_hash = *hash;
        ++part;
    }
    if (grammar.has_dtype) {
        key.dtype = key_dtype_name(*part, release);
        if (!key.dtype) throw protocol_error("the key has an unknown dtype '" + *part + "'");
        ++part;
    }
    if ((grammar.reads_layers || reader == ReadBy::any_class) && part != parts.end()) {
        // Upstream looks at a copy of the key without white space at its ends.
        const bool last = part + 1 == parts.end();
        if (all_decimal_digits(last ? python_strip_right(*part) : *part)) key.layer = small_int(*part++, "layer");
    }
    if (part != parts.end() && !grammar.has_tags) throw wrong_count();
    for (; part != parts.end(); ++part) {
        const std::size_t percent = part->find('%');
        if (percent == std::string::npos) throw protocol_error("'" + *part + "' in the key is no tag: it has no '%'");
        std::string name = part->substr(0, percent), value = part->substr(percent + 1);
        if (name.compare(0, grammar.tag_mark.size(), grammar.tag_mark) != 0) continue;
        name.erase(0, grammar.tag_mark.size());
        // Upstream collects tags in a dictionary: a repeated name keeps its first place and takes the last value.
        const auto known = std::find_if(key.tags.begin(), key.tags.end(), [&](const auto& tag) { return tag.first == name; });
        if (known != key.tags.end()) {
            known->second = value;
        } else {
            key.tags.emplace_back(name, value);
        }
    }
    return key;
}

}  // namespace lm
