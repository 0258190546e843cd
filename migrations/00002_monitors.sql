-- What monitors need beyond section 9.1.

-- +goose Up
ALTER TABLE monitors
    -- The order of registration: created_at may repeat, ids are monotonic per process only.
    ADD COLUMN seq              BIGINT GENERATED ALWAYS AS IDENTITY,
    -- The caller's exact bytes: JSONB reorders keys and drops duplicates (decision A3).
    ADD COLUMN metadata_text    TEXT,
    -- Texts by name (section 16.8).
    ADD COLUMN labels           JSONB NOT NULL DEFAULT '{}',
    -- What GET shows besides the status (section 3.3, decision S14).
    ADD COLUMN stream_status    VARCHAR(20) NOT NULL DEFAULT 'unknown',
    ADD COLUMN health_video     VARCHAR(20) NOT NULL DEFAULT 'unknown',
    ADD COLUMN health_audio     VARCHAR(20) NOT NULL DEFAULT 'unknown',
    -- What each detector makes of the newest media (section 3.3); NULL: no optional one runs.
    ADD COLUMN health_conditions JSONB,
    ADD COLUMN health_renditions JSONB,
    -- Why status is error, e.g. callback_failed (decision W4).
    ADD COLUMN reason           VARCHAR(64) NOT NULL DEFAULT '',
    -- Of the newest worker launched: reports of an older one are refused (decision O2).
    ADD COLUMN generation       INT NOT NULL DEFAULT 0,
    -- Counts the changes of config, callback_url, metadata and labels (section 16.6). A worker with an
    -- older one requests its assignment again.
    ADD COLUMN revision         INT NOT NULL DEFAULT 0,
    -- The watcher's state, for a worker that starts again (decision S11), encrypted by SECRETS_KEY.
    ADD COLUMN snapshot         BYTEA,
    -- What follows stream_url for workers alone, such as a token; NULL: nothing does. Encrypted by SECRETS_KEY.
    ADD COLUMN stream_secret    BYTEA,
    -- Where the newest worker was launched: who can see whether it runs (decision O3).
    ADD COLUMN place            VARCHAR(63) NOT NULL DEFAULT '',
    -- A reservation has no worker before this time (decision A10); NULL: it is none, or has been promoted.
    ADD COLUMN reserved_until   TIMESTAMPTZ,
    -- Since and until when nobody looks at the stream (section 16.9), and who asked for it; NULL: nobody ever. The end may have passed.
    ADD COLUMN paused_since     TIMESTAMPTZ,
    ADD COLUMN paused_until     TIMESTAMPTZ,
    ADD COLUMN paused_by        TEXT NOT NULL DEFAULT '',
    -- When the newest report of the newest generation was made, by its worker's clock.
    -- Reports may overtake each other; an older one must not put an older snapshot back.
    ADD COLUMN reported_at      TIMESTAMPTZ,
    -- When the newest report of an earlier generation was made.
    ADD COLUMN seen_at          TIMESTAMPTZ,
    -- The newest failure to observe the stream; '': the newest attempt succeeded (decision S15).
    ADD COLUMN last_error       TEXT NOT NULL DEFAULT '',
    -- Since when nothing could be learned; NULL: no blindness is open (decision S15).
    ADD COLUMN blind_since      TIMESTAMPTZ,
    -- Why a worker knows nothing of its stream at present (decision S15): since, class, egress. NULL: it knows.
    ADD COLUMN unseen           JSONB,
    -- When the stream's state or its media were last observed.
    ADD COLUMN last_observed_at TIMESTAMPTZ,
    -- When it ended; an ended monitor keeps answering with it (decision A6).
    ADD COLUMN ended_at         TIMESTAMPTZ,
    -- The channel that has found or adopted it; NULL: none.
    ADD COLUMN channel_id       UUID,
    -- The file that keeps it (section 19.8); '': none does.
    ADD COLUMN owner            TEXT NOT NULL DEFAULT '',
    -- By which people call its stream (section 16.6).
    ADD COLUMN number           INTEGER NOT NULL DEFAULT 0;

