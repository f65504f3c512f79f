// The pool that a server shares: a POSIX shared-memory segment of its machine, mapped into this process.
#pragma once

#include <cstddef>
#include <string>

#include "failure.hpp"

namespace mp {

class SharedMemory {
  public:
    // Maps what the server named. Class protocol for a name or size that no segment can have, connection where there is no such segment here.
    SharedMemory(const std::string& name, std::int64_t size);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    std::size_t size() const { return size_; }

    // Both take a slot that contains() accepted, and no other.
    bool contains(std::int64_t offset, std::int64_t length) const;
    Bytes read(std::int64_t offset, std::int64_t length) const;
    void write(std::int64_t offset, const Bytes& bytes);

  private:
    std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace mp
