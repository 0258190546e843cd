package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/migrations"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
)

const (
	createNotes = "-- +goose Up\nCREATE TABLE notes (note text);"
	addColumn   = "-- +goose Up\nALTER TABLE notes ADD COLUMN author text;"
	buildIndex  = `-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS idx_notes;
CREATE INDEX CONCURRENTLY idx_notes ON notes (note);`
)

// migration is a store on an empty database, and its log.
type migration struct {
	t     *testing.T
	store *postgres.Store
	db    *sql.DB
	log   *logbuffer.Buffer
}

func newMigration(t *testing.T) *migration {
	t.Helper()
	dsn, log := create(t, "template0"), &logbuffer.Buffer{}
	s := must(postgres.Open(t.Context(), dsn, postgres.Config{Log: slog.New(slog.NewTextHandler(log, nil))}))(t)
	t.Cleanup(func() { _ = s.Close() })
	return &migration{t: t, store: s, db: raw(t, dsn), log: log}
}

// begin migrates in the background by files with these texts.
func (m *migration) begin(ctx context.Context, texts ...string) <-chan error {
	files := fstest.MapFS{}
	for n, text := range texts {
		files["0000"+string(rune('1'+n))+"_test.sql"] = &fstest.MapFile{Data: []byte(text)}
	}
	result := make(chan error, 1)
	go func() {
		result <- m.store.MigrateWith(ctx, migrations.Config{Files: files, Log: slog.New(slog.NewTextHandler(m.log, nil)), ProgressInterval: 50 * time.Millisecond})
	}()
	return result
}

func (m *migration) run(texts ...string) {
	m.t.Helper()
	check(m.t, <-m.begin(m.t.Context(), texts...))
}

// hold begins a transaction that has read and written notes.
func (m *migration) hold() *sql.Tx {
	m.t.Helper()
	tx, err := m.db.BeginTx(m.t.Context(), nil)
	check(m.t, err)
	must(tx.ExecContext(m.t.Context(), `INSERT INTO notes VALUES ('held')`))(m.t)
	return tx
}

func (m *migration) indexIs(valid bool) bool {
	var is bool
	err := m.db.QueryRowContext(m.t.Context(), `SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('idx_notes')`).Scan(&is)
	return err == nil && is == valid
}

func TestAMigrationTriesForItsLockUntilItsContextEnds(t *testing.T) {
	m := newMigration(t)
	m.run(createNotes)
	tx := m.hold()
	ctx, cancel := context.WithCancel(t.Context())
	result := m.begin(ctx, createNotes, addColumn)
	warned := func(times int) {
		t.Helper()
		eventually(t, "the warning about the lock", func() bool { return m.log.Count("does not get its lock") >= times })
	}
	warned(1)
	cancel()
	expectFailure(t, "a migration without its lock", <-result)
	result = m.begin(t.Context(), createNotes, addColumn)
	warned(2)
	check(t, tx.Commit())
	check(t, <-result)
	alter(t, m.db, `INSERT INTO notes (author) VALUES ('later')`)
}

// Writers go on while an index is built, and a run that was interrupted leaves an invalid
// index behind.
func TestAnIndexThatWasInterruptedIsBuiltAgain(t *testing.T) {
	m := newMigration(t)
	m.run(createNotes)
	tx := m.hold() // for which the build waits
	interrupted := func() bool {
		ctx, interrupt := context.WithCancel(t.Context())
		result := m.begin(ctx, createNotes, buildIndex)
		eventually(t, "the index that is being built", func() bool { return m.indexIs(false) })
		eventually(t, "the line about the migration", func() bool { return m.log.Contains("migration=00002_test.sql since=") })
		alter(t, m.db, `INSERT INTO notes VALUES ('meanwhile')`)
		interrupt()
		expectFailure(t, "an interrupted migration", <-result)
		return m.indexIs(false)
	}
	// Between two tries the index is not there for a moment.
	eventually(t, "an index that an interruption has left", interrupted)
	check(t, tx.Commit())
	m.run(createNotes, buildIndex)
	if !m.indexIs(true) {
		t.Error("the index is not valid")
	}
	if !m.log.Contains("applied=1 last=00002_test.sql") {
		t.Errorf("the log is\n%s", m.log)
	}
}

