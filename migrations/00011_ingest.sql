-- What YouTube thinks of the signals of encoders (decision S24).

-- +goose Up
-- The logins of owners of channels.
CREATE TABLE ingest_logins (
    id          UUID        PRIMARY KEY,        -- a UUIDv7
    name        TEXT        NOT NULL UNIQUE,
    sealed      BYTEA       NOT NULL,           -- the refresh token, encrypted with SECRETS_KEY
    created_at  TIMESTAMPTZ NOT NULL,
    uploaded_at TIMESTAMPTZ NOT NULL,
    accepted_at TIMESTAMPTZ,                    -- when it was last accepted
    rejected_at TIMESTAMPTZ,                    -- since when it is rejected; NULL: it is not
    asked_at    TIMESTAMPTZ,                    -- when the newest look ended
    next_at     TIMESTAMPTZ,                    -- when the next one is due; NULL: now
    streams     INT         NOT NULL DEFAULT 0, -- of which the newest look told
    failure     JSONB,                          -- an officialstate.Failure: why the newest look failed
    failures    INT         NOT NULL DEFAULT 0  -- in a row
) WITH (fillfactor = 50); -- its rows change often

-- What is known of the signal of the stream of a monitor: an ingest.Health. It is old 10 minutes after it was asked, so a crash may
-- lose it.
CREATE UNLOGGED TABLE ingest_states (
    monitor_id VARCHAR(37) PRIMARY KEY,
    login_id   UUID        NOT NULL,            -- by which it is known
    health     JSONB       NOT NULL,            -- '{}': it was known, and is not any more
    no_data    BOOLEAN     NOT NULL,            -- what the health says of data that are missing
    asked_at   TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);
