package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/secretbox"
	"github.com/stream-monitor/stream-monitor/adapters/stream/proxies"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// LogFlags set the log level (section 11.1).
type LogFlags struct {
	LogLevel string `type:"choice" accept:"debug,info,warn,error" env:"LOG_LEVEL" default:"info" help:"Lowest level that is logged: debug, info, warn or error."`
}

// DatabaseFlags name the database and the data directory (decision P3).
type DatabaseFlags struct {
	DBDSN   string `name:"db-dsn" type:"dsn" secret:"" env:"DB_DSN" placeholder:"postgres://…" help:"PostgreSQL to use. If it is set, API_KEY, INTERNAL_API_KEY and WEBHOOK_SIGNING_KEY are required, or a keys.json in the data directory. serve waits while the database cannot be reached, and exits if the database rejects its credentials. Default: a private database in the data directory."`
	DataDir string `type:"path" env:"DATA_DIR" default:"${data_dir}" help:"Directory of the private database and the generated keys."`
}

// HasExternalDatabase reports whether the operator provides the database. Then the
// operator must also provide the keys (decision P4).
func (f DatabaseFlags) HasExternalDatabase() bool { return f.DBDSN != "" }

// KeyFlags hold the keys of section 14.2 that the operator set.
type KeyFlags struct {
	APIKey            string            `type:"apikey" secret:"" name:"api-key" env:"API_KEY" help:"Key that callers of the API present, of 16 characters or more. Default: generated at the first start."`
	WebhookSigningKey webhook.Keys      `type:"signing" secret:"" env:"WEBHOOK_SIGNING_KEY" help:"Key that signs webhooks; while you change it, two keys separated by a comma. Default: generated."`
	InternalAPIKey    string            `type:"apikey" secret:"" name:"internal-api-key" env:"INTERNAL_API_KEY" help:"Key from which each worker's token for the internal API comes; no worker gets the key. 16 characters or more. Default: generated."`
	EvidenceLinkKey   evidence.LinkKeys `type:"linkkeys" secret:"" env:"EVIDENCE_LINK_KEY" help:"Key that signs links to evidence; up to 4, separated by commas: the first signs, all verify. Default: generated with the other keys, else derived from API_KEY."`
	SecretsKey        secretbox.Keys    `type:"secretskeys" secret:"" env:"SECRETS_KEY" help:"Key that encrypts the secrets of destinations, the key of sessions, snapshots and the secrets of stream URLs in the database; up to 4, separated by commas: the first encrypts, all decrypt. Default: generated with the other keys, else derived from API_KEY."`
}

// Missing returns the names of the required keys that are not set. Those of links and of
// secrets can be derived from API_KEY.
func (f KeyFlags) Missing() (names []string) {
	for _, key := range []struct {
		name string
		set  bool
	}{
		{"API_KEY", f.APIKey != ""},
		{"WEBHOOK_SIGNING_KEY", len(f.WebhookSigningKey) > 0},
		{"INTERNAL_API_KEY", f.InternalAPIKey != ""},
	} {
		if !key.set {
			names = append(names, key.name)
		}
	}
	return names
}

// EvidenceFlags say where the bytes of evidence are stored.
type EvidenceFlags struct {
	EvidenceStore       string `type:"evidencestore" env:"EVIDENCE_STORE" default:"postgres" placeholder:"STORE" help:"Where it is kept: postgres (in the database), dir:/PATH (a directory, which all gateways share) or s3://BUCKET[/PREFIX] (S3-compatible object storage)."`
	EvidenceS3Endpoint  string `name:"evidence-s3-endpoint" type:"httpurl" env:"EVIDENCE_S3_ENDPOINT" placeholder:"URL" help:"Server of the bucket, such as https://minio.example.com:9000. Default: Amazon S3."`
	EvidenceS3Region    string `name:"evidence-s3-region" type:"key" env:"EVIDENCE_S3_REGION" default:"us-east-1" placeholder:"REGION" help:"Region of the bucket."`
	EvidenceS3AccessKey string `name:"evidence-s3-access-key" type:"key" secret:"" env:"EVIDENCE_S3_ACCESS_KEY" help:"Name of the key that may read, write, list and delete objects in the bucket; required with s3."`
	EvidenceS3SecretKey string `name:"evidence-s3-secret-key" type:"key" secret:"" env:"EVIDENCE_S3_SECRET_KEY" help:"Secret of that key; required with s3."`
}

