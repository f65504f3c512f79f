//! The JSON values of the client protocol, to and from this client's own types. Refused where arguments are missing or malformed.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::failure::{refused, unsupported, Failure, Result};
use crate::frames::{pad_shape, strip_shape, Description, WireShape};
use crate::integer::Integer;
use crate::json::{object, Json};
use crate::keys::{to_hex, Hash, Key};
use crate::tables::*;

/// Longer bytes are passed as a file.
const LONGEST_HEX: usize = 64 << 10;

pub fn member<'a>(args: &'a Json, name: &str) -> Result<&'a Json> {
    args.get(name).ok_or_else(|| Failure::Refused(format!("the argument {name} is missing")))
}

/// The member, if it is there and not null.
pub fn optional<'a>(args: &'a Json, name: &str) -> Option<&'a Json> {
    args.get(name).filter(|value| **value != Json::Null)
}

pub fn text<'a>(args: &'a Json, name: &str) -> Result<&'a str> {
    match member(args, name)? {
        Json::Text(text) => Ok(text),
        _ => refused(format!("{name} must be a string")),
    }
}

pub fn optional_text(args: &Json, name: &str) -> Result<Option<String>> {
    optional(args, name).map(|_| text(args, name).map(str::to_string)).transpose()
}

pub fn boolean(args: &Json, name: &str) -> Result<bool> {
    match member(args, name)? {
        Json::Bool(value) => Ok(*value),
        _ => refused(format!("{name} must be true or false")),
    }
}

/// An integer that fits into the type that is asked for: i32 for what stands on the wire, i64 for the rest.
pub fn integer<T: TryFrom<i64>>(args: &Json, name: &str) -> Result<T> {
    match member(args, name)? {
        Json::Integer(value) => T::try_from(*value).or_else(|_| refused(format!("{name} is out of range: {value}"))),
        _ => refused(format!("{name} must be an integer of 64 bits or fewer")),
    }
}

pub fn integers(args: &Json, name: &str) -> Result<Vec<i64>> {
    let whole = |item: &Json| match item {
        Json::Integer(value) => Ok(*value),
        _ => refused(format!("{name} must hold integers of 64 bits or fewer")),
    };
    array(args, name)?.iter().map(whole).collect()
}

pub fn array<'a>(args: &'a Json, name: &str) -> Result<&'a [Json]> {
    match member(args, name)? {
        Json::Array(items) => Ok(items),
        _ => refused(format!("{name} must be an array")),
    }
}

pub fn release(args: &Json) -> Result<Release> {
    let name = text(args, "release")?;
    match Release::find(name) {
        Some(release) => Ok(release),
        None => unsupported(format!("this client does not know a release {name} of lmcache")),
    }
}

pub fn shape(args: &Json, release: Release) -> Result<WireShape> {
    pad_shape(&integers(args, "shape")?, release)
}

pub fn format(args: &Json, release: Release) -> Result<i32> {
    let name = text(args, "format")?;
    format_number(name, release).ok_or_else(|| Failure::Refused(format!("lmcache {} has no memory format {name}", release.name())))
}

pub fn dtype(args: &Json) -> Result<i32> {
    if member(args, "dtype")? == &Json::Null {
        return Ok(NO_DTYPE);
    }
    let name = text(args, "dtype")?;
    number_of(DTYPES, name).ok_or_else(|| Failure::Refused(format!("frames have no number for the dtype {name}")))
}

/// Everything but the length.
pub fn description(args: &Json, release: Release) -> Result<Description> {
    let location = match optional_text(args, "location")? {
        None => NO_LOCATION,
        Some(name) => match number_of(LOCATIONS, &name) {
            Some(number) => number,
            None => return refused(format!("frames have no number for the location {name}")),
        },
    };
    Ok(Description { length: 0, format: format(args, release)?, dtype: dtype(args)?, location, shape: shape(args, release)? })
}

/// The members that stand in `args` itself, as `chunk_keys` has them; its keys have no hash yet, and no layer.
pub fn key(args: &Json, chunk_hash: Hash) -> Result<Key> {
    let mut tags = Vec::new();
    if optional(args, "tags").is_some() {
        for tag in array(args, "tags")? {
            match tag {
                Json::Array(pair) => match pair.as_slice() {
                    [Json::Text(name), Json::Text(value)] => tags.push((name.clone(), value.clone())),
                    _ => return refused("a tag is a pair of strings"),
                },
                _ => return refused("a tag is a pair of strings"),
            }
        }
    }
    Ok(Key {
        model: text(args, "model")?.to_string(),
        world_size: integer(args, "world_size")?,
        worker_id: integer(args, "worker_id")?,
        chunk_hash,
        dtype: optional_text(args, "dtype")?,
        engine: optional_text(args, "fmt")?,
        layer: optional(args, "layer").map(|_| integer(args, "layer")).transpose()?,
        tags,
    })
}

