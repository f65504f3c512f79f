//! The operations of the client protocol: one function each, from arguments to the members of `ok`.

use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::chunks::{chunk_keys, token_hashes, ChunkRequest};
use crate::connection::{Connection, Expectation};
use crate::failure::{refused, unsupported, Failure, Result};
use crate::frames::*;
use crate::integer::Integer;
use crate::json::{object, Json};
use crate::keys::{format_key, parse_key, to_hex, Hash, Key, ReadBy};
use crate::layout::{pack_layout, unpack_layout};
use crate::tables::*;
use crate::values::{self, Scratch};

/// Several threads serve requests at once, so everything that changes is behind a lock. That of a connection is held for a whole
/// operation: a request, its reply and the payload behind it belong together.
#[derive(Default)]
pub struct Client {
    scratch: Mutex<Arc<Scratch>>,
    connections: Mutex<HashMap<String, Arc<Mutex<Connection>>>>,
}

type Operation = fn(&Client, &Json) -> Result<Json>;

const OPERATIONS: &[(&str, Operation)] = &[
    ("hello", Client::hello),
    ("state", Client::state),
    ("bye", Client::bye),
    ("encode_request", Client::encode_request),
    ("decode_request", Client::decode_request),
    ("encode_reply", Client::encode_reply),
    ("decode_reply", Client::decode_reply),
    ("encode_metadata", Client::encode_metadata),
    ("decode_metadata", Client::decode_metadata),
    ("format_key", Client::format_key),
    ("parse_key", Client::parse_key),
    ("chunk_keys", Client::chunk_keys),
    ("token_hashes", Client::token_hashes),
    ("pack_layout", Client::pack_layout),
    ("unpack_layout", Client::unpack_layout),
    ("connect", Client::connect),
    ("put", Client::put),
    ("get", Client::get),
    ("exist", Client::exist),
    ("health", Client::health),
    ("list", Client::list),
    ("close", Client::close),
];

/// Operations that wait for a server: others may be served meanwhile.
pub fn waits(op: &str) -> bool {
    ["connect", "put", "get", "exist", "health", "list"].contains(&op)
}

fn nothing() -> Json {
    object([])
}

