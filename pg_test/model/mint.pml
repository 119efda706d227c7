/* The mint: no number is handed out twice, and a later grant's is higher, over rollbacks, crashes,
 * clocks that step back, restores, and the promotion of a standby that has lost the newest grants.
 *
 * Server 0 is the primary; server 1 follows it with any lag and may be promoted at any time, while
 * the old primary goes on. A session grants one lease; the primary has two of them. The sequence
 * starts anew for each incarnation of a server; the seal says for which one it was started, and is
 * written last. A grant takes a microsecond at least.
 *
 * mutant NO_INCARNATIONS: the sequence goes on where the copy of it stands
 * mutant NO_CLOCK: a new incarnation does not start at the present microsecond
 * mutant NO_LAST_VALUE: a new incarnation starts without regard to the sequence's last value
 * mutant NO_ROWS: a new incarnation starts without regard to the tokens in the rows
 * mutant NO_FLUSH: a number is shown before it is on disk
 * mutant ACKNOWLEDGED_EARLY: a grant is answered before its commit is on disk
 * mutant SEAL_FIRST: the seal is written before the sequence is set, and the session is cancelled
 * mutant NO_MINT_LOCK: two sessions may start the sequence at once
 * mutant ROLLED_BACK: a rollback takes the number back
 * mutant TOO_CLOSE: the stated limit: two copies start within as many microseconds as they grant
 */
#define SERVERS 2
#define SESSIONS 2      /* at most, of a server; session n grants lease n */
#define NUMBERS 64
#define BACK 6          /* a step back of the clock, in microseconds */
#ifdef TOO_CLOSE
#define APART 0
#else
#define APART 4         /* as many as all of them grant */
#endif

typedef Disk { byte last; byte seal; byte row[SESSIONS] }
typedef Server {
    byte last; byte seal; byte row[SESSIONS];   /* as its sessions see it */
    byte incarnation;                           /* 0: a standby */
    bit mint_locked;
    byte behind;                                /* how far its clock is behind */
    byte floor;                                 /* every grant from here on must be above this */
    byte acknowledged[SESSIONS];
}
Disk disk[SERVERS];
Server server[SERVERS];
byte clock = 8;
byte starts = 1;
bit used[NUMBERS];
byte highest = 0;
byte starter = 0;       /* the copies start at least APART microseconds after each other */
byte n;

#define me server[s]
#define max(a, b) ((a) > (b) -> (a) : (b))

inline flush() { disk[s].last = me.last; disk[s].seal = me.seal }

/* Starts the sequence above the clock, its own last value and every row, under the mint's lock. */
inline start() {
#ifdef SEAL_FIRST
    me.seal = mine;
    flush();
    if :: true -> me.mint_locked = 0; goto cancelled :: true fi;
#endif
    atomic {
        if :: starter != s -> starter = s; clock = clock + APART :: else fi;
        first = 1;
#ifndef NO_CLOCK
        first = max(first, clock - me.behind);
#endif
#ifndef NO_LAST_VALUE
        first = max(first, me.last + 1);
#endif
#ifndef NO_ROWS
        first = max(first, max(me.row[0], me.row[1]) + 1)
#endif
    };
    atomic { me.last = first - 1; first = 0; flush() };
    if :: true -> me.mint_locked = 0; goto cancelled :: true fi;
    atomic { me.seal = mine; flush() }
}

inline confirm() {
#ifndef NO_INCARNATIONS
    if
    :: me.seal == mine
    :: me.seal != mine ->
# ifndef NO_MINT_LOCK
        atomic { !me.mint_locked -> me.mint_locked = 1 };
# endif
        if
        :: me.seal != mine -> start()
        :: else
        fi;
        me.mint_locked = 0
    fi
#else
    skip
#endif
}

proctype session(byte s; byte lease; byte grants) {
    byte done = 0, mine = 0, first = 0, token = 0;
    do
    :: done == grants -> break
    :: done < grants ->
end_standby:
        atomic { me.incarnation -> mine = me.incarnation; done++ };
        {
            confirm();
            atomic {
                me.last++;
                token = me.last;
#ifndef NO_FLUSH
                flush();
#endif
                /* shown to the client, before it is known whether the grant commits */
                assert(token < NUMBERS);
                assert(!used[token]);
                assert(token > me.row[lease]);
                assert(token > me.floor);
                used[token] = 1;
                highest = max(highest, token);
                clock++
            };
            if
            :: atomic {
                   me.row[lease] = token;
#ifdef ACKNOWLEDGED_EARLY
                   me.acknowledged[lease] = token
               };
               disk[s].row[lease] = token
#else
                   flush();
                   disk[s].row[lease] = token;
                   me.acknowledged[lease] = token
               }
#endif
            :: true ->
#ifdef ROLLED_BACK
               atomic { me.last == token -> me.last--; flush() }
#else
               skip
#endif
            fi;
cancelled:  token = 0
        } unless { mine && mine != me.incarnation };
        atomic { mine = 0; first = 0; token = 0 }
    od
}

/* A restart reads from disk what was there; a step back of the clock may come with it. */
inline restart(s) {
    atomic {
        me.last = disk[s].last;
        me.seal = disk[s].seal;
        for (n : 0 .. SESSIONS - 1) {
            me.row[n] = disk[s].row[n];
            assert(me.row[n] >= me.acknowledged[n])
        };
        n = 0;
        starts++;
        me.incarnation = starts;
        me.mint_locked = 0;
        me.floor = highest
    }
}

init {
    byte s;
    bit mishap = 0, restored = 0;
    atomic {
        server[0].incarnation = 1;
        run session(0, 0, 2); run session(0, 1, 1);
        run session(1, 0, 1)
    };
end:
    do
    :: !mishap -> atomic { mishap = 1; restart(0) }
    :: !mishap && server[1].incarnation == 0 ->         /* with a clock that was set back */
        atomic { mishap = 1; server[0].behind = BACK; restart(0) }
    :: !mishap && server[1].incarnation == 0 ->     /* from a dump: rows, no sequence */
        atomic {
            mishap = 1;
            restored = 1;
            server[0].behind = BACK;
            disk[0].last = 1; disk[0].seal = 0;
            restart(0);
            /* of what a dump does not have nobody can know */
            server[0].floor = max(server[0].row[0], server[0].row[1]);
            for (n : 0 .. NUMBERS - 1) { used[n] = 0 };
            n = 0
        }
    :: server[1].incarnation == 0 && !restored ->       /* the standby catches up */
        atomic {
            disk[1].last = disk[0].last;
            disk[1].seal = disk[0].seal;
            disk[1].row[0] = disk[0].row[0];
            disk[1].row[1] = disk[0].row[1]
        }
    :: server[1].incarnation == 0 && !restored ->   /* it is promoted; the clocks agree by then */
        atomic { server[0].behind = 0; s = 1; restart(s); s = 0 }
    od
}
