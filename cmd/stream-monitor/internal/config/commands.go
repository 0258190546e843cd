// Package config reads the settings of every command from flags and environment
// variables. It reports all wrong settings at once, with the accepted values. It never
// shows the value of a secret. It also stores generated keys.
package config

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// CLI is the command line. Every setting of section 14.2 and decision P5 is a
// flag and an environment variable of the same name. The flag wins; an empty
// variable counts as unset. TZ sets the time zone of the server (decision A11).
type CLI struct {
	Serve     Serve     `cmd:"" help:"Run the service: REST API, workers, webhooks."`
	Watch     Watch     `cmd:"" help:"Watch one stream in the foreground and print what happens; needs no database."`
	Import    Import    `cmd:"" help:"Register the monitors or channels of a file, CSV or JSON, at a running gateway."`
	Apply     Apply     `cmd:"" help:"Make monitors, channels, destinations, routes, silences and duty at a running gateway as a YAML file has them."`
	Export    Export    `cmd:"" help:"Print the YAML file of what a running gateway has, for apply."`
	Replay    Replay    `cmd:"" help:"Repeat a recording of watch --record and print its events."`
	Doctor    Doctor    `cmd:"" help:"Check tools, versions, database and data directory, and say what to do."`
	Migrate   Migrate   `cmd:"" help:"Bring the database to the schema of this version, then exit. serve does this too."`
	Worker    Worker    `cmd:"" help:"Watch one stream for a gateway, which starts this command itself."`
	Version   Version   `cmd:"" help:"Print the version."`
	Uninstall Uninstall `cmd:"" help:"End the gateway and the workers in a cluster. Uninstalling the Helm chart runs this command."`
}

