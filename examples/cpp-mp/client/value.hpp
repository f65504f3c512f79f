// A msgpack value.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "failure.hpp"

namespace mp {

struct Member;

// An extension value: on this wire, a wrapper of a KV tensor. It is bytes to this library, which never looks inside.
struct Ext {
    std::int8_t type;
    Bytes data;
};

class Value {
  public:
    using Nil = std::monostate;
    using Array = std::vector<Value>;
    using Map = std::vector<Member>;  // in the order of the wire

    Value() = default;
    Value(bool value) : held_(value) {}
    Value(int value) : held_(std::int64_t{value}) {}
    Value(std::int64_t value) : held_(value) {}
    // Integers up to 2^63 - 1 are held as signed ones, whatever they came as.
    Value(std::uint64_t value) {
        if (value <= INT64_MAX) {
            held_ = static_cast<std::int64_t>(value);
        } else {
            held_ = value;
        }
    }
    Value(double value) : held_(value) {}
    Value(const char* value) : held_(std::string(value)) {}
    Value(std::string value) : held_(std::move(value)) {}
    Value(Bytes value) : held_(std::move(value)) {}
    Value(Array value) : held_(std::move(value)) {}
    Value(Map value) : held_(std::move(value)) {}
    Value(Ext value) : held_(std::move(value)) {}

    template <typename T>
    const T* as() const {
        return std::get_if<T>(&held_);
    }
    bool is_nil() const { return std::holds_alternative<Nil>(held_); }
    bool is_integer() const { return as<std::int64_t>() || as<std::uint64_t>(); }

    // What it is, for messages.
    const char* kind() const;
    // The value of a map under a text key; null where there is none, or where this is no map. The last of two wins.
    const Value* find(std::string_view key) const;

    const auto& held() const { return held_; }

  private:
    std::variant<Nil, bool, std::int64_t, std::uint64_t, double, std::string, Bytes, Array, Map, Ext> held_;
};

struct Member {
    Value key, value;
};

inline const char* Value::kind() const {
    static constexpr const char* kNames[] = {"nil", "a boolean", "an integer", "an integer", "a float",
                                             "a text", "bytes", "an array", "a map", "an extension value"};
    return kNames[held_.index()];
}

inline const Value* Value::find(std::string_view key) const {
    const Value* found = nullptr;
    if (const auto* members = as<Map>()) {
        for (const Member& member : *members) {
            const auto* name = member.key.as<std::string>();
            if (name && *name == key) found = &member.value;
        }
    }
    return found;
}

}  // namespace mp
