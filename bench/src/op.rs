//! What one does with leases, each beside the plain statement that does the same.

/// The leases that a benchmark may use under their first token; the others change theirs.
pub const KEEP: &str = ":leases / 2";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    pub key: &'static str,
    pub title: &'static str,
    ours: &'static str,
    pub plain_title: &'static str,
    plain: &'static str,
    /// Gives tokens away, so it stays off the leases whose tokens are known.
    changes_tokens: bool,
}

const GRANT: &str = "UPDATE plain_lease SET token = nextval('plain_token'), owner = 'bench', \
    expires_at = clock_timestamp() + interval '1 day', ttl_ms = 86400000, \
    since = clock_timestamp(), acquisitions = acquisitions + 1 WHERE name = 'work/' || :k \
    RETURNING name, owner, token, expires_at, clock_timestamp();\n";

pub const RENEW: Op = Op {
    key: "renew",
    title: "lease_renew",
    ours: "SELECT * FROM lease_renew('work/' || :k, 'bench', 1000 + :k, '1 day');\n",
    plain_title: "UPDATE by key",
    plain: "UPDATE plain_lease SET expires_at = clock_timestamp() + interval '1 day', \
        ttl_ms = 86400000 WHERE name = 'work/' || :k AND owner = 'bench' AND token = 1000 + :k \
        RETURNING name, owner, token, expires_at, clock_timestamp();\n",
    changes_tokens: false,
};
pub const ACQUIRE: Op = Op {
    key: "acquire",
    title: "lease_acquire, a new token",
    ours: "SELECT * FROM lease_acquire('work/' || :k, 'bench', '1 day', 'never');\n",
    plain_title: "UPDATE by key, with nextval",
    plain: GRANT,
    changes_tokens: true,
};
pub const REACQUIRE: Op = Op {
    key: "reacquire",
    title: "lease_acquire of one's own lease",
    ours: "SELECT * FROM lease_acquire('work/' || :k, 'bench', '1 day');\n",
    plain_title: "UPDATE by key, if it is ours or expired",
    plain: "UPDATE plain_lease SET expires_at = clock_timestamp() + interval '1 day', \
        ttl_ms = 86400000 WHERE name = 'work/' || :k \
        AND (owner = 'bench' OR expires_at < clock_timestamp()) \
        RETURNING name, owner, token, expires_at, clock_timestamp();\n",
    changes_tokens: true,
};
pub const REFUSED: Op = Op {
    key: "refused",
    title: "lease_acquire, refused",
    ours: "SELECT * FROM lease_acquire('work/' || :k, 'other', '1 day');\n",
    plain_title: "SELECT by key",
    plain: "SELECT name, owner, token, expires_at, clock_timestamp() FROM plain_lease \
        WHERE name = 'work/' || :k;\n",
    changes_tokens: false,
};
pub const TAKEOVER: Op = Op {
    key: "takeover",
    title: "lease_takeover",
    ours: "SELECT * FROM lease_takeover('work/' || :k, 'bench', '1 day');\n",
    plain_title: "UPDATE by key, with nextval",
    plain: GRANT,
    changes_tokens: true,
};
pub const RELEASE: Op = Op {
    key: "release",
    title: "lease_acquire and lease_release",
    ours: "SELECT token FROM lease_acquire('work/' || :k, 'bench', '1 day', 'never') \\gset\n\
        SELECT * FROM lease_release('work/' || :k, 'bench', :token);\n",
    plain_title: "two UPDATEs by key",
    plain: "UPDATE plain_lease SET token = nextval('plain_token'), owner = 'bench', \
        expires_at = clock_timestamp() + interval '1 day', ttl_ms = 86400000, \
        since = clock_timestamp(), acquisitions = acquisitions + 1 WHERE name = 'work/' || :k \
        RETURNING token \\gset\n\
        UPDATE plain_lease SET owner = NULL, expires_at = '-infinity' WHERE name = 'work/' || :k \
        AND owner = 'bench' AND token = :token \
        RETURNING name, owner, token, expires_at, clock_timestamp();\n",
    changes_tokens: true,
};

pub const ALL: [Op; 6] = [RENEW, ACQUIRE, REACQUIRE, REFUSED, TAKEOVER, RELEASE];

impl Op {
    pub fn ours(&self) -> String {
        format!("{}{}", self.pick(), self.ours)
    }

    pub fn plain(&self) -> String {
        format!("{}{}", self.pick(), self.plain)
    }

    /// Picks a lease that no other client has to do with: one of `own`, each `apart` from the next.
    fn pick(&self) -> String {
        let from = if self.changes_tokens { format!("{KEEP} + ") } else { String::new() };
        format!("\\set k {from}random(1, :own) * :apart - :client_id\n")
    }
}

/// A batch of renewals in one call, beside one UPDATE of as many rows.
pub fn renew_many(count: u32) -> (String, String) {
    let list = |one: fn(u32) -> String| (1..=count).map(one).collect::<Vec<_>>().join(",");
    let names = list(|n| format!("work/{n}"));
    let tokens = list(|n| (1_000 + n).to_string());
    let ours = format!(
        "SELECT * FROM lease_renew_many('{{{names}}}', 'bench', '{{{tokens}}}', '1 day');\n"
    );
    let plain = format!(
        "UPDATE plain_lease SET expires_at = clock_timestamp() + interval '1 day', \
         ttl_ms = 86400000 WHERE name = ANY ('{{{names}}}') AND owner = 'bench' \
         RETURNING name, owner, token, expires_at, clock_timestamp();\n"
    );
    (ours, plain)
}
