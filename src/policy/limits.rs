//! `[limits]`.

use super::error::Findings;
use super::keys::{Key, Keys};
use super::model::Limits;
use super::reader::Section;

/// Keys of `[limits]`.
pub(super) const LIMITS: Keys = Keys {
    section: "[limits]",
    list: &[
        Key::of("max_statement_bytes", "whole number, up to 2^30", "1048576", "65536")
            .says("Bytes of one message, and so of one statement."),
        Key::of("max_in_list", "whole number", "10000", "100")
            .says("Items in one IN list."),
        Key::of("max_depth", "whole number, up to 200", "100", "50")
            .says("Nesting of brackets and queries; with operators in a row, a statement may be ten times as deep."),
        Key::of("max_expressions", "whole number", "200000", "50000")
            .says("Expressions that a statement may come to, over all that is made of it: its words, resolved names, subqueries read as part of the query, the plan. PostgreSQL gets a quarter of them, once it has put subqueries into each other."),
        Key::of("max_fan_out", "whole number", "1000", "5000")
            .says("Rows of public tables that one private row may meet in joins that no key narrows; how long a statement takes would tell of chosen rows."),
        Key::of("max_joined_rows", "whole number", "1000", "5000")
            .says("Rows of one unit that each of its rows may meet in a join of private tables that no key narrows; of the others of that unit none is read."),
        Key::of("max_row_cost", "whole number", "10000000", "50000000")
            .says("Steps, of about a nanosecond, that the expressions of a statement may take for one private row and all that it meets."),
        Key::of("max_text_bytes", "whole number", "16777216", "1048576")
            .says("Bytes that the texts which a statement computes may take for one row, all together, by its constants and functions; a cell of a table counts 64."),
        Key::of("max_statements", "whole number", "100", "10")
            .says("Statements in one message."),
        Key::of("max_public_groups", "whole number", "10000", "5000")
            .says("Public groups of a release; larger products count as private."),
        Key::of("max_result_groups", "whole number", "1000000", "100000")
            .says("Groups that a fetch may return."),
        Key::of("max_connections", "whole number", "200", "500")
            .says("Logged-in clients."),
        Key::of("max_connections_per_user", "whole number", "50", "10")
            .says("Logged-in clients of one user."),
        Key::of("max_prepared", "whole number", "1000", "100")
            .says("Prepared statements of one session."),
        Key::of("max_waiting_rows", "whole number, up to 100000000", "1000000", "100000")
            .says("Rows for what is collected that wait in one session for its COMMIT, randomised: about a hundred bytes each."),
        Key::of("max_portals", "whole number", "1000", "100")
            .says("Portals of one session."),
        Key::of("max_portal_bytes", "whole number", "67108864", "1048576")
            .says("Bytes of rows that the cursors and suspended portals of one session keep in memory. What is beyond goes to disk."),
        Key::of("max_spool_bytes", "whole number", "1073741824", "10737418240")
            .says("Bytes of rows that the cursors and suspended portals of one session keep on disk, in a file without a name under `TMPDIR`, which vanishes with the session."),
        Key::of("max_user_spool_bytes", "whole number", "4294967296", "10737418240")
            .says("Bytes on disk, of all sessions of one user."),
        Key::of("max_total_spool_bytes", "whole number", "17179869184", "107374182400")
            .says("Bytes on disk, of all sessions."),
        Key::of("max_session_bytes", "whole number", "268435456", "67108864")
            .says("Bytes of memory that one session's prepared statements, portals, kept rows and the statement that runs take, by an estimate of their syntax trees and plans."),
        Key::of("max_user_bytes", "whole number", "536870912", "1073741824")
            .says("Bytes of memory, of all sessions of one user."),
        Key::of("max_total_bytes", "whole number", "2147483648", "8589934592")
            .says("Bytes of memory, of all sessions."),
        Key::of("max_logins_per_address", "whole number", "50", "200")
            .says("Clients of one address that have connected and not logged in yet. All Unix sockets together are one address, and so is each /64 of IPv6."),
        Key::of("login_timeout", "time span", "\"10s\"", "\"30s\"")
            .says("The time that a client has to log in."),
        Key::of("first_byte_timeout", "time span", "\"3s\"", "\"10s\"")
            .says("The time that a client has, of `login_timeout`, until the first byte of what it wants."),
        Key::of("max_backend_errors", "whole number", "5", "3")
            .says("Reads of private rows by one user that may fail in a day, before the user is suspended. A read counts from when it begins until it has ended well, so no more run at once; others wait."),
    ],
    later: &[],
};

pub(super) fn limits(root: &Section<'_, '_>, f: &mut Findings) -> Limits {
    let mut limits = Limits::default();
    let Some(section) = root.section("limits", f) else { return limits };
    section.keys(&LIMITS, f);
    let mut set = |key: &str, max: u64, to: &mut usize| {
        if let Some(n) = section.count(key, max, f) {
            *to = usize::try_from(n).unwrap_or(usize::MAX);
        }
    };
    // 1 GiB is PostgreSQL's own limit of a message; a depth must fit the stack of the threads that recurse.
    set("max_statement_bytes", 1 << 30, &mut limits.max_statement_bytes);
    set("max_in_list", 10_000_000, &mut limits.max_in_list);
    set("max_depth", 200, &mut limits.max_depth);
    set("max_expressions", 100_000_000, &mut limits.max_expressions);
    set("max_statements", 1_000_000, &mut limits.max_statements);
    set("max_public_groups", 100_000_000, &mut limits.max_public_groups);
    set("max_result_groups", 1_000_000_000, &mut limits.max_result_groups);
    set("max_connections", 1_000_000, &mut limits.max_connections);
    set("max_connections_per_user", 1_000_000, &mut limits.max_connections_per_user);
    set("max_logins_per_address", 1_000_000, &mut limits.max_logins_per_address);
    set("max_prepared", 1_000_000, &mut limits.max_prepared);
    set("max_waiting_rows", 100_000_000, &mut limits.max_waiting_rows);
    set("max_portals", 1_000_000, &mut limits.max_portals);
    set("max_portal_bytes", 1 << 40, &mut limits.max_portal_bytes);
    let mut long = |key: &str, max: u64, to: &mut u64| {
        if let Some(n) = section.count(key, max, f) {
            *to = n;
        }
    };
    long("max_spool_bytes", 1 << 50, &mut limits.max_spool_bytes);
    long("max_user_spool_bytes", 1 << 50, &mut limits.max_user_spool_bytes);
    long("max_total_spool_bytes", 1 << 50, &mut limits.max_total_spool_bytes);
    long("max_session_bytes", 1 << 50, &mut limits.max_session_bytes);
    long("max_user_bytes", 1 << 50, &mut limits.max_user_bytes);
    long("max_total_bytes", 1 << 50, &mut limits.max_total_bytes);
    long("max_fan_out", 1_000_000_000, &mut limits.max_fan_out);
    long("max_joined_rows", 1_000_000, &mut limits.max_joined_rows);
    long("max_row_cost", 1_000_000_000_000, &mut limits.max_row_cost);
    long("max_text_bytes", 1 << 40, &mut limits.max_text_bytes);
    for (key, to) in
        [("login_timeout", &mut limits.login_timeout), ("first_byte_timeout", &mut limits.first_byte_timeout)]
    {
        if let Some(t) = section.duration(key, f) {
            *to = t;
        }
    }
    if let Some(n) = section.count("max_backend_errors", 1_000_000, f) {
        limits.max_backend_errors = n as u32;
    }
    limits
}
