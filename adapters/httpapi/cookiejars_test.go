package httpapi_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const (
	storedJar   = "0190a5d9-1c2b-7d8a-9c1d-2e3f4a5b6c7d"
	jarURL      = "/api/v1/cookie-jars/" + storedJar
	cookieFile  = "# Netscape HTTP Cookie File\n" + loginLines + ".bank.example\tTRUE\t/\tTRUE\t1830000000\tSID\tsecret-of-a-bank\n"
	loginLines  = ".youtube.com\tTRUE\t/\tTRUE\t1830000000\tLOGIN_INFO\tsecret-login\n.youtube.com\tTRUE\t/\tTRUE\t1830000000\tSAPISID\tsecret-signer\n"
	renewedLine = `.youtube.com\tTRUE\t/\tTRUE\t1830000000\tTS\tsecret-token\n`
)

// newCookieJars makes a service whose only new jar is storedJar.
func newCookieJars(store cookiejars.Store, clock func() time.Time, log *slog.Logger) *cookiejars.Service {
	return cookiejars.NewService(store, func() string { return storedJar }, clock, log)
}

type jarContext struct{}

// preparedJars put the name of a jar into the context of a question.
type preparedJars struct{ *cookiejars.Service }

func (preparedJars) With(ctx context.Context, name string, _ monitor.StreamURL) (context.Context, error) {
	return context.WithValue(ctx, jarContext{}, name), nil
}

func postJar(name, file string) *http.Request {
	return withFile(newRequest("POST", "/api/v1/cookie-jars?name="+name, strings.NewReader(file)))
}

func putJar(file string) *http.Request {
	return withFile(newRequest("PUT", jarURL, strings.NewReader(file)))
}

func withFile(r *http.Request) *http.Request {
	r.Header.Set("Content-Type", "text/plain")
	return r
}

func addCookieJar(api *testAPI, _ monitor.ID) {
	api.do(postJar("members", cookieFile)).hasStatus(http.StatusCreated)
}

// useCookieJar lets a monitor use a new jar.
func useCookieJar(api *testAPI, id monitor.ID) {
	addCookieJar(api, id)
	api.patch("/api/v1/monitors/"+string(id), `{"config":{"cookie_jar":"members"}}`).hasStatus(http.StatusOK)
}

// cookieJarCases are the responses of the routes of cookie jars beyond those of operations.
func cookieJarCases() []responseCase {
	used := func(api *testAPI) { useCookieJar(api, api.register("Q")) }
	returned := "/internal/v1/monitors/" + firstID + "/cookies?generation=1"
	var list []responseCase
	for name, upload := range map[string]func(*testAPI) *http.Request{
		"upload":      func(*testAPI) *http.Request { return postJar("members", cookieFile) },
		"replacement": after(func(api *testAPI) { addCookieJar(api, "") }, func(*testAPI) *http.Request { return putJar(cookieFile) }),
	} {
		name += " of a cookie jar"
		list = append(list, brokenCases(name, upload, (*testAPI).breakStores)...)
		list = append(list, []responseCase{
			{name, map[bool]int{true: 201, false: 200}[name[0] == 'u'], upload},
			{name + " that is none", 400, with(upload, func(_ *testAPI, r *http.Request) { r.Body = io.NopCloser(strings.NewReader("[]")) })},
			{name + " with a wrong key", 401, with(upload, withWrongKey)},
			{name + " that does not arrive", 408, with(upload, withStalledBody)},
			{name + " that is large", 413, with(upload, withLargeBody)},
			{name + " of another type", 415, with(upload, withHeader("Content-Type", "application/json"))},
			{name + " beyond the rate limit", 429, with(upload, func(api *testAPI, _ *http.Request) { api.exhaustRateLimits() })},
		}...)
	}
	return append(list, []responseCase{
		{"cookie jar of a taken name", 409, func(api *testAPI) *http.Request {
			addCookieJar(api, "")
			api.db.Exec(api.t, `UPDATE cookie_jars SET id = gen_random_uuid()`)
			return postJar("members", cookieFile)
		}},
		{"deletion of a cookie jar that is used", 409, after(used, request("DELETE", jarURL, ""))},
		{"no cookie jar", 404, func(*testAPI) *http.Request { return putJar(cookieFile) }},
		{"cookie jar that is no UUID", 404, request("DELETE", "/api/v1/cookie-jars/members", "")},
		{"assignment with a cookie jar", 200, after(used, request("GET", "/internal/v1/monitors/"+firstID+"?generation=1", ""))},
		{"return of another cookie jar", 400, after(used, request("PUT", returned, `{"name":"others","version":1}`))},
		{"return of a cookie jar that was deleted", 404, func(api *testAPI) *http.Request {
			used(api)
			api.db.Exec(api.t, `DELETE FROM cookie_jars`)
			return newRequest("PUT", returned, strings.NewReader(`{"name":"members","version":1,"rejected":true}`))
		}},
		{"return of cookies by an old worker", 409, func(api *testAPI) *http.Request {
			used(api)
			api.advanceGeneration(firstID)
			return with(request("PUT", returned, `{"name":"members","version":1}`), withToken(firstID, 1))(api)
		}},
	}...)
}

