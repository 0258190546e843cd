SELECT concat_ws(' ', 'monitor', rank() OVER (ORDER BY m.seq), m.status, m.reason, m.generation, m.place, m.reserved_until IS NULL, m.ended_at IS NULL, s.total_segments)
FROM monitors m JOIN monitor_stats s ON s.monitor_id = m.id
UNION ALL
SELECT concat_ws(' ', 'event', rank() OVER (ORDER BY seq), event_type, webhook_status, webhook_attempts, webhook_last_error IS NULL, sent_at IS NULL)
FROM monitor_events
UNION ALL
SELECT concat_ws(' ', 'key', status) FROM idempotency_keys
UNION ALL
SELECT concat_ws(' ', 'incident', state, severity, jsonb_array_length(conditions)) FROM incidents
UNION ALL
SELECT concat_ws(' ', 'delivery', d.name, x.sequence, x.event_id IS NULL, x.incident_id IS NULL, x.notice IS NULL, x.state, x.tried,
                 jsonb_array_length(x.attempts), x.queue IS NULL, x.due_at IS NULL, x.lease IS NULL, x.changed, d.failures, d.enabled)
FROM deliveries x LEFT JOIN destinations d ON d.id = x.destination_id
UNION ALL
SELECT concat_ws(' ', 'hour', d.name, h.delivered, h.failed) FROM destination_hours h JOIN destinations d ON d.id = h.destination_id
ORDER BY 1
