#include "connection.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "utf8.hpp"

namespace lm {
namespace {

// A list of keys longer than this would not fit into one line of the client protocol anyway.
constexpr std::int32_t kLongestList = 8 << 20;

std::string reason(int error) { return std::strerror(error); }

// True as soon as `events` hold, false after timeout_ms without them. Errors of the socket count as "ready": the next call reports them.
bool wait_for(int socket, short events, int timeout_ms) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd waiting{socket, events, 0};
        const int ready = ::poll(&waiting, 1, left > 0 ? static_cast<int>(left) : 0);
        if (ready > 0) return true;
        if (ready == 0) return false;
        // A signal interrupted the wait; go on with what is left of it.
        if (errno != EINTR) throw internal_error("poll: " + reason(errno));
    }
}

bool is_temporary(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// The one place where bytes are read. TCP is a stream: a header may arrive in any number of pieces, and one recv() returns what is
// there, not what was asked for. Hence the loop.
void read_exactly(int socket, std::uint8_t* into, std::size_t size, int timeout_ms) {
    std::size_t received = 0;
    while (received < size) {
        if (!wait_for(socket, POLLIN, timeout_ms))
            throw timed_out("nothing came for " + std::to_string(timeout_ms) + " ms, after " + std::to_string(received) + " of " +
                            std::to_string(size) + " bytes");
        const ssize_t got = ::recv(socket, into + received, size - received, 0);
        if (got > 0) received += static_cast<std::size_t>(got);
        if (got == 0)
            throw connection_error("the peer closed after " + std::to_string(received) + " of " + std::to_string(size) + " bytes");
        if (got < 0 && !is_temporary(errno)) throw connection_error("recv: " + reason(errno));
    }
}

void write_exactly(int socket, const std::uint8_t* from, std::size_t size, int timeout_ms) {
    std::size_t sent = 0;
    while (sent < size) {
        if (!wait_for(socket, POLLOUT, timeout_ms))
            throw timed_out("the peer took nothing for " + std::to_string(timeout_ms) + " ms, after " + std::to_string(sent) + " of " +
                            std::to_string(size) + " bytes");
        // MSG_NOSIGNAL: a peer that went away is an error here, not a SIGPIPE that kills the program.
        const ssize_t put = ::send(socket, from + sent, size - sent, MSG_NOSIGNAL);
        if (put > 0) sent += static_cast<std::size_t>(put);
        if (put < 0 && !is_temporary(errno)) throw connection_error("send: " + reason(errno));
    }
}

std::string describe(std::int32_t format, std::int32_t dtype, const WireShape& shape, std::int64_t length, Release release) {
    std::string text = format_name(format, release).value_or("?") + " " + dtype_name(dtype).value_or("no dtype") + " [";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
    return text + "] of " + std::to_string(length) + " bytes";
}

// Commands other than PUT carry no payload; the real client describes that nothing like this.
Description nothing() {
    Description about;
    about.format = kFormatKv2ltd;
    about.dtype = kDtypeFloat16;
    return about;
}

}  // namespace

Connection::Connection(std::string host, int port, Release release, int timeout_ms)
    : host_(std::move(host)), port_(port), release_(release), timeout_ms_(timeout_ms) {
    open();
}

void Connection::close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
}

void Connection::open() {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int failed = ::getaddrinfo(host_.c_str(), std::to_string(port_).c_str(), &hints, &found);
    if (failed) throw connection_error("cannot resolve " + host_ + ": " + gai_strerror(failed));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);

    const std::string where = host_ + " port " + std::to_string(port_);
    Failure last = connection_error("no address for " + where);
    for (const addrinfo* address = found; address; address = address->ai_next) {
        socket_ = ::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (socket_ < 0) {
            last = connection_error("socket: " + reason(errno));
            continue;
        }
        // A connect that does not block ends when the socket becomes writable; SO_ERROR then tells how.
        int error = ::connect(socket_, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
        bool in_time = true;
        if (error == EINPROGRESS || error == EINTR) {
            socklen_t size = sizeof error;
            in_time = wait_for(socket_, POLLOUT, timeout_ms_);
            if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
        }
        if (in_time && error == 0) {
            // Requests are small and each waits for its answer: do not let the kernel hold them back.
            const int yes = 1;
            ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
            // poll() calls a socket writable when a third of its buffer is free. Buffers grow to megabytes, and a slow peer would then
            // look like a stuck one.
            const int send_buffer = 256 * 1024;
            ::setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
            return;
        }
        last = in_time ? connection_error("cannot connect to " + where + ": " + reason(error)) : timed_out("no connection to " + where + " in time");
        close();
    }
    throw last;
}

