package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/postgrestest"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/pushes"
	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// defaultRoute is the ID of the default route.
const defaultRoute = "01900000-0000-7000-8000-000000000001"

// storeMonitor stores a monitor whose worker is the first, unless it is stored.
func (api *testAPI) storeMonitor(id monitor.ID, url monitor.StreamURL) {
	api.t.Helper()
	m := monitor.Monitor{ID: id, StreamURL: url, Config: monitor.DefaultConfig(), Status: monitor.Monitoring, Generation: 1}
	must.Do(api.t, api.db.Insert(api.t.Context(), m, 10))
}

// attempt records an attempt at the only delivery, which leads to a decision.
func (api *testAPI) attempt(d notify.Decision, a event.Attempt) {
	api.t.Helper()
	leased := must.Get(api.db.Lease(api.t.Context(), 1, time.Minute))(api.t)
	must.Equal(api.t, "number of Deliveries", len(leased.Deliveries), 1)
	outcome := delivery.Outcome{Decision: d, Result: message.Result{Attempt: a, Class: notify.Retry}}
	must.Get(api.db.Record(api.t.Context(), leased.Deliveries[0], outcome))(api.t)
}

// advanceGeneration makes the worker of a monitor the second.
func (api *testAPI) advanceGeneration(id monitor.ID) {
	api.t.Helper()
	api.db.Exec(api.t, `UPDATE monitors SET generation = 2 WHERE id = $1`, id)
}

// storeIncident stores an incident with its log, and its monitor if it is new.
func (api *testAPI) storeIncident(i incidents.Incident, log ...incident.Entry) {
	api.t.Helper()
	api.storeMonitor(i.MonitorID, i.StreamURL)
	i.Acknowledgements = append([]incident.Acknowledgement{}, i.Acknowledgements...)
	row := must.Get(json.Marshal(struct {
		incident.Incident

		MonitorID monitor.ID `json:"monitor_id"`
		QuietSec  float64    `json:"quiet_sec"`
		UpdatedAt time.Time  `json:"updated_at"`
	}{i.Incident, i.MonitorID, i.Quiet.Seconds(), i.UpdatedAt}))(api.t)
	lines := must.Get(json.Marshal(append([]incident.Entry{}, log...)))(api.t)
	const columns = `id, monitor_id, state, severity, severity_now, conditions, started_at, opened_at, resolved_at, resolved_by, quiet_sec, reopened,
		acknowledged_by, acknowledged_at, acknowledged_severity, acknowledgements, updated_at`
	api.db.Exec(api.t, `INSERT INTO incidents (`+columns+`) SELECT `+columns+` FROM json_populate_record(CAST(NULL AS incidents), $1)`, string(row))
	api.db.Exec(api.t, `INSERT INTO incident_log (incident_id, kind, at, by, text, severity)
		SELECT CAST($1 AS uuid), kind, at, by, text, severity FROM json_populate_recordset(CAST(NULL AS incident_log), $2)`, i.ID, string(lines))
}

// readIncident reads an incident from the store.
func (api *testAPI) readIncident(id string) incidents.Incident {
	api.t.Helper()
	i, _, err := api.db.GetIncident(api.t.Context(), id)
	if err != nil {
		api.t.Fatal(err)
	}
	return i
}

// stores are those that a test may replace while its API runs.
type stores struct {
	incidents   struct{ incidents.Store }
	evidence    struct{ evidences.Store }
	blobs       struct{ evidences.BlobStore }
	history     struct{ histories.Store }
	routing     struct{ routing.Store }
	replays     struct{ routing.Replayer }
	keys        struct{ keyring.Store }
	sessionKeys struct{ keyring.SessionKeyStore }
	audit       auditStore
	thumbnails  struct{ evidences.ThumbnailStore }
	references  struct{ references.Store }
	channels    struct{ channels.Store }
	cookieJars  struct{ cookiejars.Store }
	logins      struct{ ingests.LoginStore }
	pushes      struct{ pushes.Store }
}

// use makes the stores those of a database.
func (s *stores) use(db *postgrestest.Store) {
	s.incidents.Store, s.routing.Store, s.replays.Replayer = db, db, db
	s.evidence.Store, s.blobs.BlobStore, s.history.Store = db, db.BlobStore(), db
	s.keys.Store, s.sessionKeys.SessionKeyStore, s.thumbnails.ThumbnailStore = db, db, db
	s.references.Store, s.cookieJars.Store, s.channels.Store, s.logins.LoginStore, s.pushes.Store = db, db, db, db, db
	s.audit = auditStore{AuditStore: db}
}

// breakAll lets the stores fail, but the requests of the audit list are recorded.
func (s *stores) breakAll() {
	away := closedStore()
	s.incidents.Store, s.routing.Store, s.replays.Replayer = away, away, away
	s.evidence.Store, s.blobs.BlobStore, s.history.Store = away, away.BlobStore(), away
	s.keys.Store, s.sessionKeys.SessionKeyStore, s.thumbnails.ThumbnailStore = away, away, away
	s.references.Store, s.cookieJars.Store, s.channels.Store, s.logins.LoginStore, s.pushes.Store = away, away, away, away, away
	s.audit.failing = errors.New("disk full exploded")
}

// closedStore returns a store whose every method fails.
var closedStore = sync.OnceValue(func() *postgres.Store {
	s, err := postgres.New("host=/nowhere", postgres.Config{})
	if err != nil {
		panic(err)
	}
	_ = s.Close() // nothing is open
	return s
})

// auditStore is a store whose methods fail or call a function of the test first.
type auditStore struct {
	keyring.AuditStore

	failing       error // of Entries
	begin, finish func() error
}

// BeginEntry implements keyring.AuditStore.
func (s *auditStore) BeginEntry(ctx context.Context, e keyring.Entry) (int64, error) {
	if s.begin != nil {
		if err := s.begin(); err != nil {
			return 0, err
		}
	}
	return s.AuditStore.BeginEntry(context.WithoutCancel(ctx), e)
}

// FinishEntry implements keyring.AuditStore.
func (s *auditStore) FinishEntry(ctx context.Context, seq int64, objects []string, status int) error {
	if s.finish != nil {
		if err := s.finish(); err != nil {
			return err
		}
	}
	return s.AuditStore.FinishEntry(ctx, seq, objects, status)
}

// Entries implements keyring.AuditStore.
func (s *auditStore) Entries(ctx context.Context, before int64, limit int) ([]keyring.Entry, error) {
	if s.failing != nil {
		return nil, s.failing
	}
	return s.AuditStore.Entries(ctx, before, limit)
}
