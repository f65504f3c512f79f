#pragma once

#include <cstddef>
#include <string_view>

namespace lm {

constexpr char32_t kNotUtf8 = 0xffffffff;

// Takes one code point from the front of `rest`, which must not be empty. kNotUtf8 (and one byte taken) where the bytes are not
// well-formed: overlong forms, surrogates and numbers past 10ffff included, as in Python's strict decoder.
inline char32_t next_code_point(std::string_view& rest) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
    const unsigned char lead = byte(0);
    const std::size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    char32_t value = size == 1 ? lead : size == 2 ? lead & 0x1f : size == 3 ? lead & 0x0f : lead & 0x07;
    bool good = size != 0 && rest.size() >= size;
    for (std::size_t i = 1; good && i < size; ++i) {
        good = (byte(i) & 0xc0) == 0x80;
        value = value << 6 | (byte(i) & 0x3f);
    }
    if (good && size == 3) good = value >= 0x800 && (value < 0xd800 || value > 0xdfff);
    if (good && size == 4) good = value >= 0x10000 && value <= 0x10ffff;
    rest.remove_prefix(good ? size : 1);
    return good ? value : kNotUtf8;
}

inline bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        if (next_code_point(text) == kNotUtf8) return false;
    }
    return true;
}

}  // namespace lm