// Directory returns the path of EVIDENCE_STORE=dir:PATH.
func (f EvidenceFlags) Directory() (path string, is bool) {
	return strings.CutPrefix(f.EvidenceStore, "dir:")
}

// Bucket returns the parts of EVIDENCE_STORE=s3://BUCKET/PREFIX.
func (f EvidenceFlags) Bucket() (bucket, prefix string, is bool) {
	name, is := strings.CutPrefix(f.EvidenceStore, "s3://")
	bucket, prefix, _ = strings.Cut(name, "/")
	return bucket, strings.Trim(prefix, "/"), is
}

// OpinionFlags say who is asked for second opinions about alerts (section 19.9).
type OpinionFlags struct {
	SecondOpinionURL      string        `name:"second-opinion-url" type:"httpurl" env:"SECOND_OPINION_URL" placeholder:"URL" help:"HTTP endpoint that is asked about each alert, with its pictures. A private address, and plain http, need CALLBACK_ALLOWED_NETWORKS. Default: nobody is asked."`
	SecondOpinionKey      webhook.Keys  `type:"signing" secret:"" env:"SECOND_OPINION_KEY" help:"Key that signs the questions as webhooks are signed; while you change it, two keys separated by a comma. Required with SECOND_OPINION_URL."`
	SecondOpinionMode     string        `type:"choice" accept:"note,hold,drop" env:"SECOND_OPINION_MODE" default:"note" help:"What an opinion may do: note (it is stored and shown), hold (messages to people also wait for it, for at most 10 s) or drop (and it may drop them). It never concerns callbacks and webhooks."`
	SecondOpinionCooldown time.Duration `type:"duration" min:"0s" max:"1d" env:"SECOND_OPINION_COOLDOWN" default:"1m" help:"For how long nobody is asked about the same stream again."`
}

// Power returns what second opinions may do to messages; empty: nobody is asked.
func (f OpinionFlags) Power() notify.OpinionPower {
	if f.SecondOpinionURL == "" {
		return ""
	}
	return notify.OpinionPower(f.SecondOpinionMode)
}

// YouTubeFlags are the settings of the gateway's own questions to YouTube. No worker gets them.
type YouTubeFlags struct {
	APIKey string `type:"key" secret:"" name:"youtube-api-key" env:"YOUTUBE_API_KEY" help:"Key of the YouTube Data API, of a project with 10,000 units a day. The gateway asks the API whether waiting streams have begun, so that workers run yt-dlp only when something changes. Default: none."`

	OAuthClientID     string `type:"key" name:"youtube-oauth-client-id" env:"YOUTUBE_OAUTH_CLIENT_ID" placeholder:"ID" help:"Id of an OAuth client of a Google project, by which the logins of owners were made that are uploaded on the page Settings: YouTube then says what arrives from their encoders. Default: none, and no such login is used."`
	OAuthClientSecret string `type:"key" secret:"" name:"youtube-oauth-client-secret" env:"YOUTUBE_OAUTH_CLIENT_SECRET" help:"Secret of the OAuth client. Required with YOUTUBE_OAUTH_CLIENT_ID."`
}

// TwitchFlags are the settings of the gateway's own questions to Twitch. No worker gets them.
type TwitchFlags struct {
	ClientID     string `type:"key" name:"twitch-client-id" env:"TWITCH_CLIENT_ID" placeholder:"ID" help:"Id of an application that is registered at Twitch. The gateway asks the API of Twitch about 100 channels in a call, so that workers run yt-dlp less often, and Twitch pushes starts, which are then known sooner. Default: none."`
	ClientSecret string `type:"key" secret:"" name:"twitch-client-secret" env:"TWITCH_CLIENT_SECRET" help:"Secret of that application. Required with TWITCH_CLIENT_ID."`

	EventSubURL string `type:"httpurl" name:"twitch-eventsub-url" env:"TWITCH_EVENTSUB_URL" placeholder:"URL" help:"Where Twitch reaches the public API, https and port 443, such as https://monitor.example.com: it pushes starts to /eventsub/twitch below. Needs TWITCH_CLIENT_ID. Default: it pushes over a socket that the gateway opens."`
}

