//! JSON, as far as the client protocol needs it: one value a line, read and written.

use std::fmt::Write;

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Integer(i64),
    /// Any other number, as it was written: no operation takes one, but a line may hold one where nobody looks.
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// An object from its members: `object([("id", 1.into())])`.
pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

impl Json {
    /// The member of an object. Of a name that occurs twice the last one counts, as in most readers.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Reads one value that fills the whole text.
    pub fn parse(text: &str) -> Result<Json, String> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.skip_space();
        if reader.at < text.len() {
            return Err(format!("something stands behind the value, at byte {}", reader.at));
        }
        Ok(value)
    }

    /// The value on one line.
    pub fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Integer(value) => {
                let _ = write!(out, "{value}");
            }
            Json::Number(text) => out.push_str(text),
            Json::Text(text) => write_text(text, out),
            Json::Array(items) => write_list(out, '[', ']', items, |item, out| item.write(out)),
            Json::Object(members) => write_list(out, '{', '}', members, |(name, value), out| {
                write_text(name, out);
                out.push(':');
                value.write(out);
            }),
        }
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Json {
        Json::Integer(value)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_string())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::Text(text)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(items: Vec<T>) -> Json {
        Json::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}

fn write_list<T>(out: &mut String, open: char, close: char, items: &[T], write: impl Fn(&T, &mut String)) {
    out.push(open);
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(close);
}

/// Control characters have to be escaped, a line feed above all: it would end the answer in the middle.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{0}'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// Values inside each other; a deeper line would overflow the stack of a reader that calls itself.
const DEEPEST: usize = 128;

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let there = self.peek() == Some(wanted);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, wanted: u8) -> Result<(), String> {
        if self.take(wanted) {
            return Ok(());
        }
        Err(format!("expected '{}' at byte {}", wanted as char, self.at))
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEEPEST {
            return Err(format!("more than {DEEPEST} values inside each other"));
        }
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))] {
                    if self.text[self.at..].starts_with(word) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(format!("no value at byte {}", self.at))
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, String> {
        self.expect(b'[')?;
        let mut items = Vec::new();
        self.skip_space();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take(b']') {
                return Ok(Json::Array(items));
            }
            self.expect(b',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        self.expect(b'{')?;
        let mut members = Vec::new();
        self.skip_space();
        if self.take(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            let name = self.string()?;
            self.skip_space();
            self.expect(b':')?;
            members.push((name, self.value(depth + 1)?));
            self.skip_space();
            if self.take(b'}') {
                return Ok(Json::Object(members));
            }
            self.expect(b',')?;
        }
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
            self.at += 1;
        }
        let text = &self.text[start..self.at];
        if let Ok(number) = text.parse() {
            return Ok(Json::Integer(number));
        }
        match text.parse::<f64>() {
            Ok(_) => Ok(Json::Number(text.to_string())),
            Err(_) => Err(format!("'{text}' at byte {start} is no number")),
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect(b'"')?;
        let mut text = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c| matches!(c, '"' | '\\' | '\u{0}'..='\u{1f}')).ok_or("a string has no end")?;
            text.push_str(&rest[..plain]);
            self.at += plain;
            if self.take(b'"') {
                return Ok(text);
            }
            self.expect(b'\\')?;
            let escape = self.peek().ok_or("a string has no end")?;
            self.at += 1;
            text.push(match escape {
                b'"' | b'\\' | b'/' => escape as char,
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => self.unicode_escape()?,
                _ => return Err(format!("an unknown escape at byte {}", self.at - 2)),
            });
        }
    }

    /// The character behind `\u`: characters past ffff are written as two escapes, a high and a low surrogate.
    fn unicode_escape(&mut self) -> Result<char, String> {
        let first = self.four_digits()?;
        let code = if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let second = self.four_digits()?;
            if !(0xdc00..0xe000).contains(&second) {
                return Err("half a surrogate pair".to_string());
            }
            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        } else {
            first
        };
        char::from_u32(code).ok_or_else(|| "half a surrogate pair".to_string())
    }

    fn four_digits(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let digits = digits.ok_or_else(|| format!("four hexadecimal digits are missing at byte {}", self.at))?;
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|error| error.to_string())
    }
}
