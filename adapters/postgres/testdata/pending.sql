INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
SELECT gen_random_uuid(), id, 'alert.blackout', '{}', '{}', 'pending', now() FROM monitors;
INSERT INTO deliveries (id, event_id, monitor_id, queue, state, due_at, created_at)
SELECT id, id, monitor_id, monitor_id, 'pending', now(), created_at FROM monitor_events WHERE webhook_status = 'pending';
INSERT INTO deliveries (id, destination_id, event_id, monitor_id, sequence, queue, state, due_at, created_at)
SELECT gen_random_uuid(), d.id, e.id, e.monitor_id, 1, d.id || ' ' || e.monitor_id, 'pending', now(), e.created_at
FROM monitor_events e, (SELECT id FROM destinations LIMIT 1) AS d WHERE webhook_status = 'pending'
