//! State that all sessions share: databases and their gateways, start-up and reloads, connected
//! clients, and reports to owners: health, history, the audit, the record.

pub mod active;
pub mod audit;
pub mod databases;
pub mod health;
pub mod history;
pub mod present;
pub mod reached;
pub mod recording;
pub mod shared;
pub mod startup;
pub mod views;
