-- Times the transactions that change anything, from their beginning to their commit. No lock of a
-- transaction lasts for longer than that. A deferred trigger fires at the commit.
DROP TABLE IF EXISTS bench_transactions;
CREATE TABLE bench_transactions (id xid8 PRIMARY KEY DEFAULT pg_current_xact_id(), ms float8);

CREATE OR REPLACE FUNCTION bench_began() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO bench_transactions DEFAULT VALUES ON CONFLICT DO NOTHING;
	RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION bench_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE bench_transactions SET ms = 1000 * extract(epoch FROM clock_timestamp() - now()) WHERE id = NEW.id;
	RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER bench_ended AFTER INSERT ON bench_transactions
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION bench_ended();

DO $$
DECLARE
	name regclass;
BEGIN
	FOR name IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'bench_transactions' LOOP
		EXECUTE format('CREATE OR REPLACE TRIGGER bench_began AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH STATEMENT EXECUTE FUNCTION bench_began()', name);
	END LOOP;
END $$;
