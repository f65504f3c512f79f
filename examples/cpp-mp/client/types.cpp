#include "types.hpp"

#include <algorithm>

#include "msgpack.hpp"
#include "records.hpp"

namespace mp {
namespace {

using Kind = Type::Kind;

constexpr std::int8_t kWrapper = 1;  // the extension type of KV tensor wrappers

struct Scalar {
    std::string_view name;
    Kind kind;
};
constexpr Scalar kScalars[] = {{"int", Kind::integer}, {"bool", Kind::boolean}, {"str", Kind::text}, {"bytes", Kind::bytes},
                               {"float", Kind::floating}, {"map", Kind::map}, {"ext", Kind::ext}};

class TypeReader {
  public:
    explicit TypeReader(std::string_view text) : text_(text), rest_(text) {}

    std::vector<Type> list(char end) {
        std::vector<Type> types;
        while (!skip(end)) {
            if (!types.empty()) expect(',');
            types.push_back(one());
        }
        return types;
    }
    Type one() {
        Type type = bare();
        while (skip('?')) type = compound(Kind::optional, {type}, type.name + "?");
        return type;
    }

  private:
    Type bare() {
        if (skip('[')) {
            Type element = one();
            expect(']');
            return compound(Kind::array, {element}, "[" + element.name + "]");
        }
        if (skip('{')) {
            Type key = one();
            expect(':');
            Type value = one();
            expect('}');
            return compound(Kind::dictionary, {key, value}, "{" + key.name + ": " + value.name + "}");
        }
        if (skip('(')) {
            std::vector<Type> parts = list(')');
            std::string name;
            for (const Type& part : parts) name += (name.empty() ? "(" : ", ") + part.name;
            return compound(Kind::tuple, parts, name + ")");
        }
        const std::size_t length = std::min(rest_.find_first_of("[](){}:,? "), rest_.size());
        if (length == 0) throw std::logic_error("no type: " + std::string(text_));
        const std::string name(rest_.substr(0, length));
        rest_.remove_prefix(length);
        for (const Scalar& scalar : kScalars) {
            if (scalar.name == name) return compound(scalar.kind, {}, name);
        }
        return compound(Kind::named, {}, name);
    }
    static Type compound(Kind kind, std::vector<Type> parts, std::string name) { return {kind, std::move(name), std::move(parts)}; }

    // '\0' stands for the end of the text.
    bool skip(char wanted) {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
        if (rest_.empty()) return wanted == '\0';
        if (rest_.front() != wanted) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void expect(char wanted) {
        if (!skip(wanted)) throw std::logic_error("no type: " + std::string(text_));
    }

    std::string_view text_, rest_;
};

// Until then wrappers of KV tensors are pickles, from then on maps of plain data.
constexpr Era<bool> kWrappersAreData[] = {{"0.3.9.post1", false}, {"0.5.6", true}};

// Pickles are programs: none is ever loaded here. This looks whether it is a whole one that names a class at all.
bool is_wrapper_pickle(const Bytes& data) {
    constexpr std::uint8_t kProtocol = 0x80, kStackGlobal = 0x93;
    return data.size() > 3 && data.front() == kProtocol && data.back() == '.' &&
           (std::count(data.begin(), data.end(), kStackGlobal) || std::count(data.begin(), data.end(), 'c'));
}

// Walks a type and a value together.
class Walk {
  public:
    Walk(Release release, bool encodes) : release_(release), encodes_(encodes) {}

    Value value(const Type& type, const Value& given) const {
        switch (type.kind) {
            case Kind::optional: return given.is_nil() ? Value() : value(type.parts[0], given);
            case Kind::array: return array(type, given);
            case Kind::tuple: return tuple(type, given);
            case Kind::dictionary: return dictionary(type, given);
            case Kind::named: return named(type, given);
            case Kind::integer: return integer(type, given);
            case Kind::boolean: return only_if(given.as<bool>(), type, given);
            case Kind::text: return only_if(given.as<std::string>(), type, given);
            case Kind::bytes: return only_if(given.as<Bytes>(), type, given);
            case Kind::map: return only_if(given.as<Value::Map>(), type, given);
            case Kind::floating: return floating(type, given);
            case Kind::ext: return extension(type, given);
        }
        throw internal_error("a type of no kind");
    }

  private:
    Failure failure(const std::string& message) const { return encodes_ ? refused(message) : protocol_error(message); }
    Failure mismatch(const Type& type, const Value& given) const {
        return failure(std::string(given.kind()) + " where " + type.name + " was expected");
    }

    Value only_if(bool fits, const Type& type, const Value& given) const {
        if (!fits && !encodes_) throw mismatch(type, given);
        return given;
    }

