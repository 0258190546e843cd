package process

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"
)

// Config is what a Launcher needs to know. GatewayURL, InternalKey, RunDir and
// Output are required.
type Config struct {
	GatewayURL  string // where workers find the internal API, e.g. http://127.0.0.1:8081
	GatewayCA   string // file of certificates that vouch for it beside the system's; default: none
	InternalKey string // INTERNAL_API_KEY (section 8.6)
	LogLevel    string // LOG_LEVEL of workers, default info

	// RunDir is the directory that says which workers run, made if it is not
	// there. It belongs to one gateway at a time.
	RunDir string

	// Output is what Log itself writes to; workers' log lines go there as they
	// are, each in one Write. It must take concurrent Writes.
	Output io.Writer
	Log    *slog.Logger // default: none

	Path        string        // the program, default this one
	Args        []string      // default worker
	Environ     []string      // what children inherit, default os.Environ()
	GracePeriod time.Duration // between SIGTERM and SIGKILL, default 30 s (section 8.3)

	// Patience is how long a worker goes on without a word from its gateway
	// before it ends by itself, default 15 min.
	GatewayPatience time.Duration
}

// handover is what a worker gets at most that is of no use any more: a newer
// generation replaces it, or it cannot report here. It has nothing to say.
const handover = 5 * time.Second

func (c Config) complete() (Config, error) {
	var missing error
	for name, value := range map[string]string{"GatewayURL": c.GatewayURL, "InternalKey": c.InternalKey, "RunDir": c.RunDir} {
		if value == "" {
			missing = errors.Join(missing, fmt.Errorf("process: %s is required", name))
		}
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
			return c, fmt.Errorf("process: where this program is: %w", err)
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
		return c, errors.New("process: Grace and Patience must not be negative")
	}
	return c, nil
}