// Serve holds the settings of the gateway.
type Serve struct {
	ListenAddr         string        `type:"address" env:"LISTEN_ADDR" default:":8080" help:"Address of the public API."`
	InternalListenAddr string        `type:"address" env:"INTERNAL_LISTEN_ADDR" default:":8081" help:"Address of the API for workers; outside hosts must not reach it."`
	ProbeListenAddr    string        `type:"address" env:"PROBE_LISTEN_ADDR" placeholder:"[HOST]:PORT" help:"Address of a listener for probes alone, /healthz and /readyz, by plain HTTP. LISTEN_ADDR answers them, too. Default: none."`
	TLSCertFile        string        `type:"file" name:"tls-cert-file" env:"TLS_CERT_FILE" help:"Certificate chain (PEM) for both addresses. With WORKER_RUNTIME=kubernetes it must name the host of WORKER_GATEWAY_URL, otherwise the host of INTERNAL_LISTEN_ADDR (localhost if that has no host). Default: plain HTTP."`
	TLSKeyFile         string        `type:"file" name:"tls-key-file" env:"TLS_KEY_FILE" help:"Private key (PEM) of the certificate."`
	TrustedProxies     Networks      `type:"networks" env:"TRUSTED_PROXIES" placeholder:"CIDR,…" help:"Proxies whose X-Forwarded-For header the gateway trusts. Default: none."`
	UI                 string        `name:"ui" type:"choice" accept:"on,off" env:"UI" default:"on" help:"Serve the dashboard at LISTEN_ADDR (on), or only the API (off)."`
	DrainTime          time.Duration `type:"duration" min:"0s" max:"5m" env:"DRAIN_TIME" default:"0s" help:"How long a stopping gateway still answers requests after /readyz has begun to fail. Set it to the time that your load balancer needs to notice."`

	Database DatabaseFlags `embed:"" group:"Storage"`
	Evidence EvidenceFlags `embed:"" group:"Evidence (pictures, sound levels and clips of alerts)"`
	Keys     KeyFlags      `embed:"" group:"Keys (other users can see flags in the list of processes: prefer the environment)"`

	PublicURL string `name:"public-url" type:"httpurl" env:"PUBLIC_URL" placeholder:"URL" help:"Where clients reach LISTEN_ADDR, such as https://monitor.example.com; links to evidence begin with it. Default: such links are paths on the host of the API."`

	TemplatesDir string `type:"path" env:"TEMPLATES_DIR" placeholder:"DIR" help:"Directory whose files en.tmpl and ja.tmpl replace texts of messages to people (Go text/template). Default: the built-in texts."`

	EvidenceRetention           time.Duration `group:"Evidence (pictures, sound levels and clips of alerts)" type:"duration" min:"1h" max:"36500d" env:"EVIDENCE_RETENTION" default:"14d" help:"How long evidence of class normal is kept."`
	EvidenceQuarantineRetention time.Duration `group:"Evidence (pictures, sound levels and clips of alerts)" type:"duration" min:"1h" max:"36500d" env:"EVIDENCE_QUARANTINE_RETENTION" default:"60d" help:"How long evidence of class quarantine is kept: the incident is severe, or the evidence is unclear."`

	MaxMonitors             int           `group:"Monitors" type:"integer" min:"1" max:"10000" env:"MAX_MONITORS" default:"50" help:"Monitors that may be active at once."`
	RateLimitCreatePerMin   int           `group:"Monitors" type:"integer" min:"0" max:"60000000" env:"RATE_LIMIT_CREATE_PER_MIN" default:"10" help:"Registrations and test webhooks of one client per minute, at all gateways together; 0: no limit."`
	RateLimitQueryPerMin    int           `group:"Monitors" type:"integer" min:"0" max:"60000000" env:"RATE_LIMIT_QUERY_PER_MIN" default:"100" help:"Reads and redeliveries of one client per minute, at all gateways together; 0: no limit."`
	WorkerRuntime           string        `group:"Monitors" type:"choice" accept:"kubernetes,process,inline" env:"WORKER_RUNTIME" default:"${runtime}" help:"What runs a worker: kubernetes (a pod for each stream; the default in a cluster), process (a child process for each) or inline (in the gateway itself, for many streams on one machine)."`
	MissingWorker           string        `group:"Monitors" type:"choice" accept:"relaunch,error" env:"MISSING_WORKER" help:"What happens to a monitor that has lost its worker: relaunch (it gets another worker, at most 5 times in 10 minutes, then as with error) or error (the monitor ends with monitor.error). Default: error with WORKER_RUNTIME=kubernetes, otherwise relaunch."`
	ScheduleLeadTime        time.Duration `group:"Monitors" type:"duration" min:"0s" max:"1d" env:"SCHEDULE_LEAD_TIME" default:"10m" help:"How long before its scheduled start a stream gets a worker. A stream that is registered earlier waits as a reservation."`
	GatewayReconcileTimeout time.Duration `group:"Monitors" type:"duration" min:"1s" max:"10m" env:"GATEWAY_RECONCILE_TIMEOUT" default:"30s" help:"How long the gateway may compare monitors with workers at its start. After that it continues in the background and sends a monitor.error that is not terminal for each monitor that it has not checked."`
	EventRetention          time.Duration `group:"Monitors" type:"duration" min:"1h" max:"36500d" env:"EVENT_RETENTION" default:"90d" help:"How long events and incidents are kept after the end of their monitor."`
	HistoryRetention        time.Duration `group:"Monitors" type:"duration" min:"1h" max:"36500d" env:"HISTORY_RETENTION" default:"35d" help:"How long the history of streams is kept: states, luma and sound level over time."`
	FeedRetention           time.Duration `group:"Monitors" type:"duration" min:"1h" max:"36500d" env:"FEED_RETENTION" default:"72h" help:"How long entries of the feed are kept. A reader that was away for longer gets the whole state."`
	CallbackAllowedNetworks Networks      `group:"Monitors" type:"networks" env:"CALLBACK_ALLOWED_NETWORKS" placeholder:"CIDR,…" help:"Private networks to which the gateway may send webhooks, also by plain http. Default: none."`

	Opinion   OpinionFlags  `embed:"" group:"Second opinions about alerts"`
	YouTube   YouTubeFlags  `embed:"" group:"Watching"`
	Twitch    TwitchFlags   `embed:"" group:"Watching"`
	Cluster   ClusterFlags  `embed:"" group:"Kubernetes (with WORKER_RUNTIME=kubernetes)"`
	Pods      PodFlags      `embed:"" group:"Kubernetes (with WORKER_RUNTIME=kubernetes)"`
	Watching  WatchingFlags `embed:"" group:"Watching"`
	Log       LogFlags      `embed:"" group:"Log"`
	LogFormat string        `group:"Log" type:"choice" accept:"auto,json,text" env:"LOG_FORMAT" default:"auto" help:"Format of the log: json (one object a line), text (one line for people) or auto (text on a terminal, otherwise json)."`
}

// MissingWorkerPolicy returns what happens to a monitor whose worker was lost
// (decision O3). Default: it ends on Kubernetes, else it gets another worker.
func (c *Serve) MissingWorkerPolicy() supervisor.MissingWorkerPolicy {
	switch {
	case c.MissingWorker != "":
		return supervisor.MissingWorkerPolicy(c.MissingWorker)
	case c.WorkerRuntime == RuntimeKubernetes:
		return supervisor.EndMonitor
	}
	return supervisor.Relaunch
}