// firstOnline is the first migration after version 1.0, from which on the rules of CONTRIBUTING.md apply.
const firstOnline = "00010"

var (
	createdIndex = regexp.MustCompile(`(?i)CREATE\s+(?:UNIQUE\s+)?INDEX\s+(CONCURRENTLY\s+)?(\w+)\s+ON\s+(\w+)`)
	droppedIndex = regexp.MustCompile(`(?i)DROP\s+INDEX\s+(CONCURRENTLY\s+)?`)
	forbidden    = regexp.MustCompile(`(?i)DROP\s+(?:TABLE|COLUMN)|RENAME\s|SET\s+NOT\s+NULL|ALTER\s+COLUMN\s+\w+\s+TYPE`)
	comment      = regexp.MustCompile(`--(?: [^+\n]|[^ \n])[^\n]*`)
)

func TestMigrationsKeepTheRulesOfUpgrades(t *testing.T) {
	names := must(fs.Glob(migrations.FS, "*.sql"))(t)
	for _, name := range slices.DeleteFunc(names, func(name string) bool { return name < firstOnline }) {
		text := comment.ReplaceAllString(string(must(migrations.FS.ReadFile(name))(t)), "")
		for _, problem := range ruleProblems(text) {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

func TestMigrationsAreNumberedWithoutGaps(t *testing.T) {
	for n, name := range must(fs.Glob(migrations.FS, "*.sql"))(t) {
		if number := fmt.Sprintf("%05d_", n+1); !strings.HasPrefix(name, number) {
			t.Errorf("%s has not the number %s", name, number)
		}
	}
}

// ruleProblems returns which rules of migrations a file breaks.
func ruleProblems(text string) (problems []string) {
	if what := forbidden.FindString(text); what != "" {
		problems = append(problems, what+": an older gateway fails, or waits for the rewriting of a table")
	}
	online := strings.Contains(text, "-- +goose NO TRANSACTION")
	if online && !strings.Contains(text, "SET lock_timeout = 0;") {
		problems = append(problems, "NO TRANSACTION without SET lock_timeout = 0: a long transaction would make the build begin again")
	}
	for _, index := range droppedIndex.FindAllStringSubmatch(text, -1) {
		if index[1] == "" {
			problems = append(problems, "DROP INDEX without CONCURRENTLY: reports wait for it")
		}
	}
	for _, index := range createdIndex.FindAllStringSubmatch(text, -1) {
		switch concurrently, name, table := index[1] != "", index[2], index[3]; {
		case !concurrently && !strings.Contains(text, "CREATE TABLE "+table+" "):
			problems = append(problems, name+": an index of an existing table without CONCURRENTLY: reports wait for it")
		case concurrently && !online:
			problems = append(problems, name+": CONCURRENTLY without NO TRANSACTION: PostgreSQL refuses it")
		case concurrently && !strings.Contains(text, "DROP INDEX CONCURRENTLY IF EXISTS "+name+";"):
			problems = append(problems, name+": without DROP INDEX CONCURRENTLY IF EXISTS before it: an interrupted build leaves an invalid index")
		}
	}
	return problems
}

func TestTheRulesOfMigrationsFindWhatBreaksThem(t *testing.T) {
	for text, want := range map[string]int{
		createNotes: 0, addColumn: 0, buildIndex: 0,
		"-- +goose Up\nCREATE INDEX i ON notes (note);":                                                    1,
		"-- +goose Up\nCREATE TABLE notes (note text);\nCREATE INDEX i ON notes (note);":                   0,
		"-- +goose Up\nCREATE INDEX CONCURRENTLY i ON notes (note);":                                       1,
		"-- +goose NO TRANSACTION\n-- +goose Up\nCREATE UNIQUE INDEX CONCURRENTLY i\n    ON notes (note);": 2,
		"-- +goose Up\nDROP INDEX i;":                                                                      1,
		"-- +goose Up\nALTER TABLE notes DROP COLUMN note;":                                                1,
		"-- +goose Up\nALTER TABLE notes RENAME note TO text;":                                             1,
		"-- +goose Up\nALTER TABLE notes ALTER COLUMN note SET NOT NULL;":                                  1,
	} {
		if problems := ruleProblems(text); len(problems) != want {
			t.Errorf("%s\nhas the problems %q, want %d", text, problems, want)
		}
	}
}
