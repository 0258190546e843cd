UPDATE monitors SET status = 'stopped', ended_at = OLD, updated_at = OLD WHERE id = ENDED;
INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at) VALUES (gen_random_uuid(), ENDED, 'stream.started', '{}', '{}', 'sent', OLD);
INSERT INTO history_spans VALUES (ENDED, 'video', 'black', OLD, OLD);
INSERT INTO evidence (id, monitor_id, event_id, condition, phase, class, created_at) VALUES (gen_random_uuid(), ENDED, gen_random_uuid(), 'black', 'alert', 'normal', OLD);
INSERT INTO feed VALUES (1, 'monitor.updated', OLD, '{}');
INSERT INTO audit_entries (at, key_name, action, client) VALUES (OLD, 'ann', 'monitor.stop', '');
INSERT INTO thumbnails VALUES (WATCHED, OLD, OLD, '');
INSERT INTO destinations (id, name, kind, language, config, deleted_at) VALUES (gen_random_uuid(), 'a', 'ntfy', 'en', '{}', now());
UPDATE monitors SET record_tried_at = now(), seen_at = now() WHERE id = WATCHED;
INSERT INTO history_lanes VALUES (WATCHED, 'video', 'ok', now() - interval '1 hour');
INSERT INTO incidents (id, monitor_id, state, severity, conditions, started_at, opened_at, quiet_sec, reopened, updated_at)
	VALUES (gen_random_uuid(), WATCHED, 'open', 2, '[{"condition":"black","started_at":"2024-01-15T10:00:00Z","last_started_at":"2024-01-15T10:00:00Z","count":1}]', now(), now(), 0, 0, now());
INSERT INTO incidents (id, monitor_id, state, severity, conditions, started_at, opened_at, quiet_sec, reopened, due_at, updated_at)
	VALUES (gen_random_uuid(), QUIET, 'open', 2, '[{"condition":"black","started_at":"2024-01-15T10:00:00Z","last_started_at":"2024-01-15T10:00:00Z","ended_at":"2024-01-15T10:01:00Z","count":1}]',
		OLD, OLD, 60, 0, OLD, OLD);