// Worker holds the settings with which a gateway starts a worker (section 8.1).
type Worker struct {
	MonitorID       monitor.ID          `type:"monitor" env:"MONITOR_ID" help:"The monitor to work for; required."`
	Generation      int                 `type:"integer" min:"1" max:"2147483647" env:"GENERATION" help:"Generation of this worker: the number of its launch for the monitor; required."`
	GatewayURL      string              `type:"httpurl" env:"GATEWAY_URL" help:"URL of the gateway's internal API; required."`
	InternalAPIKey  string              `type:"key" secret:"" name:"internal-api-key" env:"INTERNAL_API_KEY" help:"This worker's token for the internal API; required."`
	GatewayCAFile   *x509.CertPool      `type:"certificates" name:"gateway-ca-file" env:"GATEWAY_CA_FILE" placeholder:"FILE" help:"Trusted certificates (PEM) for the connection to the gateway, in addition to the system's. Default: only the system's."`
	ProbeListenAddr string              `type:"address" env:"PROBE_LISTEN_ADDR" placeholder:"[HOST]:PORT" help:"Address for the probes of a kubelet, /healthz and /readyz. Default: none."`
	EndWithInput    string              `type:"choice" accept:"on,off" env:"END_WITH_INPUT" default:"off" help:"End when the standard input ends (on). A gateway that starts this command holds the other end, so the worker ends with it."`
	StreamURL       monitor.StreamURL   `type:"stream" name:"stream-url" env:"STREAM_URL" help:"The stream, only for people who look at the process. The worker uses the gateway's assignment."`
	CallbackURL     monitor.CallbackURL `type:"callback" name:"callback-url" env:"CALLBACK_URL" help:"Destination of webhooks, only for people who look at the process. The gateway sends them."`
	ConfigJSON      monitor.Config      `type:"config" name:"config-json" env:"CONFIG_JSON" default:"{}" help:"The monitor's configuration, only for people who look at the process. The worker uses the gateway's assignment."`

	Watching WatchingFlags `embed:"" group:"Watching"`
	Log      LogFlags      `embed:"" group:"Log"`
}

// Watch holds the settings of a watch in the foreground. The rules have the names,
// ranges and defaults of a registration (section 3.1).
type Watch struct {
	URL string `arg:"" name:"URL" type:"streamtext" help:"The stream: https://www.youtube.com/watch?v=ID, or another URL that names it, such as https://HOST/PATH.m3u8 of your own."`

	Record string `type:"path" placeholder:"FILE" help:"Write all observations to FILE, for replay."`
	JSON   bool   `name:"json" help:"Print events and log as JSON lines."`

	RuleFlags          kong.Plugins `embed:""` // one flag for each setting of a registration, made by ruleFlags; kong calls such flags plugins
	ScheduledStartTime time.Time    `group:"Rules" type:"time" placeholder:"TIME" help:"When the stream should start, e.g. 2030-01-15T20:00:00+09:00."`

	Reference []string `group:"Rules" sep:"none" placeholder:"FILE" help:"A JPEG or PNG that detectors look for, such as a slate; it is unwanted after the start. May be repeated."`
	Cookies   string   `group:"Rules" placeholder:"FILE" help:"A cookie file of a browser (cookies.txt) for a stream that needs a login. It is read once, and stays as it is."`
	Header    []string `group:"Rules" sep:"none" placeholder:"NAME:VALUE" help:"A header field of the requests for a stream of your own (it shows in the list of processes). May be repeated."`
	TokenURL  string   `group:"Rules" name:"token-url" placeholder:"URL" help:"A URL that answers with the token of a stream of your own, in HLS or DASH (it shows in the list of processes)."`
	CopyQuery bool     `group:"Rules" name:"copy-query" help:"Copy the query of the URL of a stream of your own, in HLS or DASH, to every request to its origin."`

	Watching WatchingFlags `embed:"" group:"Watching"`
	Log      LogFlags      `embed:"" group:"Log"`
}

// Import names the file to register, and the gateway.
type Import struct {
	File string `arg:"" name:"FILE" help:"CSV whose first row names the columns (stream_url or channel, callback_url, fields of config, labels.NAME, metadata.NAME), with a comma, semicolon or tab between cells; or a JSON array of registrations; - is the standard input."`

	Gateway GatewayFlags `embed:""`
	DryRun  bool         `help:"Register and change nothing; print what would happen."`
	Update  bool         `help:"Also change what is watched or registered already, where the file says something else. Without it, these are refused."`
	Charset string       `type:"choice" accept:"utf-8,shift_jis" default:"utf-8" help:"How characters are written in a file without a byte order mark: utf-8, or shift_jis for a CSV file of Excel in Japan. With such a mark, UTF-8 and UTF-16 are recognized."`
}

