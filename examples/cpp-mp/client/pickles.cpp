#include "pickles.hpp"

#include <deque>
#include <string_view>

namespace mp {
namespace {

struct Storage {
    std::string_view dtype, name;
    std::int64_t size;
};
constexpr Storage kStorages[] = {{"float16", "HalfStorage", 2}, {"bfloat16", "BFloat16Storage", 2}, {"float32", "FloatStorage", 4},
                                 {"float64", "DoubleStorage", 8}, {"uint8", "ByteStorage", 1}, {"int8", "CharStorage", 1},
                                 {"int16", "ShortStorage", 2}, {"int32", "IntStorage", 4}, {"int64", "LongStorage", 8},
                                 {"bool", "BoolStorage", 1}};

const Storage* storage_of(std::string_view Storage::*member, std::string_view value) {
    for (const Storage& storage : kStorages) {
        if (storage.*member == value) return &storage;
    }
    return nullptr;
}

// What a saved storage begins with: torch's magic number, the version of the form, and the sizes of C's integers.
constexpr std::string_view kMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr std::int64_t kVersion = 1001;
constexpr std::int64_t kLargest = std::int64_t{1} << 40;

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    return strides;
}

class Writer {
  public:
    Bytes bytes;

    void raw(std::string_view text) { bytes.insert(bytes.end(), text.begin(), text.end()); }
    void little_endian(std::uint64_t number, int size) {
        for (int i = 0; i < size; ++i) bytes.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
    }
    void text(std::string_view text) {
        raw("X");
        little_endian(text.size(), 4);
        raw(text);
    }
    void global(std::string_view module, std::string_view name) {
        text(module);
        text(name);
        raw("\x93");
    }
    void integer(std::int64_t number) {
        raw(std::string_view("\x8a\x08", 2));
        little_endian(static_cast<std::uint64_t>(number), 8);
    }
    void integers(const std::vector<std::int64_t>& numbers) {
        raw("(");
        for (std::int64_t number : numbers) integer(number);
        raw("t");
    }
};

// As torch.save writes it in its older form: five pickles, a count, and the elements.
Bytes saved(const Tensor& tensor) {
    const Storage& storage = *storage_of(&Storage::dtype, tensor.dtype);
    const std::int64_t count = static_cast<std::int64_t>(tensor.data.size()) / storage.size;
    constexpr std::string_view kBegin("\x80\x02", 2), kKey = "0";
    Writer out;
    out.raw(kBegin), out.raw(std::string_view("\x8a\x0a", 2)), out.raw(kMagic), out.raw(".");
    out.raw(kBegin), out.integer(kVersion), out.raw(".");
    out.raw(kBegin), out.raw("}("), out.text("little_endian"), out.raw("\x88u.");
    out.raw(kBegin), out.raw("("), out.text("storage"), out.raw("ctorch\n"), out.raw(storage.name), out.raw("\n");
    out.text(kKey), out.text("cpu"), out.integer(count), out.raw("NtQ.");
    out.raw(kBegin), out.raw("]"), out.text(kKey), out.raw("a.");
    out.little_endian(static_cast<std::uint64_t>(count), 8);
    out.bytes.insert(out.bytes.end(), tensor.data.begin(), tensor.data.end());
    return std::move(out.bytes);
}

Failure unknown(const std::string& what) { return protocol_error("no pickled list of plain tensors: " + what); }

// What stands on the stack of a pickle. Nothing in it is ever called, imported or built.
struct Item {
    enum class Kind { mark, none, truth, integer, long_integer, text, bytes, tuple, list, map, global, call, persistent };
    Kind kind = Kind::none;
    std::int64_t number = 0;
    std::string_view text;            // of a text, of bytes and of a long integer; the name of a global
    std::string_view module;          // of a global
    std::vector<const Item*> items;   // elements; keys and values by turns; what is called, and its arguments

    bool is(Kind other) const { return kind == other; }
    bool is_global(std::string_view in, std::string_view name) const { return is(Kind::global) && module == in && text == name; }
    // A call of this global with so many arguments.
    bool is_call(std::string_view in, std::string_view name, std::size_t count) const {
        return is(Kind::call) && items[0]->is_global(in, name) && items[1]->items.size() == count;
    }
    const Item& argument(std::size_t index) const { return *items[1]->items[index]; }
};

// Reads the pickles at the front of some bytes, one by one.
class Reader {
  public:
    explicit Reader(std::string_view data) : rest_(data) {}

    std::string_view rest() const { return rest_; }

    const Item& next() {
        stack_.clear();
        memo_.clear();
        while (step()) {
        }
        return *pop();
    }

  private:
    using Kind = Item::Kind;