func TestACookieJarIsKeptButNeverShown(t *testing.T) { // section 17.7
	api := newTestAPI(t)
	id := api.register("Q")
	created := api.do(postJar("members", cookieFile)).hasStatus(http.StatusCreated)
	const want = `{"jar_id":"` + storedJar + `","name":"members","state":"unused","sources":["youtube"],"cookies":2,"signed_in":true,"version":1,"monitors":0,"channels":0,` +
		`"created_at":"2024-01-15T19:55:00.123+09:00","uploaded_at":"2024-01-15T19:55:00.123+09:00","accepted_at":null,"rejected_at":null}`
	created.hasBody(want)
	api.get("/api/v1/cookie-jars").hasStatus(http.StatusOK).hasBody(`{"cookie_jars":[` + want + `]}`)

	path := "/api/v1/monitors/" + string(id)
	shown := api.patch(path, `{"config":{"cookie_jar":"members"}}`).hasStatus(http.StatusOK)
	if config := shown.json()["config"].(map[string]any); config["cookie_jar"] != "members" {
		t.Errorf("the configuration is %v", config)
	}
	assigned := api.get("/internal/v1/monitors/" + string(id) + "?generation=1").hasStatus(http.StatusOK).json()
	if jar := assigned["cookies"].(map[string]any); jar["name"] != "members" || jar["version"] != 1. || jar["text"] != "# Netscape HTTP Cookie File\n"+loginLines {
		t.Errorf("assigned is %v", jar)
	}

	// A run renews the login; then the source rejects it; then somebody uploads another one.
	cookies, state := "/internal/v1/monitors/"+string(id)+"/cookies?generation=1", func() string {
		t.Helper()
		jar := api.get("/api/v1/cookie-jars").hasStatus(http.StatusOK).json()["cookie_jars"].([]any)[0].(map[string]any)
		return jar["state"].(string)
	}
	text := strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(loginLines) + renewedLine
	renewed := api.put(cookies, `{"name":"members","version":1,"accepted":true,"text":"`+text+`"}`).hasStatus(http.StatusOK)
	if renewed.json()["version"] != 2. || !strings.Contains(string(renewed.body), "secret-token") || state() != "accepted" {
		t.Errorf("renewed is %s", renewed.body)
	}
	api.put(cookies, `{"name":"members","version":1,"rejected":true}`).hasStatus(http.StatusOK)
	if state() != "accepted" {
		t.Error("a rejection of an older version counts")
	}
	api.put(cookies, `{"name":"members","version":2,"rejected":true,"text":"`+renewedLine+`"}`).hasStatus(http.StatusOK)
	if state() != "rejected" {
		t.Error("a rejection does not count")
	}
	if got := api.do(putJar(strings.ReplaceAll(cookieFile, "secret-login", "secret-other"))).hasStatus(http.StatusOK).json(); got["version"] != 3. || got["state"] != "unused" || got["monitors"] != 1. {
		t.Errorf("replaced is %v", got)
	}
	late := api.put(cookies, `{"name":"members","version":2,"text":"`+text+`"}`).hasStatus(http.StatusOK)
	if late.json()["version"] != 3. || !strings.Contains(string(late.body), "secret-other") {
		t.Errorf("a run that began before the upload leaves %s", late.body)
	}

	api.delete(path).hasStatus(http.StatusOK)
	api.delete(jarURL).hasStatus(http.StatusOK)
	audit := api.get("/api/v1/audit").hasStatus(http.StatusOK)
	for _, want := range []string{"cookie_jar.create", "cookie_jar.replace", "cookie_jar.delete", storedJar} {
		if !strings.Contains(string(audit.body), want) {
			t.Errorf("the audit list lacks %s: %s", want, audit.body)
		}
	}
	if said := api.log.String(); strings.Contains(said, "secret-") || !strings.Contains(said, "no longer accepts the login") || !strings.Contains(said, `"cookie_jar":"members"`) {
		t.Errorf("the log is %s", said)
	}
}