/// A thread that panicked while it held a lock has answered with an error; what it held is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    /// The answer to a request, without its id. A `get` that misses is the one result that is neither `ok` nor an error.
    pub fn answer(&self, op: &str, args: &Json) -> (&'static str, Json) {
        let result = match OPERATIONS.iter().find(|(name, _)| *name == op) {
            Some((_, operation)) => operation(self, args),
            None => unsupported(format!("this client has no operation {op}")),
        };
        self.scratch().discard_files(args);
        let (class, message) = match result {
            Ok(Json::Null) => return ("miss", true.into()),
            Ok(members) => return ("ok", members),
            Err(Failure::Unsupported(reason)) => return ("unsupported", object([("reason", reason.into())])),
            Err(Failure::Refused(message)) => ("refused", message),
            Err(Failure::Protocol(message)) => ("protocol", message),
            Err(Failure::Connection(message)) => ("connection", message),
            Err(Failure::Timeout(message)) => ("timeout", message),
            Err(Failure::Internal(message)) => ("internal", message),
        };
        ("error", object([("class", class.into()), ("message", message.into())]))
    }

    fn scratch(&self) -> Arc<Scratch> {
        lock(&self.scratch).clone()
    }

    fn hello(&self, args: &Json) -> Result<Json> {
        if values::integer::<i64>(args, "protocol")? != 1 {
            return refused("this client speaks version 1 of the client protocol");
        }
        *lock(&self.scratch) = Arc::new(Scratch::in_folder(values::text(args, "scratch")?));
        Ok(object([
            ("name", env!("CARGO_PKG_NAME").into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("language", "Rust".into()),
            ("operations", OPERATIONS.iter().map(|(name, _)| *name).collect::<Vec<_>>().into()),
            ("releases", RELEASES.to_vec().into()),
            ("concurrent", true.into()),
        ]))
    }

    fn state(&self, _: &Json) -> Result<Json> {
        // One that is locked serves a request, so it is there; waiting for that would keep everybody waiting.
        let is_open = |connection: &&Arc<Mutex<Connection>>| connection.try_lock().map_or(true, |connection| connection.is_open());
        let open = lock(&self.connections).values().filter(is_open).count();
        let mut members = vec![("connections".to_string(), Json::Integer(open as i64))];
        // Linux tells the rest; elsewhere these members are left out.
        if let Ok(descriptors) = fs::read_dir("/proc/self/fd") {
            // The folder itself is open while they are counted.
            members.push(("file_descriptors".to_string(), (descriptors.count() as i64 - 1).into()));
        }
        for line in fs::read_to_string("/proc/self/status").unwrap_or_default().lines() {
            let number = |text: &str| text.trim().trim_end_matches(" kB").parse::<i64>().ok();
            match line.split_once(':').map(|(name, rest)| (name, number(rest))) {
                Some(("Threads", Some(threads))) => members.push(("threads".to_string(), threads.into())),
                Some(("VmRSS", Some(kibibytes))) => members.push(("resident_bytes".to_string(), (kibibytes * 1024).into())),
                _ => {}
            }
        }
        Ok(Json::Object(members))
    }

    fn bye(&self, _: &Json) -> Result<Json> {
        lock(&self.connections).clear();
        Ok(nothing())
    }

    // Pure operations

    fn encode_request(&self, args: &Json) -> Result<Json> {
        let release = values::release(args)?;
        let command = numbered(COMMANDS, args, "command")?;
        let about = Description { length: values::integer(args, "length")?, ..values::description(args, release)? };
        let bytes = encode_request(command, &wire_key(args, release)?, &about, release)?;
        Ok(object([("bytes", self.scratch().bytes_to_json(&bytes)?)]))
    }

    fn decode_request(&self, args: &Json) -> Result<Json> {
        let release = values::release(args)?;
        let request = decode_request(&self.scratch().bytes(args, "bytes")?, release)?;
        let key = parse_key(&request.key, release, ReadBy::Server)?;
        let first = vec![("command", name_of(COMMANDS, request.command).into()), ("key", values::key_to_json(&key))];
        Ok(values::description_to_json(first, &request.about, release))
    }

    fn encode_reply(&self, args: &Json) -> Result<Json> {
        let release = values::release(args)?;
        let code = numbered(CODES, args, "code")?;
        let about = Description { length: values::integer(args, "length")?, ..values::description(args, release)? };
        Ok(object([("bytes", self.scratch().bytes_to_json(&encode_reply(code, &about, release)?)?)]))
    }

    fn decode_reply(&self, args: &Json) -> Result<Json> {
        let release = values::release(args)?;
        let reply = decode_reply(&self.scratch().bytes(args, "bytes")?, release)?;
        Ok(values::description_to_json(vec![("code", name_of(CODES, reply.code).into())], &reply.about, release))
    }

    fn encode_metadata(&self, args: &Json) -> Result<Json> {
        let release = values::release(args)?;
        let mut groups = Vec::new();
        for group in values::array(args, "groups")? {
            groups.push(Group { dtype: values::dtype(group)?, shape: values::shape(group, release)? });
        }
        let metadata = Metadata { length: values::integer(args, "length")?, format: values::format(args, release)?, groups };
        Ok(object([("bytes", self.scratch().bytes_to_json(&encode_metadata(&metadata, release)?)?)]))
    }

    fn decode_metadata(&self, args: &Json) -> Result<Json> {
        let release = values::release(args)?;
        let metadata = decode_metadata(&self.scratch().bytes(args, "bytes")?, values::integer(args, "groups")?, release)?;
        let group = |group: &Group| {
            let shape = values::shape_to_json(&group.shape, metadata.format, release);
            object([("dtype", name_of(DTYPES, group.dtype).into()), ("shape", shape)])
        };
        Ok(object([
            ("length", i64::from(metadata.length).into()),
            ("format", format_name(metadata.format, release).into()),
            ("groups", metadata.groups.iter().map(group).collect::<Vec<_>>().into()),
        ]))
    }

    fn format_key(&self, args: &Json) -> Result<Json> {
        Ok(object([("text", wire_key(args, values::release(args)?)?.into())]))
    }

    fn parse_key(&self, args: &Json) -> Result<Json> {
        let key = parse_key(values::text(args, "text")?, values::release(args)?, ReadBy::AnyClass)?;
        Ok(object([("key", values::key_to_json(&key))]))
    }

    fn chunk_keys(&self, args: &Json) -> Result<Json> {
        let none_hash = values::hash(args, "none_hash")?;
        let request = ChunkRequest {
            tokens: values::integers(args, "tokens")?,
            algorithm: values::text(args, "algorithm")?.to_string(),
            none_hash: none_hash.clone(),
            chunk_size: values::integer(args, "chunk_size")?,
            save_unfull_chunk: values::boolean(args, "save_unfull_chunk")?,
            skip: values::integer(args, "skip")?,
            key: values::key(args, none_hash)?,
            returns: values::optional_text(args, "returns")?,
        };
        let chunks = chunk_keys(&request, values::release(args)?)?;
        let chunks = chunks
            .into_iter()
            .map(|chunk| object([("start", (chunk.start as i64).into()), ("end", (chunk.end as i64).into()), ("key", chunk.key.into())]));
        Ok(object([("chunks", chunks.collect::<Vec<_>>().into())]))
    }

    fn token_hashes(&self, args: &Json) -> Result<Json> {
        let hashes = token_hashes(&values::integers(args, "tokens")?, values::integer(args, "chunk_size")?, values::release(args)?)?;
        Ok(object([("hashes", hashes.iter().map(|digest| to_hex(digest)).collect::<Vec<_>>().into())]))
    }

    fn pack_layout(&self, args: &Json) -> Result<Json> {
        let format = values::format(args, values::release(args)?)?;
        let paged = self.scratch().bytes(args, "paged")?;
        let (paged_shape, slots) = (values::integers(args, "paged_shape")?, values::integers(args, "slots")?);
        let (bytes, shape) = pack_layout(format, values::dtype(args)?, &paged, &paged_shape, &slots)?;
        Ok(object([("bytes", self.scratch().bytes_to_json(&bytes)?), ("shape", shape.into())]))
    }

    fn unpack_layout(&self, args: &Json) -> Result<Json> {
        let format = values::format(args, values::release(args)?)?;
        let (bytes, shape) = (self.scratch().bytes(args, "bytes")?, values::integers(args, "shape")?);
        let (paged_shape, slots) = (values::integers(args, "paged_shape")?, values::integers(args, "slots")?);
        let paged = unpack_layout(format, values::dtype(args)?, &bytes, &shape, &slots, &paged_shape)?;
        Ok(object([("paged", self.scratch().bytes_to_json(&paged)?)]))
    }

    // Connected operations

    fn connect(&self, args: &Json) -> Result<Json> {
        let protocol = values::text(args, "protocol")?;
        if protocol != "lm" {
            return unsupported(format!("this client speaks lm, not {protocol}"));
        }
        let timeout = Duration::from_millis(u64::from(values::integer::<u32>(args, "timeout_ms")?));
        let host = values::text(args, "host")?.to_string();
        let connection = Connection::open(host, values::integer(args, "port")?, values::release(args)?, timeout)?;
        let name = values::text(args, "connection")?.to_string();
        lock(&self.connections).insert(name, Arc::new(Mutex::new(connection)));
        Ok(nothing())
    }

    fn connection(&self, args: &Json) -> Result<Arc<Mutex<Connection>>> {
        let name = values::text(args, "connection")?;
        // The lock of the table is let go at once: a request that waits on one connection keeps nobody from another.
        let found = lock(&self.connections).get(name).cloned();
        found.ok_or_else(|| Failure::Connection(format!("there is no connection '{name}'")))
    }

    fn put(&self, args: &Json) -> Result<Json> {
        let connection = self.connection(args)?;
        let mut connection = lock(&connection);
        let release = connection.release();
        let payload = self.scratch().bytes(args, "payload")?;
        connection.put(&wire_key(args, release)?, values::description(args, release)?, &payload)?;
        Ok(nothing())
    }

    fn get(&self, args: &Json) -> Result<Json> {
        let connection = self.connection(args)?;
        let mut connection = lock(&connection);
        let release = connection.release();
        let expect = expectation(values::member(args, "expect")?, release)?;
        let payload = match connection.get(&wire_key(args, release)?, &expect)? {
            Some(payload) => self.scratch().bytes_to_json(&payload)?,
            None => return Ok(Json::Null),
        };
        Ok(object([
            ("payload", payload),
            ("format", format_name(expect.format, release).into()),
            ("dtype", name_of(DTYPES, expect.dtype).into()),
            ("shape", values::shape_to_json(&expect.shape, expect.format, release)),
        ]))
    }

    fn exist(&self, args: &Json) -> Result<Json> {
        let connection = self.connection(args)?;
        let mut connection = lock(&connection);
        let key = wire_key(args, connection.release())?;
        Ok(object([("exists", connection.exist(&key)?.into())]))
    }

    fn health(&self, args: &Json) -> Result<Json> {
        let connection = self.connection(args)?;
        let mut connection = lock(&connection);
        let key = some_key(connection.release())?;
        Ok(object([("healthy", connection.health(&key)?.into())]))
    }

    fn list(&self, args: &Json) -> Result<Json> {
        let connection = self.connection(args)?;
        let mut connection = lock(&connection);
        let key = some_key(connection.release())?;
        Ok(object([("keys", connection.list(&key)?.into())]))
    }

    fn close(&self, args: &Json) -> Result<Json> {
        lock(&self.connections).remove(values::text(args, "connection")?);
        Ok(nothing())
    }
}

