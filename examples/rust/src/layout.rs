//! Paged K and V memory to the bytes of a chunk, and back.

use crate::failure::{refused, Result};
use crate::tables::*;

/// More than any case needs, and small enough that sizes below can be multiplied without overflow.
const MOST_BYTES: i64 = 1 << 31;

/// All formats move whole rows: the heads of one token, in one layer, of K or of V (MLA has one row that is both).
struct Geometry {
    format: i32,
    layers: usize,
    sides: usize,
    slots: usize,
    tokens: usize,
    /// Bytes.
    row: usize,
}

impl Geometry {
    fn measure(format: i32, dtype: i32, paged_shape: &[i64], slots: &[i64]) -> Result<Geometry> {
        let size = match dtype_size(dtype) {
            Some(size) => size,
            None => return refused("a layout needs a dtype"),
        };
        let mut bytes = size;
        for dimension in paged_shape {
            match bytes.checked_mul(*dimension) {
                Some(more) if *dimension > 0 && more <= MOST_BYTES => bytes = more,
                _ => return refused(format!("the dimensions of paged_shape must be positive and amount to {MOST_BYTES} bytes or fewer")),
            }
        }
        let [layers, sides, blocks, block_size, heads, head_size] = match (format, paged_shape) {
            (KV_MLA_FMT, &[layers, blocks, block_size, head_size]) => [layers, 1, blocks, block_size, 1, head_size],
            (KV_2LTD, &[layers, 2, blocks, block_size, heads, head_size]) => [layers, 2, blocks, block_size, heads, head_size],
            (KV_T2D | KV_2TD, &[1, 2, blocks, block_size, heads, head_size]) => [1, 2, blocks, block_size, heads, head_size],
            _ => return refused(format!("paged_shape {paged_shape:?} is none of this format")),
        };
        if let Some(slot) = slots.iter().find(|slot| **slot >= blocks * block_size) {
            return refused(format!("slot {slot} lies behind the last one, {}", blocks * block_size - 1));
        }
        let row = heads * head_size * size;
        if slots.len() as i64 > MOST_BYTES / (layers * sides * row) {
            return refused(format!("the chunk is larger than {MOST_BYTES} bytes"));
        }
        Ok(Geometry {
            format,
            layers: layers as usize,
            sides: sides as usize,
            slots: (blocks * block_size) as usize,
            tokens: slots.len(),
            row: row as usize,
        })
    }

    fn paged_size(&self) -> usize {
        self.layers * self.sides * self.slots * self.row
    }

    fn chunk_size(&self) -> usize {
        self.layers * self.sides * self.tokens * self.row
    }

    fn chunk_shape(&self, dtype: i32) -> Vec<i64> {
        let hidden = self.row / dtype_size(dtype).unwrap_or(1) as usize;
        let shape = match self.format {
            KV_T2D => vec![self.tokens, 2, hidden],
            KV_2TD => vec![2, self.tokens, hidden],
            _ => vec![self.sides, self.layers, self.tokens, hidden],
        };
        shape.into_iter().map(|dimension| dimension as i64).collect()
    }

    /// Where each row begins in paged memory, and in the chunk. A negative slot is the engines' mark for a padding token, which moves
    /// nothing.
    fn rows(&self, slots: &[i64]) -> Vec<(usize, usize)> {
        let mut rows = Vec::new();
        for layer in 0..self.layers {
            for side in 0..self.sides {
                for (token, slot) in slots.iter().enumerate().filter(|(_, slot)| **slot >= 0) {
                    let paged = (layer * self.sides + side) * self.slots + *slot as usize;
                    let chunk = match self.format {
                        KV_T2D => token * self.sides + side,
                        _ => (side * self.layers + layer) * self.tokens + token,
                    };
                    rows.push((paged * self.row, chunk * self.row));
                }
            }
        }
        rows
    }
}

/// The bytes of the chunk and their shape.
pub fn pack_layout(format: i32, dtype: i32, paged: &[u8], paged_shape: &[i64], slots: &[i64]) -> Result<(Vec<u8>, Vec<i64>)> {
    let geometry = Geometry::measure(format, dtype, paged_shape, slots)?;
    if paged.len() != geometry.paged_size() {
        return refused(format!("paged_shape amounts to {} bytes, got {}", geometry.paged_size(), paged.len()));
    }
    let row = geometry.row;
    let mut bytes = vec![0; geometry.chunk_size()];
    for (from, to) in geometry.rows(slots) {
        bytes[to..to + row].copy_from_slice(&paged[from..from + row]);
    }
    Ok((bytes, geometry.chunk_shape(dtype)))
}

/// The paged memory, with zeros where no slot wrote.
pub fn unpack_layout(format: i32, dtype: i32, bytes: &[u8], shape: &[i64], slots: &[i64], paged_shape: &[i64]) -> Result<Vec<u8>> {
    let geometry = Geometry::measure(format, dtype, paged_shape, slots)?;
    if shape != geometry.chunk_shape(dtype) || bytes.len() != geometry.chunk_size() {
        return refused(format!(
            "{} bytes of shape {shape:?} are no chunk of these slots: {} bytes of shape {:?}",
            bytes.len(),
            geometry.chunk_size(),
            geometry.chunk_shape(dtype)
        ));
    }
    let row = geometry.row;
    let mut paged = vec![0; geometry.paged_size()];
    for (to, from) in geometry.rows(slots) {
        paged[to..to + row].copy_from_slice(&bytes[from..from + row]);
    }
    Ok(paged)
}