    // The same, and a failure inside says where it was.
    Value inside(const Type& type, const Value& given, const std::string& place) const {
        try {
            return value(type, given);
        } catch (const Failure& inner) {
            throw Failure(inner.error_class, place + ": " + inner.what());
        }
    }

    Value array(const Type& type, const Value& given) const {
        const auto* elements = given.as<Value::Array>();
        if (!elements) return only_if(false, type, given);
        Value::Array found;
        found.reserve(elements->size());
        for (const Value& element : *elements) found.push_back(value(type.parts[0], element));
        return found;
    }

    Value tuple(const Type& type, const Value& given) const {
        const auto* elements = given.as<Value::Array>();
        if (!elements || elements->size() != type.parts.size()) return only_if(false, type, given);
        Value::Array found;
        for (std::size_t i = 0; i < elements->size(); ++i) found.push_back(value(type.parts[i], (*elements)[i]));
        return found;
    }

    Value dictionary(const Type& type, const Value& given) const {
        const auto* members = given.as<Value::Map>();
        if (!members) return only_if(false, type, given);
        Value::Map found;
        for (const Member& member : *members) found.push_back({key(type.parts[0], member.key), value(type.parts[1], member.value)});
        return found;
    }

    // Callers that have maps from JSON have texts for keys, also where these are integers.
    Value key(const Type& type, const Value& given) const {
        const auto* digits = given.as<std::string>();
        const bool is_number = digits && !digits->empty() && digits->size() < 19 && digits->find_first_not_of("0123456789") == std::string::npos;
        return encodes_ && type.is(Kind::integer) && is_number ? Value(static_cast<std::int64_t>(std::stoll(*digits))) : value(type, given);
    }

    Value integer(const Type& type, const Value& given) const {
        // What is a float here was an integer too large for 64 bits when it came from JSON: as a float it would be another number.
        if (given.as<double>()) throw mismatch(type, given);
        return only_if(given.is_integer(), type, given);
    }

    Value floating(const Type& type, const Value& given) const {
        if (encodes_ || given.as<double>()) return given;
        if (const auto* number = given.as<std::int64_t>()) return static_cast<double>(*number);
        if (const auto* number = given.as<std::uint64_t>()) return static_cast<double>(*number);
        throw mismatch(type, given);
    }

    Value extension(const Type& type, const Value& given) const {
        const Ext* found = given.as<Ext>();
        if (!found || found->type != kWrapper) throw mismatch(type, given);
        const bool is_data = *at(kWrappersAreData, release_);
        if (!encodes_ && !(is_data ? unpack(found->data).find("type") != nullptr : is_wrapper_pickle(found->data)))
            throw failure("an extension value that is no wrapper of a KV tensor");
        return given;
    }

    Value named(const Type& type, const Value& given) const {
        if (const auto* values = find_enumeration(type.name, release_)) {
            const auto* text = given.as<std::string>();
            if (!text || std::find(values->begin(), values->end(), *text) == values->end()) throw mismatch(type, given);
            return given;
        }
        // Arrays are refused: lmcache reads records by field name alone.
        if (!given.as<Value::Map>()) throw mismatch(type, given);
        const Record* record = find_record(type.name, release_);
        if (!record) throw failure("lmcache " + release_.name() + " has no record " + type.name);
        Value::Map found;
        for (const Field& field : *record) {
            if (const Value* member = given.find(field.name)) {
                found.push_back({field.name, inside(field.type, *member, type.name + "." + field.name)});
            } else if (field.fallback) {
                found.push_back({field.name, *field.fallback});
            } else {
                throw failure("a " + type.name + " without " + field.name);
            }
        }
        Value whole(std::move(found));
        check_salt(whole);
        return whole;
    }

    // A salt becomes part of the names of objects, in which these characters separate things.
    void check_salt(const Value& record) const {
        const Value* member = record.find("cache_salt");
        if (!member) return;
        const auto& salt = *member->as<std::string>();
        if (salt.find_first_of(std::string_view("@/\\\0", 4)) != std::string::npos) throw failure("cache_salt has one of @ / \\ NUL in it");
        const auto begins_character = [](char byte) { return (byte & 0xc0) != 0x80; };
        if (std::count_if(salt.begin(), salt.end(), begins_character) > 128) throw failure("cache_salt has more than 128 characters");
    }

    Release release_;
    bool encodes_;
};

}  // namespace

std::vector<Type> parse_types(std::string_view text) { return TypeReader(text).list('\0'); }

Type parse_type(std::string_view text) {
    std::vector<Type> types = parse_types(text);
    if (types.size() != 1) throw std::logic_error("not one type: " + std::string(text));
    return types.front();
}

Value decoded(const Type& type, const Value& value, Release release) { return Walk(release, false).value(type, value); }
Value encoded(const Type& type, const Value& value, Release release) { return Walk(release, true).value(type, value); }

}  // namespace mp
