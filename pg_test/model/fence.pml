/* The fence: a guarded transaction commits before its token ends, or never, and nobody deadlocks.
 *
 * Clients run transactions made of what src/fence and src/lease do: guarded statements under the
 * client's own token or the current one (anybody can read it), savepoints that are released or
 * rolled back, a takeover or a release in the same transaction, and a commit, a rollback or a
 * PREPARE. Somebody else commits or rolls back what was prepared. Waits for the lease's row and for
 * its fence lock may be given up (lock_timeout), waits for a data row may not.
 *
 * mutant NO_COMMIT_LOCK: the commit check reads without the lock
 * mutant NO_COMMIT_CHECK: only the statement is checked
 * mutant COMMIT_WAITS: the commit waits for a takeover instead of being refused
 * mutant COMMIT_LETS_GO: the commit lets its lock go before it is visible
 * mutant NO_TAKER_LOCK: a takeover takes no lock
 * mutant TAKER_LETS_GO: a takeover lets its lock go before it is visible
 * mutant TAKER_LOCKS_NEW: a takeover locks the token that it makes, not the one that it ends
 * mutant TOKEN_AT_COMMIT: a transaction answers for the token presented last
 * mutant RELEASED_FORGOTTEN: a released savepoint forgets what was written in it
 * mutant ROLLED_BACK_KEPT: a savepoint that is rolled back does not forget
 * mutant NO_SETTLING: ending a token asks nothing of the transaction's own writes
 * mutant PREPARE_UNCHECKED: PREPARE is not checked
 * mutant PREPARE_LETS_GO: a prepared transaction keeps no lock
 * mutant LEFT_AFTER_PREPARE: the session still answers for what it has prepared
 */
#define CLIENTS 2
#define TRANSACTIONS 2
#define TOKENS 6        /* 1 is granted at the start, and each transaction grants at most one */
#define bit_of(t) (1 << (t))

byte token = 1;         /* the lease's row as it is committed */
bit owned = 1;
byte mint = 1;          /* never goes back, whatever is rolled back */
byte row = 0;           /* who has the lease's row locked */
byte data = 0;          /* who has written the one data row and is not done */
byte shared[TOKENS];    /* the fence lock of each token: commits under it */
byte exclusive[TOKENS]; /* who ends it */
byte written = 0;       /* the highest token under which data is committed */
byte prepared = 0;      /* tokens that the prepared transaction answers for; bit 0: there is one */
byte prepared_locks = 0;

#ifdef NO_COMMIT_LOCK
#define COMMIT_LOCKS_FREE true
#else
#define COMMIT_LOCKS_FREE (exclusive[t] == 0 || exclusive[t] == me)
#endif
#define PREPARER 100    /* whom the locks of the prepared transaction belong to */

/* What must hold at the instant of every commit that wrote under the tokens of `wrote`. */
inline commit_is_rightful(wrote) {
    for (i : 1 .. TOKENS - 1) {
        if
        :: wrote & bit_of(i) ->
            assert(i == grant || (token == i && owned));
            assert(written <= i)
        :: else
        fi
    }
}

inline note_written(wrote) {
    for (i : 1 .. TOKENS - 1) {
        if :: wrote & bit_of(i) -> written = i :: else fi
    };
    i = 0
}

/* A guarded statement: checked with the newest state, then the data row is locked. */
inline write(presented, answers, wrote_here) {
    atomic {
        asked = presented;
        if
        :: asked != 0 && (grant == asked || (ended == 0 && token == asked && owned)) ->
            answers = answers | bit_of(asked);
            wrote_here = wrote_here | bit_of(asked);
#ifdef TOKEN_AT_COMMIT
            last = asked
#endif
        :: else -> failed = 1
        fi;
        asked = 0
    };
    if
    :: atomic { !failed && (data == 0 || data == me) -> data = me }
    :: failed
    fi
}

/* Ends the current token: the row, then the fence lock, then this transaction's own writes. */
inline end_token() {
    if
    :: atomic { (row == 0 || row == me) -> row = me }
    :: row != 0 && row != me -> failed = 1
    fi;
    if
    :: failed
    :: else ->
#ifndef NO_TAKER_LOCK
# ifdef TAKER_LOCKS_NEW
        locked = mint + 1;
# else
        locked = token;
# endif
        if
        :: atomic {
               shared[locked] == 0 && exclusive[locked] == 0 -> exclusive[locked] = me
           }
        :: shared[locked] != 0 || exclusive[locked] != 0 -> failed = 1; locked = 0
        fi;
#endif
        if
        :: failed
        :: else ->
            ended = token;
#ifdef NO_SETTLING
            entries = 0
#else
            if
            :: (entries & ~bit_of(token)) != 0 || (entries && !owned) -> failed = 1
            :: else -> entries = 0      /* decided: true now, and nobody can change it */
            fi
#endif
        fi
    fi
}

