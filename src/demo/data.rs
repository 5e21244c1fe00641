//! The bike-share data: who rides, when, from where, and who pays. A pure function of the scale.
//!
//! Integer arithmetic only, on ChaCha streams with a fixed seed: the same rows on every machine. Use is skewed as
//! in life: half of the riders have a handful of trips, a few have dozens, none has [`MOST_TRIPS`].

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Riders at scale 1.
pub const RIDERS: u32 = 50_000;
/// Trips at scale 1.
pub const TRIPS: u32 = 500_000;
/// No rider has this many trips.
pub const MOST_TRIPS: u32 = 60;
/// Cents that no fare exceeds.
pub const HIGHEST_FARE: u32 = 6_000;
/// Minutes that no trip exceeds.
pub const LONGEST_TRIP: u32 = 240;

const SEED: u64 = 0x6e6f_6973_6567_6174;

/// Days from 2023-01-01 to 2025-12-31.
const DAYS: u32 = 1096;

const CITIES: [&str; 5] = ["Norwick", "Eastport", "Marlow Bay", "Kingsford", "Alder Hill"];

const PLACES: [&str; 12] = [
    "Central Station",
    "University",
    "Harbour",
    "Market Square",
    "City Park",
    "Old Town",
    "Museum",
    "Stadium",
    "Hospital",
    "Tech Campus",
    "Riverside",
    "Airport",
];

/// Where riders live beside the cities; each has about half the riders of the one before, so the last have so few
/// that a private group of them is usually suppressed.
const TOWNS: [&str; 16] = [
    "Westbrook",
    "Fenwick",
    "Stonebridge",
    "Oakham",
    "Little Marlow",
    "Ravensby",
    "Thornbury",
    "Millhaven",
    "Greyfield",
    "Saltmarsh",
    "Heron Ness",
    "Upper Fen",
    "Birchover",
    "Lone Elm",
    "Quarry End",
    "Last Farm",
];

/// A random stream of its own for each subject, so that a change to one leaves the others' rows alone.
struct Dice(ChaCha8Rng);

impl Dice {
    fn new(stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        rng.set_stream(stream);
        Self(rng)
    }

    /// Uniform below `n`, but for a bias of n/2³² that no demo shows.
    fn below(&mut self, n: u32) -> u32 {
        let scaled = (u64::from(self.0.next_u32()) * u64::from(n)) >> 32;
        u32::try_from(scaled).unwrap_or_default()
    }

    fn percent(&mut self, p: u32) -> bool {
        self.below(100) < p
    }

    /// An index, with probability in proportion to the differences of a cumulative table.
    fn pick(&mut self, cumulative: &[u32]) -> usize {
        let roll = self.below(cumulative.last().copied().unwrap_or(1));
        cumulative.partition_point(|&upto| upto <= roll)
    }
}

fn cumulative(weights: impl Iterator<Item = u32>) -> Vec<u32> {
    weights
        .scan(0u32, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect()
}

fn at<T: Copy>(list: &[T], index: usize) -> Option<T> {
    list.get(index).copied()
}

/// A place to take a bike from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Station {
    /// Name of the station, unique.
    pub name: String,
    /// City of the station.
    pub city: &'static str,
    /// Docks.
    pub capacity: u32,
}

/// Plan of a rider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// A price for each trip.
    Day,
    /// A monthly pass.
    Month,
    /// A yearly pass.
    Year,
}

impl Plan {
    /// As in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// Cents for a trip: to unlock the bike, and a price per minute.
    fn fare(self, minutes: u32) -> u32 {
        let (unlock, cents) = match self {
            Self::Day => (100, 25),
            Self::Month => (50, 15),
            Self::Year => (0, 10),
        };
        (unlock + cents * minutes).min(HIGHEST_FARE)
    }
}