ALTER TABLE monitor_stats
    -- Alerts of each detector beyond blackout and silence, by the detector's name.
    ADD COLUMN detector_events JSONB NOT NULL DEFAULT '{}';

-- Each report updates both rows. With room in their pages, it makes no entries in indexes, and the next
-- reader of a page removes the old rows.
ALTER TABLE monitors SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE monitor_stats SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- Lists are newest first, of all monitors or of one status (decision A7).
CREATE UNIQUE INDEX idx_monitors_seq ON monitors (seq);
CREATE INDEX idx_monitors_status_seq ON monitors (status, seq);
-- Short lists among many monitors (section 16.6): blind=true, live=true, and of trouble=true those whose
-- picture or sound is bad.
CREATE INDEX idx_monitors_blind ON monitors (seq) WHERE blind_since IS NOT NULL;
CREATE INDEX idx_monitors_live ON monitors (seq)
    WHERE stream_status = 'live' AND status IN ('initializing', 'waiting', 'monitoring');
CREATE INDEX idx_monitors_bad ON monitors (id) WHERE status IN ('initializing', 'waiting', 'monitoring')
    AND (health_video NOT IN ('ok', 'unknown', 'none', '') OR health_audio NOT IN ('ok', 'unknown', ''));
-- Reservations that are due (decision A10), and when the next is.
CREATE INDEX idx_monitors_reserved ON monitors (reserved_until)
    WHERE reserved_until IS NOT NULL;
-- Finds the monitors that ended in the last minutes, which a new reader of the feed gets, and those
-- that are to be deleted (section 16.5).
CREATE INDEX idx_monitors_ended ON monitors (ended_at, id) WHERE ended_at IS NOT NULL;
-- Ended streams, the newest first, by how they ended (section 16.6); one day of them is found by idx_monitors_ended.
CREATE INDEX idx_monitors_outcome ON monitors (status, ended_at, id) WHERE ended_at IS NOT NULL;
-- What has ended of a channel, the newest first (section 16.6).
CREATE INDEX idx_monitors_ended_of_channel ON monitors (channel_id, ended_at, id) WHERE channel_id IS NOT NULL;
-- The earlier streams of a channel that had a planned start (section 16.7). A name may be longer than an index takes.
CREATE INDEX idx_monitors_channel ON monitors (left(metadata ->> 'channel_name', 100), ended_at)
    WHERE ended_at IS NOT NULL AND config ->> 'scheduled_start_time' IS NOT NULL;

-- The lists of those with labels, active or ended (section 16.8).
CREATE INDEX idx_monitors_labels ON monitors USING gin (labels jsonb_path_ops) WITH (gin_pending_list_limit = 512);

-- What a file keeps, and whether a stream of it has ended.
CREATE INDEX idx_monitors_owner ON monitors (owner, stream_url) WHERE owner <> '';

-- The pairs of neighbouring characters of a text. A text has every pair of each text within it.
-- +goose StatementBegin
CREATE FUNCTION character_pairs(content TEXT) RETURNS TEXT[] LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000 AS $$
    SELECT COALESCE(array_agg(DISTINCT character || following), '{}')
    FROM (SELECT character, lead(character) OVER (ORDER BY place) AS following
          FROM unnest(string_to_array(content, NULL)) WITH ORDINALITY AS content (character, place)) AS pairs
    WHERE following IS NOT NULL $$;
-- +goose StatementEnd
-- The search for a text (section 16.6) reads only monitors that have all pairs of it. pg_trgm would do
-- the same, but it is an extension that has to be installed, and it finds nothing with two characters.
CREATE INDEX idx_monitors_text ON monitors
    USING gin (character_pairs(id || lower(stream_url) || COALESCE(lower(CAST(metadata AS text)), ''))) WITH (gin_pending_list_limit = 512);

