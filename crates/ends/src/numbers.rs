//! Sequence numbers: bytes on the wire; in the simulator segments, or bytes at an end that both sends and receives.

/// Where the segments of one direction begin. Segment 0 is the SYN.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// The sequence number of each segment's first byte, and behind the last one that of the next.
    starts: Vec<u32>,
    /// The simulator counts bytes, too: the number after the last one.
    end: Option<u32>,
}

impl Numbers {
    /// Only the SYN is known.
    pub fn new() -> Self {
        Self { starts: vec![0, 1], end: None }
    }

    /// Only the SYN is known, and the simulator counts bytes.
    pub fn in_bytes() -> Self {
        Self { starts: vec![], end: Some(1) }
    }

    /// Notes how many sequence numbers a segment takes, if it takes any. One that is known stays as it is.
    pub fn note(&mut self, segment: u32, length: u32) {
        if let Some(end) = &mut self.end {
            *end = (*end).max(segment + length);
        } else if length > 0 && segment == self.next() {
            let start = self.starts[segment as usize];
            self.starts.push(start + length);
        }
    }

    /// The last segment also carries the FIN.
    pub fn lengthen_last(&mut self) {
        if let Some(end) = self.end.as_mut().or(self.starts.last_mut()) {
            *end += 1;
        }
    }

    /// The first segment that is not known.
    pub fn next(&self) -> u32 {
        self.end.unwrap_or_else(|| self.starts.len() as u32 - 1)
    }

    /// The sequence number of a segment's first byte.
    pub fn byte(&self, segment: u32) -> u32 {
        if self.end.is_some() {
            segment
        } else {
            self.starts[segment as usize]
        }
    }

    /// The segment that begins with a sequence number.
    pub fn segment(&self, byte: u32) -> Option<u32> {
        match self.end {
            Some(end) => (byte <= end).then_some(byte),
            None => self.starts.binary_search(&byte).ok().map(|segment| segment as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_found_by_their_first_byte() {
        let mut numbers = Numbers::new();
        numbers.note(1, 1448);
        numbers.note(2, 10);
        numbers.note(1, 5);
        assert_eq!((numbers.next(), numbers.byte(3)), (3, 1459));
        assert_eq!([0, 1, 2, 1449, 1459].map(|byte| numbers.segment(byte)), [Some(0), Some(1), None, Some(2), Some(3)]);
    }
}
