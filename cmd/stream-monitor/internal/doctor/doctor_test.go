package doctor

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/tool"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/login"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // the tests start tools
)

// machine is a machine to examine. Its tools are shell scripts in a PATH of their
// own.
type machine struct {
	t          *testing.T
	settings   config.Doctor
	now        time.Time
	bin        string
	database   error         // nil: it answers
	clockAhead time.Duration // of the database
	jars       []cookiejars.Record
	channels   []channels.Listed
	cluster    error // of the check of rights; nil: pods may be run
	bucket     error // of writing to it; nil: it was written
	opinion    incident.Opinion
	dns        error // of every look-up
	openFiles  int
	missing    []string // of what confines tools
	video      watch.ProbeResult
	api        officialstate.Response // of the YouTube Data API
	oauth      officialstate.Response // of Google's token endpoint
	twitch     officialstate.Response // of the API of Twitch
	logins     []ingests.Login
	eventsub   eventsub.State
	launcher   error
}

// The output of healthy tools.
const (
	newYTDLP = `case "$*" in
*--version*) echo 2026.10.26 ;;
*--verbose*) echo "[debug] Optional libraries: certifi-2026.10.18, yt_dlp_ejs-0.8.0" >&2
	echo "[debug] JS runtimes: deno-2.9.8" >&2
	exit 2 ;;
esac`
	newStreamlink = `echo streamlink 8.6.3`
	newDecoder    = `echo segment-decoder 2 with libavcodec 61.19.101`
	newFFmpeg     = `case "$*" in
-version) echo "ffmpeg version 7.1.5-0+deb13u1 Copyright (c)"; echo configuration: x ;;
*) echo " T.. blackdetect       V->V       Detect"; echo " ... silencedetect     A->A       Detect"; echo " .S. signalstats       V->V       Statistics"; echo " .S. astats            A->A       Statistics" ;;
esac`
)

// prober gives one answer.
type prober watch.ProbeResult

func (p prober) Probe(context.Context, monitor.StreamURL) watch.ProbeResult {
	return watch.ProbeResult(p)
}

// healthy makes a machine that lacks nothing. It reaches YouTube through a proxy on
// loopback.
func healthy(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, now: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC), openFiles: 1 << 20, bin: t.TempDir(), cluster: errors.New("there is no cluster, and none is wanted"), video: watch.ProbeResult{Known: true}}
	t.Setenv("PATH", m.bin)
	t.Setenv("NO_PROXY", "")
	m.settings.MaxMonitors = 50
	m.settings.Watching.HTTPSProxy = "http://user:hunter2@" + listener(t).Addr().String()
	m.settings.Database.DataDir = t.TempDir()
	m.settings.Database.DBDSN = "postgres://app:hunter2@db.example/monitor?sslmode=require"
	m.settings.Keys = config.KeyFlags{APIKey: "hunter2a", WebhookSigningKey: webhook.Keys{"hunter2b"}, InternalAPIKey: "hunter2c"}
	m.tool("yt-dlp", newYTDLP)
	m.tool("streamlink", newStreamlink)
	m.tool("ffmpeg", newFFmpeg)
	m.tool("segment-decoder", newDecoder)
	return m
}

