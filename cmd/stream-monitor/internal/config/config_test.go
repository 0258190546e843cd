package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// clearEnvironment removes every setting from the environment of one test.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, env := range Variables() {
		t.Setenv(env, "")
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("XDG_DATA_HOME", t.TempDir())
}

func mustParse(t *testing.T, args ...string) *CLI {
	t.Helper()
	cli, _, err := parse(args, &bytes.Buffer{})
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return cli
}

// mustRefuse parses an invalid command line and returns its problems.
func mustRefuse(t *testing.T, args ...string) []string {
	t.Helper()
	_, _, err := parse(args, &bytes.Buffer{})
	var usage *UsageError
	if !errors.As(err, &usage) {
		t.Fatalf("%q: error is %v, want a usage error", args, err)
	}
	return usage.Problems
}

func TestADashNamesTheStandardInput(t *testing.T) { // section 19.8
	clearEnvironment(t)
	if from := mustParse(t, "apply", "-f", "-").Apply.File; from != "-" {
		t.Errorf("apply reads %q", from)
	}
	if from := mustParse(t, "import", "-").Import.File; from != "-" {
		t.Errorf("import reads %q", from)
	}
}

func TestUnsetSettingsHaveTheirDefaults(t *testing.T) {
	clearEnvironment(t)
	serve := mustParse(t, "serve").Serve
	if serve.ListenAddr != ":8080" || serve.InternalListenAddr != ":8081" || serve.MaxMonitors != 50 ||
		serve.WorkerRuntime != "process" || serve.MissingWorkerPolicy() != supervisor.Relaunch ||
		serve.GatewayReconcileTimeout != 30*time.Second || serve.ScheduleLeadTime != 10*time.Minute ||
		serve.EventRetention != 90*24*time.Hour || serve.Watching.StreamRendition != "smallest" || serve.Log.LogLevel != "info" {
		t.Errorf("serve has %+v", serve)
	}
	if serve.Database.HasExternalDatabase() {
		t.Error("production without DB_DSN")
	}
	for _, c := range []struct{ data, home, want string }{
		{"/data", "/home/ops", "/data/stream-monitor"},
		{"", "/home/ops", "/home/ops/.local/share/stream-monitor"},
		{"", "", "/var/lib/stream-monitor"}, // of a service
	} {
		t.Setenv("XDG_DATA_HOME", c.data)
		t.Setenv("HOME", c.home)
		if got := mustParse(t, "serve").Serve.Database.DataDir; got != c.want {
			t.Errorf("data directory is %s, want %s", got, c.want)
		}
	}
	t.Run("a watch has the rules of a registration that says nothing", func(t *testing.T) {
		got := mustParse(t, "watch", "https://youtube.com/watch?v=abcdefghijk&t=1").Watch
		if got.Config() != monitor.DefaultConfig() {
			t.Errorf("rules are %+v", got.Config())
		}
		if got.URL != "https://youtube.com/watch?v=abcdefghijk&t=1" {
			t.Errorf("URL is %s", got.URL)
		}
	})
}

