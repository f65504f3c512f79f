#include "integer.hpp"

#include <algorithm>
#include <iterator>

#include "utf8.hpp"

namespace lm {
namespace {

// CPython refuses longer decimal texts; the limit also keeps the quadratic conversion below cheap.
constexpr std::size_t kMostDigits = 4300;

int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

// The zeros of every script's decimal digits (Unicode category Nd); each is followed by its one to nine.
constexpr char32_t kZeros[] = {
    0x30,    0x660,   0x6f0,   0x7c0,   0x966,   0x9e6,   0xa66,   0xae6,   0xb66,   0xbe6,   0xc66,   0xce6,   0xd66,   0xde6,
    0xe50,   0xed0,   0xf20,   0x1040,  0x1090,  0x17e0,  0x1810,  0x1946,  0x19d0,  0x1a80,  0x1a90,  0x1b50,  0x1bb0,  0x1c40,
    0x1c50,  0xa620,  0xa8d0,  0xa900,  0xa9d0,  0xa9f0,  0xaa50,  0xabf0,  0xff10,  0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136,
    0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0,
    0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0};

std::optional<char> decimal_digit(char32_t c) {
    const auto* after = std::upper_bound(std::begin(kZeros), std::end(kZeros), c);
    if (after == std::begin(kZeros) || c - after[-1] > 9) return std::nullopt;
    return static_cast<char>('0' + (c - after[-1]));
}

// What str.strip() takes away. int() is narrower: it does not skip 1c to 1f.
bool is_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

template <typename Space>
std::string_view trim(std::string_view text, Space space, bool left_too) {
    // Positions of the first code point that stays, and of the end of the last one.
    std::size_t first = text.size(), last = 0;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t start = text.size() - rest.size();
        if (space(next_code_point(rest))) continue;
        first = std::min(first, start);
        last = text.size() - rest.size();
    }
    if (!left_too) first = 0;
    return first < last ? text.substr(first, last - first) : std::string_view();
}

}  // namespace

Integer::Integer(std::int64_t value) : negative_(value < 0) {
    std::uint64_t rest = negative_ ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    for (; rest != 0; rest >>= 32) limbs_.push_back(static_cast<std::uint32_t>(rest));
}

std::optional<Integer> Integer::parse(std::string_view text, unsigned base) {
    Integer result;
    const bool negative = !text.empty() && text[0] == '-';
    if (negative) text.remove_prefix(1);
    if (text.empty() || text.size() > kMostDigits) return std::nullopt;
    for (char c : text) {
        const unsigned value = static_cast<unsigned>(digit_value(c));
        if (value >= base) return std::nullopt;
        result.multiply_add(base, value);
    }
    result.negative_ = negative && !result.is_zero();
    return result;
}

Integer Integer::from_big_endian(const std::uint8_t* bytes, std::size_t size) {
    Integer result;
    for (std::size_t i = 0; i < size; ++i) result.multiply_add(256, bytes[i]);
    return result;
}

std::string Integer::to_text(unsigned base) const {
    Integer rest = *this;
    std::string digits;
    while (!rest.is_zero()) digits += "0123456789abcdef"[rest.divide(base)];
    if (digits.empty()) digits = "0";
    if (negative_) digits += '-';
    std::reverse(digits.begin(), digits.end());
    return digits;
}

std::optional<std::int64_t> Integer::to_int64() const {
    if (limbs_.size() > 2) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = limbs_.size(); i-- > 0;) value = (value << 32) | limbs_[i];
    const std::uint64_t largest = static_cast<std::uint64_t>(INT64_MAX) + (negative_ ? 1 : 0);
    if (value > largest) return std::nullopt;
    return static_cast<std::int64_t>(negative_ ? 0 - value : value);
}

Bytes Integer::magnitude() const {
    Bytes bytes;
    for (std::size_t i = limbs_.size(); i-- > 0;) {
        for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(limbs_[i] >> shift));
    }
    bytes.erase(bytes.begin(), std::find_if(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b != 0; }));
    return bytes;
}

std::uint64_t Integer::magnitude_mod_mersenne61() const {
    constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
    std::uint64_t value = 0;
    for (std::size_t i = limbs_.size(); i-- > 0;) {
        // Times 2^32 modulo 2^61 - 1 is a rotation of 61 bits.
        value = ((value << 32) & kPrime) | (value >> 29);
        value += limbs_[i];
        if (value >= kPrime) value -= kPrime;
    }
    return value;
}

void Integer::multiply_add(std::uint32_t factor, std::uint32_t summand) {
    std::uint64_t carry = summand;
    for (std::uint32_t& limb : limbs_) {
        carry += static_cast<std::uint64_t>(limb) * factor;
        limb = static_cast<std::uint32_t>(carry);
        carry >>= 32;
    }
    if (carry != 0) limbs_.push_back(static_cast<std::uint32_t>(carry));
}

std::uint32_t Integer::divide(std::uint32_t divisor) {
    std::uint64_t rest = 0;
    for (std::size_t i = limbs_.size(); i-- > 0;) {
        rest = (rest << 32) | limbs_[i];
        limbs_[i] = static_cast<std::uint32_t>(rest / divisor);
        rest %= divisor;
    }
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
    return static_cast<std::uint32_t>(rest);
}

std::optional<Integer> python_int(std::string_view text, unsigned base) {
    std::string plain;
    const std::string_view stripped = trim(text, [](char32_t c) { return is_space(c) && (c < 0x1c || c > 0x1f); }, true);
    for (std::string_view rest = stripped; !rest.empty();) {
        const char32_t c = next_code_point(rest);
        if (auto digit = decimal_digit(c)) {
            plain += *digit;
        } else if (c < 0x80) {
            plain += static_cast<char>(c);
        } else {
            return std::nullopt;
        }
    }
    std::string_view rest = plain;
    std::string digits;
    if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) {
        if (rest[0] == '-') digits = "-";
        rest.remove_prefix(1);
    }
    if (base == 16 && rest.size() >= 2 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X')) {
        rest.remove_prefix(2);
        if (!rest.empty() && rest[0] == '_') rest.remove_prefix(1);
    }
    if (rest.empty() || rest.front() == '_' || rest.back() == '_' || rest.find("__") != std::string_view::npos) return std::nullopt;
    if (rest.front() == '-') return std::nullopt;
    std::copy_if(rest.begin(), rest.end(), std::back_inserter(digits), [](char c) { return c != '_'; });
    return Integer::parse(digits, base);
}

std::string python_strip(std::string_view text) { return std::string(trim(text, is_space, true)); }

std::string python_strip_right(std::string_view text) { return std::string(trim(text, is_space, false)); }

bool all_decimal_digits(std::string_view text) {
    if (text.empty()) return false;
    for (std::string_view rest = text; !rest.empty();) {
        if (!decimal_digit(next_code_point(rest))) return false;
    }
    return true;
}

}  // namespace lm
