-- Fills an empty, migrated database. :monitors is the number of monitors, of which half are active,
-- and :events the number of events of each. A statement's first line of comment is its progress line.

-- everything is removed
-- The transaction has made these tables anew, so it writes no log of their rows (wal_level=minimal).
TRUNCATE monitors, destinations, silences, evidence_blobs, feed
RESTART IDENTITY CASCADE;

-- routes are removed
DELETE FROM routes WHERE NOT is_default;

-- a function for IDs
CREATE OR REPLACE FUNCTION pg_temp.uuid7(at timestamptz, name text) RETURNS uuid LANGUAGE sql STABLE AS $$
SELECT overlay(overlay(overlay(md5(name) PLACING lpad(to_hex((date_part('epoch', at) * 1000)::bigint), 12, '0') FROM 1) PLACING '7' FROM 13) PLACING 'a' FROM 17)::uuid $$;

-- monitors
-- Of the active ones one in 200 is a reservation, one in 100 is blind, and one in 20 is silent, half of these without an incident. Of the others one in ten was stopped, and one in ten failed.
INSERT INTO monitors (id, stream_url, callback_url, config, metadata, metadata_text, status, stream_status, health_video, health_audio,
                      created_at, updated_at, ended_at, reported_at, last_observed_at, generation, snapshot, reserved_until, blind_since, last_error)
SELECT 'mon-' || overlay(overlay(md5(n::text) PLACING '7' FROM 13) PLACING '8' FROM 17), 'https://www.youtube.com/watch?v=' || lpad(n::text, 11, '0'), 'https://example.com/hook',
       '{"check_interval_sec": 10, "blackout_threshold_sec": 30, "silence_threshold_sec": 30, "silence_db_threshold": -50, "start_delay_tolerance_sec": 300}',
       metadata::jsonb, metadata,
       CASE WHEN reserved THEN 'waiting' WHEN active THEN 'monitoring' WHEN n % 10 = 1 THEN 'stopped' WHEN n % 10 = 2 THEN 'error' ELSE 'completed' END,
       CASE WHEN reserved THEN 'upcoming' WHEN active THEN 'live' ELSE 'ended' END, 'ok', CASE WHEN silent THEN 'silent' ELSE 'ok' END,
       now() - interval '80 days', now(), CASE WHEN active THEN NULL ELSE now() - interval '1 day' - n * interval '1 s' END,
       now() - interval '2 minutes', now(), 1, jsonb_build_object('mode', repeat('x', 1700)),
       CASE WHEN reserved THEN now() + interval '1 day' END, CASE WHEN blind THEN now() - interval '10 minutes' END, CASE WHEN blind THEN 'no route to host' ELSE '' END
FROM (SELECT n, n > :monitors / 2 AS active, n > :monitors / 2 AND n % 200 = 1 AS reserved, n > :monitors / 2 AND n % 100 = 3 AS blind, n > :monitors / 2 AND n % 40 IN (0, 7) AS silent,
             '{"channel_name": "Example Channel ' || n || '", "operator": "team ' || n % 7 || '"}' AS metadata
      FROM generate_series(1, :monitors) n) AS numbers;

-- statistics of monitors
INSERT INTO monitor_stats (monitor_id, total_segments, blackout_events, silence_events, last_check_at)
SELECT id, 300000, 25, 25, now() FROM monitors ORDER BY seq;

-- the number of monitors that have ended
UPDATE ended_monitors SET (completed, stopped, error) = (
	SELECT count(*) FILTER (WHERE status = 'completed'), count(*) FILTER (WHERE status = 'stopped'), count(*) FILTER (WHERE status = 'error') FROM monitors);

-- the number of monitors that are active, and of live streams
UPDATE active_monitors SET (initializing, waiting, monitoring, live) = (
	SELECT count(*) FILTER (WHERE status = 'initializing'), count(*) FILTER (WHERE status = 'waiting'), count(*) FILTER (WHERE status = 'monitoring'),
	       count(*) FILTER (WHERE status = 'monitoring' AND stream_status = 'live') FROM monitors);

