-- Dissector of Wireshark for lm://, the remote store of LMCache 0.3.1 to 0.5.6 and later.
--
-- Written by 'python -m docs.generator' from the tables that the cases are held against; do not edit.
-- docs/spec/machine/index.md says how to install and use it. Licence: Apache-2.0. Run with Wireshark 4.0.17 (Lua 5.2) and 4.4.19 (Lua 5.4).
--
-- A direction of a connection is followed by its sequence numbers: headers of a fixed size, each perhaps with a payload.
-- What was found on the first pass over a packet is kept and shown again later, so that packets may be looked at in any order.

-- The tables of the wire ------------------------------------------------------------------------------------------------

local COMMANDS = { [1] = "PUT", [2] = "GET", [3] = "EXIST", [4] = "LIST", [5] = "HEALTH" }
local CODES = { [200] = "SUCCESS", [400] = "FAIL" }
local FORMATS = { [0] = "UNDEFINED", [1] = "KV_2LTD", [2] = "KV_T2D", [3] = "KV_2TD", [4] = "BINARY", [5] = "BINARY_BUFFER", [6] = "KV_MLA_FMT", [7] = "EC_TD", [8] = "HS_TD" }
local DTYPES = { [0] = "none", [1] = "half (read as float16)", [2] = "float16", [3] = "bfloat16", [4] = "float32", [5] = "float64", [6] = "uint8", [7] = "float8_e4m3fn", [8] = "float8_e5m2" }
local LOCATIONS = { [0] = "none", [1] = "LocalCPUBackend", [2] = "LocalDiskBackend" }
local ITEM_SIZES = { [1] = 2, [2] = 2, [3] = 2, [4] = 4, [5] = 8, [6] = 1, [7] = 1, [8] = 1 }
local BINARY_FORMATS = { [4] = true, [5] = true }
local KEY_SIZE = 150
local PUT, GET, LIST = 1, 2, 4
local SUCCESS = 200

-- Names of dtypes in keys, with what torch calls them.
local DTYPE_NAMES = {
    since_0_3_9_post1 = {
        half = "float16",
        bfloat16 = "bfloat16",
        float = "float32",
        double = "float64",
        int8 = "int8",
        uint8 = "uint8",
        int16 = "int16",
        int32 = "int32",
        int64 = "int64",
        bool = "bool",
        fp8_e4m3 = "float8_e4m3fn or float8_e4m3fnuz",
        fp8_e5m2 = "float8_e5m2 or float8_e5m2fnuz",
    },
    since_0_3_14 = {
        half = "float16",
        bfloat16 = "bfloat16",
        float = "float32",
        double = "float64",
        int8 = "int8",
        uint8 = "uint8",
        int16 = "int16",
        int32 = "int32",
        int64 = "int64",
        bool = "bool",
        fp8_e4m3fn = "float8_e4m3fn",
        fp8_e4m3fnuz = "float8_e4m3fnuz",
        fp8_e5m2 = "float8_e5m2",
        fp8_e5m2fnuz = "float8_e5m2fnuz",
    },
}

-- Runs of releases that neither headers nor keys tell apart, oldest first.
local GENERATIONS = {
    {
        releases = "0.3.1 to 0.3.2",
        first = "0.3.1",
        last = "0.3.2",
        request = { "command", "length", "format", "dtype", "shape0", "shape1", "shape2", "shape3" },
        reply = { "code", "length", "format", "dtype", "shape0", "shape1", "shape2", "shape3" },
        highest_format = 6,
        strict = false,
        short_shapes = false,
        key = {
            engine = true,
            hash = "text",
            dtypes = nil,
            tags = false,
            layers = false,
        },
    },
    {
        releases = "0.3.3",
        first = "0.3.3",
        last = "0.3.3",
        request = { "command", "length", "format", "dtype", "location", "shape0", "shape1", "shape2", "shape3" },
        reply = { "code", "length", "format", "dtype", "shape0", "shape1", "shape2", "shape3", "location" },
        highest_format = 6,
        strict = false,
        short_shapes = false,
        key = {
            engine = true,
            hash = "decimal",
            dtypes = nil,
            tags = false,
            layers = false,
        },
    },
    {
        releases = "0.3.4 to 0.3.5",
        first = "0.3.4",
        last = "0.3.5",
        request = { "command", "length", "format", "dtype", "location", "shape0", "shape1", "shape2", "shape3" },
        reply = { "code", "length", "format", "dtype", "shape0", "shape1", "shape2", "shape3", "location" },
        highest_format = 6,
        strict = false,
        short_shapes = false,
        key = {
            engine = true,
            hash = "hex",
            dtypes = nil,
            tags = true,
            layers = false,
        },
    },
    {
        releases = "0.3.6 to 0.3.9",
        first = "0.3.6",
        last = "0.3.9",
        request = { "command", "length", "format", "dtype", "location", "shape0", "shape1", "shape2", "shape3" },
        reply = { "code", "length", "format", "dtype", "shape0", "shape1", "shape2", "shape3", "location" },
        highest_format = 6,
        strict = true,
        short_shapes = false,
        key = {
            engine = true,
            hash = "hex",
            dtypes = nil,
            tags = true,
            layers = false,
        },
    },
    {
        releases = "0.3.9.post1 to 0.3.12",
        first = "0.3.9.post1",
        last = "0.3.12",
        request = { "command", "length", "format", "dtype", "location", "shape0", "shape1", "shape2", "shape3" },
        reply = { "code", "length", "format", "dtype", "shape0", "shape1", "shape2", "shape3", "location" },
        highest_format = 6,
        strict = true,
        short_shapes = false,
        key = {
            engine = true,
            hash = "hex",
            dtypes = DTYPE_NAMES.since_0_3_9_post1,
            tags = true,
            layers = false,
        },
    },
    {
        releases = "0.3.13",
        first = "0.3.13",
        last = "0.3.13",
        request = { "command", "length", "format", "dtype", "location", "shape0", "shape1", "shape2", "shape3" },
        reply = { "code", "length", "format", "dtype", "shape0", "shape1", "shape2", "shape3", "location" },
        highest_format = 6,
        strict = true,
        short_shapes = false,
        key = {
            engine = false,
            hash = "hex",
            dtypes = DTYPE_NAMES.since_0_3_9_post1,
            tags = true,
            layers = false,
        },
    },
    {
        releases = "0.3.14 to 0.4.3",
        first = "0.3.14",
        last = "0.4.3",
        request = { "command", "length", "format", "dtype", "location", "shape0", "shape1", "shape2", "shape3" },
        reply = { "code", "length", "format", "dtype", "shape0", "shape1", "shape2", "shape3", "location" },
        highest_format = 6,
        strict = true,
        short_shapes = false,
        key = {
            engine = false,
            hash = "hex",
            dtypes = DTYPE_NAMES.since_0_3_14,
            tags = true,
            layers = true,
        },
    },
    {
        releases = "0.4.4",
        first = "0.4.4",
        last = "0.4.4",
        request = { "command", "length", "format", "dtype", "location", "shape0", "shape1", "shape2", "shape3" },
        reply = { "code", "length", "format", "dtype", "shape0", "shape1", "shape2", "shape3", "location" },
        highest_format = 6,
        strict = true,
        short_shapes = true,
        key = {
            engine = false,
            hash = "hex",
            dtypes = DTYPE_NAMES.since_0_3_14,
            tags = true,
            layers = true,
        },
    },
    {
        releases = "0.4.5 to 0.5.0",
        first = "0.4.5",
        last = "0.5.0",
        request = { "command", "length", "format", "dtype", "location", "shape0", "shape1", "shape2", "shape3" },
        reply = { "code", "length", "format", "dtype", "shape0", "shape1", "shape2", "shape3", "location" },
        highest_format = 7,
        strict = true,
        short_shapes = true,
        key = {
            engine = false,
            hash = "hex",
            dtypes = DTYPE_NAMES.since_0_3_14,
            tags = true,
            layers = true,
        },
    },
    {
        releases = "0.5.1 and later",
        first = "0.5.1",
        last = nil,
        request = { "command", "length", "format", "dtype", "location", "shape0", "shape1", "shape2", "shape3" },
        reply = { "code", "length", "format", "dtype", "shape0", "shape1", "shape2", "shape3", "location" },
        highest_format = 8,
        strict = true,
        short_shapes = true,
        key = {
            engine = false,
            hash = "hex",
            dtypes = DTYPE_NAMES.since_0_3_14,
            tags = true,
            layers = true,
        },
    },
}

