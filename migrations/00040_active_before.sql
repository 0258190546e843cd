-- Adds the monitors that were active before 00039 counted them, as 00037 does for ended ones.

-- +goose Up
WITH missing AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE m.status = 'initializing') - (SELECT initializing FROM active_monitors) AS initializing,
           count(*) FILTER (WHERE m.status = 'waiting') - (SELECT waiting FROM active_monitors) AS waiting,
           count(*) FILTER (WHERE m.status = 'monitoring') - (SELECT monitoring FROM active_monitors) AS monitoring,
           count(*) FILTER (WHERE m.stream_status = 'live') - (SELECT live FROM active_monitors) AS live
    FROM monitors m WHERE m.status IN ('initializing', 'waiting', 'monitoring'))
UPDATE active_monitors a SET initializing = a.initializing + missing.initializing, waiting = a.waiting + missing.waiting,
                             monitoring = a.monitoring + missing.monitoring, live = a.live + missing.live
FROM missing;