-- Each number that was ever given, and when it is free again; NULL while its monitor is active. A
-- new monitor gets the smallest that is free. Without the index a registration would read all
-- numbers that are taken.
CREATE TABLE monitor_numbers (
    number  INTEGER PRIMARY KEY,
    free_at TIMESTAMPTZ
);
CREATE INDEX idx_monitor_numbers_free ON monitor_numbers (number) WHERE free_at IS NOT NULL;

-- The gateways with inline workers that run (decision O5). Each counts its heartbeats here. The
-- others take over the monitors of a gateway that sends none any more.
CREATE TABLE gateways (
    runtime_id        VARCHAR(63) PRIMARY KEY,             -- as in monitors.place
    heartbeats        BIGINT      NOT NULL DEFAULT 1,
    last_heartbeat_at TIMESTAMPTZ NOT NULL DEFAULT now()   -- rows that are a day old are deleted; decides nothing else
) WITH (fillfactor = 50);

-- How many monitors there are, by status, and how many of their streams are live: lists say it
-- (section 3.4), and the maximum of section 3.1 asks for it. Counting 50,000 one by one takes 10 to
-- 30 ms, and those that have ended grow for years.
--
-- The triggers run at the end of a transaction. So the lock on a row of counts lasts as long as the
-- commit, and a gateway that halts before it keeps no other waiting. Their conditions are checked at
-- once, so nothing is queued for a report that changes no count. Of two triggers of one change the
-- first by name runs first: a change of both rows locks that of active monitors first. No
-- transaction changes an ended monitor and then an active one.
CREATE TABLE active_monitors (
    only_row     BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_row),
    initializing BIGINT NOT NULL DEFAULT 0,
    waiting      BIGINT NOT NULL DEFAULT 0,
    monitoring   BIGINT NOT NULL DEFAULT 0,
    live         BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 10); -- its one row changes often
INSERT INTO active_monitors DEFAULT VALUES;

-- +goose StatementBegin
CREATE FUNCTION count_active_monitor() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before TEXT := CASE WHEN TG_OP <> 'INSERT' THEN OLD.status END;
    after  TEXT := CASE WHEN TG_OP <> 'DELETE' THEN NEW.status END;
    lived  BOOLEAN := TG_OP <> 'INSERT' AND OLD.stream_status = 'live' AND before IN ('initializing', 'waiting', 'monitoring');
    lives  BOOLEAN := TG_OP <> 'DELETE' AND NEW.stream_status = 'live' AND after IN ('initializing', 'waiting', 'monitoring');
BEGIN
    UPDATE active_monitors SET
        initializing = initializing + (after IS NOT DISTINCT FROM 'initializing')::int - (before IS NOT DISTINCT FROM 'initializing')::int,
        waiting      = waiting      + (after IS NOT DISTINCT FROM 'waiting')::int      - (before IS NOT DISTINCT FROM 'waiting')::int,
        monitoring   = monitoring   + (after IS NOT DISTINCT FROM 'monitoring')::int   - (before IS NOT DISTINCT FROM 'monitoring')::int,
        live         = live         + lives::int                                       - lived::int;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE CONSTRAINT TRIGGER active_inserted AFTER INSERT ON monitors DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.status IN ('initializing', 'waiting', 'monitoring')) EXECUTE FUNCTION count_active_monitor();
CREATE CONSTRAINT TRIGGER active_updated AFTER UPDATE ON monitors DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.status <> NEW.status OR OLD.stream_status <> NEW.stream_status)
          AND (OLD.status IN ('initializing', 'waiting', 'monitoring') OR NEW.status IN ('initializing', 'waiting', 'monitoring')))
    EXECUTE FUNCTION count_active_monitor();
CREATE CONSTRAINT TRIGGER active_deleted AFTER DELETE ON monitors DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.status IN ('initializing', 'waiting', 'monitoring')) EXECUTE FUNCTION count_active_monitor();

CREATE TABLE ended_monitors (
    only_row  BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_row),
    completed BIGINT NOT NULL DEFAULT 0,
    stopped   BIGINT NOT NULL DEFAULT 0,
    error     BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
INSERT INTO ended_monitors DEFAULT VALUES;

