/* Mode newest: a resource obeys the highest token it has seen. What a new holder has read at its
 * first statement is still true when it commits, and no lower token commits after a higher one.
 *
 * Several holders, one of them with two sessions. Each begins a transaction with a guarded
 * statement that reads the data, then writes it, and commits or rolls back. A token above the
 * stored one is raised at the statement, under a lock on the stored one that is held to the end; an
 * equal one is checked at the commit under a shared lock on it; a lower one is refused.
 *
 * mutant RAISED_AT_COMMIT: the lock is taken and the token raised at the commit
 * mutant NO_SECOND_LOOK: the stored token is not read again under the lock
 * mutant LOCKS_NEW: the raiser locks the token that it stores, not the one that it replaces
 * mutant NO_RAISE_LOCK: the raiser takes no lock
 * mutant NO_COMMIT_LOCK: the commit of an equal token takes no lock
 * mutant NO_COMMIT_CHECK: an equal token is not looked at again at the commit
 * mutant LETS_GO_EARLY: the raiser lets its lock go before the raise is visible
 */
#define TOKENS 4
#define HOLDERS 4       /* with tokens 1, 2, 2 and 3; 1 is the newest at the start */

byte stored = 1;
byte shared[TOKENS];
byte exclusive[TOKENS];
byte data = 0;          /* the token that wrote it last */
byte version = 0;
byte writer = 0;        /* who has written the data row and is not done */

#define me (_pid + 1)

/* At the statement. Waits for another raiser; lock_timeout may end the wait. */
inline raise() {
    do
    :: failed || raised -> break
    :: else ->
        seen = stored;
        if
        :: seen > token -> failed = 1
        :: seen == token -> break
        :: seen < token ->
#ifndef NO_RAISE_LOCK
# ifdef LOCKS_NEW
            seen = token;
# endif
            if
            :: atomic { exclusive[seen] == me }
            :: atomic {
                   exclusive[seen] == 0 && shared[seen] == 0 ->
                       exclusive[seen] = me; locked = locked | (1 << seen)
               }
            :: exclusive[seen] && exclusive[seen] != me || shared[seen] -> failed = 1
            fi;
#endif
#ifdef NO_SECOND_LOOK
            raised = !failed
#else
            atomic {
                if
                :: !failed && (stored == seen || stored < token && seen == token) -> raised = 1
                :: else
                fi
            }
#endif
        fi
    od;
    seen = 0
}

inline let_go() {
    atomic {
        for (t : 1 .. TOKENS - 1) {
            if :: locked & (1 << t) -> exclusive[t] = 0 :: else fi
        };
        t = 0;
        locked = 0
    }
}

/* At the commit, of a token that was the newest at the statement. Never waits. */
inline check() {
#ifndef NO_COMMIT_CHECK
    atomic {
        if
        :: raised || failed
# ifdef NO_COMMIT_LOCK
        :: !raised && !failed
# else
        :: !raised && !failed && !exclusive[token] -> shared[token]++; is_sharing = 1
        :: !raised && !failed && exclusive[token] -> failed = 1
# endif
        fi
    };
    atomic { if :: !raised && stored != token -> failed = 1 :: else fi }
#else
    skip
#endif
}

active [HOLDERS] proctype holder() {
    byte token, seen = 0, read, locked = 0, t = 0;
    bit failed = 0, raised = 0, is_sharing = 0;

    token = (_pid == 0 -> 1 : (_pid == 3 -> 3 : 2));
#ifdef RAISED_AT_COMMIT
    if :: stored > token -> failed = 1 :: else fi;
#else
    raise();
#endif
    if
    :: failed
    :: !failed ->
        read = version;                                 /* the new holder looks */
        if
        :: true -> atomic { !writer -> writer = me }    /* and writes */
        :: true
        fi;
#ifdef RAISED_AT_COMMIT
        raise();
#endif
        check();
        if
        :: failed
        :: !failed -> skip                              /* rolled back for some other reason */
        :: !failed ->
#ifdef LETS_GO_EARLY
            let_go();
#endif
            atomic {
                assert(token >= stored);
                /* only sessions under the same token may have changed what was read */
                assert(version == read || data == token);
                if :: raised -> stored = token :: else fi;
                if
                :: writer == me ->
                    assert(data <= token);
                    data = token; version++; writer = 0
                :: else
                fi
            }
        fi;
        atomic { if :: writer == me -> writer = 0 :: else fi }
    fi;
    atomic {
        let_go();
        if :: is_sharing -> shared[token]-- :: else fi
    }
}