fn numbered(rows: &[(i32, &str)], args: &Json, name: &str) -> Result<i32> {
    let text = values::text(args, name)?;
    number_of(rows, text).ok_or_else(|| Failure::Refused(format!("there is no {name} {text}")))
}

fn wire_key(args: &Json, release: Release) -> Result<String> {
    let key = values::member(args, "key")?;
    format_key(&values::key(key, values::hash(key, "chunk_hash")?)?, release)
}

/// HEALTH and LIST are about no key, but their header has the field, and servers end the connection at one that they cannot parse.
fn some_key(release: Release) -> Result<String> {
    let grammar = at(KEY_GRAMMAR, release);
    let key = Key {
        model: "lmclient".to_string(),
        world_size: 1,
        worker_id: 0,
        chunk_hash: if grammar.written == HashText::Opaque { Hash::Text("0".to_string()) } else { Hash::Int(Integer::default()) },
        dtype: grammar.has_dtype.then(|| "float16".to_string()),
        engine: grammar.has_engine.then(|| "vllm".to_string()),
        layer: None,
        tags: Vec::new(),
    };
    format_key(&key, release)
}

fn expectation(args: &Json, release: Release) -> Result<Expectation> {
    let (format, dtype, shape) = (values::format(args, release)?, values::dtype(args)?, values::shape(args, release)?);
    let size = if is_binary(format) { Some(1) } else { dtype_size(dtype) };
    // Of a binary shape only the first dimension counts; of others, the zeros that pad a short one do not.
    let dimensions = if is_binary(format) { vec![i64::from(shape[0])] } else { strip_shape(&shape, format, release) };
    let length = dimensions.iter().fold(size, |length, dimension| length?.checked_mul(*dimension));
    match length {
        Some(length) if shape.iter().all(|dimension| *dimension >= 0) => Ok(Expectation { format, dtype, shape, length }),
        _ => refused("expect does not tell how long the payload is"),
    }
}
