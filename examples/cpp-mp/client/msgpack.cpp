#include "msgpack.hpp"

#include <cstring>

namespace mp {
namespace {

// Real messages nest three levels deep. A peer may send any bytes, and each level costs stack.
constexpr int kDeepest = 200;

class Writer {
  public:
    Bytes bytes;

    void operator()(Value::Nil) { byte(0xc0); }
    void operator()(bool value) { byte(value ? 0xc3 : 0xc2); }
    void operator()(std::int64_t value) {
        if (value >= 0) return (*this)(static_cast<std::uint64_t>(value));
        if (value >= -32) return byte(static_cast<std::uint8_t>(value));
        const int code = value >= INT8_MIN ? 0 : value >= INT16_MIN ? 1 : value >= INT32_MIN ? 2 : 3;
        byte(static_cast<std::uint8_t>(0xd0 + code));
        big_endian(static_cast<std::uint64_t>(value), 1 << code);
    }
    void operator()(std::uint64_t value) {
        if (value < 0x80) return byte(static_cast<std::uint8_t>(value));
        const int code = value <= UINT8_MAX ? 0 : value <= UINT16_MAX ? 1 : value <= UINT32_MAX ? 2 : 3;
        byte(static_cast<std::uint8_t>(0xcc + code));
        big_endian(value, 1 << code);
    }
    void operator()(double value) {
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        byte(0xcb);
        big_endian(bits, 8);
    }
    void operator()(const std::string& value) {
        if (value.size() < 32) {
            byte(static_cast<std::uint8_t>(0xa0 | value.size()));
        } else {
            length(value.size(), 0xd9);
        }
        bytes.insert(bytes.end(), value.begin(), value.end());
    }
    void operator()(const Bytes& value) {
        length(value.size(), 0xc4);
        bytes.insert(bytes.end(), value.begin(), value.end());
    }
    void operator()(const Value::Array& elements) {
        if (elements.size() < 16) {
            byte(static_cast<std::uint8_t>(0x90 | elements.size()));
        } else {
            count(elements.size(), 0xdc);
        }
        for (const Value& element : elements) std::visit(*this, element.held());
    }
    void operator()(const Value::Map& members) {
        if (members.size() < 16) {
            byte(static_cast<std::uint8_t>(0x80 | members.size()));
        } else {
            count(members.size(), 0xde);
        }
        for (const Member& member : members) {
            std::visit(*this, member.key.held());
            std::visit(*this, member.value.held());
        }
    }
    void operator()(const Ext& value) {
        switch (value.data.size()) {
            case 1: byte(0xd4); break;
            case 2: byte(0xd5); break;
            case 4: byte(0xd6); break;
            case 8: byte(0xd7); break;
            case 16: byte(0xd8); break;
            default: length(value.data.size(), 0xc7);
        }
        byte(static_cast<std::uint8_t>(value.type));
        bytes.insert(bytes.end(), value.data.begin(), value.data.end());
    }

  private:
    void byte(std::uint8_t value) { bytes.push_back(value); }
    void big_endian(std::uint64_t value, int size) {
        for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) byte(static_cast<std::uint8_t>(value >> shift));
    }
    // A length of 8, 16 or 32 bits behind the first of three codes.
    void length(std::size_t size, int code) {
        if (size > UINT32_MAX) throw refused("msgpack cannot hold " + std::to_string(size) + " bytes");
        const int wide = size <= UINT8_MAX ? 0 : size <= UINT16_MAX ? 1 : 2;
        byte(static_cast<std::uint8_t>(code + wide));
        big_endian(size, 1 << wide);
    }
    // A count of 16 or 32 bits behind the first of two codes.
    void count(std::size_t size, int code) {
        if (size > UINT32_MAX) throw refused("msgpack cannot hold " + std::to_string(size) + " elements");
        const int wide = size <= UINT16_MAX ? 0 : 1;
        byte(static_cast<std::uint8_t>(code + wide));
        big_endian(size, 2 << wide);
    }
};

bool is_utf8(const std::uint8_t* at, std::size_t size) {
    const std::uint8_t* end = at + size;
    while (at < end) {
        const std::uint8_t lead = *at;
        const int more = lead < 0x80 ? 0 : lead < 0xc2 ? -1 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : lead < 0xf5 ? 3 : -1;
        if (more < 0 || end - at <= more) return false;
        std::uint32_t point = more == 0 ? lead : lead & (0x3f >> more);
        for (int i = 1; i <= more; ++i) {
            if ((at[i] & 0xc0) != 0x80) return false;
            point = point << 6 | (at[i] & 0x3f);
        }
        if (more == 2 && (point < 0x800 || (point >= 0xd800 && point < 0xe000))) return false;
        if (more == 3 && (point < 0x10000 || point > 0x10ffff)) return false;
        at += more + 1;
    }
    return true;
}

class Reader {
  public:
    Reader(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}

