// Records: msgpack maps by field name. Unknown members are ignored, those with a default may be missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "types.hpp"

namespace mp {

struct Field {
    std::string name;
    Type type;
    std::optional<Value> fallback;  // what stands for a missing member; none: it must be there
};

using Record = std::vector<Field>;  // in the order in which lmcache writes them

// Null where the release has no record of this name.
const Record* find_record(std::string_view name, Release release);
// The texts that an enumeration of this name has; null where the release has none.
const std::vector<std::string>* find_enumeration(std::string_view name, Release release);

}  // namespace mp
