package config

import (
	"slices"
	"testing"
)

func TestAMisspeltVariableIsRecognised(t *testing.T) {
	for name, meant := range map[string]string{
		"LISTEN_ADR":     "LISTEN_ADDR",
		"LISTEN_ADDDR":   "LISTEN_ADDR",
		"LISTEN_ADDL":    "LISTEN_ADDR",
		"LISTNE_ADDR":    "LISTEN_ADDR",
		"MAX_MONITOR":    "MAX_MONITORS",
		"API_KEYS":       "API_KEY",
		"INTERNALAPIKEY": "",
		"LISTEN_ADDR":    "",
		"https_proxy":    "",
		"PATH":           "",
		"CI":             "",
		"":               "",
	} {
		var want []Misspelling
		if meant != "" {
			want = []Misspelling{{name, meant}}
		}
		if got := Misspellings([]string{name + "=1"}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestEverySettingIsKnownAsAVariable(t *testing.T) {
	got := Variables()
	for _, name := range []string{
		"LISTEN_ADDR", "DB_DSN", "DATA_DIR", "API_KEY", "WEBHOOK_SIGNING_KEY", "INTERNAL_API_KEY", "YTDLP_PATH", "HTTPS_PROXY", "https_proxy",
		"WORKER_IMAGE", "WORKER_NAMESPACE", "GENERATION", "CONFIG_JSON", "LOG_LEVEL",
	} {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not among %v", name, got)
		}
	}
}
