// The loop: one JSON object a line from standard input, one JSON object a line to standard output. See operations.cpp for what they do.
#include <csignal>
#include <iostream>
#include <string>

#include "operations.hpp"

namespace {

using adapter::Json;

const Json kNoArguments = Json::object();

Json failed(const char* message) { return {{"error", {{"class", "internal"}, {"message", message}}}}; }

// The answer to one line; its id is null where the line has none that could be repeated.
Json answer_line(adapter::Operations& operations, const std::string& line, bool& said_bye) {
    const Json request = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    Json id, answer;
    if (request.is_object() && request.contains("id") && request["id"].is_number_integer()) id = request["id"];
    if (id.is_null() || !request.contains("op") || !request["op"].is_string()) {
        answer = failed("this line is no request: a JSON object with an integer id and an op");
    } else {
        const auto op = request["op"].get<std::string>();
        // A reference: a copy of deeply nested input would recurse as deeply.
        answer = operations.answer(op, request.contains("args") ? request["args"] : kNoArguments);
        said_bye = op == "bye" && answer.contains("ok");
    }
    answer["id"] = id;
    return answer;
}

}  // namespace

int main() {
    // A harness that went away is an error return where we write, not the end of the program.
    std::signal(SIGPIPE, SIG_IGN);
    adapter::Operations operations;
    bool said_bye = false;
    for (std::string line; !said_bye && std::getline(std::cin, line);) {
        // Messages may quote bytes that are not UTF-8; replace them rather than throw.
        std::cout << answer_line(operations, line, said_bye).dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
        if (!std::cout) return 1;
    }
    return 0;
}
