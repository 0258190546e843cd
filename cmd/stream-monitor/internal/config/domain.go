package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func parseStream(text string, _ *kong.Tag) (any, error) {
	return sentenceEnd(monitor.ParseStreamURL(text))
}

func parseCallback(text string, _ *kong.Tag) (any, error) {
	return sentenceEnd(monitor.ParseCallbackURL(text))
}

func parseMonitor(text string, _ *kong.Tag) (any, error) {
	if _, err := monitor.ParseID(text); err != nil {
		return nil, errors.New("accepted is mon- and 32 hexadecimal digits")
	}
	return monitor.ID(text), nil
}

// parseConfig completes the configuration with the defaults. It ignores unknown
// fields: the gateway may be newer than the worker.
func parseConfig(text string, _ *kong.Tag) (any, error) {
	config := monitor.DefaultConfig()
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return nil, fmt.Errorf("accepted is the config object of a registration (%w)", err)
	}
	return sentenceEnd(config, config.Valid())
}

func parseNetworks(text string, _ *kong.Tag) (any, error) {
	return webhook.ParseNetworks(text)
}

func parseSigning(text string, _ *kong.Tag) (any, error) {
	return webhook.ParseKeys(text)
}

// sentenceEnd turns the error of the domain into the end of a sentence about a
// setting.
func sentenceEnd[T any](value T, err error) (any, error) {
	refusal, ok := errors.AsType[*monitor.Error](err)
	if !ok {
		return value, err
	}
	text := refusal.Message
	for _, field := range []string{"stream_url: ", "callback_url: "} {
		text = strings.TrimPrefix(text, field)
	}
	return nil, errors.New(text)
}
