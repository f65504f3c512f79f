local NEWEST = GENERATIONS[#GENERATIONS]
local GREETING = 64
local MORE, LONG, COMMAND = 1, 2, 4
local DEEPEST, MOST_VALUES, LARGEST = 24, 2000, 1073741824

local mp = Proto("lmcache_mp", "LMCache multiprocess server")

local fields = {
    greeting = ProtoField.string("lmcache_mp.greeting", "Greeting", base.ASCII),
    command = ProtoField.string("lmcache_mp.zmtp.command", "Command of ZMTP", base.ASCII),
    socket = ProtoField.string("lmcache_mp.zmtp.socket_type", "Socket type", base.ASCII),
    frame = ProtoField.bytes("lmcache_mp.frame", "Frame"),
    uid = ProtoField.bytes("lmcache_mp.uid", "Uid"),
    request = ProtoField.none("lmcache_mp.request", "Request"),
    reply = ProtoField.none("lmcache_mp.reply", "Reply"),
    operation = ProtoField.string("lmcache_mp.operation", "Operation", base.UNICODE),
    number = ProtoField.uint32("lmcache_mp.operation.number", "Number of the operation", base.DEC),
    payloads = ProtoField.uint32("lmcache_mp.payloads", "Payloads", base.DEC),
    value = ProtoField.string("lmcache_mp.value", "Value", base.UNICODE),
    unread = ProtoField.bytes("lmcache_mp.unread", "Bytes that are no ZMTP"),
    request_in = ProtoField.framenum("lmcache_mp.request_in", "Request in", base.NONE, frametype.REQUEST),
    reply_in = ProtoField.framenum("lmcache_mp.reply_in", "Reply in", base.NONE, frametype.RESPONSE),
    time = ProtoField.relative_time("lmcache_mp.time", "Time from request"),
    generation = ProtoField.string("lmcache_mp.releases", "Read as", base.UNICODE, "The releases whose operations are shown"),
    fits = ProtoField.string("lmcache_mp.fits", "Could be from", base.UNICODE, "Releases with operations like those of this client"),
}
for _, field in pairs(fields) do
    table.insert(mp.fields, field)
end
local experts = {
    operation = ProtoExpert.new("lmcache_mp.expert.operation", "Unknown operation", expert.group.PROTOCOL, expert.severity.WARN),
    payloads = ProtoExpert.new("lmcache_mp.expert.payloads", "Payloads", expert.group.PROTOCOL, expert.severity.WARN),
    short = ProtoExpert.new("lmcache_mp.expert.short", "Short message", expert.group.PROTOCOL, expert.severity.WARN),
    msgpack = ProtoExpert.new("lmcache_mp.expert.msgpack", "No msgpack", expert.group.MALFORMED, expert.severity.WARN),
    zmtp = ProtoExpert.new("lmcache_mp.expert.zmtp", "No ZMTP", expert.group.MALFORMED, expert.severity.ERROR),
    unasked = ProtoExpert.new("lmcache_mp.expert.unasked", "A reply without a request", expert.group.SEQUENCE, expert.severity.NOTE),
    unanswered = ProtoExpert.new("lmcache_mp.expert.unanswered", "No reply", expert.group.SEQUENCE, expert.severity.NOTE),
}
mp.experts = experts

local AUTO = 0
local choices = { { 1, "Found out from requests", AUTO } }
for index, one in ipairs(GENERATIONS) do
    table.insert(choices, { index + 1, one.releases, index })
end
mp.prefs.ports = Pref.range("TCP ports", "5555", "TCP ports of multiprocess servers", 65535)
mp.prefs.generation = Pref.enum("Releases of lmcache", AUTO, "Whose operations are shown", choices, false)

-- Values of msgpack ------------------------------------------------------------------------------------------------------

local function uint(tvb, place, size)
    local value = 0
    for index = 0, size - 1 do
        value = value * 256 + tvb(place + index, 1):uint()
    end
    return value
end

local function int(tvb, place, size)
    local value = uint(tvb, place, size)
    local first = tvb(place, 1):uint()
    return first >= 128 and value - 2 ^ (8 * size) or value
end

local function whole(value)
    return string.format("%.0f", value)
end

local function readable(text)
    return (text:gsub("[^\32-\126]", function(sign) return string.format("\\x%02x", sign:byte()) end))
end

-- The head of a value: its kind, where its content begins, and its size, count or text. Nothing where it is no msgpack.
local function head(tvb, place, stop)
    if place >= stop then
        return nil
    end
    local tag = tvb(place, 1):uint()
    local function sized(kind, size, extra)
        if place + 1 + size + (extra or 0) > stop then
            return nil
        end
        return kind, place + 1 + size + (extra or 0), uint(tvb, place + 1, size), extra and tvb(place + 1 + size, 1):int() or nil
    end
    local function number(text, size)
        return "scalar", place + 1 + size, text
    end
    if tag < 0x80 then return number(tostring(tag), 0) end
    if tag < 0x90 then return "map", place + 1, tag - 0x80 end
    if tag < 0xa0 then return "array", place + 1, tag - 0x90 end
    if tag < 0xc0 then return "str", place + 1, tag - 0xa0 end
    if tag >= 0xe0 then return number(tostring(tag - 256), 0) end
    if tag == 0xc0 then return number("nil", 0) end
    if tag == 0xc2 then return number("false", 0) end
    if tag == 0xc3 then return number("true", 0) end
    if tag >= 0xc4 and tag <= 0xc6 then return sized("bin", 2 ^ (tag - 0xc4)) end
    if tag >= 0xc7 and tag <= 0xc9 then return sized("ext", 2 ^ (tag - 0xc7), 1) end
    if tag >= 0xd9 and tag <= 0xdb then return sized("str", 2 ^ (tag - 0xd9)) end
    if tag == 0xdc or tag == 0xdd then return sized("array", 2 ^ (tag - 0xdb)) end
    if tag == 0xde or tag == 0xdf then return sized("map", 2 ^ (tag - 0xdd)) end
    if tag >= 0xd4 and tag <= 0xd8 then
        if place + 2 > stop then return nil end
        return "ext", place + 2, 2 ^ (tag - 0xd4), tvb(place + 1, 1):int()
    end
    local size = tag == 0xca and 4 or tag == 0xcb and 8 or tag >= 0xcc and tag <= 0xcf and 2 ^ (tag - 0xcc)
        or tag >= 0xd0 and tag <= 0xd3 and 2 ^ (tag - 0xd0) or nil
    if size == nil or place + 1 + size > stop then return nil end
    if tag <= 0xcb then return number(string.format("%.10g", tvb(place + 1, math.floor(size)):float()), size) end
    return number(whole(tag < 0xd0 and uint(tvb, place + 1, size) or int(tvb, place + 1, size)), size)
end

-- Shows one value and returns where it ends, or nothing where it is no msgpack. `budget` bounds how many values are shown.
local function show_value(tvb, tree, place, stop, name, depth, budget)
    local kind, begin, content, tag = head(tvb, place, stop)
    begin = begin and math.floor(begin)
    budget.left = budget.left - 1
    if kind == nil or depth > DEEPEST or budget.left < 0 then
        return nil
    end
    local label = name ~= "" and name .. ": " or ""
    if kind == "scalar" then
        tree:add(fields.value, tvb(place, begin - place), content):set_text(label .. content)
        return begin, content
    elseif kind == "str" or kind == "bin" or kind == "ext" then
        local size = math.floor(content)
        if begin + size > stop then
            return nil
        end
        local shown = size > 0 and tvb(begin, math.min(size, 200)):raw() or ""
        local text = kind == "str" and readable(shown) or string.format("%d bytes", size)
        local words = kind == "str" and '"' .. text .. '"' or kind == "ext" and string.format("extension %d, %s", tag, text) or text
        tree:add(fields.value, tvb(place, begin + size - place), text):set_text(label .. words)
        return begin + size, text
    end
    local count = math.floor(content)
    local branch = tree:add(tvb(place, 1), label .. (kind == "map" and string.format("record of %d fields", count) or string.format("%d values", count)))
    local at = begin
    for index = 1, count do
        local field = string.format("[%d]", index - 1)
        if kind == "map" then
            local key_kind, key_begin, key_size = head(tvb, at, stop)
            if key_kind == "str" then
                local size = math.floor(key_size)
                if key_begin + size > stop then return nil end
                field, at = size > 0 and readable(tvb(key_begin, math.min(size, 100)):raw()) or '""', key_begin + size
            elseif key_kind == "scalar" then
                field, at = key_size, math.floor(key_begin)
            else
                return nil
            end
        end
        at = show_value(tvb, branch, at, stop, field, depth + 1, budget)
        if at == nil then
            return nil
        end
    end
    branch:set_len(at - place)
    return at, nil
end

local function scalar(tvb, frame)
    local kind, begin, content = head(tvb, frame.place, frame.place + frame.size)
    if kind == "scalar" and begin == frame.place + frame.size then
        return tonumber(content)
    elseif kind == "str" and begin + content == frame.place + frame.size and content > 0 then
        return tvb(math.floor(begin), math.floor(content)):raw()
    end
    return nil
end

-- Messages ----------------------------------------------------------------------------------------------------------------

local servers, exchanges, candidates, calls

function mp.init()
    servers, exchanges, candidates, calls = {}, {}, {}, {}
end

local function ends_of(pinfo)
    return tostring(pinfo.src) .. " " .. pinfo.src_port, tostring(pinfo.dst) .. " " .. pinfo.dst_port
end

local function connection_of(pinfo)
    local source, target = ends_of(pinfo)
    return source < target and source .. " " .. target or target .. " " .. source
end

local function in_ports(port)
    for first, last in tostring(mp.prefs.ports):gmatch("(%d+)%-?(%d*)") do
        if port >= tonumber(first) and port <= (tonumber(last) or tonumber(first)) then
            return true
        end
    end
    return false
end

local function from_server(pinfo)
    local known = servers[connection_of(pinfo)]
    if known then
        return known == (ends_of(pinfo))
    elseif in_ports(pinfo.src_port) ~= in_ports(pinfo.dst_port) then
        return in_ports(pinfo.src_port)
    end
    return pinfo.match_uint == pinfo.src_port and pinfo.src_port ~= pinfo.dst_port
end

-- The frames of a message that begins at a place, where it ends, or how many bytes more it takes to know.
local function frames_at(tvb, place)
    local frames, length = {}, tvb:len()
    while true do
        if place + 2 > length then
            return nil, nil, 2 - (length - place)
        end
        local flags = tvb(place, 1):uint()
        if flags > 7 then
            return nil, nil, nil
        end
        local long = math.floor(flags / 2) % 2 == 1
        local begin = place + (long and 9 or 2)
        if begin > length then
            return nil, nil, begin - length
        end
        local size = math.floor(long and uint(tvb, place + 1, 8) or tvb(place + 1, 1):uint())
        if size > LARGEST then
            return nil, nil, nil
        elseif begin + size > length then
            return nil, nil, begin + size - length
        end
        table.insert(frames, { place = begin, size = size, command = flags >= COMMAND })
        place = begin + size
        if flags % 2 == 0 then
            return frames, place, 0
        end
    end
end

local function fitting(operation, count)
    local found = {}
    for index, one in ipairs(GENERATIONS) do
        local entry = one.operations[operation]
        if entry and #entry - 1 == count then
            found[index] = true
        end
    end
    return found
end

local function narrowed(connection, operation, count)
    local fits, both = fitting(operation, count), {}
    for index in pairs(candidates[connection] or fits) do
        both[index] = fits[index]
    end
    if next(both) ~= nil then
        candidates[connection] = both
    end
    return candidates[connection] or {}
end

local function generation_of(found)
    if GENERATIONS[mp.prefs.generation] then
        return GENERATIONS[mp.prefs.generation]
    end
    for index = #GENERATIONS, 1, -1 do
        if found[index] then
            return GENERATIONS[index]
        end
    end
    return NEWEST
end

-- What a message is, once: later passes show the same.
local function taken(tvb, pinfo, frames)
    local item = { frames = frames }
    local connection = connection_of(pinfo)
    if frames[1].command then
        local body = frames[1].size > 0 and tvb(frames[1].place, frames[1].size):raw() or ""
        item.command = body:sub(2, 1 + (body:byte(1) or 0))
        item.socket = body:match("Socket%-Type%z%z%z.(%u+)")
        if item.socket == "ROUTER" then
            servers[connection] = (ends_of(pinfo))
        elseif item.socket == "DEALER" then
            servers[connection] = select(2, ends_of(pinfo))
        end
        return item
    end
    item.reply = from_server(pinfo)
    if #frames < 2 then
        return item
    end
    item.operation = scalar(tvb, frames[2])
    local uid = connection .. " " .. (frames[1].size > 0 and tvb(frames[1].place, frames[1].size):raw() or "")
    if item.reply then
        for _, one in ipairs(exchanges[uid] or {}) do
            if one.operation == item.operation and not (item.exchange and one.reply_in) then
                item.exchange = one
                if not one.reply_in then
                    break
                end
            end
        end
        item.generation = item.exchange and item.exchange.generation or generation_of(candidates[connection] or {})
        if item.exchange and not item.exchange.reply_in then
            item.exchange.reply_in, item.exchange.answered = pinfo.number, pinfo.rel_ts
        end
    else
        local fits = narrowed(connection, item.operation, #frames - 2)
        item.generation, item.fits = generation_of(fits), words_of(fits)
        item.exchange = {
            request_in = pinfo.number, asked = pinfo.rel_ts, generation = item.generation, operation = item.operation,
        }
        exchanges[uid] = exchanges[uid] or {}
        table.insert(exchanges[uid], item.exchange)
    end
    return item
end

local function generated(tree, field, value)
    local shown = tree:add(field, value)
    shown:set_generated()
    return shown
end

local function show_message(tvb, pinfo, root, item, from, stop)
    local tree = root:add(mp, tvb(from, stop - from))
    local frames = item.frames
    if item.command then
        tree:set_text("LMCache multiprocess server, ZMTP " .. readable(item.command))
        tree:add(fields.command, tvb(from, stop - from), readable(item.command))
        if item.socket then
            tree:add(fields.socket, tvb(from, stop - from), item.socket)
        end
        return "ZMTP " .. readable(item.command) .. (item.socket and " " .. item.socket or "")
    end
    local side = item.reply and "Reply" or "Request"
    tree:add(item.reply and fields.reply or fields.request, tvb(from, stop - from)):set_hidden()
    local uid = frames[1]
    if uid.size > 0 then
        tree:add(fields.uid, tvb(uid.place, uid.size))
    end
    if #frames < 2 then
        tree:set_text("LMCache multiprocess server, " .. side .. " of one frame")
        tree:add_proto_expert_info(experts.short, "A message of one frame ends the thread of the server that takes messages")
        return side .. " of one frame"
    end
    local operation = frames[2]
    local entry = item.operation ~= nil and item.generation.operations[item.operation] or nil
    local name = entry and entry[1] or "unknown operation " .. readable(tostring(item.operation))
    local shown = operation.size > 0 and tree:add(fields.operation, tvb(operation.place, operation.size), name) or generated(tree, fields.operation, name)
    if type(item.operation) == "number" and item.operation >= 0 then
        shown:append_text(string.format(" (%d)", item.operation))
        shown:add(fields.number, tvb(operation.place, operation.size), item.operation)
    end
    if not entry then
        shown:add_proto_expert_info(experts.operation, "lmcache " .. item.generation.releases .. " has no such operation")
    end
    local summary = {}
    for index = 3, #frames do
        local frame = frames[index]
        local label = item.reply and "Result" or string.format("Payload %d", index - 2)
        local kind = not item.reply and entry and entry[index - 1]
        local range = frame.size > 0 and tvb(frame.place, frame.size)
        if range then
            local branch = tree:add(fields.frame, range)
            branch:set_text(label .. (kind and " (" .. kind .. ")" or ""))
            local came, text = show_value(tvb, branch, frame.place, frame.place + frame.size, "", 0, { left = MOST_VALUES })
            if came ~= frame.place + frame.size then
                branch:add_proto_expert_info(experts.msgpack, "This frame is not one value of msgpack, or is too large to be shown")
            end
            table.insert(summary, text or "...")
        end
    end
    if not item.reply then
        generated(tree, fields.payloads, #frames - 2)
        if entry and #entry - 1 ~= #frames - 2 then
            tree:add_proto_expert_info(experts.payloads, string.format("%s takes %d payloads, there are %d; servers do not answer", name, #entry - 1, #frames - 2))
        end
    end
    generated(tree, fields.generation, item.generation.releases)
    if item.fits then
        generated(tree, fields.fits, item.fits)
    end
    local exchange = item.exchange
    if item.reply and exchange then
        generated(tree, fields.request_in, exchange.request_in)
        local seconds = math.max(pinfo.rel_ts - exchange.asked, 0)
        generated(tree, fields.time, NSTime.new(math.floor(seconds), math.floor(seconds % 1 * 1000000000 + 0.5)))
    elseif item.reply then
        tree:add_proto_expert_info(experts.unasked, "No request with this uid is in the capture")
    elseif exchange.reply_in then
        generated(tree, fields.reply_in, exchange.reply_in)
    elseif pinfo.visited then
        tree:add_proto_expert_info(experts.unanswered, "The capture has no reply to this request")
    end
    local words = table.concat(summary, ", ")
    tree:set_text("LMCache multiprocess server, " .. side .. ": " .. name)
    return (item.reply and "Reply to " or "") .. name .. (#words > 0 and " " .. (#words > 80 and words:sub(1, 77) .. "..." or words) or "")
end

local last_with_words

function mp.dissector(tvb, pinfo, tree)
    pinfo.cols.protocol:set("LMCache MP")
    local key = pinfo.number .. ":" .. tvb:offset()
    local kept = calls[key] or { items = {}, first = last_with_words ~= pinfo.number }
    calls[key] = kept
    local place, words = 0, {}
    while place < tvb:len() do
        local wants, stop, text
        if tvb(place, 1):uint() == 0xff then
            wants = GREETING - (tvb:len() - place)
            if wants <= 0 then
                local shown = tree:add(mp, tvb(place, GREETING))
                shown:set_text("LMCache multiprocess server, ZMTP greeting")
                local mechanism = readable(tvb(place + 12, 20):raw():match("^[^%z]*"))
                shown:add(fields.greeting, tvb(place, GREETING), string.format("version %d.%d, %s", tvb(place + 10, 1):uint(), tvb(place + 11, 1):uint(), mechanism))
                stop, text = place + GREETING, "ZMTP greeting"
            end
        else
            local frames
            frames, stop, wants = frames_at(tvb, place)
            if frames then
                kept.items[place] = kept.items[place] or taken(tvb, pinfo, frames)
                text = show_message(tvb, pinfo, tree, kept.items[place], place, stop)
            end
        end
        if stop == nil then
            if wants and wants > 0 and pinfo.can_desegment > 0 and tvb:len() == tvb:reported_len() then
                pinfo.desegment_offset, pinfo.desegment_len = place, DESEGMENT_ONE_MORE_SEGMENT
            else
                local shown = tree:add(mp, tvb(place))
                shown:set_text("LMCache multiprocess server, bytes that are no ZMTP")
                shown:add(fields.unread, tvb(place))
                shown:add_proto_expert_info(experts.zmtp, "No message of ZMTP begins here, or not all of it is in the capture")
                table.insert(words, "no ZMTP")
            end
            break
        end
        table.insert(words, text)
        place = stop
    end
    if #words > 0 then
        local line = table.concat(words, "; ", 1, math.min(#words, 4)) .. (#words > 4 and string.format("; and %d more", #words - 4) or "")
        pinfo.cols.info:set(kept.first and line or "; " .. line)
        pinfo.cols.info:fence()
        last_with_words = pinfo.number
    end
    return tvb:len()
end

local tcp_ports = DissectorTable.get("tcp.port")
local registered = mp.prefs.ports
tcp_ports:add(registered, mp)

function mp.prefs_changed()
    if registered ~= mp.prefs.ports then
        tcp_ports:remove(registered, mp)
        registered = mp.prefs.ports
        tcp_ports:add(registered, mp)
    end
end