func TestEverySettingIsExplainedAndHasAFlagOfItsName(t *testing.T) {
	k, err := kong.New(newCLI(), append(newSettingMapper().options(), kong.Vars{"data_dir": "/data", "runtime": RuntimeProcess})...)
	if err != nil {
		t.Fatal(err)
	}
	variables := Variables()
	for _, command := range k.Model.Children {
		for _, flag := range command.Flags {
			if flag.Help == "" {
				t.Errorf("%s --%s has no help", command.Name, flag.Name)
			}
			if _, known := parsers[flag.Tag.Type]; !known && flag.Tag.Type != "" {
				t.Errorf("%s --%s has the type %q, which nothing parses", command.Name, flag.Name, flag.Tag.Type)
			}
			if len(flag.Envs) == 0 {
				continue
			}
			if !slices.Contains(variables, flag.Envs[0]) {
				t.Errorf("%s is not known as a variable", flag.Envs[0])
			}
			if name := strings.ToLower(strings.ReplaceAll(flag.Envs[0], "_", "-")); name != flag.Name {
				t.Errorf("%s: the flag of %s is --%s, want --%s", command.Name, flag.Envs[0], flag.Name, name)
			}
		}
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("API_KEY", "do-not-show")
	for _, command := range []string{"", "serve", "worker", "watch", "replay", "migrate", "doctor", "uninstall", "version"} {
		t.Run("help of "+command+" is shown and ends well", func(t *testing.T) {
			var out bytes.Buffer
			_, _, err := parse(strings.Fields(command+" --help"), &out)
			if !errors.Is(err, ErrHelpShown) {
				t.Fatalf("error is %v", err)
			}
			if !strings.HasPrefix(out.String(), "Usage: stream-monitor "+command) {
				t.Errorf("help is %s", &out)
			}
			if strings.Contains(out.String(), "do-not-show") {
				t.Error("help shows a key")
			}
		})
	}
}

func TestAWrongCommandLineIsExplained(t *testing.T) {
	clearEnvironment(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing at all":          {nil, `expected one of`},
		"an unknown command":      {[]string{"sevre"}, `sevre`},
		"an unknown flag":         {[]string{"serve", "--listen"}, `unknown flag --listen`},
		"a flag with no value":    {[]string{"serve", "--max-monitors"}, `--max-monitors`},
		"a replay without a file": {[]string{"replay"}, `record one with: stream-monitor watch --record FILE URL; then: stream-monitor replay FILE`},
		"a watch without a URL":   {[]string{"watch"}, `the URL of the stream is missing, such as: stream-monitor watch https://www.youtube.com/watch?v=`},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustRefuse(t, c.args...)
			if !strings.Contains(got[0], c.want) || !strings.Contains(got[1], "--help") {
				t.Errorf("says %q", got)
			}
		})
	}
}

