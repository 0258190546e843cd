package process

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// withheld are the variables that never reach a worker: it neither signs, nor
// opens the database, nor answers API calls.
var withheld = map[string]bool{
	"DB_DSN":              true,
	"API_KEY":             true,
	"WEBHOOK_SIGNING_KEY": true,
	"PGPASSWORD":          true, // lib/pq reads these two
	"PGPASSFILE":          true,
}

// The variables by which a worker is known.
const (
	idVariable         = "MONITOR_ID"
	generationVariable = "GENERATION"
	gatewayVariable    = "GATEWAY_URL"
	keyVariable        = "INTERNAL_API_KEY"
	placeVariable      = "GATEWAY_PLACE" // the mark of its run directory
)

// environment is a worker's: what is inherited, less the secrets, plus its
// assignment (section 8.1), which comes last and so wins over what is inherited
// under the same name.
func (c Config) environment(j supervisor.WorkerSpec, mark string) ([]string, error) {
	config, err := json.Marshal(j.Config)
	if err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", j.ID, err)
	}
	own := []struct{ name, value string }{
		{idVariable, string(j.ID)},
		{"STREAM_URL", string(j.StreamURL)},
		{"CALLBACK_URL", string(j.CallbackURL)},
		{"CONFIG_JSON", string(config)},
		{generationVariable, strconv.Itoa(j.Generation)},
		{gatewayVariable, c.GatewayURL},
		{"GATEWAY_CA_FILE", c.GatewayCA},
		{"GATEWAY_PATIENCE", c.GatewayPatience.String()},
		{keyVariable, c.InternalKey},
		{placeVariable, mark},
		{"LOG_LEVEL", c.LogLevel},
	}
	var env []string
	for _, v := range c.Environ {
		name, _, _ := strings.Cut(v, "=")
		if !withheld[name] {
			env = append(env, v)
		}
	}
	for _, v := range own {
		env = append(env, v.name+"="+v.value)
	}
	return env, nil
}