func (m *machine) tool(name, script string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// privatePostgres puts a server of version 98.3 into the machine's PATH, beside a database of a version.
func (m *machine) privatePostgres(version string) {
	m.t.Helper()
	m.settings.Database.DBDSN = ""
	m.tool("postgres", "echo 'postgres (PostgreSQL) 98.3 (Debian)'")
	m.tool("initdb", "")
	cluster := filepath.Join(m.settings.Database.DataDir, "postgres")
	if err := os.Mkdir(cluster, 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cluster, "PG_VERSION"), []byte(version+"\n"), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// ask names an endpoint of second opinions that answers so.
func (m *machine) ask(answer incident.Opinion) {
	m.settings.Opinion = config.OpinionFlags{SecondOpinionURL: "https://opinions.example", SecondOpinionKey: webhook.Keys{"hunter2d"}}
	m.opinion = answer
}

// askAPI sets a key of the YouTube Data API, which answers so.
func (m *machine) askAPI(answer officialstate.Response) {
	m.settings.YouTube.APIKey, m.api = "hunter2e", answer
}

// askTwitch sets the credentials of an application, about which Twitch answers so.
func (m *machine) askTwitch(answer officialstate.Response) {
	m.settings.Twitch.ClientID, m.settings.Twitch.ClientSecret, m.twitch = "client", "hunter2t", answer
}

// pushes sets an application of Twitch, of whose pushes the database knows.
func (m *machine) pushes(failure string) {
	m.askTwitch(officialstate.Response{Status: 200})
	at := func(hour int) time.Time { return time.Date(2026, 11, 30, hour, 0, 0, 0, time.UTC) }
	m.eventsub = eventsub.State{Client: "client", ConnectedAt: at(10), MessageAt: at(11), Subscriptions: 2, Missing: 3, Failure: failure}
}

// askOAuth sets an OAuth client, about which Google answers so.
func (m *machine) askOAuth(answer officialstate.Response) {
	m.settings.YouTube.OAuthClientID, m.settings.YouTube.OAuthClientSecret, m.oauth = "client", "hunter2e", answer
}

func refusedBy(reason string) officialstate.Response {
	return officialstate.Response{Status: 403, Reasons: []string{reason}, Detail: "no"}
}

func (m *machine) without(name string) {
	m.t.Helper()
	if err := os.Remove(filepath.Join(m.bin, name)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) examine() (bool, string) {
	m.t.Helper()
	var report strings.Builder
	ok, err := Doctor{
		Settings:     m.settings,
		Now:          m.now,
		DatabaseTime: func(context.Context, string) (time.Time, error) { return time.Now().Add(m.clockAhead), m.database },
		CookieJars:   func(context.Context, string) ([]cookiejars.Record, error) { return m.jars, m.database },
		Channels:     func(context.Context, string) ([]channels.Listed, error) { return m.channels, nil },
		CheckCluster: func(_ context.Context, f config.ClusterFlags) (string, error) { return f.WorkerNamespace, m.cluster },
		CheckBucket:  func(context.Context, config.EvidenceFlags) error { return m.bucket },
		AskOpinion:   func(context.Context, config.OpinionFlags, config.Networks) incident.Opinion { return m.opinion },
		OpenFiles:    m.openFiles,
		Landlock:     func() int { return 6 }, CheckLauncher: func() error { return m.launcher },
		Missing:    func() []string { return m.missing },
		LookupHost: func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, m.dns },
		Probers:    map[monitor.SourceName]worker.Prober{monitor.YouTube: prober(m.video)},

		AskYouTubeAPI: func(context.Context, []string) officialstate.Response { return m.api },
		AskTwitchAPI:  func(context.Context, []string) officialstate.Response { return m.twitch },
		AskOAuth:      func(context.Context) officialstate.Response { return m.oauth },
		EventSub:      func(context.Context, string) (eventsub.State, error) { return m.eventsub, m.database },
		IngestLogins:  func(context.Context, string) ([]ingests.Login, error) { return m.logins, m.database },
	}.Examine(m.t.Context(), &report)
	if err != nil {
		m.t.Fatal(err)
	}
	if strings.Contains(report.String(), "hunter2") {
		m.t.Errorf("the report gives a secret away:\n%s", &report)
	}
	return ok, report.String()
}

func TestEachProblemIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		with    func(*machine)
		verdict verdict
		subject string
		says    []string
	}{
		"a healthy machine":          {func(*machine) {}, fine, "yt-dlp", []string{"2026.10.26", "(found by PATH), 20 days old", "Everything is present."}},
		"few open files":             {func(m *machine) { m.openFiles = 4096 }, warn, "open files", []string{"4096 may be open", "expected: 9104", "there are 1592", "LimitNOFILE"}},
		"an ffmpeg that is a script": {func(*machine) {}, fine, "ffmpeg", []string{"a script"}},
		"a kernel with new Landlock": {func(*machine) {}, fine, "confined tools", []string{"yes (Landlock 6)"}},
		"a sandbox without both":     {func(m *machine) { m.missing = []string{"Landlock: files", "seccomp: sockets"} }, warn, "confined tools", []string{"not completely", "Landlock: files; seccomp: sockets", "Linux 6.12", "container"}},
		"no tool-launcher":           {func(m *machine) { m.launcher = errors.New("no such file") }, fail, "tool-launcher", []string{"no such file", "LAUNCHER_PATH", "make build"}},
		"TOOL_FILES=off":             {func(m *machine) { m.settings.Watching.ToolFiles = "off" }, warn, "confined tools", []string{"off (TOOL_FILES)", "keys.json"}},
		"no yt-dlp": {func(m *machine) { m.without("yt-dlp") }, fail, "yt-dlp",
			[]string{"not found in PATH", "2026.01.29 or newer", "pip install", "make tools"}},
		"a yt-dlp below section 13.1": {func(m *machine) { m.tool("yt-dlp", "echo 2025.01.14") }, fail, "yt-dlp", []string{"2025.01.14", "pip install"}},
		"a yt-dlp of section 13.1":    {func(m *machine) { m.tool("yt-dlp", "echo 2025.01.15") }, warn, "yt-dlp", []string{"expected: 2026.01.29"}},
		"a yt-dlp just too old for today": {
			func(m *machine) { m.tool("yt-dlp", "echo 2026.01.28.232323") }, warn, "yt-dlp", nil},
		"the first yt-dlp of today": {func(m *machine) {
			m.now = time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
			m.tool("yt-dlp", strings.ReplaceAll(newYTDLP, "2026.10.26", "2026.01.29"))
		}, fine, "yt-dlp", nil},
		"a yt-dlp of 59 days":     {func(m *machine) { m.now = time.Date(2026, 12, 24, 23, 59, 0, 0, time.UTC) }, fine, "yt-dlp", []string{"59 days old"}},
		"a yt-dlp of 60 days":     {func(m *machine) { m.now = time.Date(2026, 12, 25, 0, 0, 0, 0, time.UTC) }, warn, "yt-dlp", []string{"60 days old", "less than 60 days old", "YTDLP_PATH"}},
		"a yt-dlp of tomorrow":    {func(m *machine) { m.now = time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC) }, fine, "yt-dlp", []string{"0 days old"}},
		"a yt-dlp that is broken": {func(m *machine) { m.tool("yt-dlp", "echo Traceback; exit 1") }, fail, "yt-dlp", []string{`"Traceback"`}},
		"YTDLP_PATH to nothing": {func(m *machine) { m.settings.Watching.YTDLPPath = "/nowhere/yt-dlp" }, fail, "yt-dlp",
			[]string{"/nowhere/yt-dlp (found by YTDLP_PATH) cannot be run", "no such file"}},
		"no JavaScript runtime": {func(m *machine) { m.tool("yt-dlp", strings.ReplaceAll(newYTDLP, "deno-2.9.8", "none")) }, warn, "JavaScript runtime",
			[]string{"none", "deno 2.3 or newer", "pip install deno"}},
		"one that is too old": {func(m *machine) {
			m.tool("yt-dlp", strings.ReplaceAll(newYTDLP, "deno-2.9.8", "deno-1.4.0 (unsupported)"))
		}, warn, "JavaScript runtime", []string{"deno-1.4.0 (unsupported)"}},
		"one that is chosen": {func(m *machine) {
			m.settings.Watching.YTDLPJSRuntime = "node"
			m.tool("yt-dlp", strings.ReplaceAll(newYTDLP, "deno-2.9.8", "${*##*--js-runtimes }-24.1.0"))
		}, fine, "JavaScript runtime", []string{"node-24.1.0"}},
		"one of two is good": {func(m *machine) {
			m.tool("yt-dlp", strings.ReplaceAll(newYTDLP, "deno-2.9.8", "deno-1.4.0 (unsupported), node-24.1.0"))
		}, fine, "JavaScript runtime", nil},
		"no solver scripts": {func(m *machine) { m.tool("yt-dlp", strings.ReplaceAll(newYTDLP, ", yt_dlp_ejs-0.8.0", "")) }, warn, "yt-dlp-ejs",
			[]string{"none", `yt-dlp[default]`}},
		"inline workers and a yt-dlp in a shell script": {func(m *machine) { m.settings.WorkerRuntime = config.RuntimeInline }, warn, "yt-dlp forks",
			[]string{"no Python script", "every question starts yt-dlp"}},
		"no streamlink":                   {func(m *machine) { m.without("streamlink") }, warn, "streamlink", []string{"8.6.0 or newer"}},
		"a streamlink below section 13.1": {func(m *machine) { m.tool("streamlink", "echo streamlink 8.5.9") }, warn, "streamlink", []string{"read files"}},
		"a streamlink of section 13.1":    {func(m *machine) { m.tool("streamlink", "echo streamlink 8.6.0") }, fine, "streamlink", nil},
		"no ffmpeg":                       {func(m *machine) { m.without("ffmpeg") }, fail, "ffmpeg", []string{"7.1 or newer", "apt-get install ffmpeg"}},
		"a segment-decoder":               {func(*machine) {}, fine, "segment-decoder", []string{"2 with libavcodec 61.19.101", "(found by PATH)"}},
		"no segment-decoder":              {func(m *machine) { m.without("segment-decoder") }, warn, "segment-decoder", []string{"not found in PATH", "make tools", "ffmpeg decodes every segment", "most optional detectors know nothing"}},
		"DECODER_PATH to nothing": {func(m *machine) { m.settings.Watching.DecoderPath = "/nowhere/segment-decoder" }, warn, "segment-decoder",
			[]string{"/nowhere/segment-decoder (found by DECODER_PATH) cannot be run"}},
		"a segment-decoder that is not wanted": {func(m *machine) { m.settings.Watching.DecoderPath = "off"; m.without("segment-decoder") }, fine, "segment-decoder",
			[]string{"off (DECODER_PATH)"}},
		"a segment-decoder of another version": {func(m *machine) { m.tool("segment-decoder", "echo segment-decoder 1 with libavcodec 63.1.100") }, warn, "segment-decoder",
			[]string{"segment-decoder 1 with", "the program of this version"}},
		"a segment-decoder without its libraries": {func(m *machine) { m.tool("segment-decoder", "echo libavcodec.so.59 is missing >&2; exit 127") }, warn, "segment-decoder", []string{"libavcodec.so.59"}},
		"an ffmpeg below section 13.1": {func(m *machine) {
			m.tool("ffmpeg", strings.ReplaceAll(newFFmpeg, "7.1.5-0+deb13u1", "5.1.9-0+deb12u1"))
		}, warn, "ffmpeg", []string{"5.1.9-0+deb12u1", "7.1 or newer", "known to work"}},
		"a newer ffmpeg":          {func(m *machine) { m.tool("ffmpeg", strings.ReplaceAll(newFFmpeg, "7.1.5-0+deb13u1", "n10.0")) }, fine, "ffmpeg", nil},
		"an ffmpeg of some day":   {func(m *machine) { m.tool("ffmpeg", strings.ReplaceAll(newFFmpeg, "7.1.5", "N-118-gabc")) }, warn, "ffmpeg", nil},
		"an ffmpeg with a lack":   {func(m *machine) { m.tool("ffmpeg", strings.ReplaceAll(newFFmpeg, "silencedetect", "x")) }, fail, "ffmpeg", []string{"without the filter silencedetect"}},
		"something else as that":  {func(m *machine) { m.tool("ffmpeg", "echo hello") }, fail, "ffmpeg", []string{`"hello"`}},
		"a database that answers": {func(*machine) {}, fine, "PostgreSQL", []string{"postgres://db.example/monitor answers"}},
		"a database whose clock is fast": {func(m *machine) { m.clockAhead = time.Hour }, warn, "PostgreSQL",
			[]string{"answers", "1h0m0s away", "NTP", "docs/recovery.md"}},
		"a channel that can be read": {func(m *machine) { m.channels = []channels.Listed{{}} }, fine, "channels", []string{"1 registered"}},
		"a channel that cannot be read": {func(m *machine) {
			c := channel.Channel{Address: "https://www.youtube.com/@example", Reading: channel.Reading{UnreadableSince: time.Now(), LastFailure: channel.Refused}}
			m.channels = []channels.Listed{{Channel: c}, {}}
		}, warn, "channels", []string{"2 registered", "1 cannot be read", "@example", "refused", "egress"}},
		"a database whose clock is slow":            {func(m *machine) { m.clockAhead = -6 * time.Second }, warn, "PostgreSQL", []string{"6s away"}},
		"a database whose clock is nearly the same": {func(m *machine) { m.clockAhead = 3 * time.Second }, fine, "PostgreSQL", []string{"answers"}},
		"a database that does not": {func(m *machine) { m.database = errors.New("connection refused") }, fail, "PostgreSQL",
			[]string{"postgres://db.example/monitor does not answer: connection refused", "check DB_DSN"}},
		"cookie jars": {func(m *machine) { m.jars = []cookiejars.Record{{Name: "members"}, {Name: "adults"}} }, fine, "cookie jars", []string{"2 jars, none of them rejected"}},
		"a rejected cookie jar": {func(m *machine) {
			m.jars = []cookiejars.Record{{Name: "members", Standing: login.Standing{RejectedAt: time.Unix(0, 0)}}, {Name: "adults"}}
		}, warn, "cookie jars", []string{`2 jars; rejected: "members" since 1970-01-01T00:00:00Z`, "upload the cookies again"}},
		"binaries of a private database":        {func(m *machine) { m.privatePostgres("98") }, fine, "PostgreSQL", []string{"98.3, /"}},
		"a private database of another version": {func(m *machine) { m.privatePostgres("97") }, fail, "PostgreSQL", []string{`version "97"`}},
		"a cluster that lets it": {func(m *machine) {
			m.settings.WorkerRuntime, m.settings.Cluster.WorkerNamespace, m.cluster = config.RuntimeKubernetes, "live", nil
		}, fine, "Kubernetes", []string{"pods may be run in namespace live"}},
		"a cluster that does not": {func(m *machine) {
			m.settings.WorkerRuntime, m.cluster = config.RuntimeKubernetes, errors.Join(errors.New("may not create pods"), errors.New("may not watch pods"))
		}, fail, "Kubernetes", []string{"may not create pods; may not watch pods", "section 14.3", "Helm chart"}},
		"a data directory still to be made":  {func(m *machine) { m.settings.Database.DataDir += "/a/b" }, fine, "data directory", []string{"will be created at the first start"}},
		"a data directory below a file":      {func(m *machine) { m.settings.Database.DataDir = filepath.Join(m.bin, "ffmpeg", "x") }, fail, "data directory", []string{"set DATA_DIR"}},
		"evidence in the database":           {func(*machine) {}, fine, "evidence", []string{"in the database"}},
		"evidence in a directory":            {func(m *machine) { m.settings.Evidence.EvidenceStore = "dir:" + m.bin }, fine, "evidence", nil},
		"evidence in a directory to be made": {func(m *machine) { m.settings.Evidence.EvidenceStore = "dir:" + m.bin + "/a/b" }, fine, "evidence", []string{"will be created"}},
		"evidence below a file":              {func(m *machine) { m.settings.Evidence.EvidenceStore = "dir:" + m.bin + "/ffmpeg/x" }, fail, "evidence", []string{"set EVIDENCE_STORE"}},
		"evidence in a bucket":               {func(m *machine) { m.settings.Evidence.EvidenceStore = "s3://evidence/a" }, fine, "evidence", []string{"s3://evidence/a can be written to"}},
		"evidence in a bucket that refuses": {func(m *machine) {
			m.settings.Evidence.EvidenceStore, m.bucket = "s3://evidence", errors.New("access denied")
		}, fail, "evidence", []string{"s3://evidence: access denied", "EVIDENCE_S3_ACCESS_KEY"}},
		"an endpoint that gives opinions": {func(m *machine) { m.ask(incident.Opinion{Verdict: incident.OpinionKeep}) }, fine, "second opinion", []string{"https://opinions.example answers: keep"}},
		"an endpoint that gives none":     {func(m *machine) { m.ask(incident.NoOpinion("it is busy")) }, fail, "second opinion", []string{"it is busy", "CALLBACK_ALLOWED_NETWORKS"}},
		"an endpoint without a key": {func(m *machine) {
			m.ask(incident.Opinion{Verdict: incident.OpinionKeep})
			m.settings.Opinion.SecondOpinionKey = nil
		}, fail, "second opinion", []string{"SECOND_OPINION_KEY is not set"}},
		"an endpoint, offline": {func(m *machine) {
			m.ask(incident.NoOpinion("it was asked"))
			m.settings.Offline = true
		}, fine, "second opinion", []string{"was not asked"}},
		"a key of the API":              {func(m *machine) { m.askAPI(officialstate.Response{Status: 200}) }, fine, "YouTube Data API", []string{"accepts YOUTUBE_API_KEY"}},
		"a key of the API, used up":     {func(m *machine) { m.askAPI(refusedBy("quotaExceeded")) }, warn, "YouTube Data API", []string{"HTTP 403: no", "midnight in Los Angeles"}},
		"a key of the API, refused":     {func(m *machine) { m.askAPI(refusedBy("accessNotConfigured")) }, fail, "YouTube Data API", []string{"HTTP 403: no", "enable"}},
		"an API that cannot be reached": {func(m *machine) { m.askAPI(officialstate.Response{Detail: "no route"}) }, fail, "YouTube Data API", []string{"no route", "check the firewall"}},
		"a key of the API, asked about offline": {func(m *machine) {
			m.askAPI(officialstate.Response{Detail: "it was asked"})
			m.settings.Offline = true
		}, fine, "YouTube Data API", []string{"not asked"}},
		"an application of Twitch":                    {func(m *machine) { m.askTwitch(officialstate.Response{Status: 200}) }, fine, "Twitch API", []string{"accepts TWITCH_CLIENT_ID"}},
		"an application of Twitch, refused":           {func(m *machine) { m.askTwitch(refusedBy("invalid client secret")) }, fail, "Twitch API", []string{"HTTP 403: no", "correct TWITCH_CLIENT_ID"}},
		"an application of Twitch, out of points":     {func(m *machine) { m.askTwitch(officialstate.Response{Status: 429, Detail: "no points"}) }, warn, "Twitch API", []string{"HTTP 429: no points", "of its own"}},
		"Twitch is not reached":                       {func(m *machine) { m.askTwitch(officialstate.Response{Detail: "no route"}) }, fail, "Twitch API", []string{"no route", "check the firewall"}},
		"an application of Twitch without its secret": {func(m *machine) { m.settings.Twitch.ClientID = "id" }, fail, "Twitch API", []string{"TWITCH_CLIENT_SECRET is not set"}},
		"an application of Twitch, asked about offline": {func(m *machine) {
			m.askTwitch(officialstate.Response{Detail: "it was asked"})
			m.settings.Offline = true
		}, fine, "Twitch API", []string{"not asked"}},
		"pushes of Twitch":           {func(m *machine) { m.pushes("") }, fine, "Twitch pushes", []string{"2 subscriptions by conduit", "connected since 2026-11-30T10:00:00Z", "the newest push at 2026-11-30T11:00:00Z"}},
		"pushes of Twitch that fail": {func(m *machine) { m.pushes("the socket is lost") }, warn, "Twitch pushes", []string{"3 are missing: the socket is lost", "found without pushes"}},
		"an OAuth client":            {func(m *machine) { m.askOAuth(refusedBy("invalid_grant")) }, fine, "YouTube OAuth client", []string{"Google knows"}},
		"an OAuth client, unknown":   {func(m *machine) { m.askOAuth(refusedBy("invalid_client")) }, fail, "YouTube OAuth client", []string{"HTTP 403: no", "correct YOUTUBE_OAUTH_CLIENT_ID"}},
		"Google is not reached":      {func(m *machine) { m.askOAuth(officialstate.Response{Detail: "no route"}) }, fail, "YouTube OAuth client", []string{"no route", "check the firewall"}},
		"logins of owners": {func(m *machine) {
			m.askOAuth(refusedBy("invalid_grant"))
			m.logins = []ingests.Login{{Name: "studio", Standing: login.Standing{RejectedAt: time.Unix(0, 0)}}, {Name: "other"}}
		}, warn, "logins of owners", []string{`2 logins; rejected: "studio" since 1970-01-01T00:00:00Z`, "let the owner sign in"}},
		"a key missing in production": {func(m *machine) { m.settings.Keys.InternalAPIKey = "" }, fail, "keys",
			[]string{"INTERNAL_API_KEY not set", "openssl rand -hex 32"}},
		"a keys.json beside DB_DSN": {func(m *machine) {
			m.settings.Keys = config.KeyFlags{}
			m.settings.Database.DataDir = m.t.TempDir()
			if _, _, err := config.LoadKeys(m.settings.Database.DataDir, config.KeyFlags{}); err != nil {
				m.t.Fatal(err)
			}
		}, fine, "keys", []string{"keys.json (for API_KEY, WEBHOOK_SIGNING_KEY, INTERNAL_API_KEY)"}},
		"keys still to be made": {func(m *machine) {
			m.settings.Database.DBDSN, m.settings.Keys = "", config.KeyFlags{}
		}, fine, "keys", []string{"API_KEY, WEBHOOK_SIGNING_KEY, INTERNAL_API_KEY will be generated at the first start"}},
		"YouTube that answers through a proxy": {func(*machine) {}, fine, "YouTube", []string{"www.youtube.com answers, through the proxy 127.0.0.1:"}},
		"no DNS": {func(m *machine) { m.settings.Watching.HTTPSProxy, m.dns = "", errors.New("no such host") }, fail, "YouTube",
			[]string{"YouTube cannot be reached from here: DNS does not resolve www.youtube.com (no such host)", "/etc/resolv.conf", "--offline"}},
		"a name that leads nowhere": {func(m *machine) { m.settings.Watching.HTTPSProxy = "" }, fail, "YouTube",
			[]string{"no connection to www.youtube.com:443", "check the firewall"}},
		"a proxy that does not run": {func(m *machine) { m.settings.Watching.HTTPSProxy = "http://user:hunter2@127.0.0.1:1" }, fail, "YouTube",
			[]string{"no connection to 127.0.0.1:1 (", "connection refused", "check HTTPS_PROXY"}},
		"several proxies, of which one does not run": {func(m *machine) {
			m.settings.Watching.EgressProxies = "http://user:hunter2@127.0.0.1:1," + m.settings.Watching.HTTPSProxy
		}, fail, "YouTube, 127.0.0.1:1", []string{"check EGRESS_PROXIES", "www.youtube.com answers, through the proxy 127.0.0.1:"}},
		"a proxy that refuses": {func(m *machine) { m.video = watch.ProbeResult{Detail: "oEmbed not reached: Forbidden"} }, fail, "YouTube",
			[]string{"through the proxy 127.0.0.1:", "oEmbed not reached: Forbidden"}},
		"YouTube that is not asked": {func(m *machine) { m.settings.Offline, m.dns = true, errors.New("no such host") }, fine, "YouTube", []string{"not asked (--offline)"}},
		"a file of keys that others can read": {func(m *machine) {
			m.settings.Database.DBDSN, m.settings.Keys = "", config.KeyFlags{}
			if err := os.WriteFile(config.KeysPath(m.settings.Database.DataDir), []byte(`{}`), 0o644); err != nil {
				m.t.Fatal(err)
			}
		}, fail, "keys", []string{"chmod 600"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := healthy(t)
			c.with(m)
			ok, report := m.examine()
			if want := fmt.Sprintf("%-4s  %-18s  ", c.verdict, c.subject); !strings.Contains(report, want) {
				t.Errorf("no line begins with %q", want)
			}
			for _, say := range c.says {
				if !strings.Contains(report, say) {
					t.Errorf("does not say %q", say)
				}
			}
			if strings.Contains(report, "FAIL") == ok {
				t.Errorf("its end is %v", ok)
			}
			if c.verdict == fail && ok {
				t.Error("it finds nothing to repair")
			}
			if t.Failed() {
				t.Log(report)
			}
		})
	}
}

