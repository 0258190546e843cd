-- Channels whose streams are found and watched.

-- +goose Up
CREATE TABLE channels (
    id            UUID        PRIMARY KEY,           -- a UUIDv7
    address       TEXT        NOT NULL,              -- canonical, as it was registered
    source_id     TEXT        NOT NULL DEFAULT '',   -- of the source, such as UC…; '': not known yet
    handle        TEXT        NOT NULL DEFAULT '',
    title         TEXT        NOT NULL DEFAULT '',
    callback_url  TEXT        NOT NULL,              -- this and the next four: what its streams are registered with
    config        JSONB       NOT NULL,
    metadata_text TEXT        NOT NULL,              -- the caller's exact bytes
    labels        JSONB       NOT NULL DEFAULT '{}', -- texts by name
    cookie_jar    TEXT        NOT NULL DEFAULT '',
    owner         TEXT        NOT NULL DEFAULT '',   -- the file that keeps it (section 19.8); '': none does
    reading       JSONB       NOT NULL,              -- how its page was read: a channel.Reading
    next_at       TIMESTAMPTZ NOT NULL,              -- when the page is read again
    created_at    TIMESTAMPTZ NOT NULL,
    stopped_at    TIMESTAMPTZ                        -- NULL: its page is read
) WITH (fillfactor = 70);
-- A channel is registered once, under whatever name.
CREATE UNIQUE INDEX idx_channels_address ON channels (address) WHERE stopped_at IS NULL;
CREATE UNIQUE INDEX idx_channels_source ON channels (source_id) WHERE stopped_at IS NULL AND source_id <> '';
-- Those whose pages are due.
CREATE INDEX idx_channels_next ON channels (next_at) WHERE stopped_at IS NULL;

-- The streams that were found on the page of a channel.
CREATE TABLE channel_streams (
    channel_id UUID         NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    stream_url VARCHAR(512) NOT NULL,
    broadcast  TEXT         NOT NULL,                -- which of those that come and go under the URL; '': unknown, or there is one only
    standing   VARCHAR(20)  NOT NULL,                -- a channel.Standing
    found      JSONB        NOT NULL,                -- a channel.Found, without the state of its monitor
    monitor_id VARCHAR(37),                          -- NULL: none watches it
    found_at   TIMESTAMPTZ  NOT NULL,
    retry_at   TIMESTAMPTZ,                          -- when a refused registration is tried again
    ask_at     TIMESTAMPTZ,                          -- when the resolver is asked about it; NULL: it need not be
    PRIMARY KEY (channel_id, stream_url, broadcast)
) WITH (fillfactor = 70);
-- Those that are to be registered, of all channels.
CREATE INDEX idx_channel_streams_wanted ON channel_streams (channel_id) WHERE standing = 'wanted';
-- Those that the resolver is asked about.
CREATE INDEX idx_channel_streams_ask ON channel_streams (ask_at) WHERE ask_at IS NOT NULL;

-- What happened to channels. Destinations are told it by routes, and no callback: it belongs to no monitor.
CREATE TABLE channel_events (
    id           UUID         PRIMARY KEY,           -- a UUIDv7
    channel_id   UUID         NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    event_type   VARCHAR(50)  NOT NULL,
    body         TEXT         NOT NULL,              -- the payload, as webhooks get it
    destinations UUID[]       NOT NULL,              -- that are told it
    created_at   TIMESTAMPTZ  NOT NULL
);
-- The newest of a channel, and those that have expired.
CREATE INDEX idx_channel_events_channel ON channel_events (channel_id, created_at);
CREATE INDEX idx_channel_events_created ON channel_events (created_at);

-- Which of the broadcasts that come and go under its URL its worker watches; '': not known yet, or there is one only.
ALTER TABLE monitors ADD COLUMN broadcast TEXT NOT NULL DEFAULT '';
-- The stream that a monitor was registered for.
CREATE INDEX idx_channel_streams_monitor ON channel_streams (monitor_id) WHERE monitor_id IS NOT NULL;

-- Pictures that detectors look for in each of its streams.
ALTER TABLE reference_images ADD FOREIGN KEY (channel_id) REFERENCES channels (id) ON DELETE CASCADE;
