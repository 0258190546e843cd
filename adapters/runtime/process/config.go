package process

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Config configures a Launcher. GatewayURL, Tokens, RunDir and Output are required.
type Config struct {
	GatewayURL string           // where workers find the internal API, e.g. http://127.0.0.1:8081
	GatewayCA  string           // file of CA certificates, in addition to the system's; default: none
	Tokens     monitor.TokenKey // makes the credential of each worker (decision O9)
	LogLevel   string           // LOG_LEVEL of workers, default info

	// RunDir records which workers run. It is created if it does not exist, and
	// belongs to one gateway at a time.
	RunDir string

	// Output is the gateway's log. Workers' log lines go there with their generation, each in one
	// Write. It must allow concurrent Writes.
	Output io.Writer
	Log    *slog.Logger // default: nothing is logged

	Path        string        // of the program to run, default this program
	Args        []string      // of that program, default "worker"
	Environ     []string      // the variables that workers inherit, default os.Environ()
	GracePeriod time.Duration // between SIGTERM and SIGKILL, default 30 s (section 8.3)

	// GatewayPatience is how long a worker goes on without an answer from a gateway
	// before it ends by itself, default 15 min.
	GatewayPatience time.Duration
}

// replacementGracePeriod is the longest grace period of a worker whose reports are
// refused: a newer generation replaces it, or it cannot report to this gateway.
const replacementGracePeriod = 5 * time.Second

func (c Config) withDefaults() (Config, error) {
	var missing error
	for name, value := range map[string]string{"GatewayURL": c.GatewayURL, "RunDir": c.RunDir} {
		if value == "" {
			missing = errors.Join(missing, fmt.Errorf("process: %s is required", name))
		}
	}
	if c.Tokens == (monitor.TokenKey{}) {
		missing = errors.Join(missing, errors.New("process: Tokens is required"))
	}
	if c.Output == nil {
		missing = errors.Join(missing, errors.New("process: Output is required"))
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
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.GracePeriod == 0 {
		c.GracePeriod = 30 * time.Second
	}
	if c.GatewayPatience == 0 {
		c.GatewayPatience = 15 * time.Minute
	}
	if c.GracePeriod < 0 || c.GatewayPatience < 0 {
		return c, errors.New("process: GracePeriod and GatewayPatience must not be negative")
	}
	return c, nil
}
