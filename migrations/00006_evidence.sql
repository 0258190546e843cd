-- Pictures: evidence (section 16.2) with its records, its files and a place for their bytes when
-- EVIDENCE_STORE is postgres, and the thumbnails of the wall.

-- +goose Up
CREATE TABLE evidence (
    id          UUID        PRIMARY KEY,  -- a UUIDv7, made by the worker
    monitor_id  VARCHAR(37) NOT NULL REFERENCES monitors (id),
    -- No foreign key: evidence of a case outlives the events (EVENT_RETENTION).
    event_id    UUID        NOT NULL,
    incident_id UUID,
    condition   VARCHAR(32) NOT NULL,
    phase       VARCHAR(20) NOT NULL,
    class       VARCHAR(20) NOT NULL,
    note        TEXT        NOT NULL DEFAULT '',
    created_at  TIMESTAMPTZ NOT NULL
);

-- The lists of a monitor and of an incident, newest first (a UUIDv7 is in the order of time), and of
-- an event, for its webhook.
CREATE INDEX idx_evidence_monitor ON evidence (monitor_id, id);
CREATE INDEX idx_evidence_incident ON evidence (incident_id, id) WHERE incident_id IS NOT NULL;
CREATE INDEX idx_evidence_event ON evidence (event_id);
-- What has expired of a class, oldest first.
CREATE INDEX idx_evidence_class ON evidence (class, created_at);
-- Normal evidence of severe incidents, at each sweep: theirs is in quarantine, so there is none.
CREATE INDEX idx_evidence_normal ON evidence (incident_id) WHERE class = 'normal';

-- The blobs that the blob store has or is about to have, whichever store it is.
CREATE TABLE evidence_blobs (
    sha256      BYTEA       PRIMARY KEY,
    size        BIGINT      NOT NULL,
    reserved_at TIMESTAMPTZ NOT NULL DEFAULT now(),  -- by the newest upload: no orphan for an hour from then
    deleting_at TIMESTAMPTZ,                         -- when it was claimed to be deleted as an orphan
    -- Whose quota of evidence it counts for, and since when: the monitor whose upload was the first.
    -- NULL: nobody's.
    monitor_id  VARCHAR(37),
    counted_at  TIMESTAMPTZ
);
-- The quota of a monitor.
CREATE INDEX idx_evidence_blobs_monitor ON evidence_blobs (monitor_id, counted_at);
-- Orphans, oldest first.
CREATE INDEX idx_evidence_blobs_reserved ON evidence_blobs (reserved_at);

CREATE TABLE evidence_files (
    evidence_id UUID             NOT NULL REFERENCES evidence (id) ON DELETE CASCADE,
    variant     VARCHAR(20)      NOT NULL,
    sha256      BYTEA            NOT NULL REFERENCES evidence_blobs (sha256),
    size        BIGINT           NOT NULL,
    width       INT              NOT NULL,
    height      INT              NOT NULL,
    taken_at    TIMESTAMPTZ      NOT NULL,
    measure     DOUBLE PRECISION,
    rendition_height INT         NOT NULL DEFAULT 0, -- lines; 0: unknown
    PRIMARY KEY (evidence_id, variant)
);

-- Whether a blob is an orphan.
CREATE INDEX idx_evidence_files_blob ON evidence_files (sha256);

-- The blobs of EVIDENCE_STORE=postgres, in parts, so that a range can be read and
-- nobody holds a whole clip in memory. An upload is seen when it is complete.
CREATE TABLE blobs (
    upload     UUID        PRIMARY KEY,
    sha256     BYTEA       NOT NULL,
    size       BIGINT      NOT NULL,
    complete   BOOLEAN     NOT NULL DEFAULT false,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
-- The bytes of a digest, which are stored once.
CREATE UNIQUE INDEX idx_blobs_sha256 ON blobs (sha256) WHERE complete;
-- Uploads that were cut.
CREATE INDEX idx_blobs_partial ON blobs (created_at) WHERE NOT complete;

CREATE TABLE blob_chunks (
    upload UUID  NOT NULL REFERENCES blobs (upload),
    number INT   NOT NULL,  -- from 0; each chunk but the last has 262,144 bytes
    data   BYTEA NOT NULL,
    PRIMARY KEY (upload, number)
);
-- Pictures and clips are compressed already.
ALTER TABLE blob_chunks ALTER COLUMN data SET STORAGE EXTERNAL;

-- The monitors whose thumbnails a page shows at present (section 17.2). A lease is renewed while the
-- page is visible. Losing thumbnails in a crash costs a page 30 seconds, which is worth not writing a
-- log.
CREATE UNLOGGED TABLE thumbnail_leases (
    monitor_id   VARCHAR(37) PRIMARY KEY,
    wanted_until TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);

-- The newest thumbnail of each monitor, for all gateways.
CREATE UNLOGGED TABLE thumbnails (
    monitor_id VARCHAR(37) PRIMARY KEY,
    taken_at   TIMESTAMPTZ NOT NULL,
    stored_at  TIMESTAMPTZ NOT NULL,
    jpeg       BYTEA       NOT NULL
);
-- A JPEG is compressed already.
ALTER TABLE thumbnails ALTER COLUMN jpeg SET STORAGE EXTERNAL;
