//! Tokens to chunk keys: canonical CBOR, the chains of hashes, and the token hashes of the multiprocess server.

use crate::blake3::blake3;
use crate::failure::{refused, unsupported, Result};
use crate::hashes::{python_hash, python_tuple_hash, sha256, Digest};
use crate::integer::Integer;
use crate::keys::{format_key, to_hex, Hash, Key};
use crate::tables::*;

pub struct ChunkRequest {
    pub tokens: Vec<i64>,
    pub algorithm: String,
    /// What the chain starts from.
    pub none_hash: Hash,
    pub chunk_size: i64,
    pub save_unfull_chunk: bool,
    pub skip: i64,
    /// The key of every chunk, but for its hash.
    pub key: Key,
    /// "int" or "bytes": what the hash function gives, where the caller knows it.
    pub returns: Option<String>,
}

pub struct Chunk {
    pub start: usize,
    pub end: usize,
    pub key: String,
}

pub fn chunk_keys(request: &ChunkRequest, release: Release) -> Result<Vec<Chunk>> {
    let function = choose_function(request, release)?;
    let size = positive(request.chunk_size)?;
    if request.skip < 0 || request.skip % request.chunk_size != 0 {
        return refused("skip must be a multiple of chunk_size");
    }
    // dtype and fmt describe the engine here. What the keys of this release do not carry is left out, not refused.
    let grammar = at(KEY_GRAMMAR, release);
    let mut key = request.key.clone();
    key.engine = key.engine.filter(|_| grammar.has_engine);
    key.dtype = key.dtype.filter(|_| grammar.has_dtype);

    let mut chunks = Vec::new();
    let mut hash = fold(request.none_hash.clone(), release);
    for (i, tokens) in request.tokens.chunks(size).enumerate() {
        if tokens.len() < size && !request.save_unfull_chunk {
            break;
        }
        hash = fold(function.link(&hash, tokens)?, release);
        let start = i * size;
        // A chunk that is skipped is part of the chain all the same.
        if start as i64 >= request.skip {
            key.chunk_hash = hash.clone();
            chunks.push(Chunk { start, end: start + tokens.len(), key: format_key(&key, release)? });
        }
    }
    Ok(chunks)
}

/// From 0.4.6 on a digest is cut before it goes anywhere: into a key, into the next link, and already what the chain starts from.
fn fold(hash: Hash, release: Release) -> Hash {
    match hash {
        Hash::Bytes(digest) if at(DIGESTS_ARE_FOLDED, release) => Hash::Int(Integer::from_big_endian(&digest[..digest.len().min(8)])),
        other => other,
    }
}

enum Function {
    /// sha256 over the hexadecimal text of the previous digest and the tokens.
    HexDigest,
    /// CPython's hash of a tuple.
    Builtin(Chain),
    /// sha256 over a tuple in CBOR: all of it, or its low 64 bits as an integer.
    Cbor(Chain, Width),
}

enum Width {
    Digest,
    Low64,
}

fn choose_function(request: &ChunkRequest, release: Release) -> Result<Function> {
    let name = release.name();
    let chain = at(CHAIN, release);
    match (request.algorithm.as_str(), chain, &request.none_hash) {
        ("sha256_hex", Chain::HexDigest, Hash::Text(_)) => Ok(Function::HexDigest),
        ("sha256_hex", Chain::HexDigest, _) => refused("a sha256_hex chain starts from text"),
        (_, Chain::HexDigest, _) | ("sha256_hex", ..) => unsupported(format!("lmcache {name} has no algorithm {}", request.algorithm)),
        (_, _, Hash::Text(_)) => refused(format!("a chain of {name} starts from an integer or bytes")),
        ("builtin", Chain::NoneThird, _) => unsupported(
            "builtin keys of 0.3.4 to 0.3.15 contain hash(None), an address that differs from process to process before CPython 3.12",
        ),
        ("builtin", ..) => match fold(request.none_hash.clone(), release) {
            Hash::Int(_) => Ok(Function::Builtin(chain)),
            _ => unsupported("builtin over bytes is keyed with PYTHONHASHSEED, which this client does not have"),
        },
        ("sha256_cbor" | "sha256_cbor_64bit", _, none_hash) => {
            if !at(CBOR_NAMES, release).contains(&request.algorithm.as_str()) {
                return unsupported(format!("lmcache {name} does not know {} and falls back to builtin", request.algorithm));
            }
            // vLLM up to 0.10.1 returned integers, later ones the 32 bytes. A caller says which; otherwise it shows in what the chain
            // starts from, because vLLM makes NONE_HASH with the same function.
            let returns_integer = match &request.returns {
                Some(returns) => returns == "int",
                None => matches!(none_hash, Hash::Int(_)),
            };
            Ok(Function::Cbor(chain, if returns_integer { Width::Low64 } else { Width::Digest }))
        }
        (other, ..) => {
            unsupported(format!("this client has no algorithm {other}; it has builtin, sha256_cbor, sha256_cbor_64bit and sha256_hex"))
        }
    }
}

