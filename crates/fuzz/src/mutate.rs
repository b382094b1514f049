//! Changes inputs at random: bytes, and numbers and words of text.

use rand_core::RngCore;

/// Integers at which things break.
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "-1",
    "2",
    "255",
    "65535",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "1e308",
];
const BYTES: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, b'0', b'[', b'"'];

/// Changes `input` in up to eight places; `other` is an input to take parts from. It never becomes longer than `most` bytes.
pub fn mutate(input: &mut Vec<u8>, other: &[u8], most: usize, rng: &mut impl RngCore) {
    for _ in 0..=below(8, rng) {
        change(input, other, rng);
    }
    input.truncate(most);
}

fn below(bound: usize, rng: &mut impl RngCore) -> usize {
    (rng.next_u64() % bound.max(1) as u64) as usize
}

/// A range of up to `most` bytes within `length`.
fn range(length: usize, most: usize, rng: &mut impl RngCore) -> std::ops::Range<usize> {
    let start = below(length + 1, rng);
    start..(start + below(most, rng)).min(length)
}

fn change(input: &mut Vec<u8>, other: &[u8], rng: &mut impl RngCore) {
    let at = below(input.len(), rng);
    match below(10, rng) {
        0 if !input.is_empty() => input[at] ^= 1 << below(8, rng),
        1 if !input.is_empty() => input[at] = BYTES[below(BYTES.len(), rng)],
        2 if !input.is_empty() => input[at] = rng.next_u32() as u8,
        3 if !input.is_empty() => input[at] = input[at].wrapping_add(below(9, rng) as u8).wrapping_sub(4),
        4 => drop(input.drain(range(input.len(), 64, rng))),
        5 => {
            let part = input[range(input.len(), 256, rng)].to_vec();
            input.splice(at..at, part);
        }
        6 => {
            let part = other[range(other.len(), 256, rng)].to_vec();
            let replaced = range(input.len(), 64, rng);
            input.splice(replaced, part);
        }
        7 | 8 => change_word(input, other, u8::is_ascii_digit, rng),
        _ => change_word(input, other, |byte| byte.is_ascii_alphanumeric() || *byte == b'_', rng),
    }
}

/// Replace a run of bytes of this kind by another of the input or of `other`; numbers also by one at which things break.
fn change_word(input: &mut Vec<u8>, other: &[u8], belongs: fn(&u8) -> bool, rng: &mut impl RngCore) {
    let Some(replaced) = word(input, belongs, rng) else { return };
    let digits = input[replaced.clone()].iter().all(u8::is_ascii_digit);
    let word = if digits && below(2, rng) == 0 {
        NUMBERS[below(NUMBERS.len(), rng)].as_bytes().to_vec()
    } else {
        let from = if below(2, rng) == 0 { &*input } else { other };
        let Some(found) = word(from, belongs, rng) else { return };
        from[found].to_vec()
    };
    input.splice(replaced, word);
}

/// Return a run of bytes of this kind.
fn word(input: &[u8], belongs: fn(&u8) -> bool, rng: &mut impl RngCore) -> Option<std::ops::Range<usize>> {
    let from = below(input.len(), rng);
    let start = from + input[from..].iter().position(belongs)?;
    let end = input[start..].iter().position(|byte| !belongs(byte)).map_or(input.len(), |length| start + length);
    let start = input[..start].iter().rposition(|byte| !belongs(byte)).map_or(0, |before| before + 1);
    Some(start..end)
}
