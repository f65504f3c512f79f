// The pool that a server shares: a POSIX shared-memory segment of its machine, mapped into this process.
#pragma once

#include <cstddef>
#include <string>

#include "failure.hpp"

namespace mp {

class SharedMemory {
  public:
    // Maps what the server named. Class refused where that is no segment of this machine, or a smaller one.
    SharedMemory(const std::string& name, std::int64_t size);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    std::size_t size() const { return size_; }

    bool contains(std::int64_t offset, std::int64_t length) const;
    // Both take a slot that contains() accepted, and no other.
    Bytes read(std::int64_t offset, std::int64_t length) const;
    void write(std::int64_t offset, const Bytes& bytes);

  private:
    std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace mp
