#include "shared_memory.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mp {
namespace {

// Servers give the name with or without the slash that shm_open wants, and the name becomes part of a path.
std::string path_of(const std::string& name) {
    const std::string bare = name.substr(name.find('/') == 0 ? 1 : 0);
    if (bare.empty() || bare.find('/') != std::string::npos || bare.find('\0') != std::string::npos)
        throw refused("'" + name + "' is no name of a shared-memory segment");
    return "/" + bare;
}

}  // namespace

SharedMemory::SharedMemory(const std::string& name, std::int64_t size) {
    const std::string path = path_of(name);
    if (size <= 0) throw refused("the shared-memory segment " + path + " is said to have " + std::to_string(size) + " bytes");
    const int segment = ::shm_open(path.c_str(), O_RDWR | O_CLOEXEC, 0);
    if (segment < 0)
        throw refused("no shared memory " + path + " on this machine (" + std::strerror(errno) +
                               "): the server runs on another one, or has ended");
    struct stat about {};
    const bool known = ::fstat(segment, &about) == 0;
    // Pages that a segment does not have are a fatal signal at the first access, so a pool larger than its segment is not mapped.
    const bool fits = known && about.st_size >= size;
    void* mapped = fits ? ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, segment, 0) : MAP_FAILED;
    const int error = errno;
    ::close(segment);
    if (known && !fits)
        throw refused("the pool is said to have " + std::to_string(size) + " bytes, and its segment has " + std::to_string(about.st_size));
    if (mapped == MAP_FAILED) throw internal_error("cannot map " + path + ": " + std::strerror(error));
    data_ = static_cast<std::uint8_t*>(mapped);
    size_ = static_cast<std::size_t>(size);
}

// The segment belongs to the server: it is unmapped here and never unlinked.
SharedMemory::~SharedMemory() { ::munmap(data_, size_); }

bool SharedMemory::contains(std::int64_t offset, std::int64_t length) const {
    const auto size = static_cast<std::int64_t>(size_);
    // Subtraction, because offset + length may overflow.
    return offset >= 0 && length >= 0 && offset <= size && length <= size - offset;
}

Bytes SharedMemory::read(std::int64_t offset, std::int64_t length) const { return Bytes(data_ + offset, data_ + offset + length); }

void SharedMemory::write(std::int64_t offset, const Bytes& bytes) {
    if (!bytes.empty()) std::memcpy(data_ + offset, bytes.data(), bytes.size());
}

}  // namespace mp