-- Candidates in words, with runs of them as one.
local function words_of(candidates)
    local words, first = {}, nil
    for index, one in ipairs(GENERATIONS) do
        if candidates[index] then
            first = first or one.first
            if not candidates[index + 1] then
                table.insert(words, one.last and (first == one.last and first or first .. " to " .. one.last) or first .. " and later")
                first = nil
            end
        end
    end
    return #words == 0 and "no release" or table.concat(words, "; ")
end

for _, one in ipairs(GENERATIONS) do
    one.sizes = { client = 4 * #one.request + KEY_SIZE, server = 4 * #one.reply }
end
local NEWEST = GENERATIONS[#GENERATIONS]

-- What Wireshark is told about fields, findings and preferences ---------------------------------------------------------

local lm = Proto("lmcache", "LMCache remote store")

local function named(names)
    local list = {}
    for number, name in pairs(names) do
        list[number] = name
    end
    return list
end

local fields = {
    request = ProtoField.none("lmcache.request", "Request"),
    reply = ProtoField.none("lmcache.reply", "Reply"),
    command = ProtoField.int32("lmcache.command", "Command", base.DEC, named(COMMANDS)),
    code = ProtoField.int32("lmcache.reply.code", "Code", base.DEC, named(CODES)),
    length = ProtoField.int32("lmcache.length", "Length", base.DEC, nil, nil, "Bytes of the payload behind the header"),
    format = ProtoField.int32("lmcache.format", "Format", base.DEC, named(FORMATS), nil, "Which axis of the shape is what"),
    dtype = ProtoField.int32("lmcache.dtype", "Dtype", base.DEC, named(DTYPES), nil, "Type of an element"),
    location = ProtoField.int32("lmcache.location", "Location", base.DEC, named(LOCATIONS)),
    shape = ProtoField.string("lmcache.shape", "Shape", base.UNICODE, "The dimensions as a decoder gives them"),
    dimension = ProtoField.int32("lmcache.shape.dimension", "Dimension", base.DEC),
    key = ProtoField.string("lmcache.key", "Key", base.UNICODE, "The key string without the white space around it"),
    engine = ProtoField.string("lmcache.key.engine", "Serving engine", base.UNICODE),
    model = ProtoField.string("lmcache.key.model", "Model", base.UNICODE),
    world_size = ProtoField.int32("lmcache.key.world_size", "World size", base.DEC),
    worker_id = ProtoField.int32("lmcache.key.worker_id", "Worker id", base.DEC),
    chunk_hash = ProtoField.string("lmcache.key.chunk_hash", "Chunk hash", base.UNICODE),
    key_dtype = ProtoField.string("lmcache.key.dtype", "Dtype", base.UNICODE),
    layer = ProtoField.int32("lmcache.key.layer", "Layer", base.DEC),
    tag = ProtoField.string("lmcache.key.tag", "Tag", base.UNICODE, "name%value"),
    payload = ProtoField.bytes("lmcache.payload", "Payload"),
    piece = ProtoField.bytes("lmcache.payload.piece", "Part of the payload", base.NONE, "Of a payload that was not put together"),
    missing = ProtoField.uint32("lmcache.missing", "Missing bytes", base.DEC, nil, nil, "Bytes that the capture has not"),
    unread = ProtoField.bytes("lmcache.unread", "Bytes out of step"),
    request_in = ProtoField.framenum("lmcache.request_in", "Request in", base.NONE, frametype.REQUEST),
    reply_in = ProtoField.framenum("lmcache.reply_in", "Reply in", base.NONE, frametype.RESPONSE),
    payload_in = ProtoField.framenum("lmcache.payload_in", "Payload ends in", base.NONE),
    time = ProtoField.relative_time("lmcache.time", "Time from request"),
    hit = ProtoField.bool("lmcache.hit", "Hit"),
    generation = ProtoField.string("lmcache.releases", "Read as", base.UNICODE, "The releases whose rules these bytes are read by"),
    fits = ProtoField.string("lmcache.fits", "Could be from", base.UNICODE, "Releases that write requests like those of this client"),
}
for _, field in pairs(fields) do
    table.insert(lm.fields, field)
end

local experts = {}
local function expert_of(name, text, group, severity)
    experts[name] = ProtoExpert.new("lmcache.expert." .. name, text, group, severity)
end
expert_of("command", "Unknown command", expert.group.PROTOCOL, expert.severity.WARN)
expert_of("code", "Unknown code", expert.group.PROTOCOL, expert.severity.WARN)
expert_of("format", "Unknown format", expert.group.PROTOCOL, expert.severity.WARN)
expert_of("dtype", "Unknown dtype", expert.group.PROTOCOL, expert.severity.WARN)
expert_of("half", "A dtype that no encoder of lmcache writes", expert.group.PROTOCOL, expert.severity.NOTE)
expert_of("location", "Unknown location", expert.group.PROTOCOL, expert.severity.WARN)
expert_of("negative", "Negative length", expert.group.PROTOCOL, expert.severity.WARN)
expert_of("size", "Length and shape disagree", expert.group.PROTOCOL, expert.severity.WARN)
expert_of("described", "A description of nothing", expert.group.PROTOCOL, expert.severity.NOTE)
expert_of("key", "A key that the server cannot read", expert.group.PROTOCOL, expert.severity.WARN)
expert_of("key_space", "White space around the key", expert.group.PROTOCOL, expert.severity.NOTE)
expert_of("key_full", "The key fills its field", expert.group.PROTOCOL, expert.severity.NOTE)
expert_of("releases", "No release writes these requests", expert.group.PROTOCOL, expert.severity.WARN)
expert_of("silent", "No release answers this", expert.group.SEQUENCE, expert.severity.NOTE)
expert_of("unanswered", "No reply", expert.group.SEQUENCE, expert.severity.NOTE)
expert_of("unasked", "A reply without a request", expert.group.SEQUENCE, expert.severity.WARN)
expert_of("unsure", "The reply may be that to another request", expert.group.SEQUENCE, expert.severity.NOTE)
expert_of("miss", "Not found", expert.group.RESPONSE_CODE, expert.severity.CHAT)
expert_of("step", "Out of step", expert.group.MALFORMED, expert.severity.ERROR)
expert_of("again", "In step again", expert.group.SEQUENCE, expert.severity.NOTE)
expert_of("missing", "Bytes are missing from the capture", expert.group.SEQUENCE, expert.severity.WARN)
expert_of("old", "Bytes that were read before", expert.group.SEQUENCE, expert.severity.NOTE)
expert_of("short", "The capture has not all bytes of this packet", expert.group.UNDECODED, expert.severity.NOTE)
lm.experts = experts

local AUTO = 0
local choices = { { 1, "Found out from requests", AUTO } }
for index, one in ipairs(GENERATIONS) do
    table.insert(choices, { index + 1, one.releases, index })
end

lm.prefs.ports = Pref.range("TCP ports", "65432", "TCP ports of servers; lm:// has no default port", 65535)
lm.prefs.generation = Pref.enum(
    "Releases of lmcache", AUTO, "Whose rules the bytes are read by; nothing on the wire says which release it is", choices, false
)
lm.prefs.together = Pref.bool(
    "Put payloads together", true, "Show a payload as one in the packet where it ends; TCP reassembly must be on, too"
)
lm.prefs.largest = Pref.uint(
    "Largest payload to put together (MiB)", 64, "Larger payloads are shown in the pieces in which they came"
)
lm.prefs.heuristic = Pref.bool(
    "Look for lm:// on all ports", false, "Take connections for lm:// that begin with a whole request and belong to nothing else"
)

local tcp_stream = Field.new("tcp.stream")
local tcp_seq = Field.new("tcp.seq")
local tcp_len = Field.new("tcp.len")

-- Reading ---------------------------------------------------------------------------------------------------------------

local SPACES = { [" "] = true, ["\t"] = true, ["\n"] = true, ["\r"] = true, ["\v"] = true, ["\f"] = true }

-- The int32 of a header by name, as far as they are there.
local function numbers_at(tvb, offset, names)
    local found = {}
    for index, name in ipairs(names) do
        local place = offset + 4 * (index - 1)
        if place + 4 > tvb:len() then
            break
        end
        found[name] = tvb(place, 4):le_int()
    end
    return found
end

-- The text of a key field: where it begins in the field, and the text without white space around it.
local function key_text(field)
    local first, last = 1, #field
    while first <= last and SPACES[field:sub(first, first)] do
        first = first + 1
    end
    while last >= first and SPACES[field:sub(last, last)] do
        last = last - 1
    end
    return first - 1, field:sub(first, last)
end

-- The parts of a key between its @, each with its place in the text.
local function split(text)
    local parts, from = {}, 1
    while true do
        local at = text:find("@", from, true)
        table.insert(parts, { text = text:sub(from, (at or 0) - 1), place = from - 1 })
        if not at then
            return parts
        end
        from = at + 1
    end
end

-- Whether Python's int takes a text: a sign, digits with single underscores between them, white space around. It takes digits of
-- every script, too, of which nothing is said here: a text with any sign outside of ASCII passes.
local function is_number(text, digits)
    if text:find("[\128-\255]") then
        return true
    end
    local number = text:match("^%s*[-+]?(.-)%s*$")
    return number:match("^" .. digits .. "[" .. digits .. "_]*$") ~= nil and not number:find("__", 1, true) and number:sub(-1) ~= "_"
end

local HASHES = {
    text = function() return true end,
    decimal = function(text) return is_number(text, "%d") end,
    hex = function(text) return is_number(text:gsub("^(%s*[-+]?)0[xX]_?", "%1", 1), "%x") end,
}

-- What each part of a key is by the grammar of a generation, and why its servers cannot read the key, or nil.
local function read_key(text, grammar)
    local parts, problem = split(text), nil
    local names = grammar.engine and { "engine" } or {}
    for _, name in ipairs({ "model", "world_size", "worker_id", "chunk_hash" }) do
        table.insert(names, name)
    end
    if grammar.dtypes then
        table.insert(names, "key_dtype")
    end
    if #parts < #names then
        problem = string.format("it has %d parts between @, and needs %d", #parts, #names)
    end
    for index, part in ipairs(parts) do
        part.name = names[index]
        if part.name == nil then
            if index == #names + 1 and part.text:match("^%d+$") then
                part.name = "layer"
                if not grammar.layers then
                    problem = problem or "servers of these releases take no layers"
                end
            else
                part.name = "tag"
                if not grammar.tags then
                    problem = problem or string.format("part %d is one too many", index)
                elseif not part.text:find("%", 1, true) then
                    problem = problem or string.format("part %d is no tag, it has no %%", index)
                end
            end
        elseif part.name == "world_size" or part.name == "worker_id" then
            if not is_number(part.text, "%d") then
                problem = problem or string.format("the %s is no number", part.name:gsub("_", " "))
            end
        elseif part.name == "chunk_hash" and not HASHES[grammar.hash](part.text) then
            problem = problem or string.format("the chunk hash is no %s number", grammar.hash)
        elseif part.name == "key_dtype" and not grammar.dtypes[part.text] then
            problem = problem or "its dtype is none that keys of these releases know"
        end
    end
    return parts, problem
end

local function is_utf8(text)
    local position = 1
    while position <= #text do
        local byte = text:byte(position)
        local more = byte < 0x80 and 0 or byte >= 0xC2 and byte < 0xE0 and 1 or byte >= 0xE0 and byte < 0xF0 and 2
            or byte >= 0xF0 and byte < 0xF5 and 3 or nil
        if more == nil or not text:sub(position + 1, position + more):match("^" .. ("[\128-\191]"):rep(more) .. "$") then
            return false
        end
        position = position + 1 + more
    end
    return true
end

-- Text that can be shown: as it is, or with escapes where it is no text.
local function readable(text)
    local signs = is_utf8(text) and "[%z\1-\31\127]" or "[^\32-\126]"
    return (text:gsub(signs, function(sign) return string.format("\\x%02x", sign:byte()) end))
end

-- The dimensions that count: a decoder drops zeros at the end where the generation pads with them.
local function dimensions(numbers, generation)
    local shape, rank = {}, 4
    for index = 0, 3 do
        shape[index + 1] = numbers["shape" .. index]
    end
    if generation.short_shapes and not BINARY_FORMATS[numbers.format] then
        while rank > 1 and shape[rank] == 0 do
            rank = rank - 1
        end
    end
    return table.concat(shape, ", ", 1, math.min(rank, #shape))
end

-- Bytes that format, dtype and shape amount to, or nil where they are not known.
local function described_size(numbers)
    if numbers.shape3 == nil or not FORMATS[numbers.format] or not DTYPES[numbers.dtype] then
        return nil
    end
    if BINARY_FORMATS[numbers.format] or not ITEM_SIZES[numbers.dtype] then
        return numbers.shape0
    end
    local rank, size = 4, ITEM_SIZES[numbers.dtype] * 1.0
    while rank > 1 and numbers["shape" .. rank - 1] == 0 do
        rank = rank - 1
    end
    for index = 0, rank - 1 do
        size = size * numbers["shape" .. index]
    end
    return size
end

-- Which release -----------------------------------------------------------------------------------------------------------

-- Whether a request has the location: otherwise its key begins four bytes earlier, where there would be the last dimension.
-- A dimension that reads as text, without a zero byte, would be over half a billion.
local function has_location(tvb, offset)
    local word = tvb(offset + 32, 4):raw()
    local _, letters = word:gsub("[\32-\126]", "")
    return word:find("%z") ~= nil or letters < 2
end

-- Generations whose clients write such a request. Keys of layers are written long before servers take them.
local function fitting(numbers, text, size)
    local found = {}
    for index, one in ipairs(GENERATIONS) do
        local _, problem = read_key(text, one.key)
        local fits = one.sizes.client == size and (numbers.format or 0) <= one.highest_format
        if fits and (problem == nil or problem:find("layers", 1, true)) then
            found[index] = true
        end
    end
    return found
end

local function both(left, right)
    local found = {}
    for index in pairs(left) do
        found[index] = right[index]
    end
    return found
end

local function newest_of(candidates, size)
    for index = #GENERATIONS, 1, -1 do
        if candidates[index] and GENERATIONS[index].sizes.client == size then
            return GENERATIONS[index]
        end
    end
    for index = #GENERATIONS, 1, -1 do
        if GENERATIONS[index].sizes.client == size then
            return GENERATIONS[index]
        end
    end
end

-- Following a connection ----------------------------------------------------------------------------------------------------

local connections, calls

function lm.init()
    connections, calls = {}, {}
end

local function new_side()
    return { next = nil, payload = nil, lost = false, asked = nil }
end

-- Distance from one sequence number to another, which wrap around.
local function distance(from, to)
    local difference = (to - from) % 4294967296
    return difference < 2147483648 and difference or difference - 4294967296
end

local function in_ports(port)
    for first, last in tostring(lm.prefs.ports):gmatch("(%d+)%-?(%d*)") do
        if port >= tonumber(first) and port <= (tonumber(last) or tonumber(first)) then
            return true
        end
    end
    return false
end

-- Who sends this packet: known by the port of the server, or else by what it says first.
local function sender_of(connection, tvb, pinfo)
    local source = tostring(pinfo.src) .. " " .. pinfo.src_port
    if connection.address == nil then
        local to, from = pinfo.dst_port, pinfo.src_port
        local asks
        if in_ports(to) ~= in_ports(from) then
            asks = in_ports(to)
        elseif to ~= from and (pinfo.match_uint == to or pinfo.match_uint == from) then
            asks = pinfo.match_uint == to
        else
            asks = tvb:len() < 4 or not CODES[tvb(0, 4):le_int()]
        end
        connection.address = asks and source or tostring(pinfo.dst) .. " " .. pinfo.dst_port
    end
    return source == connection.address and "client" or "server"
end

-- Whether the numbers of a header are such that it is one, although its first number is unknown.
local function plausible(numbers, tvb, offset, generation, sender)
    local known = FORMATS[numbers.format] and DTYPES[numbers.dtype] and (numbers.location == nil or LOCATIONS[numbers.location])
    if known and sender == "client" then
        local place = offset + 4 * #generation.request
        return place + KEY_SIZE <= tvb:len() and tvb(place, KEY_SIZE):raw():find("@", 1, true) ~= nil
    end
    return known and numbers.length >= 0
end

-- The generation of a header at a place, as far as it can be told before all of the header is there, and whether it is sure.
local function generation_at(connection, sender, tvb, offset, here)
    local chosen = GENERATIONS[lm.prefs.generation]
    if chosen then
        return chosen
    elseif connection.size then
        return newest_of(connection.candidates or {}, connection.size)
    elseif sender == "client" then
        if here < 36 or offset + 36 > tvb:len() then
            return GENERATIONS[1]
        end
        return has_location(tvb, offset) and NEWEST or GENERATIONS[1]
    end
    -- A capture that begins with a reply: the next one begins behind it, or a location from 0 to 2 does.
    if here == GENERATIONS[1].sizes.server or here >= 36 and offset + 36 <= tvb:len() and CODES[tvb(offset + 32, 4):le_int()] then
        return GENERATIONS[1]
    end
    return NEWEST
end

local function taken_request(connection, item, numbers, number, time)
    local exchange = { command = numbers.command, request_in = number, asked = time, key = item.text }
    item.exchange = exchange
    if lm.prefs.generation == AUTO and numbers.shape3 then
        connection.size = connection.size or item.generation.sizes.client
    end
    if lm.prefs.generation == AUTO and item.text then
        local fits = fitting(numbers, item.text, item.generation.sizes.client)
        local together = both(connection.candidates or fits, fits)
        if next(together) ~= nil then
            connection.candidates = together
            item.generation = newest_of(together, item.generation.sizes.client)
        elseif next(fits) ~= nil then
            item.changed = true
            item.generation = newest_of(fits, item.generation.sizes.client)
            together = fits
        end
        item.fits = words_of(together)
        item.none = next(together) == nil
    end
    -- PUT and LIST are never answered, and neither is a command that no server knows.
    if COMMANDS[numbers.command] and numbers.command ~= PUT then
        if numbers.command == LIST then
            connection.listed = exchange
        else
            table.insert(connection.waiting, exchange)
        end
    end
end

local function taken_reply(connection, item, numbers, number, time)
    local exchange = table.remove(connection.waiting, 1)
    if exchange == nil and connection.listed then
        exchange, connection.listed = connection.listed, nil
    end
    item.exchange = exchange or { unasked = true }
    item.exchange.reply_in, item.exchange.answered, item.exchange.code = number, time, numbers.code
    item.unsure = connection.unsure
end

-- Goes over the bytes of one call, which begin where the side has come to. Returns what is there, how far it came, and how many
-- bytes more it wants.
local function analyse(connection, sender, tvb, number, time, can_wait)
    local side, items = connection.sides[sender], {}
    local reported, captured = tvb:reported_len(), tvb:len()
    local position = 0
    while position < reported do
        local here = reported - position
        if side.payload then
            local payload = side.payload
            local wanted = payload.left == payload.total and lm.prefs.together and payload.total <= lm.prefs.largest * 1048576
            if payload.left > here and can_wait and wanted and not payload.rest then
                return items, position, payload.left - here
            end
            local size = math.min(here, payload.left)
            local last = items[#items]
            if last and last.exchange == payload.exchange and last.header and size == payload.total and not payload.rest then
                last.payload = { offset = position, size = size }
            else
                table.insert(items, {
                    kind = "payload", sender = sender, offset = position, size = size, from = payload.total - payload.left,
                    total = payload.total, exchange = payload.exchange, command = payload.command, rest = payload.rest,
                })
            end
            payload.left = payload.left - size
            if payload.left == 0 then
                side.payload = payload.behind
                if not payload.rest then
                    payload.exchange[sender .. "_payload_in"] = number
                end
            end
            position = position + size
        else
            local generation = generation_at(connection, sender, tvb, position, here)
            local size = generation.sizes[sender]
            local names = sender == "client" and generation.request or generation.reply
            local numbers = numbers_at(tvb, position, names)
            local first = numbers[names[1]]
            local known = first and (sender == "client" and COMMANDS[first] or CODES[first])
            local whole = position + math.min(size, here) <= captured and size <= here
            local off = first and not known and (
                whole and not plausible(numbers, tvb, position, generation, sender)
                or math.abs(first) > 65535
                or numbers.dtype and not (FORMATS[numbers.format] and DTYPES[numbers.dtype])
            )
            if side.lost and (off or not known or not whole) or off then
                table.insert(items, { kind = "lost", sender = sender, offset = position, size = here, begins = not side.lost })
                side.lost = true
                position = reported
            elseif here < size and can_wait then
                -- Of an unknown release the size may turn out to be another one, and what was asked for cannot be changed later.
                local unsure = lm.prefs.generation == AUTO and not connection.size
                return items, position, unsure and DESEGMENT_ONE_MORE_SEGMENT or size - here
            else
                local item = {
                    kind = sender == "client" and "request" or "reply", header = true, sender = sender, offset = position,
                    size = math.min(size, here), generation = generation, again = side.lost,
                }
                side.lost = false
                if sender == "client" and whole then
                    item.start, item.text = key_text(tvb(position + 4 * #names, KEY_SIZE):raw())
                end
                if sender == "client" then
                    taken_request(connection, item, numbers, number, time)
                else
                    taken_reply(connection, item, numbers, number, time)
                end
                table.insert(items, item)
                position = position + item.size
                local follows = first == (sender == "client" and PUT or SUCCESS) and numbers.length and numbers.length > 0
                local asked = item.exchange.command
                if sender == "server" and asked and asked ~= GET then
                    follows = false
                end
                if follows then
                    side.payload = {
                        total = numbers.length, left = numbers.length, exchange = item.exchange, command = asked,
                    }
                end
                if item.size < size then
                    side.payload = {
                        total = size - item.size, left = size - item.size, exchange = item.exchange, rest = true,
                        behind = side.payload,
                    }
                    if numbers.length == nil then
                        side.payload, side.lost = nil, true
                    end
                elseif numbers.length == nil then
                    -- The packet was captured so short that nobody knows whether a payload follows.
                    side.lost = true
                end
            end
        end
    end
    return items, position, 0
end

-- Bytes that are missing before a call: those of payloads are passed over, behind others the place in the stream is lost.
local function passed_over(connection, sender, missing)
    local side, left = connection.sides[sender], missing
    while left > 0 and side.payload do
        local size = math.min(left, side.payload.left)
        side.payload.left, left = side.payload.left - size, left - size
        if side.payload.left == 0 then
            side.payload = side.payload.behind
        end
    end
    if left > 0 then
        side.lost = true
        if sender == "client" then
            connection.waiting = {}
        end
        connection.unsure = true
    end
end

-- What names a connection. Where a first pass makes no tree, as in tshark -2, there are no fields, so that the addresses must do.
local function name_of_connection(pinfo)
    local stream = tcp_stream()
    if stream then
        return stream.value
    end
    local source = tostring(pinfo.src) .. " " .. pinfo.src_port
    local target = tostring(pinfo.dst) .. " " .. pinfo.dst_port
    return source < target and source .. " " .. target or target .. " " .. source
end

-- The sequence number of the first byte of a call; where there are no fields, or TCP put the bytes together, the one that is due.
local function sequence_of(side, tvb)
    local seq, len = tcp_seq(), tcp_len()
    if tvb:offset() == 0 then
        return side.asked or side.next or 0
    elseif seq == nil or len == nil then
        return side.next or 0
    end
    return (seq.value + len.value - tvb:reported_len()) % 4294967296
end

local function first_pass(tvb, pinfo)
    local stream = name_of_connection(pinfo)
    local connection = connections[stream]
    if connection == nil then
        connection = { waiting = {}, sides = { client = new_side(), server = new_side() } }
        connections[stream] = connection
    end
    local sender = sender_of(connection, tvb, pinfo)
    local side = connection.sides[sender]
    local start = sequence_of(side, tvb)
    local call = { sender = sender, items = {}, wants = 0 }
    local ahead = side.next and distance(side.next, start) or 0
    if ahead < 0 then
        if side.asked == start and tvb:offset() == 0 and side.late then
            local late = side.late
            table.insert(call.items, {
                kind = "payload", sender = sender, offset = 0, size = tvb:reported_len(), from = 0, total = tvb:reported_len(),
                exchange = late.exchange, command = late.command,
            })
        else
            table.insert(call.items, { kind = "old", sender = sender, offset = 0, size = tvb:reported_len() })
        end
        return call
    end
    if ahead > 0 then
        if side.payload and side.asked then
            side.late = { exchange = side.payload.exchange, command = side.payload.command }
        end
        passed_over(connection, sender, ahead)
        call.missing = ahead
    end
    local can_wait = pinfo.can_desegment > 0 and tvb:len() == tvb:reported_len()
    local came
    local items
    items, came, call.wants = analyse(connection, sender, tvb, pinfo.number, pinfo.rel_ts, can_wait)
    for _, item in ipairs(items) do
        table.insert(call.items, item)
    end
    call.came = came
    side.next = (start + came) % 4294967296
    side.asked = call.wants > 0 and side.next or nil
    return call
end

-- Showing -----------------------------------------------------------------------------------------------------------------

-- As much of a range as there is of it, perhaps nothing: of a packet that was captured short the end is missing.
local function captured(tvb, offset, size)
    local start = math.min(offset, tvb:len())
    return tvb(start, math.min(size, tvb:len() - start))
end

local function tell(tree, name, text)
    tree:add_proto_expert_info(experts[name], text)
end

local function show_text(tree, field, range)
    local raw = range:raw()
    if readable(raw) == raw then
        return tree:add_packet_field(field, range, ENC_UTF_8 + ENC_STRING)
    end
    return tree:add(field, range, readable(raw))
end

local function show_key(tree, tvb, offset, item)
    local range = tvb(offset, KEY_SIZE)
    local raw = range:raw()
    local grammar = item.generation.key
    local parts, problem = read_key(item.text, grammar)
    if #item.text == 0 then
        local empty = tree:add(fields.key, range, "")
        tell(empty, "key", "The key is empty, and the server closes the connection (LM-SRV-008)")
        return
    end
    local text_range = tvb(offset + item.start, #item.text)
    local branch = show_text(tree, fields.key, text_range)
    for _, part in ipairs(parts) do
        local place = offset + item.start + part.place
        local field = fields[part.name]
        if part.name == "world_size" or part.name == "worker_id" or part.name == "layer" then
            local value = tonumber(part.text)
            if value and part.text:match("^[-+]?%d+$") and math.abs(value) < 2147483648 then
                branch:add(field, tvb(place, #part.text), math.floor(value))
            else
                branch:add(tvb(place, #part.text), string.format("%s: %s", part.name:gsub("_", " "), readable(part.text)))
            end
        else
            local shown
            if #part.text > 0 then
                shown = show_text(branch, field, tvb(place, #part.text))
            else
                shown = branch:add(field, tvb(place, 0), "")
            end
            if part.name == "key_dtype" and grammar.dtypes[part.text] then
                shown:append_text(" (" .. grammar.dtypes[part.text] .. ")")
            end
        end
    end
    if not is_utf8(item.text) then
        tell(branch, "key", "The key is not UTF-8, and the server closes the connection (LM-REQ-003, LM-SRV-008)")
    elseif item.text:find("%z") then
        tell(branch, "key", "Zero bytes are part of the key: the field is padded with spaces (LM-REQ-003, LM-SRV-013)")
    end
    if problem then
        tell(branch, "key", "Servers of " .. item.generation.releases .. " cannot read the key: " .. problem .. " (LM-SRV-008)")
    end
    if raw ~= item.text .. (" "):rep(KEY_SIZE - #item.text) then
        tell(branch, "key_space", "White space other than the padding is around the key; servers take it off (LM-SRV-013)")
    elseif #item.text == KEY_SIZE then
        tell(branch, "key_full", "The key fills its field; lmcache cuts longer ones, so that two of them may be one (LM-REQ-004)")
    end
end

local function show_header(tree, tvb, item, names, numbers)
    local shape
    for index, name in ipairs(names) do
        local place = item.offset + 4 * (index - 1)
        if numbers[name] == nil then
            break
        end
        local range = tvb(place, 4)
        if name:sub(1, 5) == "shape" then
            if shape == nil then
                local size = math.min(16, tvb:len() - place)
                shape = tree:add(fields.shape, tvb(place, size), "[" .. dimensions(numbers, item.generation) .. "]")
            end
            shape:add_le(fields.dimension, range)
        else
            local shown = tree:add_le(fields[name], range)
            local value = numbers[name]
            if name == "format" and (not FORMATS[value] or value > item.generation.highest_format) then
                tell(shown, "format", string.format("lmcache %s has no format %d (LM-REQ-007)", item.generation.releases, value))
            elseif name == "dtype" and not DTYPES[value] then
                tell(shown, "dtype", string.format("There is no dtype %d (LM-REQ-006)", value))
            elseif name == "dtype" and value == 1 then
                tell(shown, "half", "1 is read as float16, and no encoder of lmcache writes it (LM-REQ-006)")
            elseif name == "location" and not LOCATIONS[value] then
                tell(shown, "location", string.format("There is no location %d (LM-REQ-008)", value))
            elseif name == "command" and not COMMANDS[value] then
                local fate = item.generation.strict and "ends the connection (LM-SRV-007)" or "is not answered (LM-SRV-006)"
                tell(shown, "command", string.format("There is no command %d; such a request %s", value, fate))
            elseif name == "code" and not CODES[value] then
                tell(shown, "code", string.format("There is no code %d (LM-REPLY-005)", value))
            elseif name == "length" and value < 0 then
                tell(shown, "negative", "A negative length: no payload follows (LM-SRV-005)")
            end
        end
    end
end

local function generated(tree, field, value)
    local shown = tree:add(field, value)
    shown:set_generated()
    return shown
end

-- Whether a header describes nothing, as all do but those of a PUT and of a GET that hit.
local function is_plain(numbers)
    return numbers.length == 0 and numbers.format == 1 and numbers.dtype == 2 and (numbers.location or 0) == 0
        and numbers.shape0 == 0 and numbers.shape1 == 0 and numbers.shape2 == 0 and numbers.shape3 == 0
end

local function show_size(tree, numbers)
    local size = described_size(numbers)
    if size and numbers.length and numbers.length >= 0 and size ~= numbers.length then
        tell(tree, "size", string.format("The length is %d, format, dtype and shape amount to %.0f (LM-ID-009)", numbers.length, size))
    end
end

local function show_payload(tree, tvb, item)
    local payload = item.payload
    if payload and payload.offset < tvb:reported_len() then
        local size = math.min(payload.size, math.max(tvb:len() - payload.offset, 0))
        if size > 0 then
            tree:add(fields.payload, tvb(payload.offset, size))
        end
    end
end

-- A key that is not longer than the summary line has room for.
local function short_key(text)
    local shown, last = readable(text), 61
    if #shown <= 64 then
        return shown
    end
    while shown:byte(last + 1) >= 0x80 and shown:byte(last + 1) < 0xC0 do
        last = last - 1
    end
    return shown:sub(1, last) .. "..."
end

local function described(numbers, generation)
    local words = { string.format("%d bytes", numbers.length) }
    table.insert(words, FORMATS[numbers.format])
    table.insert(words, DTYPES[numbers.dtype])
    if numbers.shape3 then
        table.insert(words, "[" .. dimensions(numbers, generation) .. "]")
    end
    return table.concat(words, " ")
end

local show = {}

function show.request(tvb, pinfo, root, item)
    local names = item.generation.request
    local numbers = numbers_at(tvb, item.offset, names)
    local exchange = item.exchange
    local name = COMMANDS[numbers.command] or string.format("Unknown command %d", numbers.command or 0)
    local total = item.size + (item.payload and item.payload.size or 0)
    local tree = root:add(lm, captured(tvb, item.offset, total))
    local words = numbers.command == PUT and numbers.length and described(numbers, item.generation) or nil
    tree:set_text("LMCache remote store, Request: " .. name .. (words and ", " .. words or ""))
    tree:add(fields.request, captured(tvb, item.offset, item.size)):set_hidden()
    if item.again then
        tell(tree, "again", "A request is recognised here, so it goes on from here")
    end
    show_header(tree, tvb, item, names, numbers)
    if item.text then
        show_key(tree, tvb, item.offset + 4 * #names, item)
    else
        tell(tree, "short", "The capture has not all of the header")
    end
    show_payload(tree, tvb, item)
    if numbers.command == PUT then
        show_size(tree, numbers)
    elseif COMMANDS[numbers.command] and numbers.shape3 and not is_plain(numbers) then
        tell(tree, "described", "Only a PUT describes a payload; servers pass over what this header says (LM-GET-001)")
    end
    generated(tree, fields.generation, item.generation.releases)
    if item.fits then
        local fits = generated(tree, fields.fits, item.fits)
        if item.none then
            tell(fits, "releases", "No known release writes this request")
        elseif item.changed then
            tell(fits, "releases", "No single release writes all requests of this connection; this one is of other releases")
        end
    end
    if numbers.command == LIST then
        tell(tree, "silent", "No release answers LIST; a client that waits for the reply hangs (LM-LIST-001)")
    end
    if exchange.client_payload_in and exchange.client_payload_in ~= pinfo.number then
        generated(tree, fields.payload_in, exchange.client_payload_in)
    end
    if exchange.reply_in then
        generated(tree, fields.reply_in, exchange.reply_in)
    elseif pinfo.visited and numbers.command ~= PUT and numbers.command ~= LIST and COMMANDS[numbers.command] then
        tell(tree, "unanswered", "The capture has no reply to this request")
    end
    local key = item.text and short_key(item.text) or ""
    return name .. (words and " " .. words or "") .. (key ~= "" and " " .. key or "")
end

function show.reply(tvb, pinfo, root, item)
    local names = item.generation.reply
    local numbers = numbers_at(tvb, item.offset, names)
    local exchange = item.exchange
    local total = item.size + (item.payload and item.payload.size or 0)
    local tree = root:add(lm, captured(tvb, item.offset, total))
    local code = CODES[numbers.code] or string.format("unknown code %d", numbers.code or 0)
    local command = exchange.command and COMMANDS[exchange.command] or nil
    local success = numbers.code == SUCCESS
    local hit = command == "GET" or command == nil and success and (numbers.length or 0) > 0
    local meaning = code
    if command == "GET" or command == "EXIST" then
        meaning = success and (command == "GET" and "hit" or "exists") or CODES[numbers.code] and "miss" or code
    end
    local words = success and hit and numbers.length and described(numbers, item.generation) or nil
    tree:set_text("LMCache remote store, Reply" .. (command and " to " .. command or "") .. ": " .. meaning .. (words and ", " .. words or ""))
    tree:add(fields.reply, captured(tvb, item.offset, item.size)):set_hidden()
    if item.again then
        tell(tree, "again", "A reply is recognised here, so it goes on from here")
    end
    show_header(tree, tvb, item, names, numbers)
    if numbers[names[#names]] == nil then
        tell(tree, "short", "The capture has not all of the header")
    end
    show_payload(tree, tvb, item)
    if success and hit then
        show_size(tree, numbers)
    elseif numbers.shape3 and not is_plain(numbers) and CODES[numbers.code] then
        tell(tree, "described", "A reply that brings no value describes one; clients read nothing behind it (LM-SRV-001)")
    end
    generated(tree, fields.generation, item.generation.releases)
    if command then
        generated(tree, fields.command, exchange.command)
        if exchange.key then
            generated(tree, fields.key, readable(exchange.key))
        end
        if command == "GET" or command == "EXIST" then
            local shown = generated(tree, fields.hit, success)
            if not success and CODES[numbers.code] then
                tell(shown, "miss", "Nothing is stored under this key")
            end
        end
        generated(tree, fields.request_in, exchange.request_in)
        local seconds = exchange.answered - exchange.asked
        local whole = math.floor(seconds)
        generated(tree, fields.time, NSTime.new(whole, math.floor((seconds - whole) * 1000000000 + 0.5)))
    elseif exchange.unasked then
        tell(tree, "unasked", "No request waits for a reply: it came twice, is one to a PUT or LIST, or the request is not in the capture")
    end
    if item.unsure then
        tell(tree, "unsure", "Bytes are missing earlier on this connection, so this may be the reply to another request")
    end
    if exchange.server_payload_in and exchange.server_payload_in ~= pinfo.number then
        generated(tree, fields.payload_in, exchange.server_payload_in)
    end
    return string.format("Reply%s: %s", command and " to " .. command or "", meaning) .. (words and " " .. words or "")
end

function show.payload(tvb, pinfo, root, item)
    local tree = root:add(lm, captured(tvb, item.offset, item.size))
    local what = item.rest and "header" or "payload"
    local of = item.sender == "client" and "PUT" or "the reply" .. (item.command == GET and " to GET" or "")
    local whole = item.size == item.total
    local words
    if whole then
        words = string.format("%s of %s, %d bytes", what:gsub("^%l", string.upper), of, item.total)
    else
        words = string.format("Bytes %d to %d of %d of the %s of %s", item.from, item.from + item.size - 1, item.total, what, of)
    end
    tree:set_text("LMCache remote store, " .. words)
    local size = math.min(item.size, tvb:len() - item.offset)
    if size > 0 then
        tree:add(whole and not item.rest and fields.payload or fields.piece, tvb(item.offset, size))
    end
    local header = item.sender == "client" and item.exchange.request_in or item.exchange.reply_in
    if header then
        generated(tree, item.sender == "client" and fields.request_in or fields.reply_in, header)
    end
    return words
end

function show.lost(tvb, _, root, item)
    local tree = root:add(lm, captured(tvb, item.offset, item.size))
    tree:set_text("LMCache remote store, out of step")
    if tvb:len() > item.offset then
        tree:add(fields.unread, captured(tvb, item.offset, item.size))
    end
    local what = item.sender == "client" and "request" or "reply"
    if item.begins then
        tell(tree, "step", "No " .. what .. " begins here: a length before this was wrong, the peer is of another release, or this is "
            .. "not lm://; it goes on with the first packet that begins with a " .. what)
    else
        tell(tree, "step", "No " .. what .. " begins here, either")
    end
    return "Out of step"
end

function show.old(tvb, _, root, item)
    local tree = root:add(lm, tvb(item.offset, tvb:len()))
    tree:set_text("LMCache remote store, bytes that were read before")
    tell(tree, "old", "These bytes were read in an earlier packet, or come too late; tcp.reassemble_out_of_order helps with the latter")
    return nil
end

-- What Wireshark calls ------------------------------------------------------------------------------------------------------

local MOST_WORDS = 4

local function render(tvb, pinfo, tree, call)
    local words, left_out = {}, 0
    if call.missing then
        local shown = tree:add(lm, tvb(0, 0))
        shown:set_text("LMCache remote store, missing bytes")
        generated(shown, fields.missing, call.missing)
        tell(shown, "missing", string.format(
            "%d bytes before this packet are not in the capture, or come later; tcp.reassemble_out_of_order helps with the latter",
            call.missing
        ))
    end
    for _, item in ipairs(call.items) do
        local text = item.offset < tvb:reported_len() and show[item.kind](tvb, pinfo, tree, item) or nil
        if text and #words < MOST_WORDS then
            table.insert(words, text)
        elseif text then
            left_out = left_out + 1
        end
    end
    if left_out > 0 then
        table.insert(words, string.format("and %d more", left_out))
    end
    if #words > 0 then
        local text = table.concat(words, ", ")
        pinfo.cols.info:set(call.first and text or ", " .. text)
        pinfo.cols.info:fence()
    end
end

local last_with_words

function lm.dissector(tvb, pinfo, tree)
    if tvb:reported_len() == 0 then
        return 0
    end
    pinfo.cols.protocol:set("LMCache")
    -- Not by its length: what TCP put together may be cut where the next message begins when it is shown again.
    local key = pinfo.number .. ":" .. tvb:offset()
    local call = calls[key]
    if call and not pinfo.visited then
        call = nil
    end
    if call == nil then
        if pinfo.visited then
            return 0
        end
        call = first_pass(tvb, pinfo)
        call.first = last_with_words ~= pinfo.number
        if #call.items > 0 then
            last_with_words = pinfo.number
        end
        calls[key] = call
    end
    render(tvb, pinfo, tree, call)
    if call.wants > 0 and call.came < tvb:reported_len() then
        pinfo.desegment_offset = call.came
        pinfo.desegment_len = call.wants
    end
    return tvb:len()
end

-- Whether a connection that nobody knows begins with a whole request.
local function recognised(tvb)
    for _, generation in ipairs({ NEWEST, GENERATIONS[1] }) do
        local size, place = generation.sizes.client, 4 * #generation.request
        if tvb:len() >= size then
            local numbers = numbers_at(tvb, 0, generation.request)
            local _, text = key_text(tvb(place, KEY_SIZE):raw())
            local _, ats = text:gsub("@", "")
            if COMMANDS[numbers.command] and FORMATS[numbers.format] and DTYPES[numbers.dtype]
                and (numbers.location == nil or LOCATIONS[numbers.location]) and numbers.length >= 0 and ats >= 3 and is_utf8(text) then
                return true
            end
        end
    end
    return false
end

lm:register_heuristic("tcp", function(tvb, pinfo, tree)
    if not lm.prefs.heuristic or not recognised(tvb) then
        return false
    end
    pinfo.conversation = lm
    lm.dissector(tvb, pinfo, tree)
    return true
end)

local tcp_ports = DissectorTable.get("tcp.port")
local registered = lm.prefs.ports
tcp_ports:add(registered, lm)

function lm.prefs_changed()
    if registered ~= lm.prefs.ports then
        tcp_ports:remove(registered, lm)
        registered = lm.prefs.ports
        tcp_ports:add(registered, lm)
    end
end