func TestTheCommandsThatPrintTheSecretWork(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	ofPage := regexp.MustCompile(`(?m)^printf 'whsec_.*$`).FindString(string(page))
	for name, given := range map[string]webhook.Keys{"one key": {"a/b+c%d"}, "the first of two": {"new", "old"}, "the key of the file": nil} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "it's here")
			keys, _, err := config.LoadKeys(dir, config.KeyFlags{WebhookSigningKey: given})
			if err != nil {
				t.Fatal(err)
			}
			d := Doctor{Settings: config.Doctor{Database: config.DatabaseFlags{DataDir: dir}, Keys: config.KeyFlags{WebhookSigningKey: given}}}
			t.Setenv("WEBHOOK_SIGNING_KEY", strings.Join(given, ","))
			commands := []string{d.secretCommand()}
			if given != nil {
				commands = append(commands, ofPage)
			}
			for _, command := range commands {
				out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
				if want := "whsec_" + base64.StdEncoding.EncodeToString([]byte(keys.Signing[0])); err != nil || strings.TrimSpace(string(out)) != want {
					t.Errorf("%s prints %s (%v), want %s", command, out, err, want)
				}
			}
			if !strings.Contains(d.secretHelp(), d.secretCommand()) {
				t.Error("the report does not have it")
			}
		})
	}
}

