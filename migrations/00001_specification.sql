-- Section 9.1 of the specification, word for word.

-- +goose Up
CREATE TABLE monitors (
    id           VARCHAR(37)  PRIMARY KEY,
    stream_url   VARCHAR(512) NOT NULL,
    callback_url VARCHAR(512) NOT NULL,
    config       JSONB        NOT NULL,
    metadata     JSONB,
    status       VARCHAR(20)  NOT NULL,
    pod_name     VARCHAR(63),
    created_at   TIMESTAMPTZ  NOT NULL,
    updated_at   TIMESTAMPTZ  NOT NULL
);

CREATE TABLE monitor_stats (
    monitor_id      VARCHAR(37) PRIMARY KEY REFERENCES monitors (id),
    total_segments  INT NOT NULL DEFAULT 0,
    blackout_events INT NOT NULL DEFAULT 0,
    silence_events  INT NOT NULL DEFAULT 0,
    last_check_at   TIMESTAMPTZ
);

CREATE TABLE monitor_events (
    id                 UUID        PRIMARY KEY,
    monitor_id         VARCHAR(37) NOT NULL REFERENCES monitors (id),
    event_type         VARCHAR(50) NOT NULL,
    payload            JSONB       NOT NULL,
    webhook_status     VARCHAR(20) NOT NULL,
    webhook_attempts   INT         NOT NULL DEFAULT 0,
    webhook_last_error TEXT,
    created_at         TIMESTAMPTZ NOT NULL,
    sent_at            TIMESTAMPTZ
);

CREATE UNIQUE INDEX idx_monitors_stream_url_active
    ON monitors (stream_url)
    WHERE status IN ('initializing', 'waiting', 'monitoring');

CREATE INDEX idx_monitor_events_monitor_id ON monitor_events (monitor_id);
CREATE INDEX idx_monitor_events_created_at ON monitor_events (created_at);
CREATE INDEX idx_monitor_events_webhook_status ON monitor_events (webhook_status)
    WHERE webhook_status = 'pending';
