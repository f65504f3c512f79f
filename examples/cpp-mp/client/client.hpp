// A client of the multiprocess server: one connection, one request at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared_memory.hpp"
#include "socket.hpp"

namespace mp {

// What a request is about: tokens [start, end) of a prompt, on one rank or on all.
struct Key {
    std::string model_name;
    std::int64_t world_size = 1;
    std::optional<std::int64_t> worker_id;  // none: all ranks
    std::vector<std::int64_t> tokens;       // from the first one of the prompt, whatever start is
    std::int64_t start = 0, end = 0;
    std::string request_id;
    std::string cache_salt;
    Value request_configs;            // nil, or a map
    std::int64_t num_kv_readers = 1;  // how many workers will retrieve each object: so many read locks a lookup takes
};

// How the engine lays out a chunk: [2 (K and V; not with use_mla)] x num_layers x tokens x hidden_dim_size elements, row-major.
struct Context {
    std::string model_name;
    std::int64_t world_size = 1, block_size = 16, num_layers = 1, hidden_dim_size = 1;
    std::string dtype;  // as torch names it: "float16"
    bool use_mla = false;

    std::vector<std::int64_t> chunk_shape(std::int64_t tokens) const;
    std::int64_t chunk_bytes(std::int64_t tokens) const;
};

class Client {
  public:
    // timeout bounds each method as a whole, all its requests and polls together.
    Client(const std::string& host, int port, Release release, std::chrono::milliseconds timeout);

    Release release() const { return release_; }

    std::string noop();
    bool ping(std::optional<std::int64_t> instance);
    std::int64_t chunk_size();
    // Throws everything away that nobody has locked; by force, also what is locked (from 0.5.6 on).
    void clear(bool force = false);

    // Says who this is and how its chunks look, and maps the server's pool. The size of the pool, 0 where the server shares none.
    std::int64_t register_context(std::int64_t instance, const Context& context);
    void unregister(std::int64_t instance);

    // What follows is about the whole chunks in [start, end); start must be at the beginning of one. Tokens behind the last whole chunk are
    // left out, and where there is none, nothing is sent.

    // One buffer for each chunk. False if the server did not take them.
    bool store(std::int64_t instance, const Key& key, const std::vector<Bytes>& chunks);
    // How many chunks the server has, counted from the first token on, on all ranks. They stay locked for the readers that the key announces: each one
    // retrieves, or whoever looked up frees the locks.
    std::int64_t lookup(const Key& key, std::int64_t tp_size);
    // The bytes of each chunk of a key that was looked up; nothing if the server has one of them no longer.
    std::optional<std::vector<Bytes>> retrieve(std::int64_t instance, const Key& key);
    void free_locks(const Key& key, std::int64_t tp_size);
    void end_session(const std::string& request_id);

  private:
    // An instance that this connection registered.
    struct Registration {
        Context context;
        std::unique_ptr<SharedMemory> pool;  // null where the server shares no memory
    };
    // A key whose end is at a whole chunk.
    struct Range {
        Key key;
        std::int64_t chunks;
    };

    Deadline deadline() const { return Clock::now() + timeout_; }
    const Operation& operation(std::string_view name) const;
    const Operation& either(std::string_view name, std::string_view earlier) const;
    Bytes send(const Operation& operation, const std::vector<Value>& payloads, Deadline until);
    Value answer_to(const Bytes& uid, const Operation& operation, Deadline until);
    Value ask(const Operation& operation, const std::vector<Value>& payloads, Deadline until);
    Value ask(std::string_view name, const std::vector<Value>& payloads, Deadline until);
    std::int64_t chunk_size(Deadline until);
    Range whole_chunks(const Key& key, Deadline until);
    Value key_record(const Key& key) const;
    std::optional<Value> record_for_all_ranks(const Key& key, Deadline until);
    const Registration& registered(std::int64_t instance) const;
    std::vector<std::int64_t> slots(const Value& response, const Registration& registration) const;
    void give_back(const Operation& commit, const std::vector<Value>& payloads, Deadline until);
    bool write_slots(const Value& response, const Registration& registration, const std::vector<Bytes>& chunks) const;
    std::vector<Bytes> read_slots(const Value& response, const Registration& registration) const;
    std::vector<Bytes> read_pickle(const Value& response, const Registration& registration) const;

    Release release_;
    std::chrono::milliseconds timeout_;
    Socket socket_;
    std::uint64_t next_uid_ = 0;
    std::optional<std::int64_t> chunk_size_;  // once it was asked for
    std::map<std::int64_t, Registration> registrations_;
};

}  // namespace mp
