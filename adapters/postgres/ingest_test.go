package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/ingest"
	"github.com/stream-monitor/stream-monitor/domain/login"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

var ownerLogin = ingests.Login{ID: "0190a5d9-1c2b-7d8a-9c1d-000000000001", Name: "studio", CreatedAt: noon.UTC(), UploadedAt: noon.UTC()}

// look stores what a look with ownerLogin has found.
func look(t *testing.T, s ingests.Store, health map[monitor.ID]ingest.Health) {
	t.Helper()
	check(t, s.EndIngestLook(t.Context(), ingests.Look{LoginID: ownerLogin.ID, UploadedAt: ownerLogin.UploadedAt, Health: health}, func(l *ingests.Login) {
		l.AcceptedAt, l.Streams = noon.UTC(), len(health)
	}))
}

func TestALoginOfAnOwnerIsStoredEncrypted(t *testing.T) { // S24
	t.Parallel()
	dsn := database(t)
	s, db := openWithKey(t, dsn, reversing{first: "one"}), raw(t, dsn)
	check(t, s.CreateIngestLogin(t.Context(), ownerLogin, "1//token"))
	twin := ownerLogin
	twin.ID = "0190a5d9-1c2b-7d8a-9c1d-000000000002"
	requireCode(t, s.CreateIngestLogin(t.Context(), twin, "x"), monitor.NameTaken)
	expect(t, "the list", must(s.IngestLogins(t.Context()))(t), []ingests.Login{ownerLogin})
	expect(t, "with its token", must(s.OpenIngestLogins(t.Context()))(t)[0].Token, "1//token")
	var row string
	check(t, db.QueryRow(`SELECT encode(sealed, 'escape') || to_jsonb(l) FROM ingest_logins l`).Scan(&row))
	if strings.Contains(row, "token") {
		t.Errorf("stored is %s", row)
	}

	// The login is rejected: told once, and an upload forgets it.
	alter(t, db, `INSERT INTO destinations (id, name, kind, language, config) VALUES (gen_random_uuid(), 'ops', 'teams', 'en', '{}')`)
	reject := func() {
		check(t, s.EndIngestLook(t.Context(), ingests.Look{LoginID: ownerLogin.ID, UploadedAt: ownerLogin.UploadedAt}, func(l *ingests.Login) {
			l.RejectedAt, l.Failure, l.Failures = noon.UTC(), &officialstate.Failure{Kind: officialstate.LoginRejected, Detail: "invalid_grant"}, 3
		}))
	}
	reject()
	reject()
	expectRows(t, db, `deliveries WHERE notice ->> 'Login' = 'studio' AND notice ->> 'LastError' = 'invalid_grant'`, 1)
	expect(t, "the state", must(s.IngestLogins(t.Context()))(t)[0].State(), login.Rejected)
	later := ownerLogin
	later.UploadedAt = noon.Add(time.Hour).UTC()
	replaced := must(s.ReplaceIngestLogin(t.Context(), later, "1//other"))(t)
	expect(t, "the login after an upload", replaced, later)
	reject() // by the token before
	expect(t, "the state", must(s.IngestLogins(t.Context()))(t)[0].State(), login.Unused)

	other := openWithKey(t, dsn, reversing{first: "two"})
	unreadable := must(other.OpenIngestLogins(t.Context()))(t)[0]
	expect(t, "with another key", []any{unreadable.State(), unreadable.Token}, []any{login.Unreadable, ingests.Token("")})
	check(t, s.DeleteIngestLogin(t.Context(), ownerLogin.ID))
	requireCode(t, s.DeleteIngestLogin(t.Context(), ownerLogin.ID), ingests.NotFound)
}

func TestWhatArrivesFromTheEncoderIsShownAndExplainsTrouble(t *testing.T) { // S24
	s, db := newStore(t)
	check(t, s.CreateIngestLogin(t.Context(), ownerLogin, "1//token"))
	m, other := register(t, s, 1), register(t, s, 2)
	answered := func() *monitor.IngestState { return must(s.Accept(t.Context(), m.ID, report()))(t).IngestState }
	expect(t, "nothing is known", []any{answered() == nil, getMonitor(t, s, m.ID).Ingest == nil}, []any{true, true})

	silent := ingest.Health{Broadcast: "live", Stream: "active", Signal: "bad", Issues: []ingest.Issue{{Type: "noVideoStream", Severity: ingest.Error}}}
	look(t, s, map[monitor.ID]ingest.Health{m.ID: silent, other.ID: {Broadcast: "live", Stream: "inactive"}})
	shown := getMonitor(t, s, m.ID).Ingest
	if shown == nil || shown.Signal != "bad" || len(shown.Issues) != 1 || shown.AskedAt.IsZero() {
		t.Fatalf("shown is %+v", shown)
	}
	expect(t, "data arrive", answered().NoData, false)
	expect(t, "none do", must(s.Accept(t.Context(), other.ID, report()))(t).IngestState.NoData, true)

	// A new alert is explained at once, one that lasts by the next look.
	cause := func() string {
		t.Helper()
		var c string
		check(t, db.QueryRow(`SELECT COALESCE(string_agg(COALESCE(c #>> '{alert,cause,type}', '-'), ',' ORDER BY c ->> 'started_at'), 'none') FROM incidents, jsonb_array_elements(conditions) AS c`).Scan(&c))
		return c
	}
	acceptReport(t, s, m.ID, report(trouble(detector.Blackout, time.Now().UTC())), monitor.Run)
	expect(t, "the cause at once", cause(), "noVideoStream")
	look(t, s, map[monitor.ID]ingest.Health{m.ID: {Broadcast: "live", Stream: "inactive"}})
	expect(t, "the cause that is told now", cause(), ingest.NoData)
	expect(t, "what it no longer tells", []any{getMonitor(t, s, other.ID).Ingest == nil, must(s.Accept(t.Context(), other.ID, report()))(t).IngestState.NoData}, []any{true, false})
	look(t, s, map[monitor.ID]ingest.Health{m.ID: {Broadcast: "live", Stream: "active", Signal: "good"}})
	expect(t, "a good signal takes no cause away", cause(), ingest.NoData)

	alter(t, db, `UPDATE ingest_states SET asked_at = now() - interval '601 seconds'`)
	expect(t, "an old one", []any{answered() == nil, getMonitor(t, s, m.ID).Ingest == nil}, []any{true, true})
	alter(t, db, `UPDATE ingest_states SET asked_at = now() - interval '61 minutes'`)
	look(t, s, map[monitor.ID]ingest.Health{m.ID: silent})
	expectRows(t, db, `ingest_states`, 1)
	check(t, s.DeleteIngestLogin(t.Context(), ownerLogin.ID))
	expect(t, "without the login", getMonitor(t, s, m.ID).Ingest == nil, true)
}
