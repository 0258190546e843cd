-- The gateways with inline workers that run (decision O5). Each counts its heartbeats here. The
-- others take over the monitors of a gateway that sends none any more.

-- +goose Up
CREATE TABLE gateways (
    runtime_id        VARCHAR(63) PRIMARY KEY,             -- as in monitors.place
    heartbeats        BIGINT      NOT NULL DEFAULT 1,
    last_heartbeat_at TIMESTAMPTZ NOT NULL DEFAULT now()   -- rows that are a day old are deleted; decides nothing else
);
