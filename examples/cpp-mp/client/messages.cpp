#include "messages.hpp"

#include <cmath>

namespace mp {
namespace {

// A payload or result that is an integer or a boolean as a whole is converted by Python's int() and bool(), on both sides.
constexpr Era<bool> kNumbersAreConverted[] = {{"0.3.9.post1", false}, {"0.4.7", true}};

bool is_true(const Value& value) {
    struct Truth {
        bool operator()(Value::Nil) const { return false; }
        bool operator()(bool found) const { return found; }
        bool operator()(std::int64_t number) const { return number != 0; }
        bool operator()(std::uint64_t) const { return true; }
        bool operator()(double number) const { return number != 0; }
        bool operator()(const std::string& text) const { return !text.empty(); }
        bool operator()(const Bytes& bytes) const { return !bytes.empty(); }
        bool operator()(const Value::Array& elements) const { return !elements.empty(); }
        bool operator()(const Value::Map& members) const { return !members.empty(); }
        bool operator()(const Ext&) const { return true; }
    };
    return std::visit(Truth{}, value.held());
}

// int() of a text: blanks around it, a sign, digits, and single underscores between digits.
std::optional<std::int64_t> integer_in(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\n\r\f\v";
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return std::nullopt;
    text = text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
    const bool negative = text.front() == '-';
    if (negative || text.front() == '+') text.remove_prefix(1);
    std::int64_t number = 0;
    bool after_digit = false;
    for (char letter : text) {
        if (letter == '_' && after_digit) {
            after_digit = false;
            continue;
        }
        if (letter < '0' || letter > '9' || number > (INT64_MAX - 9) / 10) return std::nullopt;
        number = 10 * number + (letter - '0');
        after_digit = true;
    }
    if (!after_digit) return std::nullopt;
    return negative ? -number : number;
}

// Nothing where Python would raise.
std::optional<Value> converted(const Type& type, const Value& value, Release release) {
    if (!*at(kNumbersAreConverted, release)) return value;
    if (type.is(Type::Kind::boolean)) return Value(is_true(value));
    if (!type.is(Type::Kind::integer)) return value;
    if (value.is_integer()) return value;
    if (const bool* truth = value.as<bool>()) return Value(*truth ? 1 : 0);
    if (const double* number = value.as<double>(); number && std::fabs(*number) < 9e18) return Value(static_cast<std::int64_t>(*number));
    std::optional<std::int64_t> found;
    if (const auto* text = value.as<std::string>()) found = integer_in(*text);
    if (const auto* bytes = value.as<Bytes>()) found = integer_in({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
    return found ? std::optional<Value>(*found) : std::nullopt;
}

Bytes encode_value(const Type& type, const Value& value, Release release) {
    const auto number = converted(type, value, release);
    if (!number) throw refused(std::string(value.kind()) + " cannot be converted to " + type.name);
    return pack(encoded(type, *number, release));
}

Value decode_value(const Type& type, const Bytes& frame, Release release) {
    const Value value = unpack(frame);
    const auto number = converted(type, value, release);
    if (!number) throw protocol_error(std::string(value.kind()) + " cannot be converted to " + type.name);
    return decoded(type, *number, release);
}

std::string expectation(const Operation& operation, std::size_t count) {
    std::string wanted;
    for (const Type& type : operation.payloads) wanted += (wanted.empty() ? "" : ", ") + type.name;
    return operation.name + " takes " + std::to_string(operation.payloads.size()) + " payloads (" + wanted + "), there are " + std::to_string(count);
}

}  // namespace

Frames encode_request(const Operation& operation, const std::vector<Value>& payloads, Release release) {
    if (payloads.size() != operation.payloads.size()) throw refused(expectation(operation, payloads.size()));
    Frames frames{pack(operation.number)};
    for (std::size_t i = 0; i < payloads.size(); ++i) frames.push_back(encode_value(operation.payloads[i], payloads[i], release));
    return frames;
}

Request decode_request(const Frames& frames, Release release) {
    if (frames.empty()) throw protocol_error("a request without an operation");
    Request request{operation_numbered(unpack(frames[0]), release), {}};
    const auto& types = request.operation.payloads;
    if (frames.size() - 1 != types.size()) throw protocol_error(expectation(request.operation, frames.size() - 1));
    for (std::size_t i = 0; i < types.size(); ++i) request.payloads.push_back(decode_value(types[i], frames[i + 1], release));
    return request;
}

Frames encode_reply(const Operation& operation, const Value& result, Release release) {
    Frames frames{pack(operation.number)};
    // A nil result has no frame of its own.
    if (operation.result && !result.is_nil()) frames.push_back(encode_value(*operation.result, result, release));
    return frames;
}

Value decode_reply(const Operation& operation, const Frames& frames, Release release) {
    if (frames.empty()) throw protocol_error("a reply to " + operation.name + " has no frame behind its uid");
    // The echo of what was sent. A server that executed something else says so here, and nowhere else.
    if (&operation_numbered(unpack(frames[0]), release) != &operation) throw protocol_error("a reply to " + operation.name + " names another operation");
    if (frames.size() == 1) return {};
    if (operation.result) return decode_value(*operation.result, frames[1], release);
    if (!unpack(frames[1]).is_nil()) throw protocol_error("a reply to " + operation.name + " has a result, and it gives none");
    return {};
}

}  // namespace mp
