//! BLAKE3, which names the token hashes of the multiprocess server and nothing on `lm://`.

use crate::hashes::{Digest, START};

const BLOCK: usize = 64;
/// The input is split into chunks of so many bytes, which are joined in a binary tree.
const CHUNK: usize = 1024;

const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;

pub fn blake3(data: &[u8]) -> Digest {
    let mut root = tree(data, 0);
    root.flags |= ROOT;
    root.counter = 0;
    let mut digest = [0; 32];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(root.compress()) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    digest
}

/// What is left to compress at a node: only whoever knows whether the node is the root may do it.
struct Node {
    chaining: [u32; 8],
    words: [u32; 16],
    counter: u64,
    size: u32,
    flags: u32,
}

fn tree(data: &[u8], first_chunk: u64) -> Node {
    if data.len() <= CHUNK {
        return chunk(data, first_chunk);
    }
    // The left side takes the largest power of two of whole chunks that still leaves something for the right side.
    let mut left = CHUNK;
    while left * 2 < data.len() {
        left *= 2;
    }
    let mut words = [0; 16];
    words[..8].copy_from_slice(&tree(&data[..left], first_chunk).compress());
    words[8..].copy_from_slice(&tree(&data[left..], first_chunk + (left / CHUNK) as u64).compress());
    Node { chaining: START, words, counter: 0, size: BLOCK as u32, flags: PARENT }
}

fn chunk(mut data: &[u8], index: u64) -> Node {
    let mut node = Node { chaining: START, words: [0; 16], counter: index, size: 0, flags: CHUNK_START };
    loop {
        let (block, rest) = data.split_at(data.len().min(BLOCK));
        let mut padded = [0; BLOCK];
        padded[..block.len()].copy_from_slice(block);
        for (word, bytes) in node.words.iter_mut().zip(padded.chunks_exact(4)) {
            *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        node.size = block.len() as u32;
        if rest.is_empty() {
            node.flags |= CHUNK_END;
            return node;
        }
        node.chaining = node.compress();
        node.flags = 0;
        data = rest;
    }
}

impl Node {
    fn compress(&self) -> [u32; 8] {
        const SCHEDULE: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
        let mut v = [0; 16];
        v[..8].copy_from_slice(&self.chaining);
        v[8..12].copy_from_slice(&START[..4]);
        v[12..].copy_from_slice(&[self.counter as u32, (self.counter >> 32) as u32, self.size, self.flags]);
        let mut m = self.words;
        for _ in 0..7 {
            for i in 0..4 {
                mix(&mut v, [i, 4 + i, 8 + i, 12 + i], m[2 * i], m[2 * i + 1]);
            }
            for i in 0..4 {
                mix(&mut v, [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4], m[8 + 2 * i], m[9 + 2 * i]);
            }
            m = SCHEDULE.map(|from| m[from]);
        }
        let mut out = [0; 8];
        for i in 0..8 {
            out[i] = v[i] ^ v[i + 8];
        }
        out
    }
}

fn mix(v: &mut [u32; 16], [a, b, c, d]: [usize; 4], x: u32, y: u32) {
    for (word, turn_d, turn_b) in [(x, 16, 12), (y, 8, 7)] {
        v[a] = v[a].wrapping_add(v[b]).wrapping_add(word);
        v[d] = (v[d] ^ v[a]).rotate_right(turn_d);
        v[c] = v[c].wrapping_add(v[d]);
        v[b] = (v[b] ^ v[c]).rotate_right(turn_b);
    }
}
