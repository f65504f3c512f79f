// A ZeroMQ DEALER that sends and receives whole messages, with a deadline for each wait.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "messages.hpp"

namespace mp {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

class Socket {
  public:
    // Connects in the background: a server that is not there shows when something is to be sent.
    Socket(const std::string& host, int port);
    ~Socket();
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    // Class connection if there is no connection to the server until the deadline.
    void send(const Frames& frames, Deadline deadline);
    // The next message; nothing if none came until the deadline.
    std::optional<Frames> receive(Deadline deadline);

  private:
    bool wait_for(short events, Deadline deadline);

    std::string endpoint_;
    std::shared_ptr<void> context_;
    void* socket_;
};

}  // namespace mp
