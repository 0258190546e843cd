package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	storedLogin  = "0190a5d9-1c2b-7d8a-9c1d-2e3f4a5b6c7e"
	loginURL     = "/api/v1/ingest-logins/" + storedLogin
	refreshToken = "1//secret-of-an-owner"
	loginBody    = `{"name":"studio","refresh_token":"` + refreshToken + `"}`
	tokenBody    = `{"refresh_token":"1//secret-of-another"}`
)

// newIngestLogins makes a service whose only new login is storedLogin.
func newIngestLogins(store ingests.LoginStore, clock func() time.Time) *ingests.Logins {
	return ingests.NewLogins(store, func() string { return storedLogin }, clock)
}

func addIngestLogin(api *testAPI, _ monitor.ID) {
	api.post("/api/v1/ingest-logins", loginBody).hasStatus(http.StatusCreated)
}

// ingestLoginCases are the responses of the routes of logins beyond those of operations.
func ingestLoginCases() []responseCase {
	return []responseCase{
		{"login of a taken name", 409, func(api *testAPI) *http.Request {
			addIngestLogin(api, "")
			api.db.Exec(api.t, `UPDATE ingest_logins SET id = gen_random_uuid()`)
			return request("POST", "/api/v1/ingest-logins", loginBody)(api)
		}},
		{"no login", 404, request("PUT", loginURL, tokenBody)},
		{"login that is no UUID", 404, request("DELETE", "/api/v1/ingest-logins/studio", "")},
	}
}

func TestALoginOfAnOwnerIsKeptButNeverShown(t *testing.T) { // S24
	api := newTestAPI(t)
	created := api.post("/api/v1/ingest-logins", loginBody).hasStatus(http.StatusCreated)
	const want = `{"login_id":"` + storedLogin + `","name":"studio","state":"unused","streams":0,"created_at":"2024-01-15T19:55:00.123+09:00",` +
		`"uploaded_at":"2024-01-15T19:55:00.123+09:00","accepted_at":null,"rejected_at":null,"asked_at":null,"next_at":null,"failure":null}`
	created.hasBody(want)
	api.get("/api/v1/ingest-logins").hasStatus(http.StatusOK).hasBody(`{"enabled":false,"ingest_logins":[` + want + `]}`)
	replaced := api.put(loginURL, tokenBody).hasStatus(http.StatusOK)
	deleted := api.delete(loginURL).hasStatus(http.StatusOK)
	audit := api.get("/api/v1/audit").hasStatus(http.StatusOK)
	for _, want := range []string{"ingest_login.create", "ingest_login.replace", "ingest_login.delete", storedLogin} {
		if !strings.Contains(string(audit.body), want) {
			t.Errorf("the audit list lacks %s: %s", want, audit.body)
		}
	}
	for _, said := range []string{string(created.body), string(replaced.body), string(deleted.body), string(audit.body), api.log.String()} {
		if strings.Contains(said, "secret") {
			t.Errorf("the token is in %s", said)
		}
	}
}

func TestARefusedLoginIsToldWhatIsExpected(t *testing.T) { // S24
	api := newTestAPI(t)
	for name, c := range map[string]struct {
		body string
		says []string
	}{
		"nothing":            {`{}`, []string{"name", "refresh_token"}},
		"no name":            {`{"name":"","refresh_token":"1//secret"}`, []string{"name has 0", "1 to 60"}},
		"no token":           {`{"name":"a","refresh_token":""}`, []string{"refresh_token has 0 bytes", `"1//"`}},
		"an access token":    {`{"name":"a","refresh_token":"ya29.secret"}`, []string{"is an access token", `"1//"`}},
		"a client's secret":  {`{"name":"a","refresh_token":"GOCSPX-secret"}`, []string{"YOUTUBE_OAUTH_CLIENT_SECRET"}},
		"what was displayed": {`{"name":"a","refresh_token":"{\n \"refresh_token\": \"1//secret\"}"}`, []string{"has spaces"}},
		"no text":            {`{"name":"a","refresh_token":["1//secret"]}`, []string{"refresh_token is no string"}},
		"too much":           {`{"name":"a","refresh_token":"` + strings.Repeat("secret", 100) + `"}`, []string{"has 600 bytes", "at most 512"}},
	} {
		a := api.post("/api/v1/ingest-logins", c.body).hasError(http.StatusBadRequest, monitor.InvalidConfig, c.says...)
		if strings.Contains(string(a.body), "secret") && name != "a client's secret" || strings.Contains(string(a.body), "GOCSPX") {
			t.Errorf("%s: %s", name, a.body)
		}
	}
}
