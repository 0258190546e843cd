-- Fills an empty, migrated database. Each statement has two parameters: the number of monitors,
-- of which half are active, and the number of events of each.

INSERT INTO monitors (id, stream_url, callback_url, config, metadata, metadata_text, status, stream_status, health_video, health_audio,
                      created_at, updated_at, ended_at, reported_at, last_observed_at, generation, snapshot)
SELECT 'mon-' || overlay(overlay(md5(n::text) PLACING '7' FROM 13) PLACING '8' FROM 17), 'https://www.youtube.com/watch?v=' || lpad(n::text, 11, '0'), 'https://example.com/hook',
       '{"check_interval_sec": 10, "blackout_threshold_sec": 30, "silence_threshold_sec": 30, "silence_db_threshold": -50, "start_delay_tolerance_sec": 300}',
       metadata::jsonb, metadata, CASE WHEN active THEN 'monitoring' ELSE 'completed' END, CASE WHEN active THEN 'live' ELSE 'ended' END, 'ok', 'ok',
       now() - interval '80 days', now(), CASE WHEN active THEN NULL ELSE now() - interval '1 day' END,
       now() - interval '2 minutes', now(), 1, jsonb_build_object('mode', repeat('x', 1700))
FROM (SELECT n, n > $1::int / 2 AS active, '{"channel_name": "Example Channel ' || n || '", "operator": "team ' || n % 7 || '"}' AS metadata
      FROM generate_series(1, $1::int) n WHERE $2::int > 0) AS numbers;

INSERT INTO monitor_stats (monitor_id, total_segments, blackout_events, silence_events, last_check_at)
SELECT id, 300000, 25, 25, now() FROM monitors WHERE $1::int > 0 AND $2::int > 0;

-- Sent events of 80 days, in the order of time.
INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, webhook_attempts, created_at, sent_at, attempts)
SELECT gen_random_uuid(), id, type, body::jsonb, body, 'sent', 1, at, at, jsonb_build_array(jsonb_build_object('at', at, 'status', 204))
FROM (SELECT id, at, type, json_build_object('event_id', gen_random_uuid(), 'event_type', type, 'monitor_id', id, 'timestamp', at,
                                             'stream_url', stream_url, 'metadata', metadata,
                                             'data', json_build_object('started_at', at - interval '30 s', 'duration_sec', 30, 'threshold_sec', 30))::text AS body
      FROM (SELECT m.*, now() - ($2::int - k + seq::float8 / $1::int) * interval '80 days' / $2::int AS at,
                   (ARRAY['alert.blackout', 'alert.blackout_recovered', 'alert.silence', 'alert.silence_recovered'])[1 + k % 4] AS type
            FROM generate_series(1, $2::int) k, monitors m ORDER BY k, seq) AS numbered) AS bodies;

-- Two incidents of each monitor; one in ten active monitors has an open one.
INSERT INTO incidents (id, monitor_id, state, severity, conditions, started_at, opened_at, resolved_at, quiet_sec, reopened, updated_at)
SELECT overlay(overlay(md5(id || k) PLACING '7' FROM 13) PLACING '8' FROM 17)::uuid, id, CASE WHEN open THEN 'open' ELSE 'resolved' END, k,
       jsonb_build_array(jsonb_build_object('condition', CASE WHEN k = 1 THEN 'black' ELSE 'silent' END,
           'started_at', onset, 'last_started_at', onset, 'count', 1, 'longest', 40000000000)
           || CASE WHEN open THEN '{}' ELSE jsonb_build_object('ended_at', onset + interval '40 s') END),
       onset, onset + interval '30 s', CASE WHEN open THEN NULL ELSE onset + interval '100 s' END, 60, 0, onset + interval '100 s'
FROM (SELECT id, k, k = 2 AND seq % 10 = 0 AND status = 'monitoring' AS open, now() - (2 - k) * interval '30 days' - interval '1 h' + seq * interval '10 ms' AS onset
      FROM monitors, generate_series(1, 2) k WHERE $1::int > 0 AND $2::int > 0 ORDER BY k, seq) AS troubles;

INSERT INTO incident_log (incident_id, kind, at, by, text)
SELECT id, kind, opened_at, 'ann', 'the encoder hangs' FROM incidents, unnest(ARRAY['opened', 'note']) kind WHERE $1::int > 0 AND $2::int > 0;