-- events
-- Sent events of 80 days, in the order of time; one in a thousand has failed. The newest two of a monitor belong to its newest incident.
-- OFFSET 0 keeps an expression from being computed wherever it is used.
WITH streams AS MATERIALIZED (SELECT id, seq, stream_url, metadata_text FROM monitors ORDER BY seq)
INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, webhook_attempts, created_at, sent_at, incident_id)
SELECT event_id, id, type, body::jsonb, body, CASE WHEN failed THEN 'failed' ELSE 'sent' END, 1, at, CASE WHEN failed THEN NULL ELSE at END,
       CASE WHEN k > :events - 2 THEN overlay(overlay(md5(id || 2) PLACING '7' FROM 13) PLACING '8' FROM 17)::uuid END
FROM (SELECT *, '{"event_id": "' || event_id || '", "event_type": "' || type || '", "monitor_id": "' || id || '", "timestamp": ' || to_json(at) || ', "stream_url": "' || stream_url
                || '", "metadata": ' || metadata_text || ', "data": {"started_at": ' || to_json(at - interval '30 s') || ', "duration_sec": 30, "threshold_sec": 30}}' AS body
      FROM (SELECT *, pg_temp.uuid7(at, k || ' ' || id) AS event_id
            FROM (SELECT k, m.*, (k + seq) % 1000 = 0 AS failed, now() - (:events - k + 1 - (seq - 1)::float8 / :monitors) * interval '80 days' / :events AS at,
                         (ARRAY['alert.blackout', 'alert.blackout_recovered', 'alert.silence', 'alert.silence_recovered'])[1 + k % 4] AS type
                  FROM generate_series(1, :events) k CROSS JOIN LATERAL (SELECT * FROM streams WHERE k > 0 OFFSET 0) AS m OFFSET 0) AS numbered OFFSET 0) AS named OFFSET 0) AS bodies;

-- deliveries to callbacks
INSERT INTO deliveries (id, monitor_id, event_id, state, tried, attempts, created_at, delivered_at)
SELECT id, monitor_id, id, CASE webhook_status WHEN 'sent' THEN 'delivered' ELSE webhook_status END, 1,
       jsonb_build_array(jsonb_build_object('at', created_at, 'status', CASE webhook_status WHEN 'sent' THEN 204 ELSE 500 END)), created_at, sent_at
FROM monitor_events ORDER BY created_at;

-- incidents
-- Two of each monitor. One in ten active monitors has an open one, and one in 20 is severe.
INSERT INTO incidents (id, monitor_id, state, severity, conditions, started_at, opened_at, resolved_at, quiet_sec, reopened, updated_at, unrouted)
SELECT overlay(overlay(md5(id || k) PLACING '7' FROM 13) PLACING '8' FROM 17)::uuid, id, CASE WHEN open THEN 'open' ELSE 'resolved' END, CASE WHEN seq % 20 = 0 THEN 2 ELSE 1 END,
       jsonb_build_array(jsonb_build_object('condition', CASE WHEN k = 1 THEN 'black' ELSE 'silent' END,
           'started_at', onset, 'last_started_at', onset, 'count', 1, 'longest', 40000000000, 'spans', jsonb_build_array(jsonb_build_object('started_at', onset)))
           || CASE WHEN open THEN '{}' ELSE jsonb_build_object('ended_at', onset + interval '40 s') END),
       onset, onset + interval '30 s', CASE WHEN open THEN NULL ELSE onset + interval '100 s' END, 60, 0, onset + interval '100 s', 0
FROM (SELECT id, seq, k, k = 2 AND seq % 10 = 0 AND status = 'monitoring' AS open, now() - (2 - k) * interval '30 days' - interval '1 h' + seq * interval '10 ms' AS onset
      FROM monitors, generate_series(1, 2) k ORDER BY k, seq) AS troubles;

-- lines of incidents
INSERT INTO incident_log (incident_id, kind, at, by, text)
SELECT id, kind, opened_at, 'ann', 'the encoder hangs' FROM incidents, unnest(ARRAY['opened', 'note']) kind ORDER BY seq;

-- destinations
-- 25 webhooks and 25 others.
INSERT INTO destinations (id, name, kind, language, config, secrets, delivered_at)
SELECT md5('destination' || n)::uuid, 'destination ' || n, CASE WHEN n <= 25 THEN 'webhook' ELSE 'slack' END, 'en', '{}',
       convert_to(CASE WHEN n <= 25 THEN '{"url": "https://example.com/events", "signing_key": "key"}' ELSE '{"webhook_url": "https://example.com/messages"}' END, 'UTF8'), now()