/// A person: the unit of privacy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rider {
    /// From 1.
    pub id: u32,
    /// 1940 to 2006.
    pub birth_year: u32,
    /// The pass.
    pub plan: Plan,
    /// City of the rider, if it is known.
    pub city: Option<&'static str>,
    trips: u32,
    /// Indices of the stations that the rider uses, the one nearest to home first.
    stations: [usize; 3],
}

/// A trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// From 1, in the order of time.
    pub id: u32,
    /// The rider.
    pub rider: u32,
    /// Seconds since 2023-01-01 00:00:00.
    pub started_at: u32,
    /// Index into [`Data::stations`].
    pub station: usize,
    /// Length of the trip.
    pub minutes: u32,
    /// In cents.
    pub fare: u32,
}

/// Payment for a trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    /// From 1.
    pub id: u32,
    /// For which trip.
    pub trip: u32,
    /// By whom.
    pub rider: u32,
    /// In cents: the fare and sometimes a fee.
    pub amount: u32,
    /// `card`, `wallet` or `cash`.
    pub method: &'static str,
    /// Seconds since 2023-01-01 00:00:00.
    pub paid_at: u32,
}

/// The data of one scale. Stations and riders are held; trips and payments are drawn as they are asked for.
pub struct Data {
    /// All stations.
    pub stations: Vec<Station>,
    /// All riders, by id.
    pub riders: Vec<Rider>,
    /// (start, rider) of every trip, in the order of time.
    starts: Vec<(u32, u32)>,
    /// For the choice of a station.
    capacities: Vec<u32>,
}

impl Data {
    /// The data at this scale: 50,000 riders and 500,000 trips times `scale`, and at least one of each.
    pub fn new(scale: f64) -> Self {
        let stations = stations();
        let riders = riders(scaled(RIDERS, scale), scaled(TRIPS, scale));
        let starts = starts(&riders);
        let capacities = cumulative(stations.iter().map(|s| s.capacity));
        Self { stations, riders, starts, capacities }
    }

    /// The number of trips.
    pub fn trip_count(&self) -> usize {
        self.starts.len()
    }

    /// Every trip, in the order of time.
    pub fn trips(&self) -> impl Iterator<Item = Trip> {
        let mut dice = Dice::new(3);
        (1u32..).zip(&self.starts).filter_map(move |(id, &(started_at, rider))| {
            let who = self.riders.get(rider as usize - 1)?;
            // Habits: almost all trips of a rider start at three stations.
            let [home, work, third] = who.stations;
            let station = match dice.below(100) {
                0..50 => home,
                50..85 => work,
                85..98 => third,
                _ => dice.pick(&self.capacities),
            };
            let minutes = minutes(&mut dice, started_at);
            Some(Trip { id, rider, started_at, station, minutes, fare: who.plan.fare(minutes) })
        })
    }

