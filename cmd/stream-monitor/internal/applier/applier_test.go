package applier_test

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/postgrestest"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/monitors/monitorstest"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/applier"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// whole is a file of everything, and created what the command says when it has made it.
var (
	//go:embed testdata/whole.yaml
	whole string
	//go:embed testdata/created.txt
	created string
)

// server is a real PostgreSQL that all tests share.
var server *postgrestest.Server

func TestMain(m *testing.M) {
	os.Exit(postgrestest.Main(m, postgrestest.Config{}, func(s *postgrestest.Server) { server = s }))
}

// system is a gateway with its database, and the environment of the command.
type system struct {
	t     *testing.T
	store *postgrestest.Store
	calls *apiclient.Client
	env   map[string]string
	log   bytes.Buffer
}

func newSystem(t *testing.T) *system {
	t.Helper()
	s := &system{t: t, store: server.Store(t), env: map[string]string{"SLACK_TOKEN": "xoxb-1"}}
	id := func() string { return uuid.Must(uuid.NewV7()).String() }
	log := slog.New(slog.NewTextHandler(&s.log, nil))
	watched, err := monitors.NewServices(s.store, &monitorstest.WorkerManager{}, monitorstest.CallbackPolicy(func(monitor.CallbackURL) error { return nil }), &monitorstest.TestSender{},
		monitors.Config{NewUUID: func() [16]byte { return uuid.Must(uuid.NewV7()) }, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	forChannels := monitors.NewForChannels(watched, nil)
	routes, err := routing.NewServices(s.store, routing.Config{NewID: id, Test: struct{ routing.TestSender }{}, Replay: s.store, Subjects: s.store})
	if err != nil {
		t.Fatal(err)
	}
	finder := channels.NewDiscovery(s.store, channels.DiscoveryConfig{Registrar: forChannels, Now: time.Now, Log: log})
	api, err := httpapi.New(httpapi.Services{Monitors: watched, Routing: routes, Channels: channels.NewService(s.store, finder, id)}, func(context.Context) error { return nil }, httpapi.Config{APIKey: "a", InternalAPIKey: "b", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api.Public())
	t.Cleanup(server.Close)
	s.calls = apiclient.New(server.URL, "a", nil)
	return s
}

func (s *system) lookup(name string) (string, bool) {
	value, is := s.env[name]
	return value, is
}

// apply applies a file and returns its lines, and its messages.
func (s *system) apply(file string, o applier.Options) (lines, messages string, err error) {
	f, err := applier.Read([]byte(file), s.lookup)
	if err != nil {
		return "", "", err
	}
	var results, said bytes.Buffer
	err = applier.Apply(s.t.Context(), s.calls, f, o, &results, &said)
	return results.String(), said.String(), err
}

// expect applies a file, and expects its lines and the last of its messages.
func (s *system) expect(file string, o applier.Options, lines, message string) {
	s.t.Helper()
	got, said, err := s.apply(file, o)
	if err != nil {
		s.t.Fatal(err)
	}
	if strings.TrimSpace(got) != strings.TrimSpace(lines) || !strings.HasSuffix(said, message+"\n") {
		s.t.Errorf("the changes are\n%s%s, want\n%s\n%s", got, said, strings.TrimSpace(lines), message)
	}
}

func TestAFileIsMadeOnce(t *testing.T) { // section 19.8
	s := newSystem(t)
	before := s.store.RoutingVersion(t)
	s.expect(whole, applier.Options{DryRun: true}, created, "dry run: 9 changes would be made; nothing was stored")
	if n := s.store.RoutingVersion(t) - before; n != 0 {
		t.Fatalf("the dry run made %d changes", n)
	}
	s.expect(whole, applier.Options{}, created, "9 changes made")
	before = s.store.RoutingVersion(t)
	for range 2 {
		s.expect(whole, applier.Options{Prune: true}, "", "nothing to change")
	}
	if n := s.store.RoutingVersion(t); n != before {
		t.Errorf("a second run made %d changes", n-before)
	}
	all, err := s.store.Destinations(t.Context())
	if err != nil || len(all) != 2 || all[0].Config["port"] != "587" || all[1].Fallback != all[0].ID || all[1].Secrets["bot_token"] != "xoxb-1" {
		t.Errorf("stored are %+v, %v", all, err)
	}
}

func TestOnlyWhatDiffersIsChanged(t *testing.T) {
	s := newSystem(t)
	s.create("/routes", `{"name": "first"}`)
	s.expect(whole, applier.Options{}, created, "9 changes made")
	s.create("/routes", `{"name": "last"}`)
	s.env["SLACK_TOKEN"] = "xoxb-2"
	night, day, _ := strings.Cut(whole[strings.Index(whole, "  - name: night"):strings.Index(whole, "  - default")], "  - name: day")
	day = "  - name: day" + day
	swapped := strings.Replace(whole, night+day, day+night, 1)
	changed := strings.NewReplacer("C1", "C2", "delay_sec: 600", "delay_sec: 60", "thu, mon", "thu", "max_severity: 1", "max_severity: 2", "on_duty: true", "on_duty: false", "[sat]", "[sun]", "destination: mail}", "destination: operations}", "[operations, mail]", "[mail, operations]", "[quieter]", "[quieter, recurring]").Replace(swapped)
	lines := `
~ destination "operations": config.channel, secrets.bot_token
~ route "day": match
~ route "night": destinations, windows, on_duty, delay_sec
~ order of routes: first, day, night, last
~ duty: Ben
~ silence "maintenance": match, window`
	s.expect(changed, applier.Options{DryRun: true}, lines, "nothing was stored")
	s.expect(changed, applier.Options{}, lines, "6 changes made")
	s.expect(changed, applier.Options{}, "", "nothing to change")
	routes, err := s.store.Routes(t.Context())
	var names []string
	for _, r := range routes {
		names = append(names, r.Name)
	}
	if want := []string{"first", "day", "night", "last", "default"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("the order is %v, %v", names, err)
	}
}

// create makes something by the API, without a file.
func (s *system) create(path, body string) (destinationID string) {
	s.t.Helper()
	var created struct {
		ID string `json:"destination_id"`
	}
	if err := s.calls.Call(s.t.Context(), "POST", "/api/v1"+path, rawJSON(body), &created); err != nil {
		s.t.Fatal(err)
	}
	return created.ID
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func TestPruneDeletesOnlyWhatTheFileHasKept(t *testing.T) { // section 19.8
	s := newSystem(t)
	s.create("/destinations", `{"name": "by hand", "kind": "discord", "secrets": {"webhook_url": "https://discord.example/x"}}`)
	s.create("/destinations", `{"name": "of another file", "kind": "discord", "secrets": {"webhook_url": "https://discord.example/x"}, "owner": "other.yaml"}`)
	s.create("/routes", `{"name": "by hand"}`)
	s.expect(whole, applier.Options{}, created, "9 changes made")
	const empty = "owner: ops/notifications.yaml\n"
	_, said, err := s.apply(empty, applier.Options{})
	if err != nil || said != "8 that ops/notifications.yaml has kept are not in the file; --prune deletes them\nnothing to change\n" {
		t.Errorf("without prune: %v, %s", err, said)
	}
	lines := `
- route "night"
- route "day"
- default route: destinations
- duty
- silence "move"
- silence "maintenance"
- destination "mail"
- destination "operations"`
	s.expect(empty, applier.Options{Prune: true, DryRun: true}, lines, "nothing was stored")
	s.expect(empty, applier.Options{Prune: true}, lines, "8 changes made")
	s.expect(empty, applier.Options{Prune: true}, "", "nothing to change")
	destinations, err := s.store.Destinations(t.Context())
	routes, _ := s.store.Routes(t.Context())
	if err != nil || len(destinations) != 2 || len(routes) != 2 || routes[1].Owner != "" {
		t.Errorf("left are %v, %v, %v", destinations, routes, err)
	}
}

func TestWhatAnotherKeepsIsNotChanged(t *testing.T) { // section 19.8
	s := newSystem(t)
	s.create("/destinations", `{"name": "mail", "kind": "discord", "secrets": {"webhook_url": "https://discord.example/x"}}`)
	s.create("/routes", `{"name": "day", "owner": "other.yaml"}`)
	id := s.create("/destinations", `{"name": "phone", "kind": "discord", "secrets": {"webhook_url": "https://discord.example/x"}}`)
	if err := s.calls.Call(t.Context(), "PATCH", "/api/v1/duty", rawJSON(`{"people": [{"name": "Eve", "destination_id": "`+id+`"}]}`), nil); err != nil {
		t.Fatal(err)
	}
	before := s.store.RoutingVersion(t)
	_, _, err := s.apply(strings.Replace(whole, "[operations, mail]", "[pager]", 1), applier.Options{})
	requireProblems(t, err, `destination "mail": one that no file keeps has the name`, `duty: another file, or nobody, keeps the plan`, `route "day": one that "other.yaml" keeps has the name`, `route "night": destinations has "pager"`)
	if s.store.RoutingVersion(t) != before {
		t.Error("a refused file has changed something")
	}
}

// requireProblems expects exactly these problems, each by its beginning.
func requireProblems(t *testing.T, err error, want ...string) {
	t.Helper()
	problems, is := errors.AsType[applier.Problems](err)
	if !is {
		t.Fatalf("the error is %v", err)
	}
	slices.Sort(want)
	if len(problems) != len(want) {
		t.Errorf("%d problems, want %d:\n%v", len(problems), len(want), problems)
	}
	for n := range min(len(problems), len(want)) {
		if !strings.HasPrefix(problems[n], want[n]) {
			t.Errorf("problem %d is %s, want %s", n, problems[n], want[n])
		}
	}
}

func TestEveryProblemOfAFileIsNamed(t *testing.T) { // section 19.8
	for file, want := range map[string][]string{
		"owner: [x\n":                        {"line 1"},
		"owner: x\nroutes: []\nroutes: []\n": {`line 3: key "routes" already set`},
		"destination: []\n":                  {"destination is not a field", "owner is missing"},
		`
owner: x
destinations:
  - {name: a, kind: pigeon}
  - {name: b, kind: slack, config: {channel: [1]}, secrets: {bot_token: "${A}${B}"}, colour: red}
  - {name: b, kind: discord, secrets: {webhook_url: "https://x.example"}, fallback: b, enabled: maybe}
  - 7
`: {
			`destination "a": kind is "pigeon"`, `destination "b" is there twice`, `destination "b": colour is not a field`, `destination "b": config: accepted are`,
			`destination "b": enabled: accepted are true and false`, `destination "b": fallback is the destination itself`, `destination "b": secrets.bot_token and config.channel`,
			`destination "b": secrets.bot_token: the environment has no A`, `destination "b": secrets.bot_token: the environment has no B`,
			`destination 4: accepted are fields`, `destination 4: kind is ""`, `destination 4: name has 0 characters`,
		},
		`
owner: x
routes:
  - {name: a, match: {events: [rain], min_severity: high, colour: red}, delay_sec: 1.5, repeat_sec: 7}
  - {default: true, name: b, match: {min_severity: 1}}
  - {default: true}
`: {
			`default route is there twice`, `default route: it has neither`, `default route: match of the default route`,
			`route "a": delay_sec: accepted is a whole number`, `route "a": match.colour is not a field`, `route "a": match.events has "rain"`,
			`route "a": match.min_severity: accepted is a whole number`, `route "a": repeat_sec is 7`,
		},
		`
owner: x
routes:
  - {name: a, match: {max_severity: 1}, windows: [{start: "9", end: "10:00", timezone: UTC, colour: red}]}
duty:
  - {name: Ann, windows: [{start: "08:00", end: "10:00", timezone: Mars}]}
  - {name: Ann, destination: b, phone: 1}
`: {
			`duty "Ann": destination is missing`, `duty "Ann": phone is not a field`, `duty: people[0].windows[0].timezone is "Mars"`, `duty: people[1].name is "Ann"`,
			`route "a": match.max_severity is for silences`, `route "a": windows[0].colour is not a field`, `route "a": windows[0].start is "9"`,
		},
		`
owner: x
silences:
  - {comment: a, match: {}, window: {weekdays: [monday], start: 5, end: "4", timezone: Mars}}
  - {match: {}, to: tomorrow, until_recovered: true}
`: {
			`silence "a": window.end is "4"`, `silence "a": window.start is ""`, `silence "a": window.start: accepted is text; write it in quotes`,
			`silence "a": window.timezone is "Mars"`, `silence "a": window.weekdays has "monday"`,
			`silence 2: comment is missing`, `silence 2: to is missing`, `silence 2: to: accepted is a time`, `silence 2: until_recovered is not a field`,
		},
	} {
		_, err := applier.Read([]byte(file), func(string) (string, bool) { return "", false })
		requireProblems(t, err, want...)
	}
}

func TestNoProblemHasASecret(t *testing.T) {
	s := newSystem(t)
	s.env["SLACK_TOKEN"] = "very-secret\x01"
	_, _, err := s.apply(whole, applier.Options{})
	if err == nil || strings.Contains(err.Error(), "very-secret") {
		t.Errorf("the error is %v", err)
	}
	_, err = applier.Read([]byte("owner: x\ndestinations: [{name: a, kind: discord, secrets: [very-secret]}]\n"), s.lookup)
	if err == nil || strings.Contains(err.Error(), "very-secret") {
		t.Errorf("the error is %v", err)
	}
}

func TestASilenceThatSomebodyEndedComesBack(t *testing.T) {
	s := newSystem(t)
	s.expect(whole, applier.Options{}, created, "9 changes made")
	silences, err := s.store.Silences(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, silence := range silences {
		if _, err := s.store.EndSilence(t.Context(), silence.ID); err != nil {
			t.Fatal(err)
		}
	}
	s.expect(whole, applier.Options{}, "+ silence \"maintenance\"\n+ silence \"move\"", "2 changes made")
	over := strings.Replace(whole, "2999-", "2026-11-23T11:00:00Z\" # ", 1)
	over = strings.Replace(over, "# 01-01T00:00:00Z\"", "", 1)
	s.expect(over, applier.Options{}, "", "nothing to change")
}

func TestAFailureSaysHowFarItCame(t *testing.T) {
	s := newSystem(t)
	s.store.Exec(t, `ALTER TABLE routes ADD CONSTRAINT refused CHECK (is_default)`)
	if _, _, err := s.apply(whole, applier.Options{}); err == nil || !strings.HasPrefix(err.Error(), `route "night": 3 of 9 changes were made before this`) {
		t.Errorf("the error is %v", err)
	}
	s.store.Exec(t, `ALTER TABLE routes DROP CONSTRAINT refused`)
	if _, said, err := s.apply(whole, applier.Options{}); err != nil || !strings.HasSuffix(said, "6 changes made\n") {
		t.Errorf("after the failure: %v, %s", err, said)
	}
}

// TestTheExamplesOfTheDocumentationCanBeApplied applies every YAML block of the pages.
func TestTheExamplesOfTheDocumentationCanBeApplied(t *testing.T) {
	var blocks [][][]byte
	for _, name := range []string{"notifications.md", "as-code.md"} {
		page, err := os.ReadFile("../../../../docs/operations/" + name)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)...)
	}
	if len(blocks) < 2 {
		t.Error("a page has no file")
	}
	for _, block := range blocks {
		f, err := applier.Read(block[1], func(name string) (string, bool) { return "https://example.com/" + strings.ToLower(name), true })
		if err != nil {
			t.Errorf("%v in\n%s", err, block[1])
			continue
		}
		if err := applier.Apply(t.Context(), newSystem(t).calls, f, applier.Options{}, io.Discard, io.Discard); err != nil {
			t.Errorf("%v in\n%s", err, block[1])
		}
	}
}

// evening is a file with streams: two in need of a route, one with a callback, and a channel.
const evening = `
owner: ops/evening.yaml
destinations:
  - {name: operations, kind: slack, config: {channel: C1}, secrets: {bot_token: "${SLACK_TOKEN}"}}
routes:
  - {default: true, destinations: [operations]}
channels:
  - {channel: "@example", callback_url: null, config: {preset: talk}, labels: {team: 7}}
monitors:
  - stream_url: https://youtu.be/AAAAAAAAAAA
    callback_url: null
    labels: {team: a}
    metadata: {channel_name: 朝}
  - stream_url: https://www.youtube.com/watch?v=BBBBBBBBBBB
    callback_url: "https://example.com/hook?token=${HOOK_TOKEN}"
    config: {blackout_threshold_sec: 20, detectors: {freeze: {}}}
  - {stream_url: "hls+https://live.example.com/a", callback_url: null, config: {http_headers: {authorization: "Bearer ${SLACK_TOKEN}"}}}
`

const eveningMade = `
+ destination "operations"
~ default route: destinations, owner
+ channel "https://www.youtube.com/@example"
+ monitor "https://www.youtube.com/watch?v=AAAAAAAAAAA"
+ monitor "https://www.youtube.com/watch?v=BBBBBBBBBBB"
+ monitor "hls+https://live.example.com/a"`

func newEvening(t *testing.T) *system {
	t.Helper()
	s := newSystem(t)
	s.env["HOOK_TOKEN"] = "hook-1"
	s.expect(evening, applier.Options{DryRun: true}, eveningMade, "dry run: 6 changes would be made; nothing was stored")
	s.expect(evening, applier.Options{}, eveningMade, "6 changes made")
	s.expect(evening, applier.Options{Prune: true}, "", "nothing to change")
	return s
}

func TestStreamsAreMadeAndChangedAsAFileHasThem(t *testing.T) { // section 19.8
	s := newEvening(t)
	s.env["HOOK_TOKEN"] = "hook-2"
	changed := strings.NewReplacer("{team: a}", "{show: night}", "blackout_threshold_sec: 20, ", "", "preset: talk", "preset: music", "team: 7", "team: 8").Replace(evening)
	got, _, err := s.apply(changed, applier.Options{DryRun: true})
	if err != nil || !strings.Contains(got, `config.preset talk → music`) || !strings.Contains(got, `labels.team 7 → 8`) {
		t.Errorf("the channel: %s, %v", got, err)
	}
	const monitors = `
~ monitor "https://www.youtube.com/watch?v=AAAAAAAAAAA": labels.show none → night, labels.team a → none
~ monitor "https://www.youtube.com/watch?v=BBBBBBBBBBB": callback_url, config.blackout_threshold_sec 20 → 30
`
	if said := got[max(0, strings.Index(got, "~ monitor")):]; strings.TrimSpace(said) != strings.TrimSpace(monitors) || strings.Contains(got, "hook") {
		t.Errorf("the monitors: %s, want %s", said, monitors)
	}
	if _, _, err := s.apply(changed, applier.Options{}); err != nil {
		t.Fatal(err)
	}
	s.expect(changed, applier.Options{}, "", "nothing to change")
}

func TestASecretThatAFileLeavesOutStaysAlsoIfNoKeyDecryptsIt(t *testing.T) { // section 19.8
	s := newEvening(t)
	without := strings.Replace(evening, `, config: {http_headers: {authorization: "Bearer ${SLACK_TOKEN}"}}`, "", 1)
	without = strings.Replace(without, `    callback_url: "https://example.com/hook?token=${HOOK_TOKEN}"`+"\n", "", 1)
	s.expect(without, applier.Options{}, "", "nothing to change")
	s.store.Exec(t, `UPDATE monitors SET stream_secret = 'x' WHERE stream_url LIKE 'hls+%'`)
	s.expect(without, applier.Options{}, "", "nothing to change")
}

func TestStreamsOfAFileAreStoppedOnlyIfThatIsMeant(t *testing.T) { // section 19.8
	s := newEvening(t)
	s.create("/monitors", `{"stream_url": "https://youtu.be/CCCCCCCCCCC", "callback_url": null}`)
	without, _, _ := strings.Cut(evening, "channels:")
	few := without + "monitors:\n  - {stream_url: https://youtu.be/AAAAAAAAAAA, labels: {team: a}, metadata: {channel_name: 朝}}\n"
	s.expect(few, applier.Options{}, "", "nothing to change")
	const lines = `
- channel "https://www.youtube.com/@example"
- monitor "https://www.youtube.com/watch?v=BBBBBBBBBBB"
- monitor "hls+https://live.example.com/a"`
	s.expect(few, applier.Options{Prune: true, DryRun: true}, lines, "dry run: 3 changes would be made; nothing was stored")
	if _, _, err := s.apply(few, applier.Options{Prune: true}); err == nil || !strings.Contains(err.Error(), "3 of 3 changes end a watch") {
		t.Errorf("without yes: %v", err)
	}
	s.expect(few, applier.Options{Prune: true, DryRun: true}, lines, "dry run: 3 changes would be made; nothing was stored")
	s.expect(few, applier.Options{Prune: true, Yes: true}, lines, "3 changes made")
	// The file gets them back, and registers them again.
	s.expect(evening, applier.Options{}, `
+ channel "https://www.youtube.com/@example"
+ monitor "https://www.youtube.com/watch?v=BBBBBBBBBBB"
+ monitor "hls+https://live.example.com/a"`, "3 changes made")
}

func TestPruneStopsLaterWhatItCouldNotStop(t *testing.T) { // section 19.8
	s := newEvening(t)
	for removed, table := range map[string]string{"channels:\n  - {channel": "channels", `  - {stream_url: "hls`: "monitors"} {
		before, line, _ := strings.Cut(evening, removed)
		_, after, _ := strings.Cut(line, "\n")
		end := map[string]string{"channels": "stopped_at", "monitors": "ended_at"}[table]
		s.store.Exec(t, `ALTER TABLE `+table+` ADD CONSTRAINT refused CHECK (`+end+` IS NULL) NOT VALID`)
		_, _, err := s.apply(before+after, applier.Options{Prune: true, Yes: true})
		if err == nil || !strings.Contains(err.Error(), "0 of 1 changes were made before this") {
			t.Errorf("%s: %v", table, err)
		}
		s.store.Exec(t, `ALTER TABLE `+table+` DROP CONSTRAINT refused`)
		_, said, err := s.apply(before+after, applier.Options{Prune: true, Yes: true})
		if err != nil || !strings.HasSuffix(said, "1 changes made\n") {
			t.Errorf("the next run of %s: %v, %s", table, err, said)
		}
		s.expect(evening, applier.Options{}, "+ "+strings.TrimSuffix(table, "s")+map[string]string{"channels": ` "https://www.youtube.com/@example"`, "monitors": ` "hls+https://live.example.com/a"`}[table], "1 changes made")
	}
}

func TestPruneLeavesAChannelThatTheFileNamesByAnotherAddress(t *testing.T) { // section 19.8
	s := newSystem(t)
	const byHandle = `
owner: ops/evening.yaml
channels: [{channel: "@example", callback_url: https://example.com/hook}]`
	s.expect(byHandle, applier.Options{}, `+ channel "https://www.youtube.com/@example"`, "1 changes made")
	s.store.Exec(t, `UPDATE channels SET source_id = 'UC0123456789012345678901'`)
	byID := strings.Replace(byHandle, "@example", "https://www.youtube.com/channel/UC0123456789012345678901", 1)
	prune := applier.Options{Prune: true, Yes: true}
	s.expect(byID, prune, "", "nothing to change")
	// So it is if the dry run refuses the change, because the routes for it are made by the same run.
	_, routes, _ := strings.Cut(evening, "destinations:")
	routes, _, _ = strings.Cut(routes, "channels:")
	s.expect(strings.Replace(byID, "https://example.com/hook", "null", 1)+"\ndestinations:"+routes, prune, `
+ destination "operations"
~ default route: destinations, owner
~ channel "https://www.youtube.com/channel/UC0123456789012345678901"`, "3 changes made")
}

func TestWhatHasEndedIsNotRegisteredAgain(t *testing.T) { // section 19.8
	s := newEvening(t)
	s.end("AAAAAAAAAAA")
	s.env["HOOK_TOKEN"] = "hook-2"
	_, said, err := s.apply(evening, applier.Options{DryRun: true})
	if err != nil || !strings.HasPrefix(said, "1 that ops/evening.yaml has kept have ended, and are not registered again: monitor \"https://www.youtube.com/watch?v=AAAAAAAAAAA\"\n") {
		t.Errorf("%s, %v", said, err)
	}
	later := strings.Replace(evening, "    labels: {team: a}", "    config: {scheduled_start_time: 2999-01-01T00:00:00Z}", 1)
	s.env["HOOK_TOKEN"] = "hook-1"
	s.expect(later, applier.Options{}, `+ monitor "https://www.youtube.com/watch?v=AAAAAAAAAAA"`, "1 changes made")
	s.end("AAAAAAAAAAA") // before its start
	for _, start := range []string{"2999-01-01", "2020-01-01"} {
		s.expect(strings.Replace(later, "2999-01-01", start, 1), applier.Options{}, "", "nothing to change")
	}
	s.expect(strings.Replace(later, "2999-01-01", "2999-01-02", 1), applier.Options{}, `+ monitor "https://www.youtube.com/watch?v=AAAAAAAAAAA"`, "1 changes made")
}

// end stops the monitor whose stream URL has a text, as a person does.
func (s *system) end(text string) {
	s.t.Helper()
	var page struct {
		Monitors []struct {
			ID string `json:"monitor_id"`
		}
	}
	err := s.calls.Call(s.t.Context(), "GET", "/api/v1/monitors?active=true&q="+text, nil, &page)
	if err == nil {
		err = s.calls.Call(s.t.Context(), "DELETE", "/api/v1/monitors/"+page.Monitors[0].ID, nil, nil)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestStreamsThatNoFileKeepsAreAdoptedOnDemand(t *testing.T) { // section 19.8
	s := newSystem(t)
	s.env["HOOK_TOKEN"] = "hook-1"
	s.create("/monitors", `{"stream_url": "https://youtu.be/BBBBBBBBBBB", "callback_url": "https://example.com/hook?token=hook-1"}`)
	s.create("/channels", `{"channel": "@Example", "callback_url": "https://example.com/"}`)
	_, _, err := s.apply(evening, applier.Options{})
	requireProblems(t, err, `channel "https://www.youtube.com/@example": owner is that of no file`, `monitor "https://www.youtube.com/watch?v=BBBBBBBBBBB": owner is that of no file`)
	got, _, err := s.apply(evening, applier.Options{Adopt: true})
	if err != nil || !strings.Contains(got, "watch?v=BBBBBBBBBBB\":\n    config.blackout_threshold_sec 30 → 20\n    config.detectors.freeze.threshold_sec none → 30\n    owner none → ops/evening.yaml\n") {
		t.Errorf("%s, %v", got, err)
	}
	_, _, err = s.apply("owner: other.yaml\nmonitors: [{stream_url: https://youtu.be/BBBBBBBBBBB}]", applier.Options{Adopt: true})
	requireProblems(t, err, `monitor "https://www.youtube.com/watch?v=BBBBBBBBBBB": owner is "ops/evening.yaml"`)
}

func TestWrongStreamsOfAFileAreNamedBeforeAnythingIsChanged(t *testing.T) { // section 19.8
	s := newSystem(t)
	_, _, err := s.apply(evening, applier.Options{})
	requireProblems(t, err, `monitor "https://www.youtube.com/watch?v=BBBBBBBBBBB": callback_url: the environment has no HOOK_TOKEN`)
	s.env["HOOK_TOKEN"] = "hook-1"
	wrong := strings.NewReplacer("detectors: {freeze: {}}", "colour: red", "{team: a}", "{Team: a}").Replace(evening)
	before := s.store.RoutingVersion(t)
	_, _, err = s.apply(wrong, applier.Options{})
	requireProblems(t, err, `monitor "https://www.youtube.com/watch?v=AAAAAAAAAAA": labels`, `monitor "https://www.youtube.com/watch?v=BBBBBBBBBBB": config."colour" is not a field`)
	if s.store.RoutingVersion(t) != before {
		t.Error("a refused file has changed something")
	}
	_, err = applier.Read([]byte("owner: x\nmonitors: [7, {callback_url: null}, {stream_url: https://youtu.be/AAAAAAAAAAA}, {stream_url: \"https://www.youtube.com/watch?v=AAAAAAAAAAA\"}]\nchannels: [{channel: x y}]"), s.lookup)
	requireProblems(t, err, `monitor 1: accepted are fields`, `monitor 2: stream_url`, `monitor "https://www.youtube.com/watch?v=AAAAAAAAAAA" is there twice`, `channel "x y": channel`)
}

func TestWhatIsExportedIsAppliedWithoutAChange(t *testing.T) { // section 19.8
	s := newSystem(t)
	s.env["HOOK_TOKEN"] = "hook-1"
	s.expect(whole, applier.Options{}, created, "9 changes made")
	_, streams, _ := strings.Cut(evening, "channels:")
	if _, _, err := s.apply("owner: ops/notifications.yaml\nchannels:"+streams, applier.Options{}); err != nil {
		t.Fatal(err)
	}
	s.create("/destinations", `{"name": "other", "kind": "discord", "secrets": {"webhook_url": "https://discord.example/x"}, "owner": "other.yaml"}`)
	s.create("/destinations", `{"name": "by hand", "kind": "discord", "secrets": {"webhook_url": "https://discord.example/x"}, "enabled": false}`)
	s.create("/routes", `{"name": "by hand", "match": {"labels": {"team": "a"}}, "windows": [{"weekdays": ["mon"], "start": "02:00", "end": "04:00", "timezone": "Asia/Tokyo"}], "repeat_sec": 600}`)
	s.create("/silences", `{"match": {}, "to": "2999-01-01T00:00:00Z", "by": "ann"}`)
	s.create("/monitors", `{"stream_url": "https://youtu.be/DDDDDDDDDDD", "callback_url": null, "config": {"preset": "music", "silence_threshold_sec": 20, "scheduled_start_time": "2999-01-01T00:00:00Z", "detectors": {"freeze": null}}}`)
	var file, said bytes.Buffer
	if err := applier.Export(t.Context(), s.calls, "ops/notifications.yaml", &file, &said); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"xoxb", "hook-1", "Bearer", "discord.example"} {
		if strings.Contains(file.String(), secret) {
			t.Errorf("the file has the secret %s:\n%s", secret, file.String())
		}
	}
	if want := "left out: 1 destinations that other files keep\nleft out: 1 silences without a comment of their own, or until a recovery\n"; !strings.HasSuffix(said.String(), want) {
		t.Errorf("said is %s, want %s", said.String(), want)
	}
	clear(s.env) // no secret is needed
	got, _, err := s.apply(file.String(), applier.Options{Adopt: true})
	const adopted = `
~ destination "by hand": owner
~ route "by hand": owner
~ monitor "https://www.youtube.com/watch?v=DDDDDDDDDDD": owner none → ops/notifications.yaml`
	if err != nil || strings.TrimSpace(got) != strings.TrimSpace(adopted) {
		t.Errorf("applied to the same gateway: %s, %v\n%s", got, err, file.String())
	}
	s.expect(file.String(), applier.Options{Prune: true}, "", "nothing to change")
	var again bytes.Buffer
	if err := applier.Export(t.Context(), s.calls, "ops/notifications.yaml", &again, io.Discard); err != nil || again.String() != file.String() {
		t.Errorf("exported again: %v\n%s", err, again.String())
	}
}

func TestAnExportIsAppliedToAnotherGateway(t *testing.T) { // section 19.8
	s, other := newEvening(t), newSystem(t)
	other.env["HOOK_TOKEN"] = "hook-1"
	exported := func(of *system) string {
		var file bytes.Buffer
		if err := applier.Export(t.Context(), of.calls, "ops/evening.yaml", &file, io.Discard); err != nil {
			t.Fatal(err)
		}
		return file.String()
	}
	file := exported(s)
	_, _, err := other.apply(file, applier.Options{})
	requireProblems(t, err, `destination "operations": secrets.bot_token is null, which keeps what is stored, but nothing is; give it a value`)
	withToken := strings.Replace(file, "bot_token: null", "bot_token: ${SLACK_TOKEN}", 1)
	_, _, err = other.apply(withToken, applier.Options{})
	requireProblems(t, err, `monitor "https://www.youtube.com/watch?v=BBBBBBBBBBB": callback_url: is missing`,
		`monitor "hls+https://live.example.com/a": config.http_headers has no value for authorization, and none is stored`)
	whole := strings.NewReplacer(
		"watch?v=BBBBBBBBBBB\n", "watch?v=BBBBBBBBBBB\n    callback_url: https://example.com/hook?token=${HOOK_TOKEN}\n",
		"authorization: null", "authorization: Bearer ${SLACK_TOKEN}",
	).Replace(withToken)
	other.expect(whole, applier.Options{}, eveningMade, "6 changes made")
	other.expect(whole, applier.Options{Prune: true}, "", "nothing to change")
	if got := exported(other); got != file {
		t.Errorf("the other gateway exports\n%s, want\n%s", got, file)
	}
}
