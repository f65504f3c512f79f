// Operations of the multiprocess server: which number each has, what it takes and what it gives, release by release.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "types.hpp"

namespace mp {

struct Operation {
    std::string name;  // upstream's, in capitals
    Value number;      // what its frame holds: an integer, or a text for the operations that 0.5.6 added
    std::vector<Type> payloads;
    std::optional<Type> result;  // none: the reply ends behind the operation
};

// Null where the release does not have it.
const Operation* find_operation(std::string_view name, Release release);

// Class refused where the release does not have it.
const Operation& operation_named(std::string_view name, Release release);

// What a server of this release executes for the frame of an operation; class protocol where that is nothing.
const Operation& operation_numbered(const Value& number, Release release);

}  // namespace mp