FROM generate_series(1, 50) n;

-- routes
-- Each of the seven teams gets its events at two webhooks, and its messages at another destination. 13 routes match nothing.
INSERT INTO routes (id, name, position, match, destinations)
SELECT md5('route' || n)::uuid, 'route ' || n, n, jsonb_build_object('metadata', jsonb_build_object('operator', 'team ' || n)),
       ARRAY[md5('destination' || n + 1)::uuid, md5('destination' || n + 8)::uuid, md5('destination' || n + 26)::uuid]
FROM generate_series(0, 19) n;

-- attempts by hour
INSERT INTO destination_hours (destination_id, hour, delivered, failed)
SELECT id, date_trunc('hour', now(), 'UTC') - n * interval '1 h', 80, 1 FROM generate_series(0, 47) n, destinations;

-- silences
-- 50 last, 2000 have ended.
INSERT INTO silences (id, match, starts_at, ends_at, by)
SELECT pg_temp.uuid7(at, 'silence' || n), jsonb_build_object('monitors', jsonb_build_array('mon-' || n)), at, at + CASE WHEN n <= 2000 THEN interval '1 h' ELSE interval '90 days' END, 'ann'
FROM (SELECT n, now() - interval '80 days' + n * interval '30 minutes' AS at FROM generate_series(1, 2050) n) AS numbers;

-- deliveries of events
-- Two of each of the newest 100,000 events; one in a hundred has failed.
INSERT INTO deliveries (id, destination_id, monitor_id, event_id, sequence, route_id, state, tried, attempts, created_at, delivered_at)
SELECT pg_temp.uuid7(e.created_at, e.id::text || d), md5('destination' || m.seq % 7 + d)::uuid, e.monitor_id, e.id, e.place, md5('route' || m.seq % 7)::uuid,
       CASE WHEN (m.seq + d) % 100 = 0 THEN 'failed' ELSE 'delivered' END, 1, '[]', e.created_at, CASE WHEN (m.seq + d) % 100 = 0 THEN NULL ELSE e.created_at END
FROM (SELECT *, row_number() OVER (PARTITION BY monitor_id ORDER BY id) AS place FROM (SELECT id, monitor_id, created_at FROM monitor_events ORDER BY id DESC LIMIT 100000) AS newest) AS e
JOIN monitors m ON m.id = e.monitor_id, unnest(ARRAY[1, 8]) d ORDER BY e.id;

-- storms
INSERT INTO deliveries (id, destination_id, storm, state, tried, created_at, delivered_at)
SELECT md5('storm' || n)::uuid, md5('destination' || 26 + n % 7)::uuid,
       jsonb_build_object('opened_at', at, 'resolved_at', at + interval '1 h', 'first_at', at, 'condition', 'black', 'severity', 1, 'watched', 1000), 'idle', 1, at, at
FROM (SELECT n, now() - interval '30 days' + n * interval '1 h' AS at FROM generate_series(1, 100) n) AS numbers;

-- threads of incidents
-- Those of open ones, and of one in five of the others; 2000 old ones were in storms.
INSERT INTO deliveries (id, destination_id, monitor_id, incident_id, storm_id, route_id, state, tried, told, created_at, delivered_at)
SELECT pg_temp.uuid7(i.opened_at, 'thread' || i.id), md5('destination' || m.seq % 7 + 26)::uuid, i.monitor_id, i.id, CASE WHEN i.seq < 2000 THEN md5('storm' || 1 + i.seq / 20)::uuid END, md5('route' || m.seq % 7)::uuid, 'idle', 1,
       jsonb_build_object('opened', true, 'open', i.state = 'open', 'provider_message_id', '1',
                          'shown', jsonb_build_object('reopened', 0, 'has_picture', false, 'conditions', jsonb_build_array(i.conditions -> 0 -> 'condition')),
                          'known', jsonb_build_object('severity', i.severity, 'conditions', jsonb_build_array(i.conditions -> 0 -> 'condition')),
                          'sounds', jsonb_build_object('newest', i.opened_at)),
       i.opened_at, i.opened_at
