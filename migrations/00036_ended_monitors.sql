-- How many monitors have ended, by status: lists say how many monitors there are (section 3.4).
-- Active monitors are few, and are counted. Those that have ended grow for years.
--
-- The trigger runs at the end of a transaction. So the lock on the one row lasts as long as the
-- commit, and a gateway that halts before it keeps no other waiting. A gateway of the version
-- before is counted as well. 00037 adds those that had ended before.

-- +goose Up
CREATE TABLE ended_monitors (
    only_row  BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_row),
    completed BIGINT NOT NULL DEFAULT 0,
    stopped   BIGINT NOT NULL DEFAULT 0,
    error     BIGINT NOT NULL DEFAULT 0
);
INSERT INTO ended_monitors DEFAULT VALUES;

-- +goose StatementBegin
CREATE FUNCTION count_ended_monitor() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before TEXT := CASE WHEN TG_OP <> 'INSERT' THEN OLD.status END;
    after  TEXT := CASE WHEN TG_OP <> 'DELETE' THEN NEW.status END;
BEGIN
    UPDATE ended_monitors SET
        completed = completed + (after IS NOT DISTINCT FROM 'completed')::int - (before IS NOT DISTINCT FROM 'completed')::int,
        stopped   = stopped   + (after IS NOT DISTINCT FROM 'stopped')::int   - (before IS NOT DISTINCT FROM 'stopped')::int,
        error     = error     + (after IS NOT DISTINCT FROM 'error')::int     - (before IS NOT DISTINCT FROM 'error')::int;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- Their conditions are checked at once. So nothing is queued for a report that ends no monitor.
CREATE CONSTRAINT TRIGGER count_inserted AFTER INSERT ON monitors DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.status IN ('completed', 'stopped', 'error')) EXECUTE FUNCTION count_ended_monitor();
CREATE CONSTRAINT TRIGGER count_updated AFTER UPDATE ON monitors DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND (OLD.status IN ('completed', 'stopped', 'error') OR NEW.status IN ('completed', 'stopped', 'error')))
    EXECUTE FUNCTION count_ended_monitor();
CREATE CONSTRAINT TRIGGER count_deleted AFTER DELETE ON monitors DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.status IN ('completed', 'stopped', 'error')) EXECUTE FUNCTION count_ended_monitor();
