package bench

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// fastFill makes a fill fast. Without triggers no row is compared with the table that it
// refers to, and the rows of ended_monitors and active_monitors are not updated for each monitor.
const fastFill = `
	SET LOCAL session_replication_role = replica;
	SET LOCAL maintenance_work_mem = '512MB';
	SET LOCAL work_mem = '128MB'`

// secondaryIndexes selects the indexes that a fill creates at its end: a sort is faster than
// an insertion for each row.
const secondaryIndexes = `
	SELECT string_agg(c.relname, ', '), string_agg(pg_get_indexdef(i.indexrelid), '; ') FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE c.relnamespace = 'public'::regnamespace AND NOT i.indisunique`

// Fill executes statements that store many rows, in one transaction: all or none. Numbers replace names
// in the text, such as ":monitors". No trigger fires.
func (db Database) Fill(ctx context.Context, text string, numbers ...string) error {
	var indexes, create string
	if err := db.QueryRowContext(ctx, secondaryIndexes).Scan(&indexes, &create); err != nil {
		return err
	}
	text = strings.NewReplacer(numbers...).Replace(text)
	began := time.Now()
	// One query of several statements is a transaction.
	for _, query := range []string{fastFill + "; DROP INDEX " + indexes + ";" + text + create, "VACUUM ANALYZE"} {
		if _, err := db.ExecContext(ctx, query); err != nil {
			return fmt.Errorf("fill the database: %w", err)
		}
	}
	fmt.Printf("filled in %.0f s\n", time.Since(began).Seconds())
	return nil
}
