//! `[limits]`.

use super::error::Findings;
use super::keys::{Key, Keys};
use super::model::Limits;
use super::reader::Section;

/// Keys of `[limits]`.
pub(super) const LIMITS: Keys = Keys {
    section: "[limits]",
    list: &[
        Key {
            name: "max_statement_bytes",
            ty: "whole number, up to 2^30",
            default: "1048576",
            example: "65536",
            purpose: "Bytes of one message, and so of one statement.",
        },
        Key {
            name: "max_in_list",
            ty: "whole number",
            default: "10000",
            example: "100",
            purpose: "Items in one IN list.",
        },
        Key {
            name: "max_depth",
            ty: "whole number, up to 200",
            default: "100",
            example: "50",
            purpose: "Nesting of brackets and queries; with operators in a row, a statement may be ten times as deep.",
        },
        Key {
            name: "max_expressions",
            ty: "whole number",
            default: "200000",
            example: "50000",
            purpose: "Expressions that a statement may come to, over all that is made of it: its words, resolved names, subqueries read as part of the query, the plan. PostgreSQL gets a quarter of them, once it has put subqueries into each other.",
        },
        Key {
            name: "max_fan_out",
            ty: "whole number",
            default: "1000",
            example: "5000",
            purpose: "Rows of public tables that one private row may meet in joins that no key narrows; how long a statement takes would tell of chosen rows.",
        },
        Key {
            name: "max_joined_rows",
            ty: "whole number",
            default: "1000",
            example: "5000",
            purpose: "Rows of one unit that each of its rows may meet in a join of private tables that no key narrows; of the others of that unit none is read.",
        },
        Key {
            name: "max_row_cost",
            ty: "whole number",
            default: "10000000",
            example: "50000000",
            purpose: "Steps, of about a nanosecond, that the expressions of a statement may take for one private row and all that it meets.",
        },
        Key {
            name: "max_text_bytes",
            ty: "whole number",
            default: "16777216",
            example: "1048576",
            purpose: "Bytes that the texts which a statement computes may take for one row, all together, by its constants and functions; a cell of a table counts 64.",
        },
        Key {
            name: "max_statements",
            ty: "whole number",
            default: "100",
            example: "10",
            purpose: "Statements in one message.",
        },
        Key {
            name: "max_public_groups",
            ty: "whole number",
            default: "10000",
            example: "5000",
            purpose: "Public groups of a release; larger products count as private.",
        },
        Key {
            name: "max_result_groups",
            ty: "whole number",
            default: "1000000",
            example: "100000",
            purpose: "Groups that a fetch may return.",
        },
        Key {
            name: "max_connections",
            ty: "whole number",
            default: "200",
            example: "500",
            purpose: "Logged-in clients.",
        },
        Key {
            name: "max_connections_per_user",
            ty: "whole number",
            default: "50",
            example: "10",
            purpose: "Logged-in clients of one user.",
        },
        Key {
            name: "max_prepared",
            ty: "whole number",
            default: "1000",
            example: "100",
            purpose: "Prepared statements of one session.",
        },
        Key {
            name: "max_waiting_rows",
            ty: "whole number, up to 100000000",
            default: "1000000",
            example: "100000",
            purpose: "Rows for what is collected that wait in one session for its COMMIT, randomised: about a hundred bytes each.",
        },
        Key {
            name: "max_portals",
            ty: "whole number",
            default: "1000",
            example: "100",
            purpose: "Portals of one session.",
        },
        Key {
            name: "max_portal_bytes",
            ty: "whole number",
            default: "67108864",
            example: "1048576",
            purpose: "Bytes of rows that the cursors and suspended portals of one session keep in memory. What is beyond goes to disk.",
        },
        Key {
            name: "max_spool_bytes",
            ty: "whole number",
            default: "1073741824",
            example: "10737418240",
            purpose: "Bytes of rows that the cursors and suspended portals of one session keep on disk, in a file without a name under `TMPDIR`, which vanishes with the session.",
        },
        Key {
            name: "max_user_spool_bytes",
            ty: "whole number",
            default: "4294967296",
            example: "10737418240",
            purpose: "Bytes on disk, of all sessions of one user.",
        },
        Key {
            name: "max_total_spool_bytes",
            ty: "whole number",
            default: "17179869184",
            example: "107374182400",
            purpose: "Bytes on disk, of all sessions.",
        },
        Key {
            name: "max_session_bytes",
            ty: "whole number",
            default: "268435456",
            example: "67108864",
            purpose: "Bytes of memory that one session's prepared statements, portals, kept rows and the statement that runs take, by an estimate of their syntax trees and plans.",
        },
        Key {
            name: "max_user_bytes",
            ty: "whole number",
            default: "536870912",
            example: "1073741824",
            purpose: "Bytes of memory, of all sessions of one user.",
        },
        Key {
            name: "max_total_bytes",
            ty: "whole number",
            default: "2147483648",
            example: "8589934592",
            purpose: "Bytes of memory, of all sessions.",
        },
        Key {
            name: "max_logins_per_address",
            ty: "whole number",
            default: "50",
            example: "200",
            purpose: "Clients of one address that have connected and not logged in yet. All Unix sockets together are one address, and so is each /64 of IPv6.",
        },
        Key {
            name: "login_timeout",
            ty: "time span",
            default: "\"10s\"",
            example: "\"30s\"",
            purpose: "The time that a client has to log in.",
        },
        Key {
            name: "first_byte_timeout",
            ty: "time span",
            default: "\"3s\"",
            example: "\"10s\"",
            purpose: "The time that a client has, of `login_timeout`, until the first byte of what it wants.",
        },
        Key {
            name: "max_backend_errors",
            ty: "whole number",
            default: "5",
            example: "3",
            purpose: "Reads of private rows by one user that may fail in a day, before the user is suspended. A read counts from when it begins until it has ended well, so no more run at once; others wait.",
        },
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
