package process

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// gatewayOnly are the variables that no worker gets, because it does not need them. It
// signs nothing, opens no database and answers no API calls (decision W1).
var gatewayOnly = map[string]bool{
	"DB_DSN":              true,
	"API_KEY":             true,
	"INTERNAL_API_KEY":    true, // a worker gets a token in its place
	"WEBHOOK_SIGNING_KEY": true,
	"SECRETS_KEY":         true,

	"EVIDENCE_LINK_KEY":      true,
	"EVIDENCE_S3_ACCESS_KEY": true,
	"EVIDENCE_S3_SECRET_KEY": true,

	"PGPASSWORD": true, // lib/pq reads PGPASSWORD and PGPASSFILE
	"PGPASSFILE": true,

	// Of systemd, for the gateway alone (sd_notify(3), systemd.exec(5)).
	"NOTIFY_SOCKET":         true,
	"WATCHDOG_USEC":         true,
	"WATCHDOG_PID":          true,
	"CREDENTIALS_DIRECTORY": true,

	"PROBE_LISTEN_ADDR": true, // a worker reads it, too, and only one process can listen there
}

// The variables by which recognizeWorker recognizes a worker.
const (
	idVariable         = "MONITOR_ID"
	generationVariable = "GENERATION"
	gatewayVariable    = "GATEWAY_URL"
	tokenVariable      = "INTERNAL_API_KEY" // a worker's holds its token (decision O9)
	markVariable       = "GATEWAY_PLACE"    // runDirectory.mark
)

// identifyingFlags are the flags of those variables that are no secret. A worker gets them
// as arguments, too: no process of its user can read its environment, the next gateway
// included.
var identifyingFlags = map[string]string{
	idVariable:         "--monitor-id=",
	generationVariable: "--generation=",
	gatewayVariable:    "--gateway-url=",
	markVariable:       "--gateway-place=",
}

// arguments returns the arguments of a worker with this environment.
func (c Config) arguments(env []string) []string {
	args := slices.Clone(c.Args)
	last := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		last[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(identifyingFlags)) {
		args = append(args, identifyingFlags[name]+last[name])
	}
	return args
}

// tokenHash returns what a record holds of a token. It can be compared, but not used. That of
// an unknown token is empty.
func tokenHash(token string) string {
	if token == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// environment returns a worker's environment. The assignment comes last, so it wins
// over inherited variables of the same name.
func (c Config) environment(spec supervisor.WorkerSpec, mark string) ([]string, error) {
	config, err := json.Marshal(spec.Config)
	if err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", spec.ID, err)
	}
	assignment := []struct{ name, value string }{
		{idVariable, string(spec.ID)},
		{"STREAM_URL", string(spec.StreamURL)},
		{"CALLBACK_URL", string(spec.CallbackURL)},
		{"CONFIG_JSON", string(config)},
		{generationVariable, strconv.Itoa(spec.Generation)},
		{gatewayVariable, c.GatewayURL},
		{"GATEWAY_CA_FILE", c.GatewayCA},
		{"GATEWAY_PATIENCE", c.GatewayPatience.String()},
		{tokenVariable, c.Tokens.Token(spec.ID, spec.Generation)},
		{markVariable, mark},
		{"LOG_LEVEL", c.LogLevel},
	}
	var env []string
	for _, v := range c.Environ {
		name, _, _ := strings.Cut(v, "=")
		if !gatewayOnly[name] {
			env = append(env, v)
		}
	}
	for _, v := range assignment {
		env = append(env, v.name+"="+v.value)
	}
	return env, nil
}
