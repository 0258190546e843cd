-- Fills an empty, migrated database. :monitors is the number of monitors, of which half are active.

TRUNCATE monitors CASCADE;

-- The active monitors are reservations, so that the gateway launches no worker. Their last report is too old for the
-- gateway to end conditions by it (section 16.1).
INSERT INTO monitors (id, stream_url, callback_url, config, metadata, metadata_text, status, stream_status, health_video, health_audio,
                      pod_name, created_at, updated_at, ended_at, reserved_until, reported_at, last_observed_at, generation, snapshot)
SELECT 'mon-' || overlay(overlay(md5(n::text) PLACING '7' FROM 13) PLACING '8' FROM 17), 'https://www.youtube.com/watch?v=' || lpad(n::text, 11, '0'), 'https://example.com/hook',
       '{"check_interval_sec": 10, "blackout_threshold_sec": 30, "silence_threshold_sec": 30, "silence_db_threshold": -50, "start_delay_tolerance_sec": 300}',
       metadata::jsonb, metadata, CASE WHEN active THEN 'monitoring' ELSE 'completed' END, CASE WHEN active THEN 'live' ELSE 'ended' END, 'ok', 'ok',
       'stream-monitor-' || n, now() - interval '36 days', now(), CASE WHEN active THEN NULL ELSE now() - interval '1 day' END,
       CASE WHEN active THEN now() + interval '10 years' END, now() - interval '2 minutes', now(), 1, jsonb_build_object('mode', repeat('x', 1700))
FROM (SELECT n, n > :monitors / 2 AS active, '{"channel_name": "Example Channel ' || n || '", "operator": "team ' || n % 7 || '"}' AS metadata
      FROM generate_series(1, :monitors) n) AS numbers;

UPDATE ended_monitors SET completed = :monitors / 2;
UPDATE active_monitors SET (monitoring, live) = (SELECT count(*), count(*) FROM monitors WHERE status = 'monitoring');

INSERT INTO monitor_stats (monitor_id, total_segments, blackout_events, silence_events, last_check_at)
SELECT id, 300000, 25, 25, now() FROM monitors;

-- 10 incidents of each monitor; one in ten active monitors has an open one.
INSERT INTO incidents (id, monitor_id, state, severity, conditions, started_at, opened_at, resolved_at, quiet_sec, reopened, updated_at)
SELECT overlay(overlay(md5(id || k) PLACING '7' FROM 13) PLACING '8' FROM 17)::uuid, id, CASE WHEN open THEN 'open' ELSE 'resolved' END, k % 4,
       jsonb_build_array(jsonb_build_object('condition', CASE WHEN k % 10 = 3 THEN 'no_media' WHEN k % 2 = 0 THEN 'black' ELSE 'silent' END,
           'started_at', onset, 'last_started_at', onset, 'count', 1, 'longest', 40000000000)
           || CASE WHEN open THEN '{}' ELSE jsonb_build_object('ended_at', onset + interval '40 s') END),
       onset, onset + interval '30 s', CASE WHEN open THEN NULL ELSE onset + interval '100 s' END, 60, 0, onset + interval '100 s'
FROM (SELECT id, k, k = 10 AND seq % 10 = 0 AND status = 'monitoring' AS open, now() - (11 - k) * interval '3 days' + seq * interval '1 s' AS onset
      FROM monitors, generate_series(1, 10) k ORDER BY k, seq) AS troubles;

INSERT INTO incident_log (incident_id, kind, at, by, text)
SELECT id, kind, opened_at, 'ann', 'the encoder hangs' FROM incidents, unnest(ARRAY['opened', 'note', 'resolved']) kind;

-- 100 events of each monitor, in pairs of an alert and its recovery.
INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, webhook_attempts, created_at, sent_at)
SELECT gen_random_uuid(), id, type, body::jsonb, body, 'sent', 1, at, at
FROM (SELECT id, at, type, json_build_object('event_id', gen_random_uuid(), 'event_type', type, 'monitor_id', id, 'timestamp', at,
                                             'stream_url', stream_url, 'metadata', metadata,
                                             'data', json_build_object('started_at', at - interval '30 s', 'duration_sec', 30, 'threshold_sec', 30))::text AS body
      FROM (SELECT *, now() - (101 - k) * interval '8 hours' + seq * interval '1 s' AS at,
                   (ARRAY['alert.blackout', 'alert.blackout_recovered', 'alert.silence', 'alert.silence_recovered'])[1 + k % 4] AS type
            FROM monitors, generate_series(1, 100) k ORDER BY k, seq) AS numbered) AS bodies;