// Apply names the file, and the gateway.
type Apply struct {
	File string `required:"" short:"f" placeholder:"FILE" help:"YAML with owner, monitors, channels, destinations, routes, silences and duty (docs/operations/as-code.md); - is the standard input. $${NAME} in a secret is the environment variable NAME."`

	Gateway GatewayFlags `embed:""`
	DryRun  bool         `help:"Change nothing; print what would change."`
	Prune   bool         `help:"Also delete and stop what an earlier version of the file had."`
	Adopt   bool         `help:"Also keep, from now on, what the file has and no file keeps yet."`
	Yes     bool         `help:"Carry out changes that end a watch. Without it nothing is changed if there is one."`
}

// Export names the gateway, and the owner of the file.
type Export struct {
	Owner string `default:"stream-monitor.yaml" help:"The owner of the file. What other owners keep is left out."`

	Gateway GatewayFlags `embed:""`
}

// GatewayFlags name a running gateway.
type GatewayFlags struct {
	URL     string         `type:"httpurl" name:"url" default:"http://localhost:8080" help:"The gateway's public API."`
	APIKey  string         `type:"key" secret:"" name:"api-key" env:"API_KEY" help:"Key of that API (a flag shows in the list of processes: prefer the environment). Default: the one generated in DATA_DIR."`
	CAFile  *x509.CertPool `type:"certificates" name:"ca-file" placeholder:"FILE" help:"Certificates (PEM) that vouch for the gateway, in addition to the system's. Default: only the system's."`
	DataDir string         `type:"path" env:"DATA_DIR" default:"${data_dir}" help:"Directory of the generated keys."`
}

// Key returns the API key: the given one, or the one generated in DATA_DIR. Errors: none
// is given, and the generated one cannot be read.
func (c *GatewayFlags) Key() (string, error) {
	if c.APIKey != "" {
		return c.APIKey, nil
	}
	kept, err := ReadKeys(KeysPath(c.DataDir))
	if err != nil {
		return "", fmt.Errorf("API_KEY is not set, and no generated key was found; set it to the key of the gateway: %w", err)
	}
	return kept.API, nil
}

// Replay names the recording to replay.
type Replay struct {
	File string   `arg:"" name:"RECORDING" type:"file" help:"A recording that watch --record wrote."`
	JSON bool     `name:"json" help:"Print events as JSON lines."`
	Log  LogFlags `embed:"" group:"Log"`
}

// Migrate names the database to migrate.
type Migrate struct {
	Database DatabaseFlags `embed:"" group:"Storage"`
	Log      LogFlags      `embed:"" group:"Log"`
}

// Doctor holds the settings of serve that doctor checks.
type Doctor struct {
	WorkerRuntime string `group:"Monitors" type:"choice" accept:"kubernetes,process,inline" env:"WORKER_RUNTIME" default:"${runtime}" help:"What runs a worker. With kubernetes, doctor checks the cluster too."`
	MaxMonitors   int    `group:"Monitors" type:"integer" min:"1" max:"10000" env:"MAX_MONITORS" default:"50" help:"Monitors that may be active at once."`

	CallbackAllowedNetworks Networks `group:"Monitors" type:"networks" env:"CALLBACK_ALLOWED_NETWORKS" placeholder:"CIDR,…" help:"Private networks to which the gateway may send webhooks, also by plain http. Default: none."`

	Offline bool `help:"Do not send any request to the sites of streams, to their official APIs, nor to SECOND_OPINION_URL."`

	Cluster  ClusterFlags  `embed:"" group:"Kubernetes (with WORKER_RUNTIME=kubernetes)"`
	Database DatabaseFlags `embed:"" group:"Storage"`
	Evidence EvidenceFlags `embed:"" group:"Evidence (pictures, sound levels and clips of alerts)"`
	Keys     KeyFlags      `embed:"" group:"Keys (other users can see flags in the list of processes: prefer the environment)"`
	Opinion  OpinionFlags  `embed:"" group:"Second opinions about alerts"`
	YouTube  YouTubeFlags  `embed:"" group:"Watching"`
	Twitch   TwitchFlags   `embed:"" group:"Watching"`
	Watching WatchingFlags `embed:"" group:"Watching"`
}

// Uninstall names the installation to remove.
type Uninstall struct {
	Deployment string `type:"dnsname" required:"" placeholder:"NAME" help:"The gateway's Deployment. uninstall scales it to 0 first, so that no gateway replaces the workers."`
	Namespace  string `type:"dnslabel" placeholder:"NAME" help:"Namespace of this Deployment. Default: that of the worker pods."`

	Cluster ClusterFlags `embed:"" group:"Kubernetes"`
	Log     LogFlags     `embed:"" group:"Log"`
}

// Version is the command without settings.
type Version struct{}
