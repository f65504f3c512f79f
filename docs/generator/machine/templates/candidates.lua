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

