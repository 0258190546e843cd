package main

import (
	"net/netip"
	"os"
	"path/filepath"

	"github.com/stream-monitor/stream-monitor/adapters/webhook"
)

// LogFlags is how much is logged (section 11.1).
type LogFlags struct {
	LogLevel string `type:"choice" accept:"debug,info,warn,error" env:"LOG_LEVEL" default:"info" help:"Least level that is logged: debug, info, warn or error."`
}

// DatabaseFlags is where things are kept (decision P3).
type DatabaseFlags struct {
	DBDSN   string `name:"db-dsn" type:"dsn" secret:"" env:"DB_DSN" placeholder:"postgres://…" help:"PostgreSQL to use; setting it means production, where all three keys are required. serve waits for one that is away, and ends if it is refused. Default: a private one in the data directory."`
	DataDir string `type:"path" env:"DATA_DIR" default:"${data_dir}" help:"Where the private database and generated keys are kept."`
}

// Production tells whether the operator provides the database, and so must
// provide the keys (decision P4).
func (f DatabaseFlags) Production() bool { return f.DBDSN != "" }

// KeyFlags are the three keys of section 14.2, as far as they are given.
type KeyFlags struct {
	APIKey            string       `type:"key" secret:"" name:"api-key" env:"API_KEY" help:"Key that callers of the API present. Default: generated at the first start."`
	WebhookSigningKey webhook.Keys `type:"signing" secret:"" env:"WEBHOOK_SIGNING_KEY" help:"Key that signs webhooks; two, separated by a comma, while changing it. Default: generated."`
	InternalAPIKey    string       `type:"key" secret:"" name:"internal-api-key" env:"INTERNAL_API_KEY" help:"Key that workers present to the gateway. Default: generated."`
}

// WatchingFlags is how a stream is watched: with which tools, by which way.
// Every field is a string with a variable: that is how workers get them.
type WatchingFlags struct {
	YTDLPPath       string `name:"ytdlp-path" env:"YTDLP_PATH" placeholder:"FILE" help:"yt-dlp. Default: the one of \"make tools\", else the one in PATH."`
	StreamlinkPath  string `env:"STREAMLINK_PATH" placeholder:"FILE" help:"streamlink, used when yt-dlp fails. Default: likewise."`
	FFmpegPath      string `name:"ffmpeg-path" env:"FFMPEG_PATH" placeholder:"FILE" help:"ffmpeg. Default: likewise."`
	StreamRendition string `type:"choice" accept:"smallest,best" env:"STREAM_RENDITION" default:"smallest" help:"Which quality is analysed: smallest (a tenth of the CPU, same result) or best."`
	HTTPProxy       string `type:"proxy" secret:"" name:"http-proxy" env:"HTTP_PROXY,http_proxy" placeholder:"URL" help:"Proxy towards YouTube for http; never used for webhooks."`
	HTTPSProxy      string `type:"proxy" secret:"" name:"https-proxy" env:"HTTPS_PROXY,https_proxy" placeholder:"URL" help:"Proxy towards YouTube for https; never used for webhooks."`
}

// YTDLP is where yt-dlp is; if nowhere, its name, which then cannot be run.
func (f WatchingFlags) YTDLP() Tool { return findTool("yt-dlp", "YTDLP_PATH", f.YTDLPPath) }

// Streamlink is where streamlink is; if nowhere, its name.
func (f WatchingFlags) Streamlink() Tool {
	return findTool("streamlink", "STREAMLINK_PATH", f.StreamlinkPath)
}

// FFmpeg is where ffmpeg is; if nowhere, its name.
func (f WatchingFlags) FFmpeg() Tool { return findTool("ffmpeg", "FFMPEG_PATH", f.FFmpegPath) }

// The runtimes of workers (WORKER_RUNTIME, decision P2).
const (
	runtimeKubernetes = "kubernetes"
	runtimeProcess    = "process"
	runtimeInline     = "inline"
)

// defaultRuntime is kubernetes in a pod of a cluster, else process.
func defaultRuntime() string {
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return runtimeKubernetes
	}
	return runtimeProcess
}

// ClusterFlags is which pods of a cluster are workers of this installation. The
// cluster is the one this runs in, else that of KUBECONFIG, as for kubectl.
type ClusterFlags struct {
	WorkerNamespace string `type:"label" env:"WORKER_NAMESPACE" placeholder:"NAME" help:"Namespace of the worker pods. Default: that of the pod this runs in, else of the kubeconfig."`
	WorkerInstance  string `type:"label" env:"WORKER_INSTANCE" default:"stream-monitor" help:"What tells this installation's worker pods from those of others in the namespace: their label app.kubernetes.io/instance."`
}

// PodFlags is what a worker pod is made of (section 8.1).
type PodFlags struct {
	WorkerImage       string `env:"WORKER_IMAGE" type:"image" placeholder:"IMAGE:TAG" help:"Image of worker pods; required."`
	WorkerGatewayURL  string `name:"worker-gateway-url" type:"httpurl" env:"WORKER_GATEWAY_URL" placeholder:"URL" help:"Where worker pods find INTERNAL_LISTEN_ADDR, such as https://stream-monitor-internal.NAMESPACE.svc:8081; required."`
	WorkerSecret      string `type:"name" env:"WORKER_SECRET" placeholder:"NAME" help:"Secret whose INTERNAL_API_KEY worker pods get; required."`
	WorkerCASecret    string `name:"worker-ca-secret" type:"name" env:"WORKER_CA_SECRET" placeholder:"NAME" help:"Secret whose ca.crt vouches for the gateway to worker pods. Default: the system's certificates."`
	WorkerPodTemplate string `type:"file" env:"WORKER_POD_TEMPLATE" placeholder:"FILE" help:"Part of a PodTemplateSpec (YAML) that is merged over that of a worker, whose container is called monitor: resources, nodes, volumes."`
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
// ~/.local/share/stream-monitor (XDG Base Directory Specification), else, for
// a service that has no home, /var/lib/stream-monitor.
func defaultDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "stream-monitor")
	}
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "stream-monitor")
	}
	return "/var/lib/stream-monitor"
}
