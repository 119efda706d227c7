"""A worker of a fleet: looks after the nodes of its shards, for as long as it holds them.

    worker.py CONNECTION NAME [TTL [SHARDS]]

One thread renews, on a timer of its own; the main thread works. What they share is `held`: which
shards, under which tokens, and until when without another renewal.
"""

import os
import signal
import sys
import threading
import time
from datetime import datetime, timezone

import psycopg
from psycopg import sql

DSN, NAME = sys.argv[1:3]
TTL = float(sys.argv[3]) if len(sys.argv) > 3 else 15.0
SHARDS = int(sys.argv[4]) if len(sys.argv) > 4 else 16
INCARNATION = f"{os.getpid()}-{time.time_ns()}"
EVERY = TTL / 3  # a pass is due so long after the last one

PASS = """SELECT shard, name, token, change, extract(epoch FROM expires_at - now)::float8
          FROM lease_worker_pass(%s, incarnation => %s, ttl => make_interval(secs => %s),
                                 live_for => make_interval(secs => %s), shards => %s, client_now => %s)"""
CLAIM = """SELECT key, generation, shard
           FROM lease_work_claim('nodes', %s, 10, make_interval(secs => %s), %s, %s)"""
# A process that is frozen in a transaction keeps its rows locked: its successor would wait for them.
PRESENT = """SELECT lease_fence_check(%s, %s),
                    set_config('idle_in_transaction_session_timeout', %s, true)"""

held = {}  # shard: (lease, token, stop at)
stop = threading.Event()


def say(*words):
    print(*words, flush=True)


def connect():
    # no prepared statements, which a pooler in transaction mode may not follow
    return psycopg.connect(DSN, autocommit=True, prepare_threshold=None, connect_timeout=5)


def renew():
    """Passes when one is due. Whatever fails is tried again at the next tick."""
    global held
    connection, last, runs_out = None, -EVERY, float("inf")
    while not stop.wait(max(0.05, min(1.0, EVERY / 5))):
        began = time.monotonic()
        if began - last < EVERY and runs_out - began > TTL / 3:
            continue
        try:
            connection = connection or connect()
            now = datetime.now(timezone.utc)
            rows = connection.execute(PASS, (NAME, INCARNATION, TTL, 2 * TTL, SHARDS, now)).fetchall()
        except psycopg.Error as error:
            say("pass failed:", error.sqlstate, str(error).splitlines()[0])
            if error.sqlstate == "55000":  # a newer process of this name has taken over
                stop.set()
            if connection and connection.closed:
                connection = None
            continue
        for _, lease, _, change, _ in rows:
            if change != "kept":
                say(change, lease)
        mine = [row for row in rows if row[4] is not None]  # those released and lost have no expiry
        held = {shard: (lease, token, began + TTL / 2) for shard, lease, token, _, _ in mine}
        last, runs_out = began, began + min((left for *_, left in mine), default=float("inf"))


def renew_or_stop():
    try:
        renew()
    finally:
        stop.set()  # no renewals, no work


def look_after(connection, key, shard, lease, token, generation):
    """The work on one node, and the end of the claim, under the shard's token: all or nothing."""
    look = sql.SQL("""INSERT INTO {} AS node VALUES (%s, 1, %s) ON CONFLICT (id)
                      DO UPDATE SET looks = node.looks + 1, seen_by = excluded.seen_by""")
    with connection.transaction():
        connection.execute(PRESENT, (lease, token, str(round(TTL * 1000))))
        connection.execute(look.format(sql.Identifier(f"node_{shard}")), (key, NAME))
        connection.execute("SELECT lease_work_done('nodes', %s, %s)", (key, generation))


def holds(shard, token):
    """Whether to go on under this token: asked before each key, as a pass may have come between."""
    _, now, stop_at = held.get(shard, (None, None, 0.0))
    return token == now and time.monotonic() < stop_at and not stop.is_set()


def work(connection):
    mine = {shard: one for shard, one in held.items() if holds(shard, one[1])}
    if not mine:
        return False
    keys = connection.execute(
        CLAIM, (NAME, 2 * TTL, list(mine), [token for _, token, _ in mine.values()])).fetchall()
    for key, generation, shard in keys:
        lease, token, _ = mine[shard]
        reason, pause = "not begun", "0"
        if holds(shard, token):
            try:
                look_after(connection, key, shard, lease, token, generation)
                continue
            except psycopg.Error as error:  # refused or failed: rolled back, the claim's end too
                reason, pause = str(error), None
        say("not done:", key, reason.splitlines()[0])
        connection.execute("SELECT lease_work_retry('nodes', %s, %s, %s, %s::interval)",
                           (key, generation, reason, pause))
    return bool(keys)


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # for the thread that waits for it
    threading.Thread(target=lambda: (signal.sigwait({signal.SIGTERM}), stop.set()), daemon=True).start()
    renewing = threading.Thread(target=renew_or_stop)
    renewing.start()
    connection = None
    while not stop.is_set():
        try:
            connection = connection or connect()
            if not work(connection):
                stop.wait(0.1)
        except psycopg.Error as error:
            say("work failed:", error.sqlstate, str(error).splitlines()[0])
            if connection and connection.closed:
                connection = None
            stop.wait(0.2)
    renewing.join()
    left = connect().execute("SELECT lease_worker_leave(%s, incarnation => %s)", (NAME, INCARNATION))
    say("left", left.fetchone()[0])


main()
