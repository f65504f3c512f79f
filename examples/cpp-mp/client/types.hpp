// The types of payloads and results, and whether a msgpack value is one.
//
//   int bool str bytes float   as they are called        map     a map with any members
//   T?      a T or nil                                   ext     an extension value of type 1, a KV tensor wrapper
//   [T]     an array of T                                {T: U}  a map from T to U
//   (T, U)  an array of exactly these                    Name    a record or an enumeration of records.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "release.hpp"
#include "value.hpp"

namespace mp {

struct Type {
    enum class Kind { integer, boolean, text, bytes, floating, map, ext, named, optional, array, tuple, dictionary };
    Kind kind;
    std::string name;         // as it is written above
    std::vector<Type> parts;  // of the last four kinds

    bool is(Kind other) const { return kind == other; }
};

// Types in a text that separates them by commas; std::logic_error where it is none, which is a mistake in a table.
std::vector<Type> parse_types(std::string_view text);
Type parse_type(std::string_view text);

// A value as lmcache of a release decodes it: unknown members dropped, defaults filled in. Class protocol where it has another type.
Value decoded(const Type& type, const Value& value, Release release);

// A value as lmcache of a release encodes it: every field of each record, in the order of the record, and none that the release does not
// have. Like lmcache's own encoder it writes what it is given in the place of a number or a text; class refused for what no record can hold.
Value encoded(const Type& type, const Value& value, Release release);

}  // namespace mp