func TestARefusedCookieJarIsToldWhatIsExpected(t *testing.T) { // section 17.7
	api := newTestAPI(t)
	for name, c := range map[string]struct {
		name, file string
		says       []string
	}{
		"no file":              {"", "", []string{"name has 0", "1 to 60", "cookies has no cookie", "cookies.txt"}},
		"a page":               {"a", "<html>secret</html>", []string{"line 1 has 1", "7 fields"}},
		"too much of the site": {"a", loginLines + ".youtube.com\tTRUE\t/\tTRUE\t0\tbig\t" + strings.Repeat("secret", 12<<10), []string{"bytes of cookies", "at most 65536"}},
		"no text":              {"a", "\xff\xfe", []string{"UTF-8"}},
	} {
		a := api.do(postJar(c.name, c.file)).hasError(http.StatusBadRequest, monitor.InvalidConfig, c.says...)
		if strings.Contains(string(a.body), "secret") {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	api.do(postJar("signed%20out", strings.ReplaceAll(cookieFile, "LOGIN_INFO", "PREF"))).hasStatus(http.StatusCreated).hasWords(`"signed_in":false`)

	id := api.register("Q")
	for _, given := range []string{`"members"`, `"a\u0000b"`, `7`, `"` + strings.Repeat("x", 61) + `"`} {
		body := `"config":{"cookie_jar":` + given + `}}`
		api.patch("/api/v1/monitors/"+string(id), `{`+body).hasError(http.StatusBadRequest, monitor.InvalidConfig, "config.cookie_jar")
		api.post("/api/v1/monitors", strings.Replace(registration, "XcQ", "XcZ", 1)[:len(registration)-1]+`,`+body).hasError(http.StatusBadRequest, monitor.InvalidConfig, "config.cookie_jar")
	}
	api.resolve = func(ctx context.Context, _ monitor.StreamURL) watch.Resolution {
		return watch.Resolution{State: watch.LoginLost, Detail: "with the jar " + ctx.Value(jarContext{}).(string)}
	}
	api.post("/api/v1/preview", registration[:len(registration)-1]+`,"config":{"cookie_jar":"members"}}`).hasStatus(http.StatusOK).hasWords("config.cookie_jar").hasWords("with the jar members")
	csv := newRequest("POST", "/api/v1/monitors/batch", strings.NewReader("stream_url,callback_url,cookie_jar\n"+strings.Replace(streamURL, "XcQ", "XcZ", 1)+",https://example.com/hook,signed out\n"))
	csv.Header.Set("Content-Type", "text/csv")
	api.do(csv).hasStatus(http.StatusOK).hasWords(`"registered":1`)
	api.patch("/api/v1/monitors/"+string(id), `{"config":{"cookie_jar":"signed out"}}`).hasStatus(http.StatusOK).hasWords(`"cookie_jar":"signed out"`)
	cleared := api.patch("/api/v1/monitors/"+string(id), `{"config":{"cookie_jar":null}}`).hasStatus(http.StatusOK)
	if strings.Contains(string(cleared.body), "cookie_jar") {
		t.Errorf("null leaves %s", cleared.body)
	}
	api.do(postJar("cdn", ".cdn.example\tTRUE\t/\tTRUE\t0\tKey\tsecret")).hasStatus(http.StatusCreated).hasWords(`"sources":["hls","dash"]`, `"signed_in":false`)
}