func TestEachSettingAcceptsOnlyItsRange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for env, c := range map[string]struct {
		good []string
		bad  []string
		says string
	}{
		"LOG_LEVEL":                 {[]string{"debug", "error"}, []string{"loud", "INFO"}, `accepted are debug, info, warn, error`},
		"MAX_MONITORS":              {[]string{"1", "10000"}, []string{"0", "10001", "-1", "many", "1.5"}, `accepted is a whole number from 1 to 10000`},
		"RATE_LIMIT_CREATE_PER_MIN": {[]string{"0", "10"}, []string{"-1", "60000001", "ten", "0.5"}, `accepted is a whole number from 0 to 60000000`},
		"RATE_LIMIT_QUERY_PER_MIN":  {[]string{"0", "100"}, []string{"-1", "60000001", "1/s"}, `accepted is a whole number from 0 to 60000000`},
		"DRAIN_TIME":                {[]string{"0s", "35", "5m"}, []string{"-1s", "6m", "soon"}, `accepted is a duration from 0s to 5m`},
		"WORKER_RUNTIME":            {[]string{"process", "inline"}, []string{"docker"}, `accepted are kubernetes, process, inline`},
		"MISSING_WORKER":            {[]string{"relaunch", "error"}, []string{"ignore"}, `accepted are relaunch, error`},
		"WORKER_NAMESPACE":          {[]string{"stream-monitor", "a"}, []string{"Stream", "a.b", "-a", "a-", strings.Repeat("a", 64)}, `accepted are 1 to 63 small letters`},
		"WORKER_SECRET":             {[]string{"keys", "keys.v1", strings.Repeat("a", 253)}, []string{"Keys", "a/b", ".a", "a-", "a_b"}, `accepted are 1 to 253 small letters`},
		"WORKER_IMAGE":              {[]string{"stream-monitor:1.2", "registry.example:5000/a/b@sha256:abc"}, []string{"a b", ":tag", "-x"}, `accepted is [REGISTRY/]NAME[:TAG][@DIGEST]`},
		"YTDLP_PLAYER_CLIENTS":      {[]string{"web", "visionos, web", "default,-tv_simply"}, []string{"web;formats=incomplete", "web,,ios", "web safari", "Web"}, `accepted are names of clients of yt-dlp`},
		"YTDLP_PO_TOKEN_URL":        {[]string{"http://127.0.0.1:4416", "https://tokens.example/"}, []string{"127.0.0.1:4416", "http://u:p@host:1", "http://host:1/a;b=c", "http://host:1/a,b"}, `accepted is http(s)://HOST[:PORT], without`},
		"YTDLP_JS_RUNTIME":          {[]string{"deno", "node:/usr/bin/node", "quickjs", "bun"}, []string{"v8", "node:", "node:bin/node", "--x"}, `accepted are deno, node, bun and quickjs`},
		"STREAM_RENDITION":          {[]string{"smallest", "best"}, []string{"worst"}, `accepted are smallest, best`},
		"LISTEN_ADDR":               {[]string{":80", "127.0.0.1:0", "[::1]:8080", "host:1"}, []string{"8080", "host", ":65536", ":http", "http://x:80"}, `accepted is [HOST]:PORT`},
		"SCHEDULE_LEAD_TIME":        {[]string{"0s", "600", "1d", "1h30m"}, []string{"25h", "-1s", "soon", "2d"}, `accepted is a duration from 0s to 1d`},
		"GATEWAY_RECONCILE_TIMEOUT": {[]string{"30", "1s", "10m"}, []string{"0", "11m"}, `accepted is a duration from 1s to 10m`},
		"HISTORY_RETENTION":         {[]string{"1h", "35d", "36500d"}, []string{"59m", "36501d"}, `accepted is a duration from 1h`},
		"FEED_RETENTION":            {[]string{"1h", "72h", "36500d"}, []string{"59m", "36501d"}, `accepted is a duration from 1h`},
		"EVENT_RETENTION":           {[]string{"1h", "90d", "36500d"}, []string{"1m", "36501d", "9999999999999d"}, `accepted is a duration from 1h`},
		"EVIDENCE_STORE": {
			[]string{"postgres", "dir:/var/lib/evidence"},
			[]string{"dir:evidence", "dir:", "s3://", "s3://A", "s3://ab", "s3://bucket/a b", "s3://bucket//a", "mongodb", "/var/lib/evidence"}, `accepted are postgres, dir:/PATH`,
		},
		"EVIDENCE_RETENTION":            {[]string{"1h", "14d", "36500d"}, []string{"1m", "36501d"}, `accepted is a duration from 1h`},
		"EVIDENCE_QUARANTINE_RETENTION": {[]string{"1h", "60d"}, []string{"0"}, `accepted is a duration from 1h`},
		"EVIDENCE_S3_ENDPOINT":          {[]string{"http://127.0.0.1:9000", "https://minio.example.com"}, []string{"minio:9000", "ftp://x"}, `accepted is http(s)://HOST[:PORT]`},
		"PUBLIC_URL":                    {[]string{"https://monitor.example.com", "http://h:8080/stream-monitor/"}, []string{"monitor.example.com", "https://h?x=1"}, `accepted is http(s)://HOST[:PORT]`},
		"TWITCH_EVENTSUB_URL":           {nil, []string{"monitor.example.com", "https://h?x=1"}, `accepted is http(s)://HOST[:PORT]`},
		"EVIDENCE_LINK_KEY":             {[]string{"0123456789abcdef", "0123456789abcdef, fedcba9876543210"}, []string{"hunter2", "hunter2,0123456789abcdef", "hunter2 hunter2 hunter2"}, `accepted are 1 to 4 keys`},
		"SECRETS_KEY":                   {[]string{"0123456789abcdef", "0123456789abcdef, fedcba9876543210"}, []string{"hunter2", "hunter2,0123456789abcdef", "hunter2 hunter2 hunter2"}, `accepted are 1 to 4 keys`},
		"MEDIA_ALLOWED_NETWORKS":        {[]string{"10.0.0.0/8", "10.1.2.3, fd00::/8"}, []string{"10.0.0.0/33", "example.com", "10.0.0.0/8,"}, `accepted are CIDRs`},
		"CALLBACK_ALLOWED_NETWORKS":     {[]string{"10.0.0.0/8", "10.1.2.3, fd00::/8"}, []string{"10.0.0.0/33", "example.com", "10.0.0.0/8,"}, `accepted are CIDRs`},
		"TRUSTED_PROXIES":               {[]string{"::1"}, []string{"proxy"}, `accepted are CIDRs`},
		"TLS_CERT_FILE":                 {nil, []string{"/nowhere/at/all", os.TempDir()}, `accepted is a file that can be read`},
		"HTTPS_PROXY":                   {[]string{"http://p:3128", "socks5://u:p@h:1"}, []string{"p:3128", "ftp://p", "http://"}, `accepted is http://[USER:PASSWORD@]HOST:PORT`},
		"EGRESS_PROXIES":                {[]string{"direct", "http://p:3128, socks5://u:p@h:1,direct"}, []string{"p:3128", "direct,", "http://h:1,http://u:hunter2@/"}, `accepted is http://[USER:PASSWORD@]HOST:PORT`},
		"EGRESS_QUESTIONS_PER_HOUR":     {[]string{"0", "600"}, []string{"-1", "many"}, `accepted is a whole number from 0 to 1000000`},
		"DB_DSN":                        {nil, []string{"mysql://u:hunter2@h/d", "hunter2"}, `accepted is postgres://`},
		"API_KEY":                       {[]string{"sixteen-letters!"}, []string{"hunter2 x hunter2", "hunter2hunter2hu\n", "hunter2hunter2hé"}, `accepted are ASCII letters`},
		"INTERNAL_API_KEY":              {[]string{"sixteen-letters!"}, []string{"hunter2", "hunter2-hunter2"}, `accepted are 16 characters or more`},
		"WEBHOOK_SIGNING_KEY":           {[]string{"one", "one,two", "one, two"}, []string{"hunter2,", ",hunter2", "hunter2,b,c", "hunter2 x"}, `accepted are one or two keys`},
	} {
		t.Run(env, func(t *testing.T) {
			flag := "--" + strings.ToLower(strings.ReplaceAll(env, "_", "-"))
			for _, value := range c.good {
				clearEnvironment(t)
				t.Setenv(env, value)
				mustParse(t, "serve")
				t.Setenv(env, c.bad[0])
				mustParse(t, "serve", flag+"="+value) // the flag wins
			}
			for _, value := range c.bad {
				clearEnvironment(t)
				for how, args := range map[string][]string{"environment": {"serve"}, "flag": {"serve", flag + "=" + value}} {
					t.Setenv(env, "")
					if how == "environment" {
						t.Setenv(env, value)
					}
					got := mustRefuse(t, args...)
					if len(got) != 1 || !strings.HasPrefix(got[0], env+" ("+flag+") is ") || !strings.Contains(got[0], c.says) {
						t.Errorf("%q by %s: says %q", value, how, got)
					}
					if secret := strings.Contains(value, "hunter2"); !secret && !strings.Contains(got[0], `"`+value+`"`) && !strings.HasSuffix(env, "_PROXY") && env != "EGRESS_PROXIES" {
						t.Errorf("%q by %s is not named: %q", value, how, got)
					}
					if strings.Contains(strings.Join(got, ""), "hunter2") {
						t.Errorf("gives a secret away: %q", got)
					}
				}
			}
		})
	}
	t.Run("what a command does not read cannot stop it", func(t *testing.T) {
		clearEnvironment(t)
		t.Setenv("MAX_MONITORS", "many")
		mustParse(t, "version")
		mustParse(t, "watch", "https://www.youtube.com/watch?v=abcdefghijk")
	})
	t.Run("everything wrong is said at once", func(t *testing.T) {
		clearEnvironment(t)
		t.Setenv("MAX_MONITORS", "many")
		t.Setenv("LOG_LEVEL", "loud")
		t.Setenv("DB_DSN", "postgres://db/x")
		t.Setenv("API_KEY", "not good")
		t.Setenv("TLS_KEY_FILE", file)
		var names []string
		for _, p := range mustRefuse(t, "serve") {
			names = append(names, strings.Fields(p)[0])
		}
		slices.Sort(names)
		want := []string{"API_KEY", "INTERNAL_API_KEY", "LOG_LEVEL", "MAX_MONITORS", "TLS_CERT_FILE", "WEBHOOK_SIGNING_KEY"}
		if !slices.Equal(names, want) {
			t.Errorf("names %q, want %q", names, want)
		}
	})
}

