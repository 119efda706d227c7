/* The order of locks: batches that take the same leases in any order, a transaction that wrote
 * under more leases than are locked one by one, and writers of one data row never deadlock, and a
 * commit under a token that has ended never goes through.
 *
 * Nothing here is given up because of lock_timeout: what would need it to go on is a deadlock.
 *
 * mutant OWN_ORDER: a batch takes its leases in the order in which they were named
 * mutant COARSE_QUEUES: a commit under many leases queues for the lock of all
 * mutant COARSE_WAITS_ONE_BY_ONE: it waits for each lease's lock instead
 * mutant NO_INTENT: takers do not take their share of the lock of all
 * mutant INTENT_LAST: takers take it after they have read and written the row
 * mutant COARSE_LETS_GO: the lock of all is let go before the commit is visible
 */
#define LEASES 2
#define TAKERS 2

byte token[LEASES];         /* as committed */
byte row[LEASES];           /* whose row lock it is */
byte exclusive[LEASES];     /* who ends the current token */
byte shared[LEASES];
byte intent = 0;            /* takers with a share of the lock of all */
bit everything = 0;         /* the commit under many leases has it */
bit wants_everything = 0;   /* it queues for it, and later takers queue behind it */
byte data = 0;              /* who has written the data row and is not done */

#define me (_pid + 1)

inline announce() {
#ifndef NO_INTENT
    if
    :: announced
    :: atomic { !announced && !everything && !wants_everything -> intent++; announced = 1 }
    fi
#else
    skip
#endif
}

/* Ends the token of one lease and makes the next. */
inline take(lease) {
    atomic { row[lease] == 0 -> row[lease] = me };
#ifndef INTENT_LAST
    announce();
#endif
    atomic { !exclusive[lease] && !shared[lease] -> exclusive[lease] = me }
}

active [TAKERS] proctype taker() {
    byte first = 0, second, lease;
    bit announced = 0;

#ifdef OWN_ORDER
    first = _pid % LEASES;
#endif
    second = LEASES - 1 - first;
    take(first);
    take(second);
    if      /* the new holder goes on to work in the same transaction */
    :: true -> atomic { data == 0 -> data = me }
    :: true
    fi;
    atomic {
        for (lease : 0 .. LEASES - 1) { token[lease]++; row[lease] = 0 };
        lease = 0;
        if :: data == me -> data = 0 :: else fi
    };
#ifdef INTENT_LAST
    announce();
#endif
    atomic {
        for (lease : 0 .. LEASES - 1) { exclusive[lease] = 0 };
        if :: announced -> intent-- :: else fi
    }
}

/* Has written the data row under both leases; they stand for more than are locked one by one. */
active proctype many() {
    byte lease = 0, held = 0;
    byte under[LEASES];
    bit failed = 0;

    atomic { under[0] = token[0]; under[1] = token[1] };
    atomic { data == 0 -> data = me };
#ifdef COARSE_WAITS_ONE_BY_ONE
    do
    :: lease == LEASES -> lease = 0; break
    :: atomic { lease < LEASES && !exclusive[lease] -> shared[lease]++; lease++ }
    od;
    held = LEASES;
#else
# ifdef COARSE_QUEUES
    wants_everything = 1;
    atomic { intent == 0 -> everything = 1; wants_everything = 0 };
# else
    if      /* looks again and again, for a while */
    :: atomic { intent == 0 -> everything = 1 }
    :: intent != 0 -> failed = 1
    fi;
# endif
#endif
    do
    :: failed || lease == LEASES -> break
    :: else ->
        if
        :: token[lease] == under[lease]
        :: else -> failed = 1
        fi;
        lease++
    od;
#ifdef COARSE_LETS_GO
    everything = 0;
#endif
    atomic {
        if
        :: failed
        :: else ->
            for (lease : 0 .. LEASES - 1) { assert(token[lease] == under[lease]) }
        fi;
        data = 0
    };
    atomic {
        everything = 0;
        for (lease : 0 .. LEASES - 1) {
            if :: held -> shared[lease]-- :: else fi
        }
    }
}
