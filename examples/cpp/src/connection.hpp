// One lm:// connection: sockets, bounded waits, and the rule that a connection is either in step or closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frames.hpp"

namespace lm {

struct Expectation {
    std::int32_t format, dtype;
    WireShape shape;
    std::int64_t length;  // what format, dtype and shape amount to, in bytes
};

class Connection {
  public:
    // Connects at once. Class connection or timeout where that fails.
    Connection(std::string host, int port, Release release, int timeout_ms);
    ~Connection() { close(); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    Release release() const { return release_; }
    bool is_open() const { return socket_ >= 0; }
    void close();

    void put(const std::string& key, Description about, const Bytes& payload);
    // The payload, or nothing for a miss.
    std::optional<Bytes> get(const std::string& key, const Expectation& expect);
    bool exist(const std::string& key);
    bool health(const std::string& key);
    std::vector<std::string> list(const std::string& key);

  private:
    void open();
    void make_ready();
    void send_request(std::int32_t command, const std::string& key, const Description& about, const Bytes& payload);
    Reply read_reply();
    bool ask(std::int32_t command, const std::string& key);
    template <typename Exchange>
    auto in_step_or_closed(Exchange exchange);

    std::string host_;
    int port_;
    Release release_;
    int timeout_ms_;
    int socket_ = -1;
};

}  // namespace lm
