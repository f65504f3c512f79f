//! Whole numbers of any size: Python's integers have no limit, and chunk hashes are Python integers.

/// More digits than any hash has; it also bounds the time that the conversions below take, which is quadratic.
const MOST_DIGITS: usize = 4300;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Integer {
    negative: bool,
    /// Least significant first, and the last one is not zero.
    limbs: Vec<u32>,
}

impl Integer {
    /// Digits with an optional sign, nothing else. Base 10 or 16.
    pub fn parse(text: &str, base: u32) -> Option<Integer> {
        let digits = text.strip_prefix(|sign| sign == '-' || sign == '+').unwrap_or(text);
        if digits.is_empty() || digits.len() > MOST_DIGITS {
            return None;
        }
        let mut number = Integer::default();
        for c in digits.chars() {
            number.multiply_add(base, c.to_digit(base)?);
        }
        number.negative = text.starts_with('-') && !number.limbs.is_empty();
        Some(number)
    }

    pub fn from_big_endian(bytes: &[u8]) -> Integer {
        let mut number = Integer::default();
        for byte in bytes {
            number.multiply_add(256, u32::from(*byte));
        }
        number
    }

    pub fn to_text(&self, base: u32) -> String {
        let mut rest = self.clone();
        let mut digits = String::new();
        while !rest.limbs.is_empty() {
            digits.extend(char::from_digit(rest.divide(base), base));
        }
        if digits.is_empty() {
            digits.push('0');
        }
        if self.negative {
            digits.push('-');
        }
        digits.chars().rev().collect()
    }

    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The absolute value in as few big-endian bytes as possible; empty for zero.
    pub fn magnitude(&self) -> Vec<u8> {
        let bytes = self.limbs.iter().rev().flat_map(|limb| limb.to_be_bytes());
        bytes.skip_while(|byte| *byte == 0).collect()
    }

    /// -1 - self, which is what CBOR writes for a negative number.
    pub fn complement(&self) -> Integer {
        let mut number = self.clone();
        match self.negative {
            true => number.decrement(),
            false => number.multiply_add(1, 1),
        }
        number.negative = !self.negative;
        number
    }

    /// The remainder of the absolute value, which is what CPython hashes.
    pub fn magnitude_modulo(&self, divisor: u64) -> u64 {
        let remainder = self.limbs.iter().rev().fold(0u128, |rest, limb| (rest << 32 | u128::from(*limb)) % u128::from(divisor));
        remainder as u64
    }

    fn multiply_add(&mut self, factor: u32, summand: u32) {
        let mut carry = u64::from(summand);
        for limb in &mut self.limbs {
            carry += u64::from(*limb) * u64::from(factor);
            *limb = carry as u32;
            carry >>= 32;
        }
        if carry != 0 {
            self.limbs.push(carry as u32);
        }
    }

    /// Divides the absolute value and returns the remainder.
    fn divide(&mut self, divisor: u32) -> u32 {
        let mut rest = 0u64;
        for limb in self.limbs.iter_mut().rev() {
            rest = rest << 32 | u64::from(*limb);
            *limb = (rest / u64::from(divisor)) as u32;
            rest %= u64::from(divisor);
        }
        self.trim();
        rest as u32
    }

    /// Takes one from an absolute value that is not zero.
    fn decrement(&mut self) {
        for limb in &mut self.limbs {
            let (less, borrowed) = limb.overflowing_sub(1);
            *limb = less;
            if !borrowed {
                break;
            }
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.limbs.last() == Some(&0) {
            self.limbs.pop();
        }
    }
}

impl From<i64> for Integer {
    fn from(value: i64) -> Integer {
        let mut number = Integer::from_big_endian(&value.unsigned_abs().to_be_bytes());
        number.negative = value < 0;
        number
    }
}
