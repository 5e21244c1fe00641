//! Discrete Laplace samples per second, ours and the `opendp` crate's, in one run.
#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dashu::rational::RBig;
use noisegate::dp::{DiscreteLaplace, Ratio, SecureRng};
use std::hint::black_box;
use std::time::Duration;

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("discrete laplace");
    group.throughput(Throughput::Elements(1)).sample_size(20).measurement_time(Duration::from_secs(2));
    let mut rng = SecureRng::new().unwrap();
    for scale in [1u32, 10, 1000, 1_000_000] {
        let noise = DiscreteLaplace::new(&Ratio::from_integer(scale.into())).unwrap();
        group.bench_function(format!("noisegate, scale {scale}"), |b| {
            b.iter(|| black_box(noise.sample(&mut rng).unwrap()));
        });
        let rational = RBig::from(scale);
        group.bench_function(format!("opendp, scale {scale}"), |b| {
            b.iter(|| {
                black_box(opendp::traits::samplers::sample_discrete_laplace(rational.clone()).unwrap())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
