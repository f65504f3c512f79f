#include "types.hpp"

#include <algorithm>

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

// Walks a type and a value together. Both directions check the same things and differ in what a record becomes.
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
            case Kind::integer: return given.is_integer() ? given : throw mismatch(type, given);
            case Kind::boolean: return given.as<bool>() ? given : throw mismatch(type, given);
            case Kind::text: return given.as<std::string>() ? given : throw mismatch(type, given);
            case Kind::bytes: return given.as<Bytes>() ? given : throw mismatch(type, given);
            case Kind::map: return given.as<Value::Map>() ? given : throw mismatch(type, given);
            case Kind::floating: return floating(type, given);
            case Kind::ext: {
                const Ext* found = given.as<Ext>();
                return found && found->type == kWrapper ? given : throw mismatch(type, given);
            }
        }
        throw internal_error("a type of no kind");
    }

  private:
    Failure failure(const std::string& message) const { return encodes_ ? refused(message) : protocol_error(message); }
    Failure mismatch(const Type& type, const Value& given) const {
        return failure(std::string(given.kind()) + " where " + type.name + " was expected");
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
        if (!elements) throw mismatch(type, given);
        Value::Array found;
        found.reserve(elements->size());
        for (const Value& element : *elements) found.push_back(value(type.parts[0], element));
        return found;
    }

    Value tuple(const Type& type, const Value& given) const {
        const auto* elements = given.as<Value::Array>();
        if (!elements || elements->size() != type.parts.size()) throw mismatch(type, given);
        Value::Array found;
        for (std::size_t i = 0; i < elements->size(); ++i) found.push_back(value(type.parts[i], (*elements)[i]));
        return found;
    }

    Value dictionary(const Type& type, const Value& given) const {
        const auto* members = given.as<Value::Map>();
        if (!members) throw mismatch(type, given);
        Value::Map found;
        for (const Member& member : *members) found.push_back({value(type.parts[0], member.key), value(type.parts[1], member.value)});
        return found;
    }

    Value floating(const Type& type, const Value& given) const {
        if (given.as<double>()) return given;
        if (const auto* number = given.as<std::int64_t>()) return static_cast<double>(*number);
        if (const auto* number = given.as<std::uint64_t>()) return static_cast<double>(*number);
        throw mismatch(type, given);
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
