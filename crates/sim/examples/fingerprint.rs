//! Reads networks as JSON from stdin, one a line, and prints the fingerprint of each run, one a line in the same order.

use std::io::{BufRead, Write};

use dumbbell_sim::refusal::lines;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let fingerprint =
            dumbbell_sim::fingerprint(&serde_json::from_str(&line?)?).map_err(|refusals| lines(&refusals))?;
        writeln!(out, "{fingerprint:016x}")?;
        out.flush()?;
    }
    Ok(())
}