// TestTheToolsOfThisMachine needs what "make tools" installs.
func TestTheToolsOfThisMachine(t *testing.T) {
	for _, name := range config.Variables() {
		t.Setenv(name, "")
	}
	command, err := config.Parse([]string{"doctor", "--offline", "--worker-runtime=inline", "--data-dir=" + t.TempDir()}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	settings := *command.(*config.Doctor)
	for variable, path := range map[string]*string{"yt-dlp": &settings.Watching.YTDLPPath, "streamlink": &settings.Watching.StreamlinkPath} {
		venv, err := filepath.Abs(filepath.Join("..", "..", "..", "..", ".tools", "venv", "bin", variable))
		if err != nil {
			t.Fatal(err)
		}
		if *path, err = exec.LookPath(venv); err != nil {
			if *path, err = exec.LookPath(variable); err != nil {
				t.Fatalf("%s is not installed: run make tools", variable)
			}
		}
	}
	var report strings.Builder
	ok, err := Doctor{Settings: settings, CheckLauncher: tool.CheckLauncher, Landlock: tool.Landlock, Missing: tool.Missing}.Examine(t.Context(), &report)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Errorf("this machine is not fit; run make tools:\n%s", &report)
	}
	for _, subject := range []string{"yt-dlp", "JavaScript runtime", "yt-dlp-ejs", "yt-dlp forks", "streamlink", "PostgreSQL", "data directory", "keys"} {
		if !strings.Contains(report.String(), fmt.Sprintf("%-4s  %-18s  ", fine, subject)) {
			t.Errorf("%s is not fine:\n%s", subject, &report)
		}
	}
	t.Log("\n" + report.String())
}

func TestAToolThatIsAskedForItsVersionLearnsNoKey(t *testing.T) {
	m := healthy(t)
	t.Setenv("SECRETS_KEY", "hunter2")
	keys := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(keys, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.tool("yt-dlp", `[ -n "$SECRETS_KEY" ] && echo it has the key
read -r key 2>/dev/null <`+keys+` && echo it has read the key
`+newYTDLP)
	if _, report := m.examine(); !strings.Contains(report, "ok    yt-dlp              2026.10.26") {
		t.Error(report)
	}
}