impl Function {
    /// The hash of a chunk, from that of the chunk before it.
    fn link(&self, previous: &Hash, tokens: &[i64]) -> Result<Hash> {
        match (self, previous) {
            (Function::HexDigest, Hash::Text(text)) => {
                let mut input = text.as_bytes().to_vec();
                for token in tokens {
                    input.extend_from_slice(&token32(*token)?.to_le_bytes());
                }
                Ok(Hash::Text(to_hex(&sha256(&input))))
            }
            (Function::Builtin(chain), Hash::Int(number)) => {
                let tokens: Vec<i64> = tokens.iter().map(|token| python_hash(&Integer::from(*token))).collect();
                let elements = [python_hash(number), python_tuple_hash(&tokens), python_tuple_hash(&[])];
                let count = if *chain == Chain::Pair { 2 } else { 3 };
                Ok(Hash::Int(Integer::from(python_tuple_hash(&elements[..count]))))
            }
            (Function::Cbor(chain, width), _) => {
                let digest = sha256(&cbor_tuple(previous, tokens, *chain)?);
                Ok(match width {
                    Width::Low64 => Hash::Int(Integer::from_big_endian(&digest[24..])),
                    Width::Digest => Hash::Bytes(digest.to_vec()),
                })
            }
            _ => refused("the chain starts from another kind of hash than its function gives"),
        }
    }
}

/// (previous, tokens), (previous, tokens, None) or (previous, tokens, ()).
fn cbor_tuple(previous: &Hash, tokens: &[i64], chain: Chain) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    cbor_head(&mut out, 4, if chain == Chain::Pair { 2 } else { 3 });
    match previous {
        Hash::Int(number) => cbor_integer(&mut out, number),
        Hash::Bytes(digest) => cbor_bytes(&mut out, digest),
        Hash::Text(_) => return refused("a chain over CBOR starts from an integer or bytes"),
    }
    cbor_head(&mut out, 4, tokens.len() as u64);
    for token in tokens {
        cbor_integer(&mut out, &Integer::from(*token));
    }
    match chain {
        Chain::NoneThird => out.push(0xf6),
        Chain::EmptyThird => cbor_head(&mut out, 4, 0),
        Chain::Pair | Chain::HexDigest => {}
    }
    Ok(out)
}

/// A head is a major type and a number, in as few bytes as possible: that is what makes the encoding canonical.
fn cbor_head(out: &mut Vec<u8>, major: u8, number: u64) {
    let (low, size) = match number {
        0..=23 => (number as u8, 0),
        24..=0xff => (24, 1),
        0x100..=0xffff => (25, 2),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 8),
    };
    out.push(major << 5 | low);
    out.extend_from_slice(&number.to_be_bytes()[8 - size..]);
}

fn cbor_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    cbor_head(out, 2, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn cbor_integer(out: &mut Vec<u8>, number: &Integer) {
    // CBOR writes a negative n as -1 - n, under a type of its own.
    let (sign, bytes) = match number.is_negative() {
        true => (1, number.complement().magnitude()),
        false => (0, number.magnitude()),
    };
    if bytes.len() > 8 {
        cbor_head(out, 6, 2 + u64::from(sign));
        cbor_bytes(out, &bytes);
    } else {
        cbor_head(out, sign, bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)));
    }
}

pub fn token_hashes(tokens: &[i64], chunk_size: i64, release: Release) -> Result<Vec<Digest>> {
    if !at(HAS_TOKEN_HASHER, release) {
        return unsupported("token hashes exist from lmcache 0.3.14 on");
    }
    // The chain starts from the hash of an 8-byte zero and the single token 0.
    let mut previous = blake3(&[0; 12]);
    let mut hashes = Vec::new();
    for chunk in tokens.chunks_exact(positive(chunk_size)?) {
        let mut input = previous.to_vec();
        for token in chunk {
            input.extend_from_slice(&token32(*token)?.to_be_bytes());
        }
        previous = blake3(&input);
        hashes.push(previous);
    }
    Ok(hashes)
}

fn token32(token: i64) -> Result<u32> {
    u32::try_from(token).or_else(|_| refused(format!("the token {token} does not fit into 32 bits, unsigned")))
}

fn positive(chunk_size: i64) -> Result<usize> {
    match usize::try_from(chunk_size) {
        Ok(size) if size > 0 => Ok(size),
        _ => refused("chunk_size must be positive"),
    }
}
