// The loop: one JSON object a line from standard input, one JSON object a line to standard output. See operations.cpp for what they do.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>

#include <unistd.h>

#include "operations.hpp"

namespace {

using lm::Json;

constexpr std::size_t kLongestLine = 16 << 20;

// Reads lines with a bound: std::getline would store a line of any length.
class LineReader {
  public:
    struct Line {
        std::string text;
        bool too_long;
    };

    // Nothing at the end of the input.
    std::optional<Line> next() {
        Line line{"", false};
        for (;;) {
            if (next_ == end_ && !fill()) {
                if (line.text.empty() && !line.too_long) return std::nullopt;
                return line;
            }
            const char* feed = static_cast<const char*>(std::memchr(buffer_ + next_, '\n', end_ - next_));
            const std::size_t stop = feed ? static_cast<std::size_t>(feed - buffer_) : end_;
            if (line.text.size() + (stop - next_) > kLongestLine) line.too_long = true;
            if (!line.too_long) line.text.append(buffer_ + next_, stop - next_);
            next_ = feed ? stop + 1 : stop;
            if (feed) return line;
        }
    }

  private:
    bool fill() {
        ssize_t got;
        do {
            got = ::read(STDIN_FILENO, buffer_, sizeof buffer_);
        } while (got < 0 && errno == EINTR);
        next_ = 0;
        end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
        return got > 0;
    }

    char buffer_[1 << 16];
    std::size_t next_ = 0, end_ = 0;
};

const Json kNoArguments = Json::object();

Json bad_line(const char* message) { return {{"error", {{"class", "internal"}, {"message", message}}}}; }

// The answer to one line, its id included: null where the line has none that could be repeated.
Json answer_line(lm::Client& client, const LineReader::Line& line, bool& said_bye) {
    Json id, answer;
    const Json request = line.too_long ? Json() : Json::parse(line.text, nullptr, /*allow_exceptions=*/false);
    if (line.too_long) {
        answer = bad_line("this line is longer than 16 MiB");
    } else if (!request.is_object()) {
        answer = bad_line("this line is no JSON object");
    } else {
        if (request.contains("id") && request["id"].is_number_integer()) id = request["id"];
        // A reference: a copy of deeply nested input would recurse as deeply.
        const Json& args = request.contains("args") ? request["args"] : kNoArguments;
        if (id.is_null()) {
            answer = bad_line("the request has no integer id");
        } else if (!request.contains("op") || !request["op"].is_string()) {
            answer = bad_line("the request has no op");
        } else {
            const auto op = request["op"].get<std::string>();
            answer = client.answer(op, args);
            said_bye = op == "bye" && answer.contains("ok");
        }
    }
    answer["id"] = id;
    return answer;
}

}  // namespace

int main() {
    // A peer or a harness that went away is an error return where we write, not the end of the program.
    std::signal(SIGPIPE, SIG_IGN);
    lm::Client client;
    LineReader lines;
    bool said_bye = false;
    while (!said_bye) {
        const auto line = lines.next();
        if (!line) break;
        // Messages may quote bytes that are not UTF-8; replace them rather than throw.
        std::cout << answer_line(client, *line, said_bye).dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
        if (!std::cout) return 1;
    }
    return 0;
}