FROM incidents i JOIN monitors m ON m.id = i.monitor_id WHERE i.state = 'open' OR i.seq % 5 = 0 ORDER BY i.seq;

-- states of lanes
INSERT INTO history_lanes (monitor_id, lane, state, since)
SELECT id, lane, CASE lane WHEN 'stream' THEN 'live' ELSE 'ok' END, now() - interval '1 h'
FROM monitors, unnest(ARRAY['stream', 'video', 'audio', 'segments']) lane WHERE status = 'monitoring' ORDER BY seq;

-- spans
-- Ten of each monitor, in the order of time.
INSERT INTO history_spans (monitor_id, lane, state, started_at, ended_at)
SELECT id, (ARRAY['stream', 'video', 'audio', 'segments'])[1 + k % 4], (ARRAY['blind', 'black', 'silent', 'ok'])[1 + k % 4], at, at + interval '40 s'
FROM (SELECT k, id, seq, now() - (10 - k + 1 - (seq - 1)::float8 / :monitors) * interval '80 days' / 10 AS at FROM generate_series(1, 10) k, monitors) AS numbered ORDER BY k, seq;

-- how far minutes are merged
UPDATE history_merged SET until = date_trunc('hour', now(), 'UTC') - interval '3 days';

-- minutes
-- Those of 30 days of one monitor in 5000, and of as many as the program allows the ten that are merged next.
INSERT INTO history_minutes (monitor_id, minute, since, luma_min, luma_mean, luma_max, luma_n, level_min, level_mean, level_max, level_n)
SELECT id, minute, minute AS since, 16, 100, 235, 60, -40, -20, -3, 60
FROM (SELECT id FROM monitors WHERE status = 'monitoring' AND seq % 10 = 0 ORDER BY seq DESC LIMIT GREATEST(1, :monitors / 5000)) AS few,
     generate_series(date_trunc('minute', now()) - interval '30 days', now(), interval '1 minute') minute
UNION
SELECT id, minute, minute AS since, 16, 100, 235, 60, -40, -20, -3, 60
FROM (SELECT id FROM monitors WHERE status = 'monitoring' ORDER BY seq LIMIT 10000) AS many, history_merged, generate_series(until, until + interval '9 minutes', interval '1 minute') minute
ORDER BY minute;

-- merged minutes
INSERT INTO history_ten_minutes (monitor_id, begins, luma_min, luma_mean, luma_max, luma_n, level_min, level_mean, level_max, level_n)
SELECT id, begins, 16, 100, 235, 600, -40, -20, -3, 600
FROM (SELECT id FROM monitors WHERE status = 'monitoring' AND seq % 10 = 0 ORDER BY seq DESC LIMIT GREATEST(1, :monitors / 5000)) AS few,
     history_merged, generate_series(until - interval '27 days', until - interval '10 minutes', interval '10 minutes') begins ORDER BY begins;

-- evidence
-- Of every second incident, with a picture.
INSERT INTO evidence (id, monitor_id, event_id, incident_id, condition, phase, class, created_at)
SELECT pg_temp.uuid7(opened_at, 'evidence' || id), monitor_id, pg_temp.uuid7(opened_at, 'event' || id), id, conditions -> 0 ->> 'condition', 'alert',
       CASE WHEN severity > 1 THEN 'quarantine' ELSE 'normal' END, opened_at
FROM incidents WHERE seq % 2 = 0 ORDER BY seq;

-- blobs
INSERT INTO evidence_blobs (sha256, size, reserved_at) SELECT sha256(convert_to(id::text, 'UTF8')), 30000, created_at FROM evidence ORDER BY id;

-- files of evidence
INSERT INTO evidence_files (evidence_id, variant, sha256, size, width, height, taken_at)
SELECT id, 'onset', sha256(convert_to(id::text, 'UTF8')), 30000, 640, 360, created_at FROM evidence ORDER BY id;

-- entries of the feed
INSERT INTO feed (version, type, at, data)
SELECT n, 'monitor.updated', now() - interval '80 h' + n * interval '80 h' / 100000, '{"id": "mon-' || n || '", "text": "' || repeat('x', 400) || '"}' FROM generate_series(1, 100000) n;

-- the head of the feed
UPDATE feed_head SET version = 100000;