// Between two requests nothing may be waiting to be read. If something is, it is the peer's farewell or bytes that belong to no request;
// either way the old connection is over, and this is the one moment where taking a new one is safe.
void Connection::make_ready() {
    if (is_open() && wait_for(socket_, POLLIN, 0)) close();
    if (!is_open()) open();
}

// Any failure in the middle of an exchange leaves bytes of unknown meaning behind, so the connection goes with it.
template <typename Exchange>
auto Connection::in_step_or_closed(Exchange exchange) {
    try {
        return exchange();
    } catch (...) {
        close();
        throw;
    }
}

void Connection::send_request(std::int32_t command, const std::string& key, const Description& about, const Bytes& payload) {
    const Bytes header = encode_request({command, key, about}, release_);
    make_ready();
    write_exactly(socket_, header.data(), header.size(), timeout_ms_);
    write_exactly(socket_, payload.data(), payload.size(), timeout_ms_);
}

Reply Connection::read_reply() {
    Bytes header(reply_size(release_));
    read_exactly(socket_, header.data(), header.size(), timeout_ms_);
    const Reply reply = decode_reply(header, release_);
    if (reply.about.length < 0) throw protocol_error("the reply promises " + std::to_string(reply.about.length) + " bytes");
    if (reply.code == kFail && reply.about.length != 0)
        throw protocol_error("the reply says FAIL and promises " + std::to_string(reply.about.length) + " bytes");
    return reply;
}

void Connection::put(const std::string& key, Description about, const Bytes& payload) {
    if (payload.size() > INT32_MAX) throw refused("a payload of " + std::to_string(payload.size()) + " bytes does not fit into the length field");
    about.length = static_cast<std::int32_t>(payload.size());
    encode_request({kPut, key, about}, release_);
    in_step_or_closed([&] { send_request(kPut, key, about, payload); });
}

std::optional<Bytes> Connection::get(const std::string& key, const Expectation& expect) {
    encode_request({kGet, key, nothing()}, release_);
    return in_step_or_closed([&]() -> std::optional<Bytes> {
        send_request(kGet, key, nothing(), {});
        const Reply reply = read_reply();
        if (reply.code == kFail) return std::nullopt;
        const Description& got = reply.about;
        // Everything is checked before a single byte of the payload is read or room is made for it.
        if (got.format != expect.format || got.dtype != expect.dtype || got.shape != expect.shape || got.length != expect.length)
            throw refused("expected " + describe(expect.format, expect.dtype, expect.shape, expect.length, release_) + ", the reply says " +
                          describe(got.format, got.dtype, got.shape, got.length, release_));
        Bytes payload(static_cast<std::size_t>(got.length));
        read_exactly(socket_, payload.data(), payload.size(), timeout_ms_);
        return payload;
    });
}

bool Connection::ask(std::int32_t command, const std::string& key) {
    encode_request({command, key, nothing()}, release_);
    return in_step_or_closed([&] {
        send_request(command, key, nothing(), {});
        const Reply reply = read_reply();
        if (reply.about.length != 0)
            throw protocol_error("a reply without payload promises " + std::to_string(reply.about.length) + " bytes");
        return reply.code == kSuccess;
    });
}

bool Connection::exist(const std::string& key) { return ask(kExist, key); }

bool Connection::health(const std::string& key) { return ask(kHealth, key); }

// Real servers stay silent. The wait ends in a timeout, and the connection with it: an answer that comes late would be taken for the
// answer to the next request.
std::vector<std::string> Connection::list(const std::string& key) {
    return in_step_or_closed([&] {
        send_request(kList, key, nothing(), {});
        const Reply reply = read_reply();
        if (reply.code == kFail) throw protocol_error("LIST was answered with FAIL");
        if (reply.about.length > kLongestList)
            throw refused("a list of " + std::to_string(reply.about.length) + " bytes; this client reads up to " + std::to_string(kLongestList));
        Bytes body(static_cast<std::size_t>(reply.about.length));
        read_exactly(socket_, body.data(), body.size(), timeout_ms_);
        const std::string text(body.begin(), body.end());
        if (!is_utf8(text)) throw protocol_error("the list of keys is not UTF-8");
        std::vector<std::string> keys;
        for (std::size_t start = 0; start < text.size();) {
            const std::size_t end = std::min(text.find('\n', start), text.size());
            keys.push_back(text.substr(start, end - start));
            start = end + 1;
        }
        return keys;
    });
}

}  // namespace lm
