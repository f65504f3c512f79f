//! Everything that differs between releases of lmcache, as data. No other file compares release names.

/// Every release on the package index, oldest first. 0.3.8 and 0.4.0 were never published.
#[rustfmt::skip]
pub const RELEASES: &[&str] = &[
    "0.3.1", "0.3.1.post1", "0.3.2", "0.3.3", "0.3.4", "0.3.5", "0.3.6", "0.3.7", "0.3.9", "0.3.9.post1", "0.3.9.post2",
    "0.3.10", "0.3.10.post1", "0.3.10.post2", "0.3.11", "0.3.12", "0.3.13", "0.3.14", "0.3.15", "0.4.1", "0.4.2", "0.4.3",
    "0.4.4", "0.4.5", "0.4.6", "0.4.7", "0.5.0", "0.5.1", "0.5.2", "0.5.3", "0.5.4", "0.5.5", "0.5.6",
];

/// A position in `RELEASES`: later releases compare greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(usize);

impl Release {
    pub fn find(name: &str) -> Option<Release> {
        RELEASES.iter().position(|release| *release == name).map(Release)
    }

    pub fn name(self) -> &'static str {
        RELEASES[self.0]
    }
}

/// Rows of "from this release on", oldest first: each holds until the next one.
pub type Table<T> = &'static [(&'static str, T)];

pub fn at<T: Copy>(table: Table<T>, release: Release) -> T {
    let began = |since| Release::find(since).expect("tables name releases of RELEASES") <= release;
    let (_, value) = table.iter().take_while(|(since, _)| began(since)).last().unwrap_or(&table[0]);
    *value
}

// Frames

pub const FRAMES_HAVE_LOCATION: Table<bool> = &[("0.3.1", false), ("0.3.3", true)];
pub const HIGHEST_FORMAT: Table<i32> = &[("0.3.1", 6), ("0.4.5", 7), ("0.5.1", 8)];
/// true: shapes of 1 to 4 dimensions, padded with trailing zeros on the wire. false: exactly 4 dimensions.
pub const SHAPES_MAY_BE_SHORT: Table<bool> = &[("0.3.1", false), ("0.4.4", true)];
pub const METADATA_HAS_GROUPS: Table<bool> = &[("0.3.1", false), ("0.3.12", true)];

// Keys

#[derive(Clone, Copy, PartialEq)]
pub enum HashText {
    Opaque,
    Decimal,
    Hex,
}

#[derive(Clone, Copy)]
pub struct KeyGrammar {
    /// The serving engine's name ("vllm") stands in front.
    pub has_engine: bool,
    /// Not the same in 0.3.4 and 0.3.5: written in decimal, read in base 16.
    pub written: HashText,
    pub read: HashText,
    pub has_tags: bool,
    /// What a tag's name must begin with to be taken for one when a key is read.
    pub tag_mark: &'static str,
    pub has_dtype: bool,
    /// A hash may be bytes.
    pub takes_digests: bool,
    /// Layer keys can be written in every release, but only servers of some read them back.
    pub reads_layers: bool,
}

const FIRST_KEYS: KeyGrammar = KeyGrammar {
    has_engine: true,
    written: HashText::Opaque,
    read: HashText::Opaque,
    has_tags: false,
    tag_mark: "",
    has_dtype: false,
    takes_digests: false,
    reads_layers: false,
};
const DECIMAL_KEYS: KeyGrammar = KeyGrammar { written: HashText::Decimal, read: HashText::Decimal, ..FIRST_KEYS };
// Tags are written without the mark but need it when read: in these two releases a tag is lost on its way through a server.
const MARKED_KEYS: KeyGrammar = KeyGrammar { read: HashText::Hex, has_tags: true, tag_mark: "lmcache.tag.", ..DECIMAL_KEYS };
const HEX_KEYS: KeyGrammar = KeyGrammar { written: HashText::Hex, tag_mark: "", ..MARKED_KEYS };
const DTYPE_KEYS: KeyGrammar = KeyGrammar { has_dtype: true, ..HEX_KEYS };
const DIGEST_KEYS: KeyGrammar = KeyGrammar { has_engine: false, takes_digests: true, ..DTYPE_KEYS };
const LAYER_KEYS: KeyGrammar = KeyGrammar { reads_layers: true, ..DIGEST_KEYS };

pub const KEY_GRAMMAR: Table<KeyGrammar> = &[
    ("0.3.1", FIRST_KEYS),
    ("0.3.3", DECIMAL_KEYS),
    ("0.3.4", MARKED_KEYS),
    ("0.3.6", HEX_KEYS),
    ("0.3.9.post1", DTYPE_KEYS),
    ("0.3.13", DIGEST_KEYS),
    ("0.3.14", LAYER_KEYS),
];

// Chunk hashes

#[derive(Clone, Copy, PartialEq)]
pub enum Chain {
    /// sha256 over the text of the previous digest and the tokens
    HexDigest,
    /// H((previous, tokens))
    Pair,
    /// H((previous, tokens, None))
    NoneThird,
    /// H((previous, tokens, ()))
    EmptyThird,
}

pub const CHAIN: Table<Chain> =
    &[("0.3.1", Chain::HexDigest), ("0.3.3", Chain::Pair), ("0.3.4", Chain::NoneThird), ("0.4.1", Chain::EmptyThird)];
/// Under which names vLLM's hash over CBOR is looked for. Any other name means builtin there, silently.
pub const CBOR_NAMES: Table<&[&str]> = &[
    ("0.3.1", &[]),
    ("0.3.3", &["sha256_cbor_64bit"]),
    ("0.3.9", &["sha256_cbor"]),
    ("0.3.9.post2", &["sha256_cbor", "sha256_cbor_64bit"]),
];
/// true: a digest is cut to its first 8 bytes, as an integer, before it goes into a key or into the next link.
pub const DIGESTS_ARE_FOLDED: Table<bool> = &[("0.3.1", false), ("0.4.6", true)];
pub const HAS_TOKEN_HASHER: Table<bool> = &[("0.3.1", false), ("0.3.14", true)];

