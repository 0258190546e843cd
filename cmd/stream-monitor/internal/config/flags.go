package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/webhook"
)

// LogFlags set the log level (section 11.1).
type LogFlags struct {
	LogLevel string `type:"choice" accept:"debug,info,warn,error" env:"LOG_LEVEL" default:"info" help:"Least level that is logged: debug, info, warn or error."`
}

// DatabaseFlags name the database and the data directory (decision P3).
type DatabaseFlags struct {
	DBDSN   string `name:"db-dsn" type:"dsn" secret:"" env:"DB_DSN" placeholder:"postgres://…" help:"PostgreSQL to use; setting it means production, where all three keys are required. serve waits for one that is away, and ends if it is refused. Default: a private one in the data directory."`
	DataDir string `type:"path" env:"DATA_DIR" default:"${data_dir}" help:"Where the private database and generated keys are kept."`
}

// Production reports whether the operator provides the database. Then the operator
// also provides the three keys (decision P4).
func (f DatabaseFlags) Production() bool { return f.DBDSN != "" }

// KeyFlags hold the keys of section 14.2 that the operator set.
type KeyFlags struct {
	APIKey            string       `type:"key" secret:"" name:"api-key" env:"API_KEY" help:"Key that callers of the API present. Default: generated at the first start."`
	WebhookSigningKey webhook.Keys `type:"signing" secret:"" env:"WEBHOOK_SIGNING_KEY" help:"Key that signs webhooks; two, separated by a comma, while changing it. Default: generated."`
	InternalAPIKey    string       `type:"key" secret:"" name:"internal-api-key" env:"INTERNAL_API_KEY" help:"Key that workers present to the gateway. Default: generated."`
}

// WatchingFlags name the tools and proxies with which a stream is watched. Every
// field is a string with a variable, because workers get them as variables.
type WatchingFlags struct {
	YTDLPPath       string `name:"ytdlp-path" env:"YTDLP_PATH" placeholder:"FILE" help:"yt-dlp. Default: the one of \"make tools\", else the one in PATH."`
	StreamlinkPath  string `env:"STREAMLINK_PATH" placeholder:"FILE" help:"streamlink, used when yt-dlp fails. Default: likewise."`
	FFmpegPath      string `name:"ffmpeg-path" env:"FFMPEG_PATH" placeholder:"FILE" help:"ffmpeg. Default: likewise."`
	StreamRendition string `type:"choice" accept:"smallest,best" env:"STREAM_RENDITION" default:"smallest" help:"Which quality is analysed: smallest (a tenth of the CPU, same result) or best."`
	HTTPProxy       string `type:"proxy" secret:"" name:"http-proxy" env:"HTTP_PROXY,http_proxy" placeholder:"URL" help:"Proxy towards YouTube for http; never used for webhooks."`
	HTTPSProxy      string `type:"proxy" secret:"" name:"https-proxy" env:"HTTPS_PROXY,https_proxy" placeholder:"URL" help:"Proxy towards YouTube for https; never used for webhooks."`
}

// YTDLP locates yt-dlp.
func (f WatchingFlags) YTDLP() Tool { return findTool("yt-dlp", "YTDLP_PATH", f.YTDLPPath) }

// Streamlink locates streamlink.
func (f WatchingFlags) Streamlink() Tool {
	return findTool("streamlink", "STREAMLINK_PATH", f.StreamlinkPath)
}

// FFmpeg locates ffmpeg.
func (f WatchingFlags) FFmpeg() Tool { return findTool("ffmpeg", "FFMPEG_PATH", f.FFmpegPath) }

// Environ returns these settings as environment variables of a child process.
// A setting without a value becomes an empty variable, which counts as unset.
func (f WatchingFlags) Environ() (env []string) {
	settings := reflect.ValueOf(f)
	for i := range settings.NumField() {
		names := settings.Type().Field(i).Tag.Get("env")
		for name := range strings.SplitSeq(names, ",") {
			env = append(env, name+"="+settings.Field(i).String())
		}
	}
	return env
}

// PodEnviron returns the settings that have a value, under one name each, and the
// time zone (decision A11): a pod inherits no variable from the gateway.
func (f WatchingFlags) PodEnviron() (env []string) {
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
// and its HTTP clients.
func (f WatchingFlags) Export() {
	for _, variable := range f.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		_ = os.Setenv(name, value) // fails only on names and values that cannot be in an environment
		if value == "" {
			_ = os.Unsetenv(name) // tools differ in how they read an empty variable
		}
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

// ClusterFlags select the worker pods of this installation. The cluster is that of
// the pod in which the program runs, else that of KUBECONFIG, as for kubectl.
type ClusterFlags struct {
	WorkerNamespace string `type:"label" env:"WORKER_NAMESPACE" placeholder:"NAME" help:"Namespace of the worker pods. Default: that of the pod this runs in, else of the kubeconfig."`
	WorkerInstance  string `type:"label" env:"WORKER_INSTANCE" default:"stream-monitor" help:"What tells this installation's worker pods from those of others in the namespace: their label app.kubernetes.io/instance."`
}

// PodFlags describe a worker pod (section 8.1).
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