    // False at the end of a pickle.
    bool step() {
        const auto code = static_cast<std::uint8_t>(number(1));
        switch (code) {
            case '.': return false;
            case 0x80: number(1); break;  // the version of the form
            case 0x95: number(8); break;  // the length of what follows
            case '(': push(Kind::mark); break;
            case 'N': push(Kind::none); break;
            case 0x88: case 0x89: push(Kind::truth).number = code == 0x88; break;
            case 'K': push(Kind::integer).number = number(1); break;
            case 'M': push(Kind::integer).number = number(2); break;
            case 'J': push(Kind::integer).number = static_cast<std::int32_t>(number(4)); break;
            case 0x8a: long_integer(take(number(1))); break;
            case 0x8c: push(Kind::text).text = take(number(1)); break;
            case 'X': push(Kind::text).text = take(number(4)); break;
            case 'C': push(Kind::bytes).text = take(number(1)); break;
            case 'B': push(Kind::bytes).text = take(number(4)); break;
            case 0x8e: push(Kind::bytes).text = take(number(8)); break;
            case 'c': {
                const std::string_view module = line(), name = line();
                global(module, name);
                break;
            }
            case 0x93: {
                const Item *name = pop(), *module = pop();
                if (!name->is(Kind::text) || !module->is(Kind::text)) throw unknown("a name that is no text");
                global(module->text, name->text);
                break;
            }
            case ')': push(Kind::tuple); break;
            case ']': push(Kind::list); break;
            case '}': push(Kind::map); break;
            case 0x85: case 0x86: case 0x87: tuple(code - 0x85u + 1); break;
            case 't': {
                auto items = since_mark();
                push(Kind::tuple).items = std::move(items);
                break;
            }
            case 'a': extend(Kind::list, {pop()}); break;
            case 'e': extend(Kind::list, since_mark()); break;
            case 'u': extend(Kind::map, since_mark()); break;
            case 'R': call(); break;
            case 'Q': {
                const Item* value = pop();
                push(Kind::persistent).items = {value};
                break;
            }
            case 0x94: memo_.push_back(top()); break;
            case 'q': remember(number(1)); break;
            case 'r': remember(number(4)); break;
            case 'h': recall(number(1)); break;
            case 'j': recall(number(4)); break;
            default: throw unknown("instruction " + std::to_string(code));
        }
        return true;
    }

    std::string_view take(std::int64_t size) {
        if (size < 0 || size > static_cast<std::int64_t>(rest_.size())) throw unknown("it is cut");
        const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
        rest_.remove_prefix(taken.size());
        return taken;
    }
    std::int64_t number(int size) { return integer_of(take(size)); }
    static std::int64_t integer_of(std::string_view little_endian) {
        std::uint64_t found = 0;
        for (std::size_t i = little_endian.size(); i-- > 0;) found = found << 8 | static_cast<std::uint8_t>(little_endian[i]);
        return static_cast<std::int64_t>(found);
    }
    std::string_view line() {
        const std::size_t end = rest_.find('\n');
        if (end == std::string_view::npos) throw unknown("it is cut");
        const std::string_view found = take(static_cast<std::int64_t>(end));
        take(1);
        return found;
    }

    Item& push(Kind kind) {
        // A message is at most some megabytes, and a list of tensors needs some thirty items for each.
        if (arena_.size() > 1'000'000) throw unknown("too many instructions");
        stack_.push_back(&arena_.emplace_back());
        stack_.back()->kind = kind;
        return *stack_.back();
    }
    Item* top() {
        if (stack_.empty()) throw unknown("an empty stack");
        return stack_.back();
    }
    Item* pop() {
        Item* item = top();
        stack_.pop_back();
        return item;
    }
    std::vector<const Item*> since_mark() {
        std::size_t begin = stack_.size();
        while (begin > 0 && !stack_[begin - 1]->is(Kind::mark)) --begin;
        if (begin == 0) throw unknown("no mark");
        std::vector<const Item*> items(stack_.begin() + static_cast<std::ptrdiff_t>(begin), stack_.end());
        stack_.resize(begin - 1);
        return items;
    }
    void tuple(std::size_t size) {
        std::vector<const Item*> items(size);
        while (size > 0) items[--size] = pop();
        push(Kind::tuple).items = std::move(items);
    }
    void extend(Kind kind, const std::vector<const Item*>& items) {
        if (!top()->is(kind)) throw unknown("nothing that can be extended");
        top()->items.insert(top()->items.end(), items.begin(), items.end());
    }
    void long_integer(std::string_view digits) {
        Item& item = push(digits.size() <= 8 ? Kind::integer : Kind::long_integer);
        item.text = digits;
        item.number = digits.size() <= 8 ? integer_of(digits) : 0;
    }
    void global(std::string_view module, std::string_view name) {
        Item& item = push(Kind::global);
        item.module = module;
        item.text = name;
    }
    void call() {
        const Item *arguments = pop(), *what = pop();
        if (!arguments->is(Kind::tuple) || !what->is(Kind::global)) throw unknown("a call of something else");
        push(Kind::call).items = {what, arguments};
    }
    void remember(std::int64_t index) {
        if (index != static_cast<std::int64_t>(memo_.size())) throw unknown("a memo out of order");
        memo_.push_back(top());
    }
    void recall(std::int64_t index) {
        if (index >= static_cast<std::int64_t>(memo_.size())) throw unknown("a memo that is not there");
        stack_.push_back(memo_[static_cast<std::size_t>(index)]);
    }

