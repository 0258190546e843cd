-- Adds the monitors that had ended before 00036 counted them. All that is subtracted and added
-- was read at one instant, and the row that is changed is the newest: an end that is committed
-- meanwhile is counted once.

-- +goose Up
WITH missing AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE m.status = 'completed') - (SELECT completed FROM ended_monitors) AS completed,
           count(*) FILTER (WHERE m.status = 'stopped') - (SELECT stopped FROM ended_monitors) AS stopped,
           count(*) FILTER (WHERE m.status = 'error') - (SELECT error FROM ended_monitors) AS error
    FROM monitors m WHERE m.status IN ('completed', 'stopped', 'error'))
UPDATE ended_monitors e SET completed = e.completed + missing.completed, stopped = e.stopped + missing.stopped, error = e.error + missing.error
FROM missing;