// Numbers on the wire, and their names in the client protocol

pub const PUT: i32 = 1;
pub const GET: i32 = 2;
pub const EXIST: i32 = 3;
pub const LIST: i32 = 4;
pub const HEALTH: i32 = 5;
pub const COMMANDS: &[(i32, &str)] = &[(PUT, "PUT"), (GET, "GET"), (EXIST, "EXIST"), (LIST, "LIST"), (HEALTH, "HEALTH")];

pub const SUCCESS: i32 = 200;
pub const FAIL: i32 = 400;
pub const CODES: &[(i32, &str)] = &[(SUCCESS, "SUCCESS"), (FAIL, "FAIL")];

pub const KV_2LTD: i32 = 1;
pub const KV_T2D: i32 = 2;
pub const KV_2TD: i32 = 3;
pub const BINARY: i32 = 4;
pub const BINARY_BUFFER: i32 = 5;
pub const KV_MLA_FMT: i32 = 6;
const FORMATS: &[(i32, &str)] = &[
    (0, "UNDEFINED"),
    (KV_2LTD, "KV_2LTD"),
    (KV_T2D, "KV_T2D"),
    (KV_2TD, "KV_2TD"),
    (BINARY, "BINARY"),
    (BINARY_BUFFER, "BINARY_BUFFER"),
    (KV_MLA_FMT, "KV_MLA_FMT"),
    (7, "EC_TD"),
    (8, "HS_TD"),
];

pub const NO_LOCATION: i32 = 0;
pub const LOCATIONS: &[(i32, &str)] = &[(1, "LocalCPUBackend"), (2, "LocalDiskBackend")];

/// "No dtype" has a number and no name; callers deal with it before they look here.
pub const NO_DTYPE: i32 = 0;
pub const FLOAT16: i32 = 2;
/// Number 1 is torch.half, which is the same thing as torch.float16: it is read, and never written, because 2 stands first.
pub const DTYPES: &[(i32, &str)] = &[
    (FLOAT16, "float16"),
    (1, "float16"),
    (3, "bfloat16"),
    (4, "float32"),
    (5, "float64"),
    (6, "uint8"),
    (7, "float8_e4m3fn"),
    (8, "float8_e5m2"),
];

pub fn number_of(rows: &[(i32, &str)], name: &str) -> Option<i32> {
    rows.iter().find(|(_, found)| *found == name).map(|(number, _)| *number)
}

pub fn name_of(rows: &[(i32, &'static str)], number: i32) -> Option<&'static str> {
    rows.iter().find(|(found, _)| *found == number).map(|(_, name)| *name)
}

pub fn format_number(name: &str, release: Release) -> Option<i32> {
    number_of(FORMATS, name).filter(|number| *number <= at(HIGHEST_FORMAT, release))
}

pub fn format_name(number: i32, release: Release) -> Option<&'static str> {
    name_of(FORMATS, number).filter(|_| number <= at(HIGHEST_FORMAT, release))
}

/// Formats that carry bytes and no tensor.
pub fn is_binary(format: i32) -> bool {
    format == BINARY || format == BINARY_BUFFER
}

/// Bytes of one element; none for no dtype and for numbers that are none.
pub fn dtype_size(number: i32) -> Option<i64> {
    match number {
        1..=3 => Some(2),
        4 => Some(4),
        5 => Some(8),
        6..=8 => Some(1),
        _ => None,
    }
}

/// dtype names inside key strings are another vocabulary: "half" there is "float16" in the client protocol.
/// Until 0.3.13 the two FP8 families share a text. Upstream reads it back through a reversed dictionary, where the later entry
/// wins: "fp8_e4m3" written for float8_e4m3fn is read as float8_e4m3fnuz. Hence: the name writes, the last match reads.
const KEY_DTYPES: &[(&str, &str, &str)] = &[
    ("float16", "half", "half"),
    ("bfloat16", "bfloat16", "bfloat16"),
    ("float32", "float", "float"),
    ("float64", "double", "double"),
    ("int8", "int8", "int8"),
    ("uint8", "uint8", "uint8"),
    ("int16", "int16", "int16"),
    ("int32", "int32", "int32"),
    ("int64", "int64", "int64"),
    ("bool", "bool", "bool"),
    ("float8_e4m3fn", "fp8_e4m3", "fp8_e4m3fn"),
    ("float8_e4m3fnuz", "fp8_e4m3", "fp8_e4m3fnuz"),
    ("float8_e5m2", "fp8_e5m2", "fp8_e5m2"),
    ("float8_e5m2fnuz", "fp8_e5m2", "fp8_e5m2fnuz"),
];
const KEY_DTYPES_ARE_DISTINCT: Table<bool> = &[("0.3.9.post1", false), ("0.3.14", true)];

/// Names and their texts in keys of a release.
fn key_dtypes(release: Release) -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
    let distinct = at(KEY_DTYPES_ARE_DISTINCT, release);
    KEY_DTYPES.iter().map(move |(name, shared, own)| (*name, if distinct { *own } else { *shared }))
}

pub fn key_dtype_text(name: &str, release: Release) -> Option<&'static str> {
    key_dtypes(release).find(|(found, _)| *found == name).map(|(_, text)| text)
}

pub fn key_dtype_name(text: &str, release: Release) -> Option<&'static str> {
    key_dtypes(release).rev().find(|(_, found)| *found == text).map(|(name, _)| name)
}