-- +goose StatementBegin
CREATE FUNCTION count_ended_monitor() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before TEXT := CASE WHEN TG_OP <> 'INSERT' THEN OLD.status END;
    after  TEXT := CASE WHEN TG_OP <> 'DELETE' THEN NEW.status END;
BEGIN
    UPDATE ended_monitors SET
        completed = completed + (after IS NOT DISTINCT FROM 'completed')::int - (before IS NOT DISTINCT FROM 'completed')::int,
        stopped   = stopped   + (after IS NOT DISTINCT FROM 'stopped')::int   - (before IS NOT DISTINCT FROM 'stopped')::int,
        error     = error     + (after IS NOT DISTINCT FROM 'error')::int     - (before IS NOT DISTINCT FROM 'error')::int;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE CONSTRAINT TRIGGER count_inserted AFTER INSERT ON monitors DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.status IN ('completed', 'stopped', 'error')) EXECUTE FUNCTION count_ended_monitor();
CREATE CONSTRAINT TRIGGER count_updated AFTER UPDATE ON monitors DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND (OLD.status IN ('completed', 'stopped', 'error') OR NEW.status IN ('completed', 'stopped', 'error')))
    EXECUTE FUNCTION count_ended_monitor();
CREATE CONSTRAINT TRIGGER count_deleted AFTER DELETE ON monitors DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.status IN ('completed', 'stopped', 'error')) EXECUTE FUNCTION count_ended_monitor();

-- The pictures that people have uploaded for detectors to look for (section 17.6), each for a monitor or for a channel.
CREATE TABLE reference_images (
    id         UUID             PRIMARY KEY,
    monitor_id VARCHAR(37)      REFERENCES monitors (id),
    channel_id UUID,
    name       TEXT             NOT NULL,
    unwanted   VARCHAR(20)      NOT NULL,
    similarity DOUBLE PRECISION NOT NULL,
    media_type VARCHAR(20)      NOT NULL,
    width      INT              NOT NULL,
    height     INT              NOT NULL,
    digests    JSONB            NOT NULL, -- of the image, as a worker gets them
    image      BYTEA            NOT NULL,
    created_at TIMESTAMPTZ      NOT NULL,
    UNIQUE (monitor_id, name),
    UNIQUE (channel_id, name),
    CHECK ((monitor_id IS NULL) <> (channel_id IS NULL))
);
-- An image is compressed already.
ALTER TABLE reference_images ALTER COLUMN image SET STORAGE EXTERNAL;

-- What the official API of its source says of the stream of a monitor (decision S23). It is old 90 s after it was asked, so
-- a crash may lose it.
CREATE UNLOGGED TABLE official_states (
    monitor_id VARCHAR(37) PRIMARY KEY,
    status     VARCHAR(20) NOT NULL,
    asked_at   TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);

-- The use of these APIs by all gateways: by the name of the source, officialstate.Account as JSON.
CREATE TABLE official_account (
    only_row BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_row),
    account  JSONB NOT NULL DEFAULT '{}'
) WITH (fillfactor = 10); -- its one row changes often
INSERT INTO official_account DEFAULT VALUES;

-- The cookie files that people have uploaded for streams that need a login (section 17.7). Monitors name them in
-- config.cookie_jar.
CREATE TABLE cookie_jars (
    id          UUID        PRIMARY KEY,
    name        TEXT        NOT NULL UNIQUE,
    sources     TEXT[]      NOT NULL,           -- that it has cookies for
    cookies     INT         NOT NULL,           -- how many
    signed_in   BOOLEAN     NOT NULL,           -- they have those of a login
    sealed      BYTEA       NOT NULL,           -- the file, encrypted with SECRETS_KEY
    version     INT         NOT NULL DEFAULT 1, -- counts the files
    created_at  TIMESTAMPTZ NOT NULL,
    uploaded_at TIMESTAMPTZ NOT NULL,
    accepted_at TIMESTAMPTZ,                    -- when a run last told that the source accepted it
    rejected_at TIMESTAMPTZ                     -- since when the source rejects it; NULL: it does not
);