// Each problem begins with the name of its setting.
func TestSettingsThatContradictEachOtherAreNamed(t *testing.T) {
	const secret = "hunter2-hunter2-hunter2"
	for name, c := range map[string]struct {
		args, want []string
		says       string // in every problem
	}{
		"an external database without keys":     {[]string{"serve", "--db-dsn=postgres://db/x"}, []string{"API_KEY", "WEBHOOK_SIGNING_KEY", "INTERNAL_API_KEY"}, "DB_DSN"},
		"pods without what they need":           {[]string{"serve", "--worker-runtime=kubernetes"}, []string{"WORKER_IMAGE", "WORKER_GATEWAY_URL", "INTERNAL_API_KEY"}, "WORKER_RUNTIME=kubernetes"},
		"one address for both APIs":             {[]string{"serve", "--listen-addr=:9", "--internal-listen-addr=:9"}, []string{"INTERNAL_LISTEN_ADDR"}, "another address"},
		"one key for both APIs (section 8.6)":   {[]string{"serve", "--api-key=" + secret, "--internal-api-key=" + secret}, []string{"INTERNAL_API_KEY"}, "API_KEY (--api-key)"},
		"a bucket without keys":                 {[]string{"serve", "--evidence-store=s3://evidence"}, []string{"EVIDENCE_S3_ACCESS_KEY", "EVIDENCE_S3_SECRET_KEY"}, "s3://evidence"},
		"an endpoint of opinions without a key": {[]string{"serve", "--second-opinion-url=https://opinions.example"}, []string{"SECOND_OPINION_KEY"}, "SECOND_OPINION_URL"},
		"pushes of Twitch to clear text":        {[]string{"serve", "--twitch-client-id=a", "--twitch-client-secret=b", "--twitch-eventsub-url=http://monitor.example"}, []string{"TWITCH_EVENTSUB_URL"}, "accepted is https://HOST on port 443"},
		"pushes of Twitch to another port":      {[]string{"serve", "--twitch-client-id=a", "--twitch-client-secret=b", "--twitch-eventsub-url=https://monitor.example:8443"}, []string{"TWITCH_EVENTSUB_URL"}, "accepted is https://HOST on port 443"},
		"pushes of Twitch to no application":    {[]string{"serve", "--twitch-eventsub-url=https://monitor.example"}, []string{"TWITCH_CLIENT_ID"}, "TWITCH_EVENTSUB_URL needs it"},
		"a worker without what it starts with":  {[]string{"worker"}, []string{"MONITOR_ID", "GENERATION", "GATEWAY_URL", "INTERNAL_API_KEY"}, "is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			clearEnvironment(t)
			var names []string
			for _, p := range mustRefuse(t, c.args...) {
				names = append(names, strings.Fields(p)[0])
				if !strings.Contains(p, c.says) || strings.Contains(p, secret) {
					t.Errorf("says %q", p)
				}
			}
			if !slices.Equal(names, c.want) {
				t.Errorf("names %q, want %q", names, c.want)
			}
		})
	}
	t.Run("ports that the system chooses differ", func(t *testing.T) {
		clearEnvironment(t)
		mustParse(t, "serve", "--listen-addr=127.0.0.1:0", "--internal-listen-addr=127.0.0.1:0")
	})
}

