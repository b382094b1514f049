//! Samples of state variables: what congestion controls and queue disciplines tell of themselves when they are asked.

use super::schema::CLASS_COLUMNS;
use super::totals::class_row;
use crate::catalogue::Tell;
use crate::output::Table;
use crate::port::media::Medium;
use crate::port::Port;
use crate::time::Time;

/// All variables of senders and their congestion controls.
const CONTROL: &str = "control";
/// All variables of queue disciplines, and the totals of tins.
const QUEUE: &str = "queue";

/// The variables that a description asks for.
#[derive(Clone, Debug, Default)]
struct Wanted {
    control: bool,
    queue: bool,
    names: Vec<String>,
}

impl Wanted {
    fn of(words: &[String]) -> Self {
        let has = |word: &str| words.iter().any(|each| each == word);
        let names = words.iter().filter(|each| *each != CONTROL && *each != QUEUE).cloned().collect();
        Self { control: has(CONTROL), queue: has(QUEUE), names }
    }

    fn has(&self, name: &str, whole: bool) -> bool {
        whole || self.names.iter().any(|each| each == name)
    }
}

/// The samples of all entities that tell something.
#[derive(Clone, Debug)]
pub struct States {
    wanted: Wanted,
    flows: Vec<Growing>,
    ports: Vec<Growing>,
    /// Tins, as they are found.
    tins: Vec<Growing>,
}

impl States {
    /// Samples of the variables with these names; `None` without any.
    #[must_use]
    pub fn of(words: &[String], flows: &[String], ports: &[String]) -> Option<Box<Self>> {
        let of_entities = |entities: &[String]| entities.iter().cloned().map(Growing::of).collect();
        (!words.is_empty()).then(|| {
            Box::new(Self {
                wanted: Wanted::of(words),
                flows: of_entities(flows),
                ports: of_entities(ports),
                tins: vec![],
            })
        })
    }

    /// Takes a sample of a flow, by its place among those that are sampled. `state` tells the state of its sender.
    pub fn sample_flow(&mut self, place: usize, now: Time, state: impl FnOnce(&mut Tell)) {
        let (wanted, table) = (&self.wanted, &mut self.flows[place]);
        if wanted.control || !wanted.names.is_empty() {
            table.sample(now, wanted.control, wanted, state);
        }
    }

    /// Takes a sample of a port, and of the tins of its discipline.
    pub fn sample_port(&mut self, place: usize, now: Time, port: &Port) {
        let (wanted, table) = (&self.wanted, &mut self.ports[place]);
        if wanted.queue || !wanted.names.is_empty() {
            table.sample(now, wanted.queue, wanted, |tell| port.medium.state(now, tell));
        }
        if !wanted.queue {
            return;
        }
        for class in port.medium.classes() {
            let entity = format!("tin/{}/{}", port.id, class.name);
            let row = class_row(&class);
            let place = self.tins.iter().position(|each| each.entity == entity).unwrap_or_else(|| {
                self.tins.push(Growing::of(entity));
                self.tins.len() - 1
            });
            let names = super::schema::names(CLASS_COLUMNS);
            self.tins[place].sample(now, true, wanted, |tell| {
                names.iter().zip(row).for_each(|(name, value)| tell(name, value));
            });
        }
    }

    /// The tables of those that told something.
    #[must_use]
    pub fn finish(self) -> Vec<Table<String>> {
        let all = self.flows.into_iter().chain(self.ports).chain(self.tins);
        all.filter(|each| !each.names.is_empty()).map(Growing::finish).collect()
    }
}

/// Samples of an entity whose variables become known when it tells them.
#[derive(Clone, Debug, Default)]
struct Growing {
    entity: String,
    names: Vec<String>,
    t_ns: Vec<i64>,
    /// For each name its values; NaN where there is none.
    values: Vec<Vec<f64>>,
}

impl Growing {
    fn of(entity: String) -> Self {
        Self { entity, ..Self::default() }
    }

    fn sample(&mut self, now: Time, whole: bool, wanted: &Wanted, told: impl FnOnce(&mut Tell)) {
        self.t_ns.push(now as i64);
        let rows = self.t_ns.len();
        self.values.iter_mut().for_each(|each| each.push(f64::NAN));
        // Variables are told in the same order each time, so that the next is mostly where it was last time.
        let mut next = 0;
        told(&mut |name, value| {
            if !wanted.has(name, whole) {
                return;
            }
            let there = self.names.get(next).is_some_and(|each| each == name);
            let place = if there { Some(next) } else { self.names.iter().position(|each| each == name) };
            let place = place.unwrap_or_else(|| {
                self.names.push(name.to_owned());
                self.values.push(vec![f64::NAN; rows]);
                self.names.len() - 1
            });
            self.values[place][rows - 1] = value;
            next = place + 1;
        });
    }

    fn finish(self) -> Table<String> {
        let rows = 0..self.t_ns.len();
        let values = rows.flat_map(|row| self.values.iter().map(move |each| each[row])).collect();
        Table { entity: self.entity, columns: self.names, t_ns: self.t_ns, values }
    }
}