    /// Every payment; nine trips in ten have one.
    pub fn payments(&self) -> impl Iterator<Item = Payment> {
        let mut dice = Dice::new(4);
        let paid = self.trips().filter_map(move |trip| {
            let fee = at(&[0, 0, 0, 0, 50, 100, 250], dice.below(7) as usize)?;
            let method = at(&["card", "wallet", "cash"], dice.pick(&[60, 90, 100]))?;
            let late = if dice.percent(80) { dice.below(120) } else { dice.below(86_400) };
            let (amount, paid_at) = (trip.fare + fee, trip.started_at + trip.minutes * 60 + late);
            let payment = Payment { id: 0, trip: trip.id, rider: trip.rider, amount, method, paid_at };
            (!dice.percent(10)).then_some(payment)
        });
        (1u32..).zip(paid).map(|(id, payment)| Payment { id, ..payment })
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, which is meant")]
fn scaled(count: u32, scale: f64) -> u32 {
    ((f64::from(count) * scale).round() as u32).max(1)
}

fn stations() -> Vec<Station> {
    let mut dice = Dice::new(0);
    let places = CITIES
        .iter()
        .zip([6, 4, 3, 3, 2])
        .flat_map(|(city, size)| PLACES.iter().map(move |p| (*city, size, p)));
    places
        .map(|(city, size, place)| Station {
            name: format!("{city} {place}"),
            city,
            capacity: 6 + size * (2 + dice.below(5)),
        })
        .collect()
}

fn riders(count: u32, trips: u32) -> Vec<Rider> {
    let mut dice = Dice::new(1);
    // Half of the riders live in the cities, in proportion to their size.
    let city_sizes = cumulative([30, 20, 15, 12, 8].into_iter());
    let town_sizes = cumulative((0..TOWNS.len()).map(|i| 1 << (TOWNS.len() - i)));
    trip_counts(&mut dice, count, trips)
        .into_iter()
        .zip(1..)
        .map(|(trips, id)| {
            let age_class = dice.below(50).min(dice.below(67));
            let near = dice.pick(&city_sizes);
            let (town, known) = (dice.pick(&town_sizes), !dice.percent(2));
            let city = if dice.percent(70) { at(&CITIES, near) } else { at(&TOWNS, town) };
            // Who rides often buys a pass, more often than not.
            let pass = cumulative(if trips > 20 { [20, 30, 50] } else { [60, 30, 10] }.into_iter());
            let plan = at(&[Plan::Day, Plan::Month, Plan::Year], dice.pick(&pass)).unwrap_or(Plan::Day);
            Rider {
                id,
                birth_year: 2006 - age_class - dice.below(17),
                plan,
                city: city.filter(|_| known),
                trips,
                stations: [(); 3].map(|()| near * PLACES.len() + dice.below(12) as usize),
            }
        })
        .collect()
}

/// How often each rider rides; the sum is `trips` (as far as [`MOST_TRIPS`] allows). The share of riders with more
/// than x trips falls like 1/x.
fn trip_counts(dice: &mut Dice, riders: u32, trips: u32) -> Vec<u32> {
    const FINE: u32 = 1 << 20;
    let mean = trips.div_ceil(riders);
    let mut counts: Vec<u32> = (0..riders)
        .map(|_| {
            let (roll, most) = (1 + dice.below(FINE), 30 + dice.below(MOST_TRIPS - 30));
            let tail = u64::from(FINE) * u64::from(mean) * 25 / (u64::from(roll) * 100);
            if dice.percent(4) { 0 } else { u32::try_from(tail).unwrap_or(most).min(most) }
        })
        .collect();
    let mut sum: u32 = counts.iter().sum();
    loop {
        let before = sum;
        for count in &mut counts {
            if sum < trips && *count + 1 < MOST_TRIPS && *count > 0 {
                *count += 1;
                sum += 1;
            } else if sum > trips && *count > 1 {
                *count -= 1;
                sum -= 1;
            }
        }
        if sum == trips || sum == before {
            return counts;
        }
    }
}

/// Every trip's start and rider, sorted. Few rides in winter and more in each year; commuters' hours on weekdays,
/// afternoons at weekends.
fn starts(riders: &[Rider]) -> Vec<(u32, u32)> {
    const MONTHS: [u32; 12] = [4, 4, 6, 8, 10, 12, 12, 11, 10, 8, 5, 4];
    const WEEKDAY: [u32; 24] = [1, 1, 0, 0, 1, 2, 6, 14, 18, 10, 6, 6, 8, 7, 6, 8, 13, 19, 15, 9, 6, 4, 3, 2];
    const WEEKEND: [u32; 24] =
        [4, 3, 2, 1, 1, 1, 2, 3, 5, 8, 11, 13, 14, 15, 15, 14, 13, 11, 9, 7, 6, 5, 4, 4];
    let mut dice = Dice::new(2);
    let days = cumulative((0..DAYS).map(|day| {
        let (year, month, _) = date(day);
        let season = MONTHS.get(month as usize - 1).copied().unwrap_or_default();
        season * (year - 2015) * if is_weekend(day) { 4 } else { 5 }
    }));
    let (weekday, weekend) = (cumulative(WEEKDAY.into_iter()), cumulative(WEEKEND.into_iter()));
    let each_trip = riders.iter().flat_map(|r| std::iter::repeat_n(r.id, r.trips as usize));
    let mut starts: Vec<(u32, u32)> = each_trip
        .map(|rider| {
            let day = u32::try_from(dice.pick(&days)).unwrap_or_default();
            let hours = if is_weekend(day) { &weekend } else { &weekday };
            let hour = u32::try_from(dice.pick(hours)).unwrap_or_default();
            (day * 86_400 + hour * 3_600 + dice.below(3_600), rider)
        })
        .collect();
    starts.sort_unstable();
    starts
}

fn minutes(dice: &mut Dice, started_at: u32) -> u32 {
    let usual = 3 + dice.below(13) + dice.below(13);
    let outing = if is_weekend(started_at / 86_400) { 15 } else { 4 };
    if dice.percent(outing) {
        (usual + 20 + dice.below(100) + dice.below(110)).min(LONGEST_TRIP)
    } else {
        usual
    }
}

/// 2023-01-01 was a Sunday.
fn is_weekend(day: u32) -> bool {
    matches!(day % 7, 0 | 6)
}

/// Year, month and day of a day counted from 2023-01-01.
fn date(day: u32) -> (u32, u32, u32) {
    let (mut year, mut month, mut left) = (2023, 1, day);
    loop {
        let leap = year % 4 == 0; // true of every year before 2100
        let length = match month {
            2 => 28 + u32::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if left < length {
            return (year, month, left + 1);
        }
        left -= length;
        (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    }
}

/// A point in time as PostgreSQL reads it.
pub fn timestamp(seconds: u32) -> String {
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(timestamp(0), "2023-01-01 00:00:00");
        assert_eq!(timestamp(59 * 86_400), "2023-03-01 00:00:00");
        assert_eq!(timestamp((365 + 59) * 86_400 + 86_399), "2024-02-29 23:59:59");
        assert_eq!(timestamp((DAYS - 1) * 86_400 + 3_661), "2025-12-31 01:01:01");
        assert!(is_weekend(0) && !is_weekend(1) && is_weekend(6));
    }

    #[test]
    fn use_is_skewed_and_bounded() {
        let data = Data::new(1.0);
        assert_eq!((data.riders.len(), data.trip_count()), (50_000, 500_000));
        let mut counts: Vec<u32> = data.riders.iter().map(|r| r.trips).collect();
        counts.sort_unstable();
        assert!(counts[25_000] <= 7, "the median rider has {} trips", counts[25_000]);
        assert!(counts[49_500] >= 50, "one in a hundred has {}", counts[49_500]);
        assert!(counts[49_999] < MOST_TRIPS);
    }

    #[test]
    fn every_row_is_within_what_the_policy_declares() {
        let data = Data::new(0.05);
        assert_eq!(data.stations.iter().map(|s| &s.name).collect::<HashSet<_>>().len(), 60);
        assert!(data.riders.iter().all(|r| (1940..=2006).contains(&r.birth_year)));
        let mut last = 0;
        for trip in data.trips() {
            assert!(trip.started_at >= last && trip.started_at < DAYS * 86_400);
            assert!(
                (1..=LONGEST_TRIP).contains(&trip.minutes) && trip.fare <= HIGHEST_FARE && trip.station < 60
            );
            last = trip.started_at;
        }
        let paid = data.payments().count();
        assert!((21_000..24_000).contains(&paid), "{paid}");
        assert!(data.payments().all(|p| p.amount <= 20_000 && p.trip as usize <= data.trip_count()));
    }

    #[test]
    fn a_scale_has_one_set_of_rows_only() {
        let (a, b) = (Data::new(0.01), Data::new(0.01));
        assert_eq!(a.riders, b.riders);
        assert!(a.trips().eq(b.trips()) && a.payments().eq(b.payments()));
        assert_ne!(a.trip_count(), Data::new(0.02).trip_count());
    }
}
