//! The loop: one JSON object a line from standard input, one JSON object a line to standard output. `operations.rs` has what they do.

mod blake3;
mod chunks;
mod connection;
mod failure;
mod frames;
mod hashes;
mod integer;
mod json;
mod keys;
mod layout;
mod operations;
mod tables;
mod values;

use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
use std::thread;

use json::{object, Json};
use operations::{waits, Client};

const LONGEST_LINE: u64 = 16 << 20;

fn main() -> io::Result<()> {
    let client = Arc::new(Client::default());
    let mut lines = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        // One byte more than the bound, so that a line that is too long can be told from one that just fits.
        lines.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        let request = match Request::read(&line) {
            Ok(request) => request,
            Err(message) => {
                say(&object([("id", Json::Null), ("error", object([("class", "internal".into()), ("message", message.into())]))]))?;
                return Ok(());
            }
        };
        if waits(&request.op) {
            // A thread each, so that a request that waits for its server keeps nobody waiting: hello said "concurrent". A client that
            // serves one request after the other does without threads, and leaves the member out.
            let client = Arc::clone(&client);
            thread::spawn(move || request.serve(&client));
        } else if request.serve(&client)? {
            return Ok(());
        }
    }
}

struct Request {
    id: i64,
    op: String,
    line: Json,
}

impl Request {
    /// The harness sends well-formed lines only. Another one ends the program: nobody knows what its answer would belong to.
    fn read(line: &[u8]) -> Result<Request, String> {
        if line.len() as u64 > LONGEST_LINE {
            return Err("the line is longer than 16 MiB".to_string());
        }
        let text = std::str::from_utf8(line).map_err(|error| format!("the line is not UTF-8: {error}"))?;
        let line = Json::parse(text)?;
        match (line.get("id"), line.get("op")) {
            (Some(Json::Integer(id)), Some(Json::Text(op))) => Ok(Request { id: *id, op: op.clone(), line }),
            _ => Err("the line is no request with an id and an op".to_string()),
        }
    }

    /// Answers; true after `bye`.
    fn serve(&self, client: &Client) -> io::Result<bool> {
        let args = self.line.get("args").unwrap_or(&Json::Null);
        let (kind, answer) = client.answer(&self.op, args);
        say(&object([("id", self.id.into()), (kind, answer)]))?;
        Ok(self.op == "bye" && kind == "ok")
    }
}

/// Writes one line in one piece: threads must not mix theirs.
fn say(line: &Json) -> io::Result<()> {
    let mut text = String::new();
    line.write(&mut text);
    text.push('\n');
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