-- Half of the events of the last 24 hours of active monitors are undelivered: some 375 of each kind with 1,000
-- monitors. The gateway tries none of them while it is measured.
UPDATE monitor_events e SET webhook_status = CASE WHEN hashtext(e.id::text) % 4 = 0 THEN 'pending' ELSE 'failed' END, sent_at = NULL
FROM monitors m WHERE m.id = e.monitor_id AND m.status = 'monitoring' AND hashtext(e.id::text) % 2 = 0 AND e.created_at > now() - interval '24 hours';

INSERT INTO deliveries (id, monitor_id, event_id, state, due_at, tried, attempts, created_at, delivered_at)
SELECT id, monitor_id, id, CASE webhook_status WHEN 'sent' THEN 'delivered' ELSE webhook_status END, CASE webhook_status WHEN 'pending' THEN now() + interval '1 day' END, 1,
       jsonb_build_array(jsonb_build_object('at', created_at, 'status', CASE webhook_status WHEN 'sent' THEN 204 ELSE 500 END)), created_at, sent_at
FROM monitor_events ORDER BY created_at;

-- 4 records of evidence of each incident, with two pictures each.
INSERT INTO evidence (id, monitor_id, event_id, incident_id, condition, phase, class, created_at)
SELECT gen_random_uuid(), monitor_id, gen_random_uuid(), id, 'black', 'alert', 'normal', opened_at FROM incidents, generate_series(1, 4);

INSERT INTO evidence_blobs (sha256, size) SELECT sha256('picture'), 40000;

INSERT INTO evidence_files (evidence_id, variant, sha256, size, width, height, taken_at)
SELECT id, variant, sha256('picture'), 40000, 640, 360, created_at FROM evidence, unnest(ARRAY['before', 'onset']) variant;

-- 250 spans in each of four lanes of each monitor, in the last 35 days: one million of 1,000 monitors.
INSERT INTO history_spans (monitor_id, lane, state, started_at, ended_at)
SELECT id, lane, CASE WHEN k % 2 = 0 AND lane = 'stream' THEN 'live' WHEN k % 2 = 0 THEN 'ok' ELSE trouble END, at, at + interval '201.6 min'
FROM (SELECT id, lane, trouble, k, now() - (251 - k) * interval '201.6 min' AS at
      FROM monitors, generate_series(1, 250) k,
           (VALUES ('stream', 'unknown'), ('video', 'black'), ('audio', 'silent'), ('segments', 'unknown')) AS lanes (lane, trouble)
      ORDER BY k) AS numbered;

INSERT INTO history_lanes (monitor_id, lane, state, since)
SELECT id, lane, CASE WHEN lane = 'stream' THEN 'live' ELSE 'ok' END, now() - interval '201 min'
FROM monitors, unnest(ARRAY['stream', 'video', 'audio', 'segments']) lane WHERE status = 'monitoring';

-- The newest 10 monitors have the minutes of 35 days, the others those of 500 minutes.
INSERT INTO history_minutes (monitor_id, minute, since, luma_min, luma_mean, luma_max, luma_n, level_min, level_mean, level_max, level_n)
SELECT id, minute, minute, 16, 90 + k % 50, 235, 60, -60, -25 - k % 10, -3, 60
FROM (SELECT id, k, date_trunc('minute', now()) - k * interval '1 min' AS minute
      FROM monitors, generate_series(1, 50400) k WHERE k <= 500 OR seq > (SELECT max(seq) - 10 FROM monitors)
      ORDER BY k DESC) AS numbered;

-- Minutes are merged until :settled, as the elected gateway does it.
INSERT INTO history_ten_minutes (monitor_id, begins, luma_min, luma_mean, luma_max, luma_n, level_min, level_mean, level_max, level_n)
SELECT monitor_id, date_bin('10 minutes', minute, 'epoch'), min(luma_min), avg(luma_mean), max(luma_max), sum(luma_n), min(level_min), avg(level_mean), max(level_max), sum(level_n)
FROM history_minutes WHERE minute < :settled GROUP BY 1, 2 ORDER BY 2, 1;

UPDATE history_merged SET until = :settled;

-- 20,000 entries of the feed.
WITH head AS (UPDATE feed_head SET version = version + 20 * :monitors RETURNING version - 20 * :monitors AS base)
INSERT INTO feed (version, type, at, data)
SELECT base + k, 'monitor.updated', now() - interval '1 hour', json_build_object('monitor_id', 'mon-' || md5(k::text), 'text', repeat('x', 900))
FROM head, generate_series(1, 20 * :monitors) k;
