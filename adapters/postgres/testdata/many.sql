UPDATE monitors SET status = 'completed', ended_at = now() - seq * interval '1 s' WHERE id IN (SELECT id FROM monitors ORDER BY seq LIMIT 1900);
UPDATE monitors SET metadata = jsonb_build_object('channel_name', 'Channel ' || seq), labels = jsonb_build_object('team', substr('ab', CAST(seq % 2 AS int) + 1, 1), 'show', CAST(seq % 200 AS text));
UPDATE monitors SET stream_status = 'live' WHERE id IN (SELECT id FROM monitors WHERE ended_at IS NULL ORDER BY seq LIMIT 12);
UPDATE monitors SET health_video = 'black' WHERE id IN (SELECT id FROM monitors WHERE ended_at IS NULL ORDER BY seq OFFSET 20 LIMIT 12);
UPDATE monitors SET blind_since = now() WHERE id IN (SELECT id FROM monitors WHERE ended_at IS NULL ORDER BY seq OFFSET 40 LIMIT 12);
INSERT INTO monitor_stats (monitor_id) SELECT id FROM monitors ON CONFLICT DO NOTHING;
INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
    SELECT gen_random_uuid(), id, 'alert.blackout', '{}', '{}', 'sent', now() - interval '1 h' - k * interval '1 min' FROM monitors, generate_series(1, 200) k WHERE k < 4 OR seq < (SELECT min(seq) + 20 FROM monitors) ORDER BY k DESC;
INSERT INTO deliveries (id, event_id, monitor_id, state, created_at) SELECT id, id, monitor_id, 'delivered', created_at FROM monitor_events;
INSERT INTO incidents (id, monitor_id, state, severity, conditions, started_at, opened_at, resolved_at, due_at, quiet_sec, reopened, updated_at)
    SELECT gen_random_uuid(), id, CASE WHEN open THEN 'open' ELSE 'resolved' END, CASE WHEN seq % 200 = 0 THEN 2 ELSE 1 END,
           jsonb_build_array(jsonb_build_object('condition', CASE WHEN seq % 200 = 7 THEN 'late' ELSE 'black' END, 'started_at', at, 'last_started_at', at, 'count', 1)),
           at, at, CASE WHEN NOT open THEN at + interval '1 min' END, CASE WHEN open THEN now() + interval '1 h' END, 60, 0, at
    FROM (SELECT id, seq, now() - interval '40 days' + seq * interval '20 min' AS at, ended_at IS NULL AND seq % 100 = 0 AS open FROM monitors ORDER BY seq) AS m;
UPDATE incidents SET unrouted = 0;
INSERT INTO incident_log (incident_id, kind, at) SELECT id, 'opened', opened_at FROM incidents;
INSERT INTO evidence (id, monitor_id, event_id, incident_id, condition, phase, class, created_at)
    SELECT gen_random_uuid(), monitor_id, gen_random_uuid(), id, 'black', 'alert', CASE WHEN severity > 1 THEN 'quarantine' ELSE 'normal' END, now() FROM incidents ORDER BY seq;
INSERT INTO evidence (id, monitor_id, event_id, condition, phase, class, created_at)
    SELECT gen_random_uuid(), id, gen_random_uuid(), 'black', 'alert', 'normal', now() FROM monitors, generate_series(1, 5);
INSERT INTO evidence_blobs (sha256, size, monitor_id, counted_at) SELECT sha256(CAST(CAST(id AS text) AS bytea)), 1, monitor_id, now() FROM evidence;
INSERT INTO evidence_files (evidence_id, variant, sha256, size, width, height, taken_at) SELECT id, 'onset', sha256(CAST(CAST(id AS text) AS bytea)), 1, 1, 1, now() FROM evidence;
INSERT INTO history_spans (monitor_id, lane, state, started_at, ended_at)
    SELECT id, 'video', 'black', now() - (k + 1) * interval '1 h', now() - k * interval '1 h' FROM monitors, generate_series(1, 5) k;
INSERT INTO history_minutes (monitor_id, minute, since)
    SELECT id, at, at FROM monitors, generate_series(date_trunc('minute', now()) - interval '20 min', now(), '1 min') at ORDER BY at;
INSERT INTO api_keys (id, name, role, digest, created_by, created_at)
    SELECT gen_random_uuid(), n, 'view', CAST(CAST(n AS text) AS bytea), 'ann', now() FROM generate_series(1, 2000) n;
INSERT INTO audit_entries (key_name, action, client) SELECT 'ann', 'monitor.stop', '192.0.2.1' FROM generate_series(1, 2000);
INSERT INTO idempotency_keys (key, request, monitor_id, status) SELECT CAST(id AS bytea), '', id, 'waiting' FROM monitors;
INSERT INTO destinations (id, name, kind, language, config) SELECT gen_random_uuid(), n, 'webhook', 'en', '{}' FROM generate_series(1, 10) n;
INSERT INTO deliveries (id, destination_id, notice, state, created_at)
    SELECT gen_random_uuid(), id, '{}', 'delivered', now() FROM destinations, generate_series(1, 2000) n
