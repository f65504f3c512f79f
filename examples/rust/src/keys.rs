//! Cache keys: the structured form, and the text that travels in the 150-byte field of a request.

use crate::failure::{protocol, refused, Failure, Result};
use crate::frames::is_space;
use crate::integer::Integer;
use crate::tables::*;

#[derive(Debug, Clone, PartialEq)]
pub enum Hash {
    Int(Integer),
    /// Opaque: 0.3.1 and 0.3.2.
    Text(String),
    /// A digest: written from 0.3.13 on, and read back as an integer.
    Bytes(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    pub model: String,
    pub world_size: i64,
    pub worker_id: i64,
    pub chunk_hash: Hash,
    /// A name of the client protocol, such as "float16".
    pub dtype: Option<String>,
    /// "fmt" in the client protocol.
    pub engine: Option<String>,
    pub layer: Option<i64>,
    pub tags: Vec<(String, String)>,
}

/// The key string. Refused: a key that this release cannot write, or that would read back as another one.
pub fn format_key(key: &Key, release: Release) -> Result<String> {
    let grammar = at(KEY_GRAMMAR, release);
    let name = release.name();
    let mut parts = Vec::new();
    match (&key.engine, grammar.has_engine) {
        (Some(engine), true) => parts.push(engine.clone()),
        (None, false) => {}
        (None, true) => return refused(format!("keys of {name} begin with the engine's name, and fmt is null")),
        (Some(_), false) => return refused(format!("keys of {name} have no fmt")),
    }
    parts.extend([key.model.clone(), key.world_size.to_string(), key.worker_id.to_string()]);
    parts.push(hash_text(&key.chunk_hash, &grammar, release)?);
    match (&key.dtype, grammar.has_dtype) {
        (Some(dtype), true) => match key_dtype_text(dtype, release) {
            Some(text) => parts.push(text.to_string()),
            None => return refused(format!("keys of {name} have no name for the dtype {dtype}")),
        },
        (None, false) => {}
        (None, true) => return refused(format!("keys of {name} carry a dtype, and it is null")),
        (Some(_), false) => return refused(format!("keys of {name} have no dtype")),
    }
    match key.layer {
        Some(layer) if layer < 0 => return refused("a negative layer reads back as a tag"),
        Some(layer) => parts.push(layer.to_string()),
        None => {}
    }
    if !key.tags.is_empty() && !grammar.has_tags {
        return refused(format!("keys of {name} have no tags"));
    }
    for (i, (tag, value)) in key.tags.iter().enumerate() {
        if tag.contains('%') {
            return refused(format!("the tag name '{tag}' contains '%', which ends a tag name"));
        }
        if key.tags[..i].iter().any(|(earlier, _)| earlier == tag) {
            return refused(format!("the tag '{tag}' occurs twice"));
        }
        parts.push(format!("{tag}%{value}"));
    }
    match parts.iter().find(|part| part.contains('@')) {
        Some(part) => refused(format!("'{part}' contains '@', which separates the parts of a key")),
        None => Ok(parts.join("@")),
    }
}

fn hash_text(hash: &Hash, grammar: &KeyGrammar, release: Release) -> Result<String> {
    match (hash, grammar.written) {
        (Hash::Text(text), HashText::Opaque) => Ok(text.clone()),
        (Hash::Int(number), HashText::Decimal) => Ok(number.to_text(10)),
        (Hash::Int(number), HashText::Hex) => Ok(number.to_text(16)),
        // All of its bytes: a digest that begins with zeros is not the number that it spells.
        (Hash::Bytes(digest), HashText::Hex) if grammar.takes_digests && !digest.is_empty() => Ok(to_hex(digest)),
        _ => refused(format!("keys of {} cannot carry such a hash", release.name())),
    }
}

/// Every release has a class that reads the layer keys that it wrote, but servers before 0.3.14 do not use it: a layer key ends the
/// connection there.
#[derive(Clone, Copy, PartialEq)]
pub enum ReadBy {
    AnyClass,
    Server,
}

/// Reads what `format_key` writes, with the mistakes that this release makes. Protocol where it would raise.
pub fn parse_key(text: &str, release: Release, reader: ReadBy) -> Result<Key> {
    let grammar = at(KEY_GRAMMAR, release);
    let parts: Vec<&str> = text.split('@').collect();
    let fixed = 4 + usize::from(grammar.has_engine) + usize::from(grammar.has_dtype);
    let wrong_count = || Failure::Protocol(format!("the key '{text}' has {} parts, and {} wants {fixed}", parts.len(), release.name()));
    if parts.len() < fixed {
        return Err(wrong_count());
    }
    let mut rest = parts.iter().copied();
    let mut part = || rest.next().unwrap_or_default();
    let engine = grammar.has_engine.then(|| part().to_string());
    let model = part().to_string();
    let world_size = small_integer(part(), "world size")?;
    let worker_id = small_integer(part(), "worker id")?;
    let chunk_hash = match (grammar.read, part()) {
        (HashText::Opaque, text) => Hash::Text(text.to_string()),
        (HashText::Decimal, text) => Hash::Int(integer(text, 10, "hash")?),
        (HashText::Hex, text) => Hash::Int(integer(text, 16, "hash")?),
    };
    let mut dtype = None;
    if grammar.has_dtype {
        let text = part();
        dtype = key_dtype_name(text, release).map(str::to_string);
        if dtype.is_none() {
            return protocol(format!("the key has an unknown dtype '{text}'"));
        }
    }
    let mut more = &parts[fixed..];
    let mut layer = None;
    if grammar.reads_layers || reader == ReadBy::AnyClass {
        if let Some((first, others)) = more.split_first() {
            if !first.is_empty() && first.chars().all(|c| c.is_ascii_digit()) {
                layer = Some(small_integer(first, "layer")?);
                more = others;
            }
        }
    }
    if !more.is_empty() && !grammar.has_tags {
        return Err(wrong_count());
    }
    let mut tags: Vec<(String, String)> = Vec::new();
    for part in more {
        // The first '%' ends the name; a value may hold more of them.
        let (name, value) = match part.split_once('%') {
            Some(tag) => tag,
            None => return protocol(format!("'{part}' in the key is no tag: it has no '%'")),
        };
        if let Some(name) = name.strip_prefix(grammar.tag_mark) {
            // Upstream collects tags in a dictionary: a repeated name keeps its first place and takes the last value.
            match tags.iter_mut().find(|(known, _)| known == name) {
                Some(tag) => tag.1 = value.to_string(),
                None => tags.push((name.to_string(), value.to_string())),
            }
        }
    }
    Ok(Key { model, world_size, worker_id, chunk_hash, dtype, engine, layer, tags })
}

/// Python's `int(text, base)`, but for the underscores and the digits of other scripts that it takes too.
fn integer(text: &str, base: u32, what: &str) -> Result<Integer> {
    match Integer::parse(text.trim_matches(is_space), base) {
        Some(number) => Ok(number),
        None => protocol(format!("the {what} '{text}' of the key is no integer")),
    }
}

fn small_integer(text: &str, what: &str) -> Result<i64> {
    let number = integer(text, 10, what)?;
    // Legal for Python, absurd for us.
    number.to_text(10).parse().or_else(|_| refused(format!("the {what} '{text}' of the key does not fit into 64 bits")))
}

pub fn to_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.extend([byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])));
    }
    text
}