// WatchingFlags name the tools and proxies with which a stream is watched. Every field is
// a string and has an environment variable, because the gateway passes the fields to its
// workers in their environment.
type WatchingFlags struct {
	YTDLPPath       string `name:"ytdlp-path" env:"YTDLP_PATH" placeholder:"FILE" help:"Path of yt-dlp. Default: the one that \"make tools\" installed, else the one in PATH."`
	YTDLPClients    string `name:"ytdlp-player-clients" type:"clients" env:"YTDLP_PLAYER_CLIENTS" kept:"" placeholder:"NAME,…" help:"Clients of YouTube as which yt-dlp asks for a stream, such as visionos,web, or default,-web. Default: those of yt-dlp."`
	YTDLPPOTokenURL string `name:"ytdlp-po-token-url" type:"providerurl" env:"YTDLP_PO_TOKEN_URL" kept:"" placeholder:"URL" help:"Server of bgutil-ytdlp-pot-provider, such as http://127.0.0.1:4416, which makes proof-of-origin tokens. Its plugin has to be installed with yt-dlp. Default: none."`
	YTDLPJSRuntime  string `name:"ytdlp-js-runtime" type:"jsruntime" env:"YTDLP_JS_RUNTIME" kept:"" placeholder:"NAME[:PATH]" help:"What runs YouTube's JavaScript challenges: deno, node, bun or quickjs, and where it is. Default: deno, in PATH or beside yt-dlp."`
	StreamlinkPath  string `env:"STREAMLINK_PATH" placeholder:"FILE" help:"Path of streamlink, which is used when yt-dlp fails. Default: as for yt-dlp."`
	FFmpegPath      string `name:"ffmpeg-path" env:"FFMPEG_PATH" placeholder:"FILE" help:"Path of ffmpeg. Default: as for yt-dlp."`
	DecoderPath     string `env:"DECODER_PATH" placeholder:"FILE" help:"Path of segment-decoder, which stays up between segments and takes a tenth of ffmpeg's CPU for small ones; off: ffmpeg decodes every segment, and most optional detectors know nothing. Default: the one beside this program, else as for yt-dlp."`
	LauncherPath    string `env:"LAUNCHER_PATH" kept:"" placeholder:"FILE" help:"Path of tool-launcher, which confines every tool and starts it. Default: the one beside this program, else as for yt-dlp. Linux only."`
	ToolFiles       string `env:"TOOL_FILES" placeholder:"PATH:…" help:"Further files and folders that tools may read, such as those of a wrapper script; off: tools may read and write what their user may. Default: none. Linux with Landlock only."`
	StreamRendition string `type:"choice" accept:"smallest,best" env:"STREAM_RENDITION" default:"smallest" help:"Quality to analyse: smallest (a tenth of the CPU, same result) or best."`
	EvidenceCapture string `type:"choice" accept:"on,off" env:"EVIDENCE_CAPTURE" default:"on" help:"Capture pictures, sound levels and clips of alerts (on), or spare their CPU and storage (off)."`
	EvidenceBudget  string `name:"evidence-budget-mib" type:"numeral" min:"1" max:"1048576" env:"EVIDENCE_BUDGET_MIB" default:"256" placeholder:"MIB" help:"MiB of temporary files that the captures of all streams on one host (in Kubernetes: of one pod) may hold at a time."`
	MediaAllowed    string `type:"networklist" name:"media-allowed-networks" env:"MEDIA_ALLOWED_NETWORKS" kept:"" placeholder:"CIDR,…" help:"Private networks in which streams of your own (HLS, DASH, Icecast) and their token URLs may be. Default: none."`
	HTTPProxy       string `type:"proxy" secret:"" name:"http-proxy" env:"HTTP_PROXY,http_proxy" placeholder:"URL" help:"Proxy for http requests to the sites of streams; never used for webhooks."`
	HTTPSProxy      string `type:"proxy" secret:"" name:"https-proxy" env:"HTTPS_PROXY,https_proxy" placeholder:"URL" help:"Proxy for https requests to the sites of streams; never used for webhooks."`
	EgressProxies   string `type:"egress" secret:"" name:"egress-proxies" env:"EGRESS_PROXIES" kept:"" placeholder:"URL,…" help:"Several ways to the sites of streams, in place of HTTP_PROXY and HTTPS_PROXY: URLs of proxies, and the word direct for this machine's own address. Each stream uses one of them until its site refuses it. Default: none."`
	EgressQuestions string `name:"egress-questions-per-hour" type:"numeral" min:"0" max:"1000000" env:"EGRESS_QUESTIONS_PER_HOUR" kept:"" default:"0" placeholder:"N" help:"How many questions about streams each way may ask in an hour before waiting streams are polled less often; 0: any number. Each worker process or pod counts for itself."`
}