/* The commit check: for each token a lock that is free at once, then another look at the row. */
inline check() {
#ifdef TOKEN_AT_COMMIT
    if :: entries -> entries = bit_of(last) :: else fi;
#endif
    do
    :: atomic { failed || t == TOKENS -> t = 0; break }
    :: atomic {
           !failed && t < TOKENS ->
               do
               :: t == TOKENS || (entries & bit_of(t)) -> break
               :: else -> t++
               od;
               if
               :: t == TOKENS
               :: t < TOKENS && COMMIT_LOCKS_FREE ->
#ifndef NO_COMMIT_LOCK
                   shared[t]++;
                   locks = locks | bit_of(t)
#endif
#ifndef COMMIT_WAITS
               :: t < TOKENS && !COMMIT_LOCKS_FREE -> failed = 1
#endif
               fi
       };
       atomic {
           if
           :: failed || t == TOKENS
           :: else ->
               if
               :: t == grant || (token == t && owned)
               :: else ->
                   failed = 1;
                   /* never refused for what was rolled back, settled, or another's */
                   assert(wrote & bit_of(t))
               fi;
               t++
           fi
       }
    od
}

inline let_go_shared(mask) {
    for (t : 1 .. TOKENS - 1) {
        if :: mask & bit_of(t) -> shared[t]-- :: else fi
    };
    t = 0;
    mask = 0
}

inline let_go_exclusive() {
    if :: locked -> exclusive[locked] = 0; locked = 0 :: else fi
}

inline forget() {
    entries = 0; wrote = 0; inner = 0; inner_wrote = 0; grant = 0; ended = 0; last = 0
}

inline abort() {
    atomic {
        if :: data == me -> data = 0 :: else fi;
        if :: row == me -> row = 0 :: else fi;
        let_go_shared(locks);
        let_go_exclusive();
        forget()
    }
}

inline commit() {
#ifndef NO_COMMIT_CHECK
    check();
#endif
#ifdef COMMIT_LETS_GO
    let_go_shared(locks);
#endif
#ifdef TAKER_LETS_GO
    let_go_exclusive();
#endif
    if
    :: failed -> abort()
    :: else ->
        atomic {
            commit_is_rightful(wrote);
            note_written(wrote);
            if
            :: grant -> assert(grant > token); token = grant; owned = 1; mine = grant
            :: !grant && ended -> owned = 0
            :: else
            fi;
            if :: data == me -> data = 0 :: else fi;
            if :: row == me -> row = 0 :: else fi
        };
        /* visible first, then the locks go */
        atomic { let_go_shared(locks); let_go_exclusive(); forget() }
    fi
}

inline prepare() {
    if :: ended -> failed = 1 :: else fi;   /* a change of ownership is not prepared */
#ifndef PREPARE_UNCHECKED
    if :: !failed -> check() :: else fi;
#endif
    if
    :: failed || prepared -> abort()
    :: else ->
        atomic {
            prepared = 1 | wrote;
            if :: data == me -> data = PREPARER :: else fi;
#ifdef PREPARE_LETS_GO
            let_go_shared(locks);
#else
            prepared_locks = locks; locks = 0;
#endif
#ifdef LEFT_AFTER_PREPARE
            left = entries;
#endif
            forget();
#ifdef LEFT_AFTER_PREPARE
            entries = left
#endif
        }
    fi
}

active [CLIENTS] proctype client() {
    byte me = _pid + 1;
    byte mine = 0;                  /* the token that this client was given */
    byte entries = 0, wrote = 0;    /* what it answers for; what it truly wrote under */
    byte inner = 0, inner_wrote = 0;
    byte grant = 0, ended = 0, locked = 0, locks = 0, last = 0, asked = 0, done = 0, left = 0;
    byte i, t;
    bit failed, had;

    if :: _pid == 0 -> mine = 1 :: else fi;
    do
    :: done == TRANSACTIONS -> break
    :: done < TRANSACTIONS ->
        done++;
        failed = 0;
        if
        :: write(mine, entries, wrote)
        :: write(token, entries, wrote)
        :: skip
        fi;
        if
        :: failed -> abort(); goto next
        :: !failed ->
            had = (data == me);
            if
            :: write(mine, inner, inner_wrote)
            :: write(token, inner, inner_wrote)
            :: skip
            fi;
            if
            :: true ->                                          /* rolled back to */
#ifdef ROLLED_BACK_KEPT
                entries = entries | inner;
#endif
                if :: data == me && !had -> data = 0 :: else fi
            :: !failed ->                                       /* released */
#ifndef RELEASED_FORGOTTEN
                entries = entries | inner;
#endif
                wrote = wrote | inner_wrote
            fi;
            atomic { inner = 0; inner_wrote = 0; failed = 0; had = 0 }
        fi;
        if
        :: true -> end_token();                                 /* a takeover */
            if
            :: !failed ->
                atomic { mint++; grant = mint };
                if :: write(grant, entries, wrote) :: skip fi
            :: else
            fi
        :: mine -> end_token()                                  /* a release */
        :: skip
        fi;
        if
        :: failed -> abort()
        :: !failed ->
            if
            :: true -> commit()
            :: true -> prepare()
            :: true -> abort()
            fi
        fi;
next:   skip
    od
}

active proctype resolver() {
    byte i, t;
    byte grant = 0;     /* a prepared transaction grants nothing */
end:
    do
    :: atomic {
        prepared ->
            if
            :: commit_is_rightful(prepared); note_written(prepared)
            :: skip
            fi;
            if :: data == PREPARER -> data = 0 :: else fi;
            let_go_shared(prepared_locks);
            prepared = 0
       }
    od
}
