-- What Twitch pushes (decision S28).

-- +goose Up
-- The messages that were received, as they were, for 72 h. One with the same id is not received again.
CREATE TABLE eventsub_messages (
    id          VARCHAR(128) PRIMARY KEY,               -- that Twitch gave it
    kind        TEXT         NOT NULL,                  -- notification, revocation, …
    type        TEXT         NOT NULL,                  -- of its subscription
    body        BYTEA        NOT NULL,                  -- of the webhook, or the frame
    sent_at     TIMESTAMPTZ  NOT NULL,
    received_at TIMESTAMPTZ  NOT NULL DEFAULT now()
);
-- The newest of a kind, and those that have expired.
CREATE INDEX idx_eventsub_messages_kind ON eventsub_messages (kind, received_at);
CREATE INDEX idx_eventsub_messages_received ON eventsub_messages (received_at);

-- What all gateways know of the subscriptions: eventsub.State as JSON.
CREATE TABLE eventsub_state (
    only_row BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_row),
    state    JSONB NOT NULL DEFAULT '{}'
) WITH (fillfactor = 10); -- its one row changes often
INSERT INTO eventsub_state DEFAULT VALUES;

-- When a start was pushed last; NULL: never.
ALTER TABLE channels ADD COLUMN pushed_at TIMESTAMPTZ;

-- When the state was pushed: an API that is asked lags. NULL: it was not.
ALTER TABLE official_states ADD COLUMN pushed_at TIMESTAMPTZ;
