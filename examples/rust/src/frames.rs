//! Request and reply headers of `lm://`, and the RemoteMetadata prefix. Bytes in, values out; no sockets here.

use crate::failure::{protocol, refused, Result};
use crate::tables::*;

/// Bytes of the key field at the end of a request.
const KEY_FIELD: usize = 150;

pub type WireShape = [i32; 4];

/// What a header says about its payload, as the numbers that stand on the wire (`tables.rs` has their names).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Description {
    pub length: i32,
    pub format: i32,
    pub dtype: i32,
    pub location: i32,
    pub shape: WireShape,
}

pub struct Request {
    pub command: i32,
    /// As text, without the white space at its ends.
    pub key: String,
    pub about: Description,
}

pub struct Reply {
    pub code: i32,
    pub about: Description,
}

pub struct Group {
    pub dtype: i32,
    pub shape: WireShape,
}

pub struct Metadata {
    pub length: i32,
    pub format: i32,
    pub groups: Vec<Group>,
}

pub fn reply_size(release: Release) -> usize {
    if at(FRAMES_HAVE_LOCATION, release) {
        36
    } else {
        32
    }
}

// Note where the location stands: in the middle of a request, at the end of a reply.

pub fn encode_request(command: i32, key: &str, about: &Description, release: Release) -> Result<Vec<u8>> {
    // len() counts bytes, as the field does. Upstream counts characters here.
    if key.len() > KEY_FIELD {
        return refused(format!("the key has {} bytes in UTF-8, and its field holds {KEY_FIELD}: {key}", key.len()));
    }
    let mut bytes = Vec::new();
    for number in [command, about.length, about.format, about.dtype] {
        write_number(&mut bytes, number);
    }
    write_location(&mut bytes, about, release)?;
    write_shape(&mut bytes, &about.shape);
    bytes.extend_from_slice(key.as_bytes());
    bytes.resize(reply_size(release) + KEY_FIELD, b' ');
    Ok(bytes)
}

pub fn decode_request(bytes: &[u8], release: Release) -> Result<Request> {
    let mut reader = Reader::of_header(bytes, "request", reply_size(release) + KEY_FIELD, release)?;
    let command = reader.named(COMMANDS, "command")?;
    let mut about = Description { length: reader.number(), format: reader.format()?, dtype: reader.dtype()?, ..Description::default() };
    about.location = reader.location()?;
    about.shape = reader.shape();
    match std::str::from_utf8(reader.rest) {
        Ok(key) => Ok(Request { command, key: key.trim_matches(is_space).to_string(), about }),
        Err(_) => protocol("the key field is not UTF-8"),
    }
}

pub fn encode_reply(code: i32, about: &Description, release: Release) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for number in [code, about.length, about.format, about.dtype] {
        write_number(&mut bytes, number);
    }
    write_shape(&mut bytes, &about.shape);
    write_location(&mut bytes, about, release)?;
    Ok(bytes)
}

pub fn decode_reply(bytes: &[u8], release: Release) -> Result<Reply> {
    let mut reader = Reader::of_header(bytes, "reply", reply_size(release), release)?;
    let code = reader.named(CODES, "code")?;
    let mut about = Description { length: reader.number(), format: reader.format()?, dtype: reader.dtype()?, ..Description::default() };
    about.shape = reader.shape();
    about.location = reader.location()?;
    Ok(Reply { code, about })
}

pub fn encode_metadata(metadata: &Metadata, release: Release) -> Result<Vec<u8>> {
    require_groups(metadata.groups.len(), release)?;
    let mut bytes = Vec::new();
    write_number(&mut bytes, metadata.length);
    write_number(&mut bytes, metadata.format);
    for group in &metadata.groups {
        write_number(&mut bytes, group.dtype);
        write_shape(&mut bytes, &group.shape);
    }
    Ok(bytes)
}

pub fn decode_metadata(bytes: &[u8], groups: usize, release: Release) -> Result<Metadata> {
    require_groups(groups, release)?;
    // It is a prefix: more bytes may follow, fewer may not.
    if bytes.len() < 8 || (bytes.len() - 8) / 20 < groups {
        return protocol(format!("{} bytes are too few for RemoteMetadata of {groups} groups", bytes.len()));
    }
    let mut reader = Reader { rest: bytes, release };
    let mut metadata = Metadata { length: reader.number(), format: reader.format()?, groups: Vec::new() };
    for _ in 0..groups {
        metadata.groups.push(Group { dtype: reader.dtype()?, shape: reader.shape() });
    }
    Ok(metadata)
}

