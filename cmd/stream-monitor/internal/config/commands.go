// Package config reads the settings of every command from flags and environment
// variables. It reports everything that is wrong at once, with what is accepted, and
// never shows the value of a secret. It also keeps generated keys.
package config

import (
	"crypto/x509"
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
	Replay    Replay    `cmd:"" help:"Feed a recording of watch --record to the watcher again and print the same events."`
	Doctor    Doctor    `cmd:"" help:"Check tools, versions, database and data directory, and say what to do."`
	Migrate   Migrate   `cmd:"" help:"Bring the database to this version, then end. serve does it too."`
	Worker    Worker    `cmd:"" help:"Watch one stream for a gateway. The gateway starts it, people do not."`
	Version   Version   `cmd:"" help:"Print the version."`
	Uninstall Uninstall `cmd:"" help:"End the gateway and the workers that run in a cluster. The Helm chart calls it when it is uninstalled."`
}

// Serve holds the settings of the gateway.
type Serve struct {
	ListenAddr         string        `type:"address" env:"LISTEN_ADDR" default:":8080" help:"Address of the public API."`
	InternalListenAddr string        `type:"address" env:"INTERNAL_LISTEN_ADDR" default:":8081" help:"Address of the API for workers; keep it from the outside."`
	TLSCertFile        string        `type:"file" name:"tls-cert-file" env:"TLS_CERT_FILE" help:"Certificate chain (PEM) for both addresses; it must name the host of INTERNAL_LISTEN_ADDR, or localhost; in a cluster that of WORKER_GATEWAY_URL. Default: plain HTTP."`
	TLSKeyFile         string        `type:"file" name:"tls-key-file" env:"TLS_KEY_FILE" help:"Private key (PEM) of the certificate."`
	TrustedProxies     Networks      `type:"networks" env:"TRUSTED_PROXIES" placeholder:"CIDR,…" help:"Proxies whose X-Forwarded-For is believed. Default: none."`
	DrainTime          time.Duration `type:"span" min:"0s" max:"5m" env:"DRAIN_TIME" default:"0s" help:"How long requests are still answered after /readyz has turned, when it is asked to end; behind a load balancer, the time it takes to notice."`

	Database DatabaseFlags `embed:"" group:"Storage"`
	Keys     KeyFlags      `embed:"" group:"Keys (flags show in the list of processes: prefer the environment)"`

	MaxMonitors             int           `group:"Monitors" type:"whole" min:"1" max:"10000" env:"MAX_MONITORS" default:"50" help:"Monitors that may be active at once."`
	RateLimitCreatePerMin   int           `group:"Monitors" type:"whole" min:"0" max:"60000000" env:"RATE_LIMIT_CREATE_PER_MIN" default:"10" help:"Registrations and test webhooks that a client may ask for in a minute, at all gateways together; 0: without limit."`
	RateLimitQueryPerMin    int           `group:"Monitors" type:"whole" min:"0" max:"60000000" env:"RATE_LIMIT_QUERY_PER_MIN" default:"100" help:"Reads and redeliveries, likewise."`
	WorkerRuntime           string        `group:"Monitors" type:"choice" accept:"kubernetes,process,inline" env:"WORKER_RUNTIME" default:"${runtime}" help:"What runs a worker: kubernetes (a pod for each stream; the default in a cluster), process (a child process for each, which outlives a gateway that dies) or inline (in the gateway itself, for many streams on one machine)."`
	MissingWorker           string        `group:"Monitors" type:"choice" accept:"relaunch,error" env:"MISSING_WORKER" help:"What a worker that was lost does to its monitor: relaunch (it gets another one, 5 times in 10 minutes, then error) or error (it ends with monitor.error). Default: relaunch; with WORKER_RUNTIME=kubernetes error."`
	ScheduleLeadTime        time.Duration `group:"Monitors" type:"span" min:"0s" max:"1d" env:"SCHEDULE_LEAD_TIME" default:"10m" help:"How long before its scheduled start a stream gets a worker; registered sooner, it waits as a reservation."`
	GatewayReconcileTimeout time.Duration `group:"Monitors" type:"span" min:"1s" max:"10m" env:"GATEWAY_RECONCILE_TIMEOUT" default:"30s" help:"How long bringing monitors and workers together may take at the start; the rest continues in the background, and each affected monitor sends a monitor.error that is not terminal."`
	GatewayPatience         time.Duration `group:"Monitors" type:"span" min:"1m" max:"7d" env:"GATEWAY_PATIENCE" default:"15m" help:"How long a worker goes on when no gateway runs, until it ends; with WORKER_RUNTIME=process."`
	EventRetention          time.Duration `group:"Monitors" type:"span" min:"1h" max:"36500d" env:"EVENT_RETENTION" default:"90d" help:"How long events of ended monitors are kept; without effect in this version, which keeps them all."`
	CallbackAllowedNetworks Networks      `group:"Monitors" type:"networks" env:"CALLBACK_ALLOWED_NETWORKS" placeholder:"CIDR,…" help:"Private networks, and plain http, that webhooks may go to. Default: none."`

	Cluster  ClusterFlags  `embed:"" group:"Kubernetes (with WORKER_RUNTIME=kubernetes)"`
	Pods     PodFlags      `embed:"" group:"Kubernetes (with WORKER_RUNTIME=kubernetes)"`
	Watching WatchingFlags `embed:"" group:"Watching"`
	Log      LogFlags      `embed:"" group:"Log"`
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
	Generation      int                 `type:"whole" min:"1" max:"2147483647" env:"GENERATION" help:"Which launch of its worker this is; required."`
	GatewayURL      string              `type:"httpurl" env:"GATEWAY_URL" help:"Where the gateway's internal API is; required."`
	InternalAPIKey  string              `type:"key" secret:"" name:"internal-api-key" env:"INTERNAL_API_KEY" help:"Key for the internal API; required."`
	GatewayCAFile   *x509.CertPool      `type:"roots" name:"gateway-ca-file" env:"GATEWAY_CA_FILE" placeholder:"FILE" help:"Certificates (PEM) that vouch for the gateway, beside the system's. Default: the system's alone."`
	GatewayPatience time.Duration       `type:"span" min:"0s" max:"7d" env:"GATEWAY_PATIENCE" default:"0s" help:"How long without a word from the gateway until it is believed gone, and the worker ends. Default: without end."`
	ProbeListenAddr string              `type:"address" env:"PROBE_LISTEN_ADDR" placeholder:"[HOST]:PORT" help:"Address that answers a kubelet's probes, /healthz and /readyz. Default: none."`
	StreamURL       monitor.StreamURL   `type:"stream" name:"stream-url" env:"STREAM_URL" help:"The stream, for information: the gateway's assignment decides."`
	CallbackURL     monitor.CallbackURL `type:"callback" name:"callback-url" env:"CALLBACK_URL" help:"Where webhooks go, for information: the gateway sends them."`
	ConfigJSON      monitor.Config      `type:"config" name:"config-json" env:"CONFIG_JSON" default:"{}" help:"What to watch for, for information: the gateway's assignment decides."`

	Watching WatchingFlags `embed:"" group:"Watching"`
	Log      LogFlags      `embed:"" group:"Log"`
}

