// Releases of lmcache that have the multiprocess server. What differs between them stands in tables, one row for each change.
#pragma once

#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "failure.hpp"

namespace mp {

// Oldest first.
inline constexpr std::string_view kReleases[] = {
    "0.3.9.post1", "0.3.9.post2", "0.3.10", "0.3.10.post1", "0.3.10.post2", "0.3.11", "0.3.12", "0.3.13", "0.3.14", "0.3.15", "0.4.1",
    "0.4.2",       "0.4.3",       "0.4.4",  "0.4.5",        "0.4.6",        "0.4.7",  "0.5.0",  "0.5.1",  "0.5.2",  "0.5.3",  "0.5.4",
    "0.5.5",       "0.5.6",
};

// A position in kReleases: later releases compare greater.
struct Release {
    int index;
    std::string name() const { return std::string(kReleases[index]); }
};

// The position of a release that a table names; a misspelled one does not compile where the table is constexpr.
constexpr int release_index(std::string_view name) {
    int index = 0;
    for (std::string_view release : kReleases) {
        if (release == name) return index;
        ++index;
    }
    throw std::logic_error("no such release");
}

inline Release find_release(std::string_view name) {
    int index = 0;
    for (std::string_view release : kReleases) {
        if (release == name) return Release{index};
        ++index;
    }
    throw Unsupported("this client has no tables for lmcache " + std::string(name) + "; it has them for " + std::string(kReleases[0]) + " to " +
                      std::string(*std::rbegin(kReleases)));
}

// One row of a table: this value holds from this release until the next row's.
template <typename T>
struct Era {
    constexpr Era(std::string_view since, T value) : first(release_index(since)), value(std::move(value)) {}
    int first;
    T value;
};

// The value for a release; nothing for one that is older than the first row.
template <typename Table>
constexpr auto at(const Table& table, Release release) {
    decltype(&std::begin(table)->value) found = nullptr;
    for (const auto& era : table) {
        if (era.first <= release.index) found = &era.value;
    }
    return found;
}

}  // namespace mp
