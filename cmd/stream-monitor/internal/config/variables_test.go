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