pub fn hash(args: &Json, name: &str) -> Result<Hash> {
    let value = member(args, name)?;
    if value.get("int").is_some() {
        let digits = text(value, "int")?;
        return match Integer::parse(digits, 10) {
            Some(number) => Ok(Hash::Int(number)),
            None => refused(format!("the hash '{digits}' is no decimal integer")),
        };
    }
    if value.get("text").is_some() {
        return Ok(Hash::Text(text(value, "text")?.to_string()));
    }
    Ok(Hash::Bytes(from_hex(text(value, "bytes")?)?))
}

pub fn key_to_json(key: &Key) -> Json {
    let hash = match &key.chunk_hash {
        Hash::Int(number) => object([("int", number.to_text(10).into())]),
        Hash::Text(text) => object([("text", text.as_str().into())]),
        Hash::Bytes(digest) => object([("bytes", to_hex(digest).into())]),
    };
    let tags: Vec<Json> = key.tags.iter().map(|(name, value)| vec![name.as_str(), value.as_str()].into()).collect();
    object([
        ("model", key.model.as_str().into()),
        ("world_size", key.world_size.into()),
        ("worker_id", key.worker_id.into()),
        ("chunk_hash", hash),
        ("dtype", key.dtype.clone().into()),
        ("fmt", key.engine.clone().into()),
        ("layer", key.layer.into()),
        ("tags", tags.into()),
    ])
}

pub fn shape_to_json(shape: &WireShape, format: i32, release: Release) -> Json {
    strip_shape(shape, format, release).into()
}

/// The members of `ok` for a header: `first` is its command or code, and what belongs to that.
pub fn description_to_json(first: Vec<(&str, Json)>, about: &Description, release: Release) -> Json {
    let mut members: Vec<(String, Json)> = first.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    members.extend([
        ("length".to_string(), i64::from(about.length).into()),
        ("format".to_string(), format_name(about.format, release).into()),
        ("dtype".to_string(), name_of(DTYPES, about.dtype).into()),
        ("shape".to_string(), shape_to_json(&about.shape, about.format, release)),
        ("location".to_string(), name_of(LOCATIONS, about.location).into()),
    ]);
    Json::Object(members)
}

fn from_hex(digits: &str) -> Result<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some((char::from(*high).to_digit(16)? << 4 | char::from(*low).to_digit(16)?) as u8),
        _ => None,
    };
    pairs.map(byte).collect::<Option<_>>().ok_or_else(|| Failure::Refused("this is no hexadecimal text, two digits a byte".to_string()))
}

/// Where bytes that are too long for a line are passed: files in a folder that the harness names in `hello`.
#[derive(Default)]
pub struct Scratch {
    folder: Option<PathBuf>,
    written: AtomicU64,
}

impl Scratch {
    pub fn in_folder(folder: &str) -> Scratch {
        Scratch { folder: Some(PathBuf::from(folder)), written: AtomicU64::new(0) }
    }

    pub fn bytes(&self, args: &Json, name: &str) -> Result<Vec<u8>> {
        let value = member(args, name)?;
        if value.get("hex").is_some() {
            return from_hex(text(value, "hex")?);
        }
        let path = self.path(text(value, "file")?)?;
        let bytes = fs::read(&path).or_else(|error| refused(format!("{}: {error}", path.display())))?;
        if bytes.len() as i64 != integer::<i64>(value, "length")? {
            return refused(format!("{} has {} bytes, which is not its length", path.display(), bytes.len()));
        }
        Ok(bytes)
    }

    pub fn bytes_to_json(&self, bytes: &[u8]) -> Result<Json> {
        if bytes.len() <= LONGEST_HEX {
            return Ok(object([("hex", to_hex(bytes).into())]));
        }
        let name = format!("lmclient-{}-{}", std::process::id(), self.written.fetch_add(1, Ordering::Relaxed));
        let path = self.path(&name)?;
        if let Err(error) = fs::write(&path, bytes) {
            return Err(Failure::Internal(format!("{}: {error}", path.display())));
        }
        Ok(object([("file", name.into()), ("length", (bytes.len() as i64).into())]))
    }

    /// Deletes every file that the arguments hand over, whether or not the operation read it.
    pub fn discard_files(&self, args: &Json) {
        if let Json::Object(members) = args {
            for (_, value) in members {
                if let Ok(path) = text(value, "file").and_then(|name| self.path(name)) {
                    // What is gone already needs no deleting.
                    let _ = fs::remove_file(path);
                }
            }
        }
    }

    fn path(&self, name: &str) -> Result<PathBuf> {
        if name.is_empty() || name == "." || name == ".." || name.contains(&['/', '\0'][..]) {
            return refused(format!("'{name}' is no name of a file in the scratch directory"));
        }
        match &self.folder {
            Some(folder) => Ok(folder.join(name)),
            None => refused("hello named no scratch directory"),
        }
    }
}
