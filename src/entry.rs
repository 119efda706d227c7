//! Which C symbol of sql/*.sql is which function, and what happens when the library is loaded.

use crate::{arguments, clock, fence, fleet, lease, ops, pg};

crate::sql_functions! {
    pg_lease_now, pg_finfo_pg_lease_now => clock::compute_now;
    pg_lease_clock_skew, pg_finfo_pg_lease_clock_skew => clock::clock_skew;
    pg_lease_acquire, pg_finfo_pg_lease_acquire => lease::acquire::acquire;
    pg_lease_acquire_many, pg_finfo_pg_lease_acquire_many => lease::acquire::acquire_many;
    pg_lease_renew, pg_finfo_pg_lease_renew => lease::renew::renew;
    pg_lease_renew_many, pg_finfo_pg_lease_renew_many => lease::renew::renew_many;
    pg_lease_release, pg_finfo_pg_lease_release => lease::release::release;
    pg_lease_drain, pg_finfo_pg_lease_drain => lease::release::drain;
    pg_lease_takeover, pg_finfo_pg_lease_takeover => lease::takeover::takeover;
    pg_lease_drop, pg_finfo_pg_lease_drop => lease::drop::drop_lease;
    pg_lease_void_all, pg_finfo_pg_lease_void_all => lease::drop::void_all;
    pg_lease_allow, pg_finfo_pg_lease_allow => lease::access::allow;
    pg_lease_disallow, pg_finfo_pg_lease_disallow => lease::access::disallow;
    pg_lease_may_list, pg_finfo_pg_lease_may_list => lease::access::may_list;
    pg_lease_count_events, pg_finfo_pg_lease_count_events => ops::counters::counted;
    pg_lease_draw_timeline, pg_finfo_pg_lease_draw_timeline => ops::timeline::draw;
    pg_lease_home, pg_finfo_pg_lease_home => lease::home;
    pg_lease_fence_check, pg_finfo_pg_lease_fence_check => fence::check::fence_check;
    pg_lease_fence_raise, pg_finfo_pg_lease_fence_raise => fence::newest::fence_raise;
    pg_lease_worker_pass, pg_finfo_pg_lease_worker_pass => fleet::pass::pass;
    pg_lease_worker_leave, pg_finfo_pg_lease_worker_leave => fleet::leave::leave;
    pg_lease_fleet, pg_finfo_pg_lease_fleet => fleet::look::fleet;
    pg_lease_shard_of, pg_finfo_pg_lease_shard_of => fleet::shards::shard_of;
    pg_lease_shard_owner, pg_finfo_pg_lease_shard_owner => fleet::shards::shard_owner;
    pg_lease_shard_owners, pg_finfo_pg_lease_shard_owners => fleet::shards::shard_owners;
    pg_lease_token_sign, pg_finfo_pg_lease_token_sign => lease::sign::token_sign;
    pg_lease_key_make, pg_finfo_pg_lease_key_make => lease::sign::key_make;
    pg_lease_key_use, pg_finfo_pg_lease_key_use => lease::sign::key_use;
    pg_lease_key_trust, pg_finfo_pg_lease_key_trust => fence::signature::trust;
    pg_lease_key_distrust, pg_finfo_pg_lease_key_distrust => fence::signature::distrust;
    pg_lease_guard_writes, pg_finfo_pg_lease_guard_writes => fence::guard::guard_writes;
    pg_lease_guard_row, pg_finfo_pg_lease_guard_row => fence::row::guard_row;
    pg_lease_guard_rows, pg_finfo_pg_lease_guard_rows => fence::row::guard_rows;
    pg_lease_row_guards, pg_finfo_pg_lease_row_guards => pg::row_triggers::list;
    pg_lease_changed_by_hand, pg_finfo_pg_lease_changed_by_hand => fence::memory::changed_by_hand;
    pg_lease_guard, pg_finfo_pg_lease_guard => fence::attach::guard;
    pg_lease_unguard, pg_finfo_pg_lease_unguard => fence::attach::unguard;
    pg_lease_check_writable, pg_finfo_pg_lease_check_writable => arguments::check_writable;
    pg_lease_check_name, pg_finfo_pg_lease_check_name => arguments::check_name;
    pg_lease_check_label, pg_finfo_pg_lease_check_label => arguments::check_label;
    pg_lease_check_span, pg_finfo_pg_lease_check_span => arguments::check_span;
    pg_lease_check_number, pg_finfo_pg_lease_check_number => arguments::check_number;
    pg_lease_check_time, pg_finfo_pg_lease_check_time => arguments::check_time;
    pg_lease_check_pairs, pg_finfo_pg_lease_check_pairs => arguments::check_pairs;
    pg_lease_next_generation, pg_finfo_pg_lease_next_generation => arguments::next_generation;
    pg_lease_begun, pg_finfo_pg_lease_begun => arguments::begun;
    pg_lease_refuse_run, pg_finfo_pg_lease_refuse_run => arguments::refuse_run;
    pg_lease_refuse_claim, pg_finfo_pg_lease_refuse_claim => arguments::refuse_claim;
    pg_lease_lock_tag, pg_finfo_pg_lease_lock_tag => ops::evict::lock_tag;
    pg_lease_is_stale, pg_finfo_pg_lease_is_stale => ops::evict::is_stale;
    pg_lease_incarnation, pg_finfo_pg_lease_incarnation => ops::doctor::incarnation;
    pg_lease_evict, pg_finfo_pg_lease_evict => ops::evict::evict;
    pg_lease_cover, pg_finfo_pg_lease_cover => fence::attach::cover;
}

/// Called by the server when it loads the library.
#[allow(non_snake_case)]
#[pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    pg::settings::define();
    pg::counters::define();
    pg::catalog::watch();
    pg::role::watch();
    pg::xact::register(fence::commit::HOOKS);
}