fn require_groups(groups: usize, release: Release) -> Result<()> {
    if groups != 1 && !at(METADATA_HAS_GROUPS, release) {
        return refused(format!("RemoteMetadata of {} describes exactly one group", release.name()));
    }
    Ok(())
}

/// Dimensions as a caller has them, to the four numbers that stand on the wire.
pub fn pad_shape(shape: &[i64], release: Release) -> Result<WireShape> {
    let fewest = if at(SHAPES_MAY_BE_SHORT, release) { 1 } else { 4 };
    if shape.len() < fewest || shape.len() > 4 {
        return refused(format!("a shape of {} has {fewest} to 4 dimensions, got {}", release.name(), shape.len()));
    }
    let mut wire = [0; 4];
    for (place, dimension) in wire.iter_mut().zip(shape) {
        match i32::try_from(*dimension) {
            Ok(fits) => *place = fits,
            Err(_) => return refused(format!("the dimension {dimension} does not fit into 32 bits")),
        }
    }
    Ok(wire)
}

/// The way back. The zeros behind a BINARY length are real: its shape is always `[length, 0, 0, 0]`.
pub fn strip_shape(wire: &WireShape, format: i32, release: Release) -> Vec<i64> {
    let mut shape: Vec<i64> = wire.iter().map(|dimension| i64::from(*dimension)).collect();
    if at(SHAPES_MAY_BE_SHORT, release) && !is_binary(format) {
        while shape.len() > 1 && shape.last() == Some(&0) {
            shape.pop();
        }
    }
    shape
}

// Upstream packs native integers; every machine that it runs on is little-endian, so that is what the wire is.

fn write_number(bytes: &mut Vec<u8>, number: i32) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn write_shape(bytes: &mut Vec<u8>, shape: &WireShape) {
    for dimension in shape {
        write_number(bytes, *dimension);
    }
}

fn write_location(bytes: &mut Vec<u8>, about: &Description, release: Release) -> Result<()> {
    if at(FRAMES_HAVE_LOCATION, release) {
        write_number(bytes, about.location);
    } else if about.location != NO_LOCATION {
        return refused(format!("frames of {} have no location", release.name()));
    }
    Ok(())
}

/// Takes fields from the front of bytes of which there are enough.
struct Reader<'a> {
    rest: &'a [u8],
    release: Release,
}

impl<'a> Reader<'a> {
    fn of_header(bytes: &'a [u8], what: &str, size: usize, release: Release) -> Result<Reader<'a>> {
        if bytes.len() != size {
            return protocol(format!("a {what} header of {} has {size} bytes, got {}", release.name(), bytes.len()));
        }
        Ok(Reader { rest: bytes, release })
    }

    fn number(&mut self) -> i32 {
        let (number, rest) = self.rest.split_at(4);
        self.rest = rest;
        i32::from_le_bytes([number[0], number[1], number[2], number[3]])
    }

    fn shape(&mut self) -> WireShape {
        [self.number(), self.number(), self.number(), self.number()]
    }

    fn named(&mut self, rows: &[(i32, &'static str)], what: &str) -> Result<i32> {
        let number = self.number();
        self.known(number, name_of(rows, number).is_some(), what)
    }

    fn format(&mut self) -> Result<i32> {
        let number = self.number();
        self.known(number, format_name(number, self.release).is_some(), "format")
    }

    fn dtype(&mut self) -> Result<i32> {
        let number = self.number();
        let known = self.known(number, number == NO_DTYPE || name_of(DTYPES, number).is_some(), "dtype")?;
        Ok(if known == 1 { FLOAT16 } else { known })
    }

    fn location(&mut self) -> Result<i32> {
        if !at(FRAMES_HAVE_LOCATION, self.release) {
            return Ok(NO_LOCATION);
        }
        let number = self.number();
        self.known(number, number == NO_LOCATION || name_of(LOCATIONS, number).is_some(), "location")
    }

    fn known(&self, number: i32, known: bool, what: &str) -> Result<i32> {
        if known {
            return Ok(number);
        }
        protocol(format!("unknown {what} {number} for {}", self.release.name()))
    }
}

/// What Python's str.strip() takes away: a little more than Rust calls white space.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}