func TestNetworksAreShownAsCIDRs(t *testing.T) {
	clearEnvironment(t)
	if got := mustParse(t, "serve", "--trusted-proxies=10.1.2.3/8, 192.0.2.1").Serve.TrustedProxies.Strings(); !slices.Equal(got, []string{"10.0.0.0/8", "192.0.2.1/32"}) {
		t.Errorf("networks are %q", got)
	}
}

func TestABucketMayHaveAPrefix(t *testing.T) {
	clearEnvironment(t)
	for store, want := range map[string][2]string{
		"s3://evidence": {"evidence", ""}, "s3://my.bucket-1/a/b": {"my.bucket-1", "a/b"}, "s3://evidence/prod/": {"evidence", "prod"},
	} {
		serve := mustParse(t, "serve", "--evidence-store="+store, "--evidence-s3-access-key=a", "--evidence-s3-secret-key=b").Serve
		if bucket, prefix, is := serve.Evidence.Bucket(); bucket != want[0] || prefix != want[1] || !is {
			t.Errorf("%s: the bucket is %q, the prefix %q", store, bucket, prefix)
		}
	}
}

func TestAnExternalDatabaseRequiresAllKeys(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("DB_DSN", "postgres://db/monitor?sslmode=require")
	t.Run("with the keys it starts", func(t *testing.T) {
		t.Setenv("API_KEY", "an-api-key-for-tests")
		t.Setenv("WEBHOOK_SIGNING_KEY", "new,old")
		t.Setenv("INTERNAL_API_KEY", "an-internal-key-for-tests")
		serve := mustParse(t, "serve").Serve
		if !serve.Database.HasExternalDatabase() || !slices.Equal(serve.Keys.WebhookSigningKey, []string{"new", "old"}) {
			t.Errorf("has %+v", serve)
		}
	})
	t.Run("with a keys.json in DATA_DIR it starts", func(t *testing.T) {
		dir := t.TempDir()
		kept, _ := load(t, dir, KeyFlags{})
		serve := mustParse(t, "serve", "--data-dir="+dir).Serve
		if got, generated := load(t, serve.Database.DataDir, serve.Keys); generated || !reflect.DeepEqual(got, kept) {
			t.Errorf("the keys are %+v, want %+v", got, kept)
		}
	})
	t.Run("migrate needs none", func(t *testing.T) { mustParse(t, "migrate") })
}