// MediaNetworks returns the networks of MEDIA_ALLOWED_NETWORKS.
func (f WatchingFlags) MediaNetworks() []netip.Prefix {
	networks, err := webhook.ParseNetworks(f.MediaAllowed)
	if err != nil { // the parser of the setting has accepted it
		return nil
	}
	return networks
}

// Egress returns the proxies of EGRESS_PROXIES, and how many questions each may ask in an hour.
// set says whether one of the two was set.
func (f WatchingFlags) Egress() (list *proxies.List, budget int, set bool) {
	list, err := proxies.Parse(f.EgressProxies)
	if err != nil { // the parser of the setting has accepted it
		list, _ = proxies.Parse("")
	}
	budget, _ = strconv.Atoi(f.EgressQuestions) // its parser accepts digits only
	return list, budget, f.EgressProxies != "" || budget > 0
}

// YTDLP locates yt-dlp.
func (f WatchingFlags) YTDLP() Tool { return findTool("yt-dlp", "YTDLP_PATH", f.YTDLPPath, toolsPlace) }

// Streamlink locates streamlink.
func (f WatchingFlags) Streamlink() Tool {
	return findTool("streamlink", "STREAMLINK_PATH", f.StreamlinkPath, toolsPlace)
}

// FFmpeg locates ffmpeg.
func (f WatchingFlags) FFmpeg() Tool {
	return findTool("ffmpeg", "FFMPEG_PATH", f.FFmpegPath, toolsPlace)
}

// decoderOff is the value of DECODER_PATH with which ffmpeg decodes every segment.
const decoderOff = "off"

// Decoder locates segment-decoder: also beside this program, where the image has it. used is
// false if DECODER_PATH is off.
func (f WatchingFlags) Decoder() (t Tool, used bool) {
	if f.DecoderPath == decoderOff {
		return Tool{}, false
	}
	return findTool("segment-decoder", "DECODER_PATH", f.DecoderPath, ownPlaces...), true
}

// Launcher locates tool-launcher.
func (f WatchingFlags) Launcher() Tool {
	return findTool("tool-launcher", launcherVariable, f.LauncherPath, ownPlaces...)
}

const launcherVariable = "LAUNCHER_PATH"

// ownPlaces is where programs of this repository are looked for before PATH.
var ownPlaces = []place{{".", "the folder of stream-monitor"}, {"../.tools/bin", toolsPlace.name}}

// toolsUnconfined is the value of TOOL_FILES with which tools may read and write what their
// user may.
const toolsUnconfined = "off"

// ReadableFiles returns the further files and folders that tools may read. It is nil if they
// are not confined.
func (f WatchingFlags) ReadableFiles() []string {
	if f.ToolFiles == toolsUnconfined {
		return nil
	}
	return append([]string{}, filepath.SplitList(f.ToolFiles)...)
}

// BudgetMiB returns the limit of the temporary files of captures.
func (f WatchingFlags) BudgetMiB() int {
	n, _ := strconv.Atoi(f.EvidenceBudget) // its parser accepts digits only
	return n
}

// Environ returns the settings of workers that have a value, NAME=value, under one name each, and the
// time zone (decision A11): a worker inherits no setting from the gateway.
func (f WatchingFlags) Environ() (env []string) {
	settings := reflect.ValueOf(f)
	for i := range settings.NumField() {
		name, _, _ := strings.Cut(settings.Type().Field(i).Tag.Get("env"), ",")
		if value := settings.Field(i).String(); value != "" {
			env = append(env, name+"="+value)
		}
	}
	if zone := os.Getenv("TZ"); zone != "" {
		env = append(env, "TZ="+zone)
	}
	return env
}

