package process

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/internal/localworkers"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Config configures a launcher. GatewayURL, Tokens, IDFile and Output are required.
type Config struct {
	GatewayURL string           // where workers find the internal API, e.g. http://127.0.0.1:8081
	GatewayCA  string           // file of CA certificates, in addition to the system's; default: none
	Tokens     monitor.TokenKey // makes the credential of each worker (decision O9)
	LogLevel   string           // LOG_LEVEL of workers, default info

	IDFile string // localworkers.Config.IDFile

	// Output is the gateway's log. Workers' log lines go there with their generation, each in one
	// Write. It must allow concurrent Writes.
	Output io.Writer
	Log    *slog.Logger // default: nothing is logged

	Path        string        // of the program to run, default this program
	Args        []string      // of that program, default "worker"
	Environ     []string      // the settings of workers, NAME=value
	GracePeriod time.Duration // between SIGTERM and SIGKILL, default 30 s (section 8.3)
}

func (c Config) withDefaults() (Config, error) {
	var missing error
	for name, isMissing := range map[string]bool{
		"GatewayURL": c.GatewayURL == "", "Tokens": c.Tokens == (monitor.TokenKey{}), "Output": c.Output == nil,
	} {
		if isMissing {
			missing = errors.Join(missing, fmt.Errorf("process: %s is required", name))
		}
	}
	if missing != nil {
		return c, missing
	}
	if c.LogLevel == "" {
		c.LogLevel = "info"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Path == "" {
		path, err := os.Executable()
		if err != nil {
			return c, fmt.Errorf("process: find this program: %w", err)
		}
		c.Path = path
	}
	if c.Args == nil {
		c.Args = []string{"worker"}
	}
	return c, nil
}

// New makes a launcher of processes. The caller must Close it. Errors: a required value of cfg is
// missing; those of localworkers.New.
func New(cfg Config) (*localworkers.Launcher, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	output := &outputForwarder{out: cfg.Output}
	return localworkers.New(localworkers.Config{
		Name: "process", IDFile: cfg.IDFile, GracePeriod: cfg.GracePeriod, Log: cfg.Log,
		Start: func(spec supervisor.WorkerSpec, _ *slog.Logger) (localworkers.Worker, error) {
			return cfg.start(spec, output)
		},
	})
}