    std::size_t left() const { return left_; }

    Value value(int depth) {
        if (depth > kDeepest) throw protocol_error("no msgpack value: nested more than " + std::to_string(kDeepest) + " levels deep");
        const auto code = static_cast<std::uint8_t>(number(1));
        if (code < 0x80) return std::int64_t{code};
        if (code < 0x90) return map(code & 0x0f, depth);
        if (code < 0xa0) return array(code & 0x0f, depth);
        if (code < 0xc0) return text(code & 0x1f);
        if (code >= 0xe0) return std::int64_t{static_cast<std::int8_t>(code)};
        switch (code) {
            case 0xc0: return {};
            case 0xc2: return false;
            case 0xc3: return true;
            case 0xc4: case 0xc5: case 0xc6: return bytes(number(1 << (code - 0xc4)));
            case 0xc7: case 0xc8: case 0xc9: return extension(number(1 << (code - 0xc7)));
            case 0xca: {
                const auto bits = static_cast<std::uint32_t>(number(4));
                float found;
                std::memcpy(&found, &bits, sizeof found);
                return static_cast<double>(found);
            }
            case 0xcb: {
                const std::uint64_t bits = number(8);
                double found;
                std::memcpy(&found, &bits, sizeof found);
                return found;
            }
            case 0xcc: case 0xcd: case 0xce: case 0xcf: return number(1 << (code - 0xcc));
            case 0xd0: return std::int64_t{static_cast<std::int8_t>(number(1))};
            case 0xd1: return std::int64_t{static_cast<std::int16_t>(number(2))};
            case 0xd2: return std::int64_t{static_cast<std::int32_t>(number(4))};
            case 0xd3: return static_cast<std::int64_t>(number(8));
            case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8: return extension(std::uint64_t{1} << (code - 0xd4));
            case 0xd9: case 0xda: case 0xdb: return text(number(1 << (code - 0xd9)));
            case 0xdc: case 0xdd: return array(number(2 << (code - 0xdc)), depth);
            case 0xde: case 0xdf: return map(number(2 << (code - 0xde)), depth);
            default: throw protocol_error("no msgpack value: nothing begins with the byte c1");
        }
    }

  private:
    const std::uint8_t* take(std::uint64_t size) {
        if (size > left_) throw protocol_error("no msgpack value: " + std::to_string(size - left_) + " bytes are missing at its end");
        const std::uint8_t* here = at_;
        at_ += size;
        left_ -= static_cast<std::size_t>(size);
        return here;
    }
    std::uint64_t number(int size) {
        const std::uint8_t* from = take(static_cast<std::uint64_t>(size));
        std::uint64_t found = 0;
        for (int i = 0; i < size; ++i) found = found << 8 | from[i];
        return found;
    }
    Value text(std::uint64_t size) {
        const std::uint8_t* from = take(size);
        if (!is_utf8(from, static_cast<std::size_t>(size))) throw protocol_error("no msgpack value: a text is no UTF-8");
        return std::string(reinterpret_cast<const char*>(from), static_cast<std::size_t>(size));
    }
    Value bytes(std::uint64_t size) {
        const std::uint8_t* from = take(size);
        return Bytes(from, from + size);
    }
    Value extension(std::uint64_t size) {
        const auto type = static_cast<std::int8_t>(number(1));
        const std::uint8_t* from = take(size);
        return Ext{type, Bytes(from, from + size)};
    }
    // Each element has at least one byte: a count that a message cannot hold is refused before room is made for it.
    void expect_elements(std::uint64_t count, std::uint64_t each) {
        if (count > left_ / each) throw protocol_error("no msgpack value: " + std::to_string(count) + " elements do not fit into what follows");
    }
    Value array(std::uint64_t count, int depth) {
        expect_elements(count, 1);
        Value::Array elements;
        elements.reserve(static_cast<std::size_t>(count));
        while (count-- > 0) elements.push_back(value(depth + 1));
        return elements;
    }
    Value map(std::uint64_t count, int depth) {
        expect_elements(count, 2);
        Value::Map members;
        members.reserve(static_cast<std::size_t>(count));
        while (count-- > 0) {
            Value key = value(depth + 1);
            members.push_back({std::move(key), value(depth + 1)});
        }
        return members;
    }

    const std::uint8_t* at_;
    std::size_t left_;
};

}  // namespace

Bytes pack(const Value& value) {
    Writer writer;
    std::visit(writer, value.held());
    return std::move(writer.bytes);
}

Value unpack(const std::uint8_t* data, std::size_t size) {
    Reader reader(data, size);
    Value value = reader.value(0);
    if (reader.left() != 0) throw protocol_error("no msgpack value: " + std::to_string(reader.left()) + " bytes follow it");
    return value;
}

}  // namespace mp
