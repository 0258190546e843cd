// Package workerenv names the variables in which every launcher gives a worker its assignment
// (section 8.1). The worker command reads them; its other settings are the gateway's own.
package workerenv

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The variables of where a worker reports. Token holds its token for this launch (decision O9),
// never the key of the gateway.
const (
	Token      = "INTERNAL_API_KEY"
	GatewayURL = "GATEWAY_URL"
	GatewayCA  = "GATEWAY_CA_FILE"
	LogLevel   = "LOG_LEVEL"
)

// Variable is an environment variable.
type Variable struct{ Name, Value string }

// Assignment returns the variables of one worker.
func Assignment(spec supervisor.WorkerSpec, tokens monitor.TokenKey) ([]Variable, error) {
	config, err := json.Marshal(spec.Config)
	if err != nil {
		return nil, fmt.Errorf("encode the configuration of %s: %w", spec.ID, err)
	}
	return []Variable{
		{"MONITOR_ID", string(spec.ID)},
		{"STREAM_URL", string(spec.StreamURL)},
		{"CALLBACK_URL", string(spec.CallbackURL)},
		{"CONFIG_JSON", string(config)},
		{"GENERATION", strconv.Itoa(spec.Generation)},
		{Token, tokens.Token(spec.ID, spec.Generation)},
	}, nil
}