// Watch holds the settings of a watch in the foreground. The rules have the names,
// ranges and defaults of a registration (section 3.1).
type Watch struct {
	URL monitor.StreamURL `arg:"" name:"URL" type:"stream" help:"The stream: https://www.youtube.com/watch?v=ID."`

	Record string `type:"path" placeholder:"FILE" help:"Write all that is observed to FILE, for replay."`
	JSON   bool   `name:"json" help:"Print events and log as JSON lines."`

	Rules              kong.Plugins `embed:""` // one flag for each setting of a registration (ruleFlags)
	ScheduledStartTime time.Time    `group:"Rules" type:"instant" placeholder:"TIME" help:"When the stream should start, e.g. 2030-01-15T20:00:00+09:00."`

	Watching WatchingFlags `embed:"" group:"Watching"`
	Log      LogFlags      `embed:"" group:"Log"`
}

// Replay names the recording to replay.
type Replay struct {
	File string   `arg:"" name:"FILE" type:"file" help:"What watch --record wrote."`
	JSON bool     `name:"json" help:"Print events as JSON lines."`
	Log  LogFlags `embed:"" group:"Log"`
}

// Migrate names the database to migrate.
type Migrate struct {
	Database DatabaseFlags `embed:"" group:"Storage"`
	Log      LogFlags      `embed:"" group:"Log"`
}

// Doctor holds the settings to examine: those with which serve would run.
type Doctor struct {
	WorkerRuntime string `group:"Monitors" type:"choice" accept:"kubernetes,process,inline" env:"WORKER_RUNTIME" default:"${runtime}" help:"What runs a worker; with kubernetes the cluster is examined, too."`

	Offline bool `help:"Do not ask YouTube anything."`

	Cluster  ClusterFlags  `embed:"" group:"Kubernetes (with WORKER_RUNTIME=kubernetes)"`
	Database DatabaseFlags `embed:"" group:"Storage"`
	Keys     KeyFlags      `embed:"" group:"Keys (flags show in the list of processes: prefer the environment)"`
	Watching WatchingFlags `embed:"" group:"Watching"`
}

// Uninstall names the installation to remove.
type Uninstall struct {
	Deployment string `type:"name" required:"" placeholder:"NAME" help:"The gateway's Deployment. It is scaled to 0 first, so that nobody misses the workers."`

	Cluster ClusterFlags `embed:"" group:"Kubernetes"`
	Log     LogFlags     `embed:"" group:"Log"`
}

// Version is the command without settings.
type Version struct{}
