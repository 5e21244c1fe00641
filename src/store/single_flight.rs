//! Of several who ask the same at the same time, one pays; the others wait.
//!
//! Soundness rule 26: who waits holds no receipt, and gets none when the payer fails or goes away. It looks again, and
//! if there is no answer it asks, and pays, for itself.

use super::key::Key;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Questions that somebody is paying for.
#[derive(Debug, Default)]
pub struct Flights(Mutex<HashMap<Key, watch::Receiver<()>>>);

/// The place of the one who may pay. Dropping it lets the others go on.
#[derive(Debug)]
pub struct Lead {
    flights: Arc<Flights>,
    key: Key,
    _alive: watch::Sender<()>,
}

impl Flights {
    /// The place, if it is free; else waits until its holder is done, one way or another, and gives
    /// None: there may be an answer now.
    pub async fn turn(self: &Arc<Self>, key: Key) -> Option<Lead> {
        let mut other = {
            let mut flights = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match flights.get(&key) {
                Some(other) => other.clone(),
                None => {
                    let (alive, watched) = watch::channel(());
                    flights.insert(key, watched);
                    return Some(Lead { flights: self.clone(), key, _alive: alive });
                }
            }
        };
        // Ends with an error when the sender is gone, which is what is waited for.
        while other.changed().await.is_ok() {}
        None
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.flights.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[tokio::test]
    async fn rule_26_one_leads_and_the_others_wait_for_its_end() {
        let flights = Arc::new(Flights::default());
        let lead = flights.turn([1; 32]).await.unwrap();
        assert!(flights.turn([2; 32]).await.is_some(), "another question does not wait");
        let waiting = tokio::spawn({
            let flights = flights.clone();
            async move { flights.turn([1; 32]).await.is_none() }
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!waiting.is_finished());
        drop(lead);
        assert!(waiting.await.unwrap());
        assert!(flights.turn([1; 32]).await.is_some(), "the place is free again");
        assert!(flights.0.lock().unwrap().is_empty());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rule_26_when_payers_fail_each_waiter_gets_its_turn_alone() {
        let flights = Arc::new(Flights::default());
        let (leading, led) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let (flights, leading, led) = (flights.clone(), leading.clone(), led.clone());
                tokio::spawn(async move {
                    loop {
                        if let Some(_lead) = flights.turn([1; 32]).await {
                            assert_eq!(leading.fetch_add(1, Ordering::SeqCst), 0);
                            tokio::task::yield_now().await;
                            led.fetch_add(1, Ordering::SeqCst);
                            leading.fetch_sub(1, Ordering::SeqCst);
                            return;
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(led.load(Ordering::SeqCst), 20);
    }
}
