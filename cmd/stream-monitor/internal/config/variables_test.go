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

func TestConnectionsLeaveDescriptorsForOthers(t *testing.T) { // section 12.5
	for _, c := range []struct {
		openFiles, monitors, each int
	}{
		{1 << 30, 50, 4096},
		{65536, 10_000, 4096},
		{9104, 50, 4096}, // just enough
		{9102, 50, 4095},
		{4096, 50, 1592},
		{4096, 1000, 1024}, // half is for connections
		{1024, 50, 256},
		{0, 50, 0},
	} {
		each, wanted := MaxConnections(c.openFiles, c.monitors, 4096)
		if each != c.each || (each == 4096) != (c.openFiles >= wanted || c.monitors == 10_000) {
			t.Errorf("%d open files and %d monitors: %d connections, want %d; %d files are enough", c.openFiles, c.monitors, each, c.each, wanted)
		}
	}
	if openFiles := OpenFiles(); openFiles < 256 {
		t.Errorf("%d files may be open", openFiles)
	}
}
