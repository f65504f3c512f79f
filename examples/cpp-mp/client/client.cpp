#include "client.hpp"

#include <algorithm>
#include <thread>

#include "pickles.hpp"
#include "records.hpp"

namespace mp {
namespace {

// A lookup that reads from a slower tier takes its time. Polls begin close together and slow down.
constexpr std::chrono::milliseconds kFirstPoll{1}, kSlowestPoll{50};

template <typename T>
const T& result(const Value& value, const char* what) {
    const T* found = value.as<T>();
    if (!found) throw protocol_error(std::string(what) + " came as " + value.kind());
    return *found;
}

std::int64_t integer(const Value& record, const char* name) {
    const Value* found = record.find(name);
    if (!found || !found->as<std::int64_t>()) throw protocol_error(std::string("a slot without an integer ") + name);
    return *found->as<std::int64_t>();
}

struct Dtype {
    std::string_view name;
    int size;
};
constexpr Dtype kDtypes[] = {{"float16", 2}, {"bfloat16", 2}, {"float32", 4}, {"float64", 8}, {"uint8", 1}, {"int8", 1},
                             {"float8_e4m3fn", 1}, {"float8_e4m3fnuz", 1}, {"float8_e5m2", 1}, {"float8_e5m2fnuz", 1}};

constexpr std::int64_t kLargestDimension = 1 << 20;

int element_size(const std::string& name) {
    for (const Dtype& dtype : kDtypes) {
        if (dtype.name == name) return dtype.size;
    }
    throw refused("this client does not know the size of a " + name);
}

// Null where the context of a response has none: the server does not share memory.
const Value::Array* array_in(const Value& response, const char* name) {
    const Value* context = response.find("context");
    const Value* found = context ? context->find(name) : nullptr;
    return found ? found->as<Value::Array>() : nullptr;
}

}  // namespace

std::vector<std::int64_t> Context::chunk_shape(std::int64_t tokens) const {
    return use_mla ? std::vector<std::int64_t>{num_layers, tokens, hidden_dim_size} : std::vector<std::int64_t>{2, num_layers, tokens, hidden_dim_size};
}

std::int64_t Context::chunk_bytes(std::int64_t tokens) const {
    std::int64_t bytes = element_size(dtype);
    for (std::int64_t dimension : chunk_shape(tokens)) bytes *= dimension;
    return bytes;
}

Client::Client(const std::string& host, int port, Release release, std::chrono::milliseconds timeout)
    : release_(release), timeout_(timeout), socket_(host, port) {}

// What the release does not have must not be sent: its number is another operation there.
const Operation& Client::operation(std::string_view name) const {
    const Operation* found = find_operation(name, release_);
    if (!found) throw Unsupported("lmcache " + release_.name() + " has no operation " + std::string(name));
    return *found;
}

// An operation that upstream renamed.
const Operation& Client::either(std::string_view name, std::string_view earlier) const {
    const Operation* found = find_operation(earlier, release_);
    return found ? *found : operation(name);
}

Value Client::ask(std::string_view name, const std::vector<Value>& payloads, Deadline until) { return ask(operation(name), payloads, until); }

// Returns the uid that the reply will have. No two requests of a connection have the same one.
Bytes Client::send(const Operation& operation, const std::vector<Value>& payloads, Deadline until) {
    // Everything that can be refused is refused before the first byte is sent.
    Frames request = encode_request(operation, payloads, release_);
    const Bytes uid = pack(next_uid_++);
    request.insert(request.begin(), uid);
    socket_.send(request, until);
    return uid;
}

Value Client::ask(const Operation& operation, const std::vector<Value>& payloads, Deadline until) {
    return answer_to(send(operation, payloads, until), operation, until);
}

Value Client::answer_to(const Bytes& uid, const Operation& operation, Deadline until) {
    while (auto reply = socket_.receive(until)) {
        // The answer to a request that was given up, or to none at all: whatever it says, it is not about this one.
        if (reply->front() != uid) continue;
        reply->erase(reply->begin());
        return decode_reply(operation, *reply, release_);
    }
    throw timed_out("no reply to " + operation.name + " within " + std::to_string(timeout_.count()) + " ms");
}

std::int64_t Client::chunk_size(Deadline until) {
    const Value answer = ask("GET_CHUNK_SIZE", {}, until);
    chunk_size_ = result<std::int64_t>(answer, "the chunk size");
    if (*chunk_size_ < 1) {
        chunk_size_.reset();
        throw protocol_error("the chunk size is not positive");
    }
    return *chunk_size_;
}

Client::Range Client::whole_chunks(const Key& key, Deadline until) {
    const std::int64_t size = chunk_size_ ? *chunk_size_ : chunk_size(until);
    if (key.start < 0 || key.start % size != 0) throw refused("start is " + std::to_string(key.start) + ", and chunks of " + std::to_string(size) + " tokens begin at their multiples");
    // Some servers hash a last chunk that is not whole, others are silent.
    if (key.end < key.start || key.end > static_cast<std::int64_t>(key.tokens.size())) throw refused("end is " + std::to_string(key.end) + ", and the range has to end between its start and the last token");
    Range range{key, 0};
    range.key.end = std::max(key.start, key.end - key.end % size);
    range.chunks = (range.key.end - key.start) / size;
    return range;
}

Value Client::key_record(const Key& key) const {
    const Record* fields = find_record("Key", release_);
    const auto has = [&](std::string_view name) {
        return std::any_of(fields->begin(), fields->end(), [&](const Field& field) { return field.name == name; });
    };
    if (!has("token_ids")) throw Unsupported("keys of lmcache " + release_.name() + " hold the hash of an engine, not tokens");
    // Left out, it would mix what the salt keeps apart.
    if (!key.cache_salt.empty() && !has("cache_salt")) throw refused("keys of lmcache " + release_.name() + " cannot hold a cache_salt");
    return Value::Map{{"model_name", key.model_name},
                      {"world_size", key.world_size},
                      {"worker_id", key.worker_id ? Value(*key.worker_id) : Value()},
                      {"token_ids", Value::Array(key.tokens.begin(), key.tokens.end())},
                      {"start", key.start},
                      {"end", key.end},
                      {"request_id", key.request_id},
                      {"cache_salt", key.cache_salt},
                      {"request_configs", key.request_configs},
                      {"num_kv_readers", key.num_kv_readers}};
}

std::string Client::noop() { return result<std::string>(ask("NOOP", {}, deadline()), "the text of NOOP"); }

bool Client::ping(std::optional<std::int64_t> instance) {
    const Operation& ping = operation("PING");
    // Until 0.4.7 it took no instance.
    std::vector<Value> payloads;
    if (!ping.payloads.empty()) payloads.push_back(instance ? Value(*instance) : Value());
    return result<bool>(ask(ping, payloads, deadline()), "the answer to PING");
}

std::int64_t Client::chunk_size() { return chunk_size(deadline()); }

void Client::clear(bool force) {
    const Operation& clear = operation("CLEAR");
    ask(clear, clear.payloads.empty() ? std::vector<Value>{} : std::vector<Value>{force}, deadline());
}

std::int64_t Client::register_context(std::int64_t instance, const Context& context) {
    const Operation& operation = either("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "REGISTER_KV_CACHE_NON_GPU_CONTEXT");
    element_size(context.dtype);
    for (std::int64_t dimension : {context.num_layers, context.hidden_dim_size}) {
        if (dimension < 1 || dimension > kLargestDimension) throw refused("num_layers and hidden_dim_size are from 1 to " + std::to_string(kLargestDimension));
    }
    const Value record = Value::Map{{"instance_id", instance},
                                    {"model_name", context.model_name},
                                    {"world_size", context.world_size},
                                    {"block_size", context.block_size},
                                    {"num_layers", context.num_layers},
                                    {"hidden_dim_size", context.hidden_dim_size},
                                    {"dtype_str", context.dtype},
                                    {"use_mla", context.use_mla}};
    const Value reply = ask(operation, {record}, deadline());
    // A server that was started again has another pool, perhaps under the same name: what was mapped before is worth nothing.
    registrations_.erase(instance);
    const Value* name = reply.find("shm_name");
    const Value* size = reply.find("pool_size");
    std::unique_ptr<SharedMemory> pool;
    if (name && size && !name->as<std::string>()->empty())
        pool = std::make_unique<SharedMemory>(*name->as<std::string>(), result<std::int64_t>(*size, "the size of the pool"));
    const auto& registration = registrations_[instance] = {context, std::move(pool)};
    return registration.pool ? static_cast<std::int64_t>(registration.pool->size()) : 0;
}

void Client::unregister(std::int64_t instance) {
    ask(either("UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "UNREGISTER_KV_CACHE_NON_GPU_CONTEXT"), {instance}, deadline());
    registrations_.erase(instance);
}

const Client::Registration& Client::registered(std::int64_t instance) const {
    const auto found = registrations_.find(instance);
    if (found == registrations_.end()) throw refused("instance " + std::to_string(instance) + " is not registered on this connection");
    const Registration& registration = found->second;
    if (!registration.pool && !can_be_pickled(registration.context.dtype))
        throw Unsupported("the server shares no memory, and this client has no pickles of " + registration.context.dtype);
    return registration;
}

// Where in the pool the chunks of a response are. All slots are checked before a byte in one of them is touched.
std::vector<std::int64_t> Client::slots(const Value& response, const Registration& registration) const {
    const Value::Array* found = array_in(response, "slots");
    if (!found) throw protocol_error("the response has no slots");
    const std::int64_t bytes = registration.context.chunk_bytes(*chunk_size_);
    std::vector<std::int64_t> offsets;
    for (const Value& slot : *found) {
        const std::int64_t offset = integer(slot, "offset"), length = integer(slot, "length");
        if (length != bytes) throw protocol_error("a slot has " + std::to_string(length) + " bytes, and a chunk " + std::to_string(bytes));
        if (!registration.pool->contains(offset, length))
            throw protocol_error("a slot of " + std::to_string(length) + " bytes at " + std::to_string(offset) + " is not inside the pool of " +
                                 std::to_string(registration.pool->size()) + " bytes");
        offsets.push_back(offset);
    }
    return offsets;
}

// False where there is nothing to write: the server has every chunk already.
bool Client::write_slots(const Value& response, const Registration& registration, const std::vector<Bytes>& chunks) const {
    const std::vector<std::int64_t> offsets = slots(response, registration);
    if (offsets.empty()) return false;
    // There is no slot for a chunk that the server has: chunk_indices says which chunk each slot is for.
    const Value::Array* indices = array_in(response, "chunk_indices");
    if (!indices || indices->size() != offsets.size()) throw protocol_error("slots and chunk_indices are not equally many");
    std::vector<const Bytes*> sources;
    for (const Value& index : *indices) {
        const auto* position = index.as<std::int64_t>();
        if (!position || *position < 0 || *position >= static_cast<std::int64_t>(chunks.size())) throw protocol_error("a chunk index is not one of a chunk");
        const Bytes* source = &chunks[static_cast<std::size_t>(*position)];
        if (std::find(sources.begin(), sources.end(), source) != sources.end()) throw protocol_error("a chunk index is there twice");
        sources.push_back(source);
    }
    for (std::size_t i = 0; i < offsets.size(); ++i) registration.pool->write(offsets[i], *sources[i]);
    return true;
}

bool Client::store(std::int64_t instance, const Key& key, const std::vector<Bytes>& chunks) {
    const Operation &prepare = operation("PREPARE_STORE"), &commit = operation("COMMIT_STORE");
    const Registration& registration = registered(instance);
    const Deadline until = deadline();
    const Range range = whole_chunks(key, until);
    if (range.chunks != static_cast<std::int64_t>(chunks.size()))
        throw refused("the key has " + std::to_string(range.chunks) + " whole chunks, and there are " + std::to_string(chunks.size()) + " buffers");
    const std::int64_t bytes = registration.context.chunk_bytes(*chunk_size_);
    for (const Bytes& chunk : chunks) {
        if (static_cast<std::int64_t>(chunk.size()) != bytes)
            throw refused("a buffer has " + std::to_string(chunk.size()) + " bytes, and a chunk " + std::to_string(bytes));
    }
    if (chunks.empty()) return true;

    const Value record = key_record(range.key);
    const Value response = ask(prepare, {record, instance}, until);
    // With shared memory the commit has no data of its own: it only says that the slots are written.
    Bytes data;
    if (registration.pool) {
        if (!write_slots(response, registration, chunks)) return true;
    } else {
        std::vector<Tensor> tensors;
        for (const Bytes& chunk : chunks) tensors.push_back({registration.context.dtype, registration.context.chunk_shape(*chunk_size_), chunk});
        data = pickle(tensors);
    }
    return result<bool>(ask(commit, {record, instance, data}, until), "the answer to COMMIT_STORE");
}

// Locks are those of all ranks: with the rank of one, the other ranks' objects are neither looked for nor given back.
std::optional<Value> Client::record_for_all_ranks(const Key& key, Deadline until) {
    key_record(key);
    Range range = whole_chunks(key, until);
    if (range.chunks == 0) return std::nullopt;
    range.key.worker_id.reset();
    return key_record(range.key);
}

std::int64_t Client::lookup(const Key& key, std::int64_t tp_size) {
    const Operation& lookup = operation("LOOKUP");
    const Deadline until = deadline();
    const auto record = record_for_all_ranks(key, until);
    if (!record) return 0;
    std::vector<Value> payloads{lookup.payloads[0].is(Type::Kind::array) ? Value(Value::Array{*record}) : *record};
    if (lookup.payloads.size() > 1) payloads.emplace_back(tp_size);
    const Value started = ask(lookup, payloads, until);

    // Until 0.3.15 the answer is there at once.
    const Operation* query = find_operation("QUERY_PREFETCH_STATUS", release_);
    if (!query) return result<std::int64_t>(started, "the number of hits");
    // The lookup goes on in the server: under an id that it gave, or from 0.4.4 on under the request's.
    const Value id = query->payloads[0].is(Type::Kind::integer) ? started : Value(key.request_id);
    for (auto pause = kFirstPoll;; pause = std::min(2 * pause, kSlowestPoll)) {
        const Value hits = ask(*query, {id}, until);
        if (!hits.is_nil()) return result<std::int64_t>(hits, "the number of hits");
        if (Clock::now() + pause >= until) throw timed_out("the lookup did not end within " + std::to_string(timeout_.count()) + " ms");
        std::this_thread::sleep_for(pause);
    }
}

std::vector<Bytes> Client::read_slots(const Value& response, const Registration& registration) const {
    std::vector<Bytes> chunks;
    for (std::int64_t offset : slots(response, registration))
        chunks.push_back(registration.pool->read(offset, registration.context.chunk_bytes(*chunk_size_)));
    return chunks;
}

std::vector<Bytes> Client::read_pickle(const Value& response, const Registration& registration) const {
    const Value* data = response.find("data");
    if (!data) throw protocol_error("the response has no data");
    std::vector<Bytes> chunks;
    for (Tensor& tensor : unpickle(result<Bytes>(*data, "data"))) {
        if (tensor.dtype != registration.context.dtype || tensor.shape != registration.context.chunk_shape(*chunk_size_))
            throw protocol_error("a tensor is not laid out as a chunk of this instance");
        chunks.push_back(std::move(tensor.data));
    }
    return chunks;
}

// Sends a commit for its effect alone. Its answer is waited for while there is time, and changes nothing.
void Client::give_back(const Operation& commit, const std::vector<Value>& payloads, Deadline until) {
    try {
        ask(commit, payloads, until);
    } catch (const Failure&) {
    }
}

std::optional<std::vector<Bytes>> Client::retrieve(std::int64_t instance, const Key& key) {
    const Operation &prepare = operation("PREPARE_RETRIEVE"), &commit = operation("COMMIT_RETRIEVE");
    const Registration& registration = registered(instance);
    const Deadline until = deadline();
    const Range range = whole_chunks(key, until);
    if (range.chunks == 0) return std::vector<Bytes>{};
    const std::vector<Value> payloads{key_record(range.key), instance};

    std::vector<Bytes> chunks;
    bool sent = false;
    try {
        const Bytes uid = send(prepare, payloads, until);
        sent = true;
        const Value response = answer_to(uid, prepare, until);
        const Value* success = response.find("success");
        if (!success) throw protocol_error("no answer to PREPARE_RETRIEVE");
        if (!*success->as<bool>()) return std::nullopt;
        chunks = registration.pool ? read_slots(response, registration) : read_pickle(response, registration);
        if (static_cast<std::int64_t>(chunks.size()) != range.chunks)
            throw protocol_error("there are " + std::to_string(chunks.size()) + " chunks, and asked for were " + std::to_string(range.chunks));
    } catch (const Failure&) {
        // Whatever went wrong, the server may hold read locks until the commit.
        if (sent) give_back(commit, payloads, until);
        throw;
    }
    if (!result<bool>(ask(commit, payloads, until), "the answer to COMMIT_RETRIEVE")) throw protocol_error("the server did not end the retrieve");
    return chunks;
}

void Client::free_locks(const Key& key, std::int64_t tp_size) {
    const Operation& free = operation("FREE_LOOKUP_LOCKS");
    const Deadline until = deadline();
    if (const auto record = record_for_all_ranks(key, until)) ask(free, {*record, tp_size}, until);
}

void Client::end_session(const std::string& request_id) { ask("END_SESSION", {request_id}, deadline()); }

}  // namespace mp
