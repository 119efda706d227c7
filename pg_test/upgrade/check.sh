#!/usr/bin/env bash
# pg_upgrade from PostgreSQL 16 to 18 with a lease held, a guard on, a fence raised and keys made:
# afterwards leases and keys are void, guards and fences are there, and tokens go on above all others.
# `make test-upgrade` has built the extension for both.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

from=${FROM:-16} to=${TO:-18}
home=$(target/debug/rig home)
old=$(dirname "$(find "$home/pg$from" -name initdb)")
new=$(dirname "$(find "$home/pg$to" -name initdb)")
work=$(mktemp -d /tmp/pg_lease-upgrade-XXXXXX)
failed=0 passed=0 stand_in=

# servers do not run as root
as_user=()
if ((EUID == 0)); then
    chown nobody "$work"
    as_user=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
run() { (cd "$work" && env -i PATH="$PATH" HOME="$work" LC_ALL=C "${as_user[@]}" "$@"); }
psql() { run "$new/psql" -X -q -A -t -h "$work" -p 5432 -U admin -d jobs -c "$1" 2>&1 || true; }
stop() { run "$1/pg_ctl" -D "$work/$2" -m fast -w stop > /dev/null 2>&1 || true; }
cleanup() {
    stop "$old" old; stop "$new" new; rm -rf "$work"
    [[ -z $stand_in ]] || ln -sfn "$stand_in" "$new/psql"
}
trap cleanup EXIT

# pg_upgrade asks for a psql that says it is of the same release. Some wheels have none, and Debian's
# stands in for it: it does what pg_upgrade asks of it, and need only say so.
release=$("$new/postgres" --version | grep -oE '[0-9.]+' | head -1)
if [[ $("$new/psql" --version) != "psql (PostgreSQL) $release" ]]; then
    stand_in=$(readlink -f "$new/psql")
    rm "$new/psql"
    printf '#!/bin/sh\n[ "$*" = -V ] && exec echo "psql (PostgreSQL) %s"\nexec %s "$@"\n' \
        "$release" "$stand_in" > "$new/psql"
    chmod 755 "$new/psql"
fi

start() {
    run "$1/pg_ctl" -D "$work/$2" -l "$work/$2.log" -w -o "-k $work -c listen_addresses=" start > /dev/null
}

# What a query prints must contain a text.
check() {
    local printed
    printed=$(psql "$2")
    if [[ $printed == *"$3"* ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED: %s\n  %s\n  printed: %s\n  expected: %s\n' "$1" "$2" "$printed" "$3"
    fi
}

initdb() {
    run "$1/initdb" -D "$work/$2" -U admin -A trust -E UTF8 --no-locale --no-sync "${@:3}" > /dev/null
}
initdb "$old" old
checksums=()
((to >= 18)) && checksums=(--no-data-checksums)
initdb "$new" new "${checksums[@]}"

start "$old" old
run "$old/createdb" -h "$work" -U admin jobs
psql "CREATE EXTENSION pg_lease; CREATE TABLE work (note text); CREATE TABLE far (n int)" > /dev/null
psql "SELECT lease_guard('work', 'job'); SELECT lease_guard('far', 'far', 'newest')" > /dev/null
token=$(psql "SELECT token FROM lease_acquire('job', 'a', '1 day')")
psql "SET pg_lease.token = 'job=$token'; INSERT INTO work VALUES ('before')" > /dev/null
psql "SELECT lease_fence_raise('far', 7); SELECT lease_key_trust(lease_key_make())" > /dev/null
check 'before' "SELECT name, state, token FROM lease.status" "job|held|$token"
stop "$old" old

run "$new/pg_upgrade" -b "$old" -B "$new" -d "$work/old" -D "$work/new" -U admin -s "$work" \
    > "$work/pg_upgrade.log" 2>&1 || { tail -40 "$work/pg_upgrade.log"; exit 1; }

start "$new" new
check 'the new server' "SHOW server_version_num" "$to"
check 'the lease is void' "SELECT name, state, token FROM lease.status" "job|void|$token"
check 'the guards are on' "SELECT string_agg(relation || ' ' || mode || ' ' || enabled, ',' ORDER BY relation::text)
    FROM lease.guards" "far newest always,work current always"
check 'no token, no write' "DELETE FROM work" 'no token presented'
check 'the old token' "SET pg_lease.token = 'job=$token'; DELETE FROM work" 'no longer held'
check 'the old holder' "SELECT lease_renew('job', 'a', $token, '1 day')" 'no longer held'
check 'a new token' "SELECT token > $token FROM lease_acquire('job', 'b', '1 day')" 't'
check 'its writes' "SELECT set_config('pg_lease.token', 'job=' || token, false) FROM lease.status; INSERT
    INTO work VALUES ('after'); SELECT string_agg(note, ',') FROM work" 'before,after'
check 'the fence' "SET pg_lease.token = 'far=6'; INSERT INTO far VALUES (1)" 'token 6 of lease "far" is stale'
check 'the same' "SET pg_lease.token = 'far=7'; INSERT INTO far VALUES (1); SELECT count(*) FROM far" '1'
check 'the keys' "SELECT string_agg(state, ',' ORDER BY state) FROM lease.keys" 'trusted,void'
check 'later partitions' "CREATE TABLE child () INHERITS (work); SELECT count(*) FROM lease.guards" '3'

echo "pg_upgrade from $from to $to: $passed passed, $failed failed"
((failed == 0))
