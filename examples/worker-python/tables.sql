-- What the workers look after: nodes in 16 shards, a table each, which only the holder of the shard's lease
-- may write. And what the sink delivers.
DO $$
BEGIN
    FOR shard IN 0 .. 15 LOOP
        EXECUTE format(
            'CREATE TABLE node_%s (id text PRIMARY KEY, looks int NOT NULL DEFAULT 0, seen_by text)', shard);
        PERFORM lease_guard(format('node_%s', shard)::regclass, 'shard:' || shard);
    END LOOP;
    EXECUTE (SELECT 'CREATE VIEW node AS ' ||
                    string_agg(format('SELECT * FROM node_%s', shard), ' UNION ALL ')
             FROM generate_series(0, 15) AS shard);
END $$;

CREATE TABLE event (id bigint PRIMARY KEY, body text);
CREATE TABLE delivered (id bigint, body text, by text);
CREATE TABLE sink (cursor bigint NOT NULL);
INSERT INTO sink VALUES (0);
SELECT lease_guard('sink', 'singleton:sink');
SELECT lease_guard('delivered', 'singleton:sink');