// Export sets these settings in the environment of this process, for its tools
// and its HTTP clients, and where tool-launcher was found. It leaves out those with the tag kept: no tool reads them, and
// EGRESS_PROXIES has the passwords of all proxies.
func (f WatchingFlags) Export() {
	settings := reflect.ValueOf(f)
	for i := range settings.NumField() {
		field := settings.Type().Field(i)
		if _, kept := field.Tag.Lookup("kept"); kept {
			continue
		}
		for name := range strings.SplitSeq(field.Tag.Get("env"), ",") {
			value := settings.Field(i).String()
			_ = os.Setenv(name, value) // fails only if an environment cannot contain the name or the value
			if value == "" {
				_ = os.Unsetenv(name) // tools differ in how they read an empty variable
			}
		}
	}
	if t := f.Launcher(); t.FoundBy != "" {
		_ = os.Setenv(launcherVariable, t.Path) // as above
	}
}

// The values of WORKER_RUNTIME (decision P2).
const (
	RuntimeKubernetes = "kubernetes"
	RuntimeProcess    = "process"
	RuntimeInline     = "inline"
)

// defaultRuntime is kubernetes in a pod of a cluster, else process.
func defaultRuntime() string {
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return RuntimeKubernetes
	}
	return RuntimeProcess
}

// ClusterFlags select the worker pods of this installation. In a pod, the program uses
// the pod's cluster, otherwise the cluster of KUBECONFIG, as kubectl does.
type ClusterFlags struct {
	WorkerNamespace string `type:"dnslabel" env:"WORKER_NAMESPACE" placeholder:"NAME" help:"Namespace of the worker pods. Default: the namespace of the gateway's pod, else that of the kubeconfig."`
	WorkerInstance  string `type:"dnslabel" env:"WORKER_INSTANCE" default:"stream-monitor" help:"Value of the label app.kubernetes.io/instance on worker pods. It distinguishes this installation's pods from those of other installations in the namespace."`
}

// PodFlags describe a worker pod (section 8.1).
type PodFlags struct {
	WorkerImage       string `env:"WORKER_IMAGE" type:"image" placeholder:"IMAGE:TAG" help:"Image of worker pods; required."`
	WorkerGatewayURL  string `name:"worker-gateway-url" type:"httpurl" env:"WORKER_GATEWAY_URL" placeholder:"URL" help:"URL at which worker pods reach INTERNAL_LISTEN_ADDR, such as https://stream-monitor-internal.NAMESPACE.svc:8081; required."`
	WorkerSecret      string `type:"dnsname" env:"WORKER_SECRET" placeholder:"NAME" help:"Secret with the proxies of worker pods (HTTP_PROXY, HTTPS_PROXY, EGRESS_PROXIES); required if one has a password. Default: none."`
	WorkerCASecret    string `name:"worker-ca-secret" type:"dnsname" env:"WORKER_CA_SECRET" placeholder:"NAME" help:"Secret whose ca.crt worker pods trust for the connection to the gateway. Default: the system's certificates."`
	WorkerPodTemplate string `type:"file" env:"WORKER_POD_TEMPLATE" placeholder:"FILE" help:"Part of a PodTemplateSpec (YAML), such as resources, nodes or volumes. The gateway merges it over its own template of a worker pod, whose container is named monitor."`
}

// Networks is a list of address ranges.
type Networks []netip.Prefix

// Strings shows each range as a CIDR.
func (n Networks) Strings() []string {
	shown := make([]string, len(n))
	for i, p := range n {
		shown[i] = p.String()
	}
	return shown
}

// defaultDataDir is $XDG_DATA_HOME/stream-monitor, else
// ~/.local/share/stream-monitor (XDG Base Directory Specification). For a service
// without a home directory it is /var/lib/stream-monitor.
func defaultDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "stream-monitor")
	}
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "stream-monitor")
	}
	return "/var/lib/stream-monitor"
}
