package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stream-monitor/stream-monitor/adapters/secretbox"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func parseStream(text string, _ *kong.Tag) (any, error) {
	return asSettingError(monitor.ParseStreamURL(text))
}

// parseStreamText checks the URL of a stream whose secret words are needed besides.
func parseStreamText(text string, _ *kong.Tag) (any, error) {
	_, err := monitor.ParseStreamURL(text)
	return asSettingError(text, err)
}

func parseCallback(text string, _ *kong.Tag) (any, error) {
	return asSettingError(monitor.ParseCallbackURL(text))
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
	return asSettingError(config, config.Valid())
}

func parseNetworks(text string, _ *kong.Tag) (any, error) {
	return webhook.ParseNetworks(text)
}

// parseNetworkList checks networks that are passed on as text.
func parseNetworkList(text string, _ *kong.Tag) (any, error) {
	_, err := webhook.ParseNetworks(text)
	return text, err
}

func parseSigning(text string, _ *kong.Tag) (any, error) {
	return webhook.ParseKeys(text)
}

func parseLinkKeys(text string, _ *kong.Tag) (any, error) {
	return evidence.ParseLinkKeys(text)
}

func parseSecretsKeys(text string, _ *kong.Tag) (any, error) {
	return secretbox.ParseKeys(text)
}

// bucketPattern matches the names of buckets, and prefixes of path elements that no
// server and no shell reads differently.
var bucketPattern = regexp.MustCompile(`^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._-]+)*/?$`)

func parseEvidenceStore(text string, _ *kong.Tag) (any, error) {
	path, directory := strings.CutPrefix(text, "dir:")
	if text == "postgres" || directory && filepath.IsAbs(path) || bucketPattern.MatchString(text) {
		return text, nil
	}
	return nil, errors.New("accepted are postgres, dir:/PATH and s3://BUCKET[/PREFIX]")
}

// asSettingError shortens an error of the domain to its message without the field name,
// because the report of a wrong setting begins with the setting's name.
func asSettingError[T any](value T, err error) (any, error) {
	refusal, ok := errors.AsType[*monitor.Error](err)
	if !ok {
		return value, err
	}
	return nil, errors.New(strings.TrimPrefix(refusal.Message, refusal.Field+": "))
}