    std::string_view rest_;
    std::deque<Item> arena_;  // never moves an item
    std::vector<Item*> stack_, memo_;
};

std::vector<std::int64_t> integers(const Item& tuple) {
    if (!tuple.is(Item::Kind::tuple)) throw unknown("a shape that is no tuple");
    std::vector<std::int64_t> numbers;
    for (const Item* item : tuple.items) {
        if (!item->is(Item::Kind::integer) || item->number < 0 || item->number > kLargest) throw unknown("a dimension that is no plain number");
        numbers.push_back(item->number);
    }
    return numbers;
}

struct Elements {
    const Storage& type;
    std::string_view data;
};

Elements elements_of(std::string_view saved) {
    using Kind = Item::Kind;
    Reader reader(saved);
    const Item& magic = reader.next();
    if (!magic.is(Kind::long_integer) || magic.text != kMagic) throw unknown("a storage without torch's magic number");
    const Item& version = reader.next();
    if (!version.is(Kind::integer) || version.number != kVersion) throw unknown("a storage of another version");
    const Item& system = reader.next();
    bool little_endian = false;
    for (std::size_t i = 0; system.is(Kind::map) && i + 1 < system.items.size(); i += 2) {
        if (system.items[i]->text == "little_endian") little_endian = system.items[i + 1]->is(Kind::truth) && system.items[i + 1]->number;
    }
    if (!little_endian) throw unknown("a storage of another byte order");
    const Item& described = reader.next();
    reader.next();  // the keys of all storages: one
    if (!described.is(Kind::persistent) || !described.items[0]->is(Kind::tuple) || described.items[0]->items.size() != 6)
        throw unknown("a storage that is not described");
    const auto& about = described.items[0]->items;
    const Storage* type = about[1]->is(Kind::global) && about[1]->module == "torch" ? storage_of(&Storage::name, about[1]->text) : nullptr;
    if (about[0]->text != "storage" || !type || about[3]->text != "cpu" || !about[4]->is(Kind::integer) || !about[5]->is(Kind::none))
        throw unknown("a storage that is no plain one");
    const std::int64_t count = about[4]->number;
    if (count < 0 || count > kLargest || static_cast<std::int64_t>(reader.rest().size()) != 8 + count * type->size)
        throw unknown("a storage of another size");
    return {*type, reader.rest().substr(8)};
}

Tensor tensor_of(const Item& item) {
    if (!item.is_call("torch._utils", "_rebuild_tensor_v2", 6) || !item.argument(0).is_call("torch.storage", "_load_from_bytes", 1) ||
        !item.argument(0).argument(0).is(Item::Kind::bytes) || !item.argument(1).is(Item::Kind::integer))
        throw unknown("an element is no plain tensor");
    const auto [type, data] = elements_of(item.argument(0).argument(0).text);
    const std::int64_t offset = item.argument(1).number;
    Tensor tensor{std::string(type.dtype), integers(item.argument(2)), {}};
    std::int64_t count = 1;
    for (std::int64_t dimension : tensor.shape) {
        if (dimension > 0 && count > kLargest / dimension) throw unknown("a tensor that is too large");
        count *= dimension;
    }
    if (count > 0 && integers(item.argument(3)) != contiguous_strides(tensor.shape)) throw unknown("a tensor that is not contiguous");
    const auto available = static_cast<std::int64_t>(data.size()) / type.size;
    if (offset < 0 || offset > available || count > available - offset) throw unknown("a tensor that is larger than its storage");
    const std::string_view own = data.substr(static_cast<std::size_t>(offset * type.size), static_cast<std::size_t>(count * type.size));
    tensor.data.assign(own.begin(), own.end());
    return tensor;
}

}  // namespace

bool can_be_pickled(const std::string& dtype) { return storage_of(&Storage::dtype, dtype) != nullptr; }

Bytes pickle(const std::vector<Tensor>& tensors) {
    Writer out;
    out.raw("\x80\x04](");
    for (const Tensor& tensor : tensors) {
        if (!can_be_pickled(tensor.dtype)) throw refused("this client cannot pickle tensors of " + tensor.dtype);
        const Bytes storage = saved(tensor);
        out.global("torch._utils", "_rebuild_tensor_v2");
        out.raw("(");
        out.global("torch.storage", "_load_from_bytes");
        out.raw("B"), out.little_endian(storage.size(), 4), out.bytes.insert(out.bytes.end(), storage.begin(), storage.end());
        out.raw("\x85R");
        out.integer(0);
        out.integers(tensor.shape);
        out.integers(contiguous_strides(tensor.shape));
        out.raw("\x89");
        out.global("collections", "OrderedDict");
        out.raw(")RtR");
    }
    out.raw("e.");
    return std::move(out.bytes);
}

std::vector<Tensor> unpickle(const Bytes& data) {
    Reader reader({reinterpret_cast<const char*>(data.data()), data.size()});
    const Item& list = reader.next();
    if (!list.is(Item::Kind::list) || !reader.rest().empty()) throw unknown("it is no list");
    std::vector<Tensor> tensors;
    for (const Item* item : list.items) tensors.push_back(tensor_of(*item));
    return tensors;
}

}  // namespace mp
