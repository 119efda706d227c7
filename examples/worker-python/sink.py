"""A sink: delivers events in order, from one process at a time.

    sink.py CONNECTION OWNER [TTL]

A new token means that this process has just taken over: it goes on from the cursor that its
predecessor saved. The cursor is saved in the transaction that delivers, and the guard on its table
refuses a predecessor that does not know yet.
"""

import signal
import sys
import threading
import time

import psycopg

DSN, OWNER = sys.argv[1:3]
TTL = float(sys.argv[3]) if len(sys.argv) > 3 else 15.0
LEASE = "singleton:sink"
# A process that is frozen in a transaction keeps its rows locked: its successor would wait for them.
PRESENT = """SELECT lease_fence_check(%s, %s),
                    set_config('idle_in_transaction_session_timeout', %s, true)"""

held = (None, 0.0)  # token, stop at
stop = threading.Event()


def say(*words):
    print(*words, flush=True)


def acquire():
    """Takes the lease, or renews it; tries again at the next turn whatever fails."""
    global held
    connection = None
    while not stop.is_set():
        began = time.monotonic()
        try:
            connection = connection or psycopg.connect(DSN, autocommit=True, prepare_threshold=None)
            token = connection.execute(
                "SELECT token FROM lease_acquire(%s, %s, make_interval(secs => %s), 'while_owner')",
                (LEASE, OWNER, TTL)).fetchone()[0]
            held = (token, began + TTL / 2)
        except psycopg.Error as error:
            say("renewal failed:", error.sqlstate)
            connection = None
        stop.wait(TTL / 3 if held[0] else TTL / 10)


def deliver(connection, token, cursor):
    """The next events, and the cursor behind them: both or neither."""
    with connection.transaction():
        connection.execute(PRESENT, (LEASE, token, str(round(TTL * 1000))))
        events = connection.execute(
            "SELECT id, body FROM event WHERE id > %s ORDER BY id LIMIT 10", (cursor,)).fetchall()
        if events:
            cursor = events[-1][0]
            connection.execute("UPDATE sink SET cursor = %s", (cursor,))
        for event, body in events:
            connection.execute("INSERT INTO delivered VALUES (%s, %s, %s)", (event, body, OWNER))
    return cursor, bool(events)


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # for the thread that waits for it
    threading.Thread(target=lambda: (signal.sigwait({signal.SIGTERM}), stop.set()), daemon=True).start()
    renewing = threading.Thread(target=acquire)
    renewing.start()
    connection, mine, cursor = None, None, None
    while renewing.is_alive() and not stop.is_set():
        token, stop_at = held
        if token is None or time.monotonic() > stop_at:
            stop.wait(0.05)
            continue
        try:
            connection = connection or psycopg.connect(DSN, autocommit=True, prepare_threshold=None)
            if token != mine:
                mine, cursor = token, connection.execute("SELECT cursor FROM sink").fetchone()[0]
                say("took over at", cursor)
            cursor, more = deliver(connection, token, cursor)
            if not more:
                stop.wait(0.05)
        except psycopg.Error as error:
            say("delivery failed:", error.sqlstate)
            connection, mine = None, None
            stop.wait(0.1)
    renewing.join()
    if mine:
        connection = psycopg.connect(DSN, autocommit=True)
        connection.execute("SELECT lease_release(%s, %s, %s)", (LEASE, OWNER, mine))
    say("left")


main()
