// Whole numbers of any size, as far as hashes need them: Python's integers have no limit, and chunk hashes are Python integers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "failure.hpp"

namespace lm {

class Integer {
  public:
    Integer() = default;
    Integer(std::int64_t value);

    // Digits with an optional minus sign, nothing else. Base 10 or 16.
    static std::optional<Integer> parse(std::string_view text, unsigned base);
    static Integer from_big_endian(const std::uint8_t* bytes, std::size_t size);

    std::string to_text(unsigned base) const;
    std::optional<std::int64_t> to_int64() const;
    bool is_negative() const { return negative_; }
    bool is_zero() const { return limbs_.empty(); }

    // The absolute value in as few big-endian bytes as possible; empty for zero.
    Bytes magnitude() const;
    // The absolute value modulo 2^61 - 1, the prime that CPython reduces integers by.
    std::uint64_t magnitude_mod_mersenne61() const;

  private:
    void multiply_add(std::uint32_t factor, std::uint32_t summand);
    std::uint32_t divide(std::uint32_t divisor);

    bool negative_ = false;
    std::vector<std::uint32_t> limbs_;  // least significant first, no leading zeros at the end
};

// Python's int(text, base): white space around, a sign, single underscores between digits, a "0x" before base 16, and the decimal
// digits of every script. All of these name the same key on a real server. Empty result: Python would raise ValueError.
std::optional<Integer> python_int(std::string_view text, unsigned base);

// Python's str.strip() and str.rstrip() without arguments; `text` is UTF-8.
std::string python_strip(std::string_view text);
std::string python_strip_right(std::string_view text);

// Python's str.isdigit(), restricted to digits that int() accepts.
bool all_decimal_digits(std::string_view text);

}  // namespace lm
