//! Runs a network given as JSON on stdin; prints what flows and ports came to, and with `--series` every sample as CSV.
//! For profilers and for looking at one run without the Python package.

use std::io::Read;

use dumbbell_sim::refusal::lines;

fn main() -> Result<(), String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| e.to_string())?;
    let network = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let started = std::time::Instant::now();
    let output = dumbbell_sim::simulate(&network).map_err(|refusals| lines(&refusals))?;
    let wall = started.elapsed().as_secs_f64();
    if std::env::args().any(|a| a == "--series") {
        for t in &output.tables {
            println!("# {}\nt_ns,{}", t.entity, t.columns.join(","));
            for (time, row) in t.t_ns.iter().zip(t.values.chunks(t.columns.len())) {
                let row: Vec<String> = row.iter().map(ToString::to_string).collect();
                println!("{time},{}", row.join(","));
            }
        }
    }
    for (kind, table) in [("flow", &output.flows), ("port", &output.ports)] {
        for (name, row) in table.names.iter().zip(table.values.chunks(table.columns.len())) {
            for (column, value) in table.columns.iter().zip(row).filter(|(_, value)| !value.is_nan()) {
                eprintln!("{kind}/{name} {column} {value}");
            }
        }
    }
    for line in &output.conservation {
        eprintln!("NOT CONSERVED {line}");
    }
    let rate = output.delivered_packets as f64 / wall;
    eprintln!("{} packets, {} events, {wall:.3} s, {rate:.0} packets/s", output.delivered_packets, output.events);
    Ok(())
}