func TestAWorkerGetsItsSettingsFromTheGateway(t *testing.T) {
	set := func(t *testing.T) {
		clearEnvironment(t)
		for env, value := range map[string]string{
			"MONITOR_ID":       "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d",
			"GENERATION":       "3",
			"GATEWAY_URL":      "http://127.0.0.1:8081/",
			"INTERNAL_API_KEY": "secret",
			"STREAM_URL":       "https://www.youtube.com/watch?v=abcdefghijk",
			"CALLBACK_URL":     "https://example.com/hook?x=1",
			"CONFIG_JSON":      `{"check_interval_sec":5,"something_new":1}`,
		} {
			t.Setenv(env, value)
		}
	}
	t.Run("reads what section 8.1 gives it", func(t *testing.T) {
		set(t)
		got := mustParse(t, "worker").Worker
		if got.MonitorID != "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d" || got.Generation != 3 || got.GatewayURL != "http://127.0.0.1:8081" ||
			got.InternalAPIKey != "secret" || got.StreamURL.ID() != "abcdefghijk" || got.CallbackURL != "https://example.com/hook?x=1" {
			t.Errorf("has %+v", got)
		}
		want := monitor.DefaultConfig()
		want.CheckIntervalSec = 5
		if got.ConfigJSON != want {
			t.Errorf("config is %+v, want %+v", got.ConfigJSON, want)
		}
	})
	for env, bad := range map[string]string{
		"MONITOR_ID": "mon-1", "GENERATION": "0", "GATEWAY_URL": "localhost:8081", "STREAM_URL": "https://youtu.be/abcdefghij",
		"CALLBACK_URL": "mailto:x", "CONFIG_JSON": `{"check_interval_sec":0}`,
	} {
		t.Run("refuses a bad "+env+", once", func(t *testing.T) {
			set(t)
			t.Setenv(env, bad)
			got := mustRefuse(t, "worker")
			if len(got) != 1 || !strings.HasPrefix(got[0], env+" (--") || !strings.Contains(got[0], "ccepted") && !strings.Contains(got[0], "xpected") {
				t.Errorf("says %q", got)
			}
		})
	}
}

