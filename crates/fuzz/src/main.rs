//! Runs the targets without coverage. `dumbbell-fuzz COUNT` tries COUNT inputs with all targets at once, each in a process of its own;
//! `dumbbell-fuzz NAME COUNT` with one of them; `dumbbell-fuzz NAME FILE...` tries these inputs.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs, panic, process, thread};

use dumbbell_fuzz::{mutate, target, Target, TARGETS};
use rand_core::SeedableRng;
use rand_pcg::Pcg64;

const MOST_BYTES: usize = 64 << 10;
/// An input that takes longer hangs, on any machine: most take less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let done = match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [count] => count.parse().map_err(|_| usage()).and_then(run_all),
        [name, rest @ ..] => match (target(name), rest) {
            (None, _) | (_, []) => Err(usage()),
            (Some(target), files) => match files[0].parse() {
                Ok(count) => run(target, count),
                Err(_) => files.iter().try_for_each(|file| {
                    let input = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
                    target.try_input(&input);
                    Ok(())
                }),
            },
        },
        [] => Err(usage()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    format!("expected COUNT, or one of {} and COUNT or FILE...", names.join(", "))
}

/// The folder `fuzz` of the repository.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn run_all(count: u64) -> Result<(), String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let start = |target: &Target| {
        let child = Command::new(&program).arg(target.name).arg(count.to_string()).spawn();
        child.map(|child| (target.name, child)).map_err(|error| error.to_string())
    };
    let children = TARGETS.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let mut failed = vec![];
    for (name, mut child) in children {
        if !child.wait().map_err(|error| error.to_string())?.success() {
            failed.push(name);
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("failed: {}", failed.join(", ")))
    }
}

/// The input that is being tried, and since when.
struct Current {
    input: Vec<u8>,
    since: Instant,
}

/// Keep an input that failed. Return the message about it.
fn keep(target: &Target, input: &[u8], what: &str) -> String {
    let file = folder().join(format!("{}-{}.failed", target.name, process::id()));
    match fs::write(&file, input) {
        Ok(()) => format!("{}: {what}: {}", target.name, file.display()),
        Err(error) => format!("{}: {what}: {error}; the input was {input:?}", target.name),
    }
}

fn run(target: &'static Target, count: u64) -> Result<(), String> {
    let folder = folder().join("corpus").join(target.name);
    let listed = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let corpus = paths.iter().map(fs::read).collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    if corpus.is_empty() {
        return Err(format!("{}: no inputs", folder.display()));
    }
    let current = Arc::new(Mutex::new(Current { input: vec![], since: Instant::now() }));
    let watched = Arc::clone(&current);
    thread::spawn(move || loop {
        thread::sleep(Duration::from_secs(1));
        let current = watched.lock().expect("nothing panics while it holds the lock");
        if current.since.elapsed() > PATIENCE {
            eprintln!("{}", keep(target, &current.input, "hangs"));
            process::exit(1);
        }
    });
    let try_input = |input: &[u8]| {
        {
            let mut current = current.lock().expect("nothing panics while it holds the lock");
            current.input.clear();
            current.input.extend(input);
            current.since = Instant::now();
        }
        panic::catch_unwind(|| target.try_input(input)).map_err(|_| keep(target, input, "panics"))
    };
    let mut rng = Pcg64::seed_from_u64(seed()?);
    for input in &corpus {
        try_input(input)?;
    }
    for _ in 0..count {
        let (first, second) = (pick(&corpus, &mut rng), pick(&corpus, &mut rng));
        let mut input = first.clone();
        mutate(&mut input, second, MOST_BYTES, &mut rng);
        try_input(&input)?;
    }
    println!("{}: {count} inputs made of {}, none failed", target.name, corpus.len());
    Ok(())
}

/// `FUZZ_SEED`; without it another one each time.
fn seed() -> Result<u64, String> {
    match env::var("FUZZ_SEED") {
        Ok(given) => given.parse().map_err(|_| format!("FUZZ_SEED is {given:?}; expected a whole number")),
        Err(_) => Ok(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)),
    }
}

fn pick<'a>(corpus: &'a [Vec<u8>], rng: &mut Pcg64) -> &'a Vec<u8> {
    &corpus[(rand_core::RngCore::next_u64(rng) % corpus.len() as u64) as usize]
}
