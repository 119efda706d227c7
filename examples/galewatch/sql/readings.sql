-- What a shard holds. No unique constraint: a reading may be written twice, which Galewatch's
-- ingest never minded.
CREATE TABLE readings (
    turbine_id text        NOT NULL,
    at         timestamptz NOT NULL,
    power_kw   real        NOT NULL,
    wind_ms    real        NOT NULL,
    rotor_rpm  real        NOT NULL
);
CREATE INDEX readings_of_turbine ON readings (turbine_id, at);