func TestWatchHasTheRulesOfARegistration(t *testing.T) {
	const url = "https://www.youtube.com/watch?v=abcdefghijk"
	clearEnvironment(t)
	t.Run("takes every rule, a negative number too", func(t *testing.T) {
		detectortest.Only(t, detector.Blackout, detector.Silence)
		got := mustParse(t, "watch", url, "--check-interval-sec", "1", "--blackout-threshold-sec=2", "--silence-threshold-sec", "3",
			"--silence-db-threshold", "-60.5", "--scheduled-start-time", "2030-01-15T20:00:00.5+09:00", "--start-delay-tolerance-sec", "0",
			"--record", "x.jsonl", "--json", "--reference", "commands.go", "--reference=rules.go", "--cookies", "rules.go").Watch
		start := time.Date(2030, 1, 15, 11, 0, 0, 500e6, time.UTC)
		rules := got.Config()
		if rules.ScheduledStartTime == nil || !rules.ScheduledStartTime.Equal(start) {
			t.Errorf("start is %v, want %v", rules.ScheduledStartTime, start)
		}
		rules.ScheduledStartTime = nil
		want := monitor.Config{CheckIntervalSec: 1, OnCallbackFailure: monitor.EndMonitor}
		want.SetThresholdSec(detector.Blackout, 2)
		want.SetThresholdSec(detector.Silence, 3)
		want.Set(detector.SilenceDB, -60.5)
		if rules != want || !got.JSON || !filepath.IsAbs(got.Record) || len(got.Reference) != 2 || got.Cookies != "rules.go" {
			t.Errorf("has %+v", got)
		}
	})
	t.Run("says which URL is accepted", func(t *testing.T) {
		got := mustRefuse(t, "watch", "https://example.com/abcdefghijk")
		if !strings.HasPrefix(got[0], `URL is "https://example.com/abcdefghijk"; is not on`) || !strings.Contains(got[0], "https://www.youtube.com/watch?v=ID") {
			t.Errorf("says %q", got)
		}
	})
	t.Run("has the ranges of the domain, also of a third detector", func(t *testing.T) {
		detectortest.Add(t, detectortest.Imaginary)
		for _, setting := range monitor.Settings() {
			for _, value := range []float64{setting.Min - 1, setting.Min, setting.Max, setting.Max + 1} {
				flag := "--" + strings.ReplaceAll(setting.Field, "_", "-")
				cli, _, err := parse([]string{"watch", url, flag, detector.Format(value)}, &bytes.Buffer{})
				config := monitor.DefaultConfig()
				config.Set(setting.Field, value)
				if (err == nil) != (config.Valid() == nil) {
					t.Errorf("%s %v: %v here, %v in the domain", flag, value, err, config.Valid())
				}
				if err == nil && cli.Watch.Config() != config {
					t.Errorf("%s %v: has %+v", flag, value, cli.Watch.Config())
				}
			}
		}
	})
}

func TestWatchSwitchesOptionalDetectorsOn(t *testing.T) {
	clearEnvironment(t)
	detectortest.Add(t, detectortest.Optional)
	const url = "https://www.youtube.com/watch?v=abcdefghijk"
	want := monitor.DefaultConfig()
	if got := mustParse(t, "watch", url).Watch.Config(); got != want {
		t.Errorf("without the flag, has %+v", got)
	}
	want.SwitchOn("made_up")
	if got := mustParse(t, "watch", url, "--detectors=made_up").Watch.Config(); got != want {
		t.Errorf("switched on, has %+v", got)
	}
	want.Set("detectors.made_up.above_db", -12.5)
	want.SetThresholdSec("made_up", 9)
	if got := mustParse(t, "watch", url, "--detectors", "made_up:above_db=-12.5:threshold_sec=9").Watch.Config(); got != want {
		t.Errorf("with settings, has %+v", got)
	}
	for given, word := range map[string]string{
		"nothing":                 `there is no detector "nothing"; accepted is a list such as`,
		"made_up:level=1":         `made_up has "level=1"; accepted are threshold_sec=1 to 3600, above_db=-60 to 0`,
		"made_up:threshold_sec=0": `made_up has "threshold_sec=0"`,
		"made_up:above_db":        `made_up has "above_db"`,
	} {
		if got := mustRefuse(t, "watch", url, "--detectors", given); !strings.Contains(got[0], word) {
			t.Errorf("%s: says %q", given, got)
		}
	}
}
