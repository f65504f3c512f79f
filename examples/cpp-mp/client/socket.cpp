#include "socket.hpp"

#include <algorithm>
#include <cerrno>

#include <zmq.h>

namespace mp {
namespace {

// Frames of the data path are small, because data crosses in shared memory. ZeroMQ drops the connection of a peer that sends more than this.
constexpr std::int64_t kLargestFrame = 64 << 20;
constexpr int kReconnectMs = 20, kSlowestReconnectMs = 1000;

std::string reason() { return zmq_strerror(zmq_errno()); }

// One context with one thread for all sockets of this process; it ends with the last of them.
std::shared_ptr<void> shared_context() {
    static std::weak_ptr<void> current;
    std::shared_ptr<void> context = current.lock();
    if (!context) {
        context = std::shared_ptr<void>(zmq_ctx_new(), [](void* made) {
            while (made && zmq_ctx_term(made) != 0 && zmq_errno() == EINTR) {
            }
        });
        if (!context) throw internal_error("zmq_ctx_new: " + reason());
        current = context;
    }
    return context;
}

void set(void* socket, int option, int value) {
    if (zmq_setsockopt(socket, option, &value, sizeof value) != 0) throw internal_error("zmq_setsockopt: " + reason());
}

// A message of ZeroMQ that closes itself.
struct Part {
    Part() { zmq_msg_init(&message); }
    ~Part() { zmq_msg_close(&message); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    zmq_msg_t message;
};

}  // namespace

Socket::Socket(const std::string& host, int port) : context_(shared_context()) {
    const bool is_ipv6 = host.find(':') != std::string::npos && host.front() != '[';
    endpoint_ = "tcp://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
    socket_ = zmq_socket(context_.get(), ZMQ_DEALER);
    if (!socket_) throw internal_error("zmq_socket: " + reason());
    try {
        set(socket_, ZMQ_IPV6, 1);
        // Without this, requests to a server that is not there wait in a queue, and are executed whenever it comes back: long after the
        // caller gave up, a CLEAR among them.
        set(socket_, ZMQ_IMMEDIATE, 1);
        set(socket_, ZMQ_LINGER, 0);
        set(socket_, ZMQ_RECONNECT_IVL, kReconnectMs);
        set(socket_, ZMQ_RECONNECT_IVL_MAX, kSlowestReconnectMs);
        if (zmq_setsockopt(socket_, ZMQ_MAXMSGSIZE, &kLargestFrame, sizeof kLargestFrame) != 0) throw internal_error("zmq_setsockopt: " + reason());
        if (zmq_connect(socket_, endpoint_.c_str()) != 0) throw connection_error("cannot connect to " + endpoint_ + ": " + reason());
    } catch (...) {
        zmq_close(socket_);
        throw;
    }
}

Socket::~Socket() { zmq_close(socket_); }

bool Socket::wait_for(short events, Deadline deadline) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        zmq_pollitem_t item{socket_, 0, events, 0};
        const int ready = zmq_poll(&item, 1, std::max<long>(0, static_cast<long>(left)));
        if (ready > 0) return true;
        if (ready == 0 && left <= 0) return false;
        if (ready < 0 && zmq_errno() != EINTR) throw internal_error("zmq_poll: " + reason());
    }
}

void Socket::send(const Frames& frames, Deadline deadline) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const int flags = ZMQ_DONTWAIT | (i + 1 < frames.size() ? ZMQ_SNDMORE : 0);
        while (zmq_send(socket_, frames[i].data(), frames[i].size(), flags) < 0) {
            if (zmq_errno() != EAGAIN && zmq_errno() != EINTR) throw connection_error("cannot send to " + endpoint_ + ": " + reason());
            if (!wait_for(ZMQ_POLLOUT, deadline)) throw connection_error("no connection to " + endpoint_);
        }
    }
}

std::optional<Frames> Socket::receive(Deadline deadline) {
    Frames frames;
    for (bool more = true; more;) {
        // The frames of one message arrive together, so only the first one is waited for.
        if (frames.empty() && !wait_for(ZMQ_POLLIN, deadline)) return std::nullopt;
        Part part;
        if (zmq_msg_recv(&part.message, socket_, ZMQ_DONTWAIT) < 0) {
            if (zmq_errno() == EAGAIN || zmq_errno() == EINTR) continue;
            throw connection_error("cannot receive from " + endpoint_ + ": " + reason());
        }
        const auto* data = static_cast<const std::uint8_t*>(zmq_msg_data(&part.message));
        frames.emplace_back(data, data + zmq_msg_size(&part.message));
        more = zmq_msg_more(&part.message) != 0;
    }
    return frames;
}

}  // namespace mp
