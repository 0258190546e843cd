package config

import (
	"os"
	"path/filepath"
	"testing"
)

// program writes a program that can be executed.
func program(t *testing.T, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTheDecoderIsFoundWithoutASetting(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if tool, found := findIn(bin, "segment-decoder", ownPlaces); found {
		t.Errorf("found %v in an empty folder", tool)
	}
	installed := program(t, dir, ".tools", "bin", "segment-decoder")
	if tool, _ := findIn(bin, "segment-decoder", ownPlaces); tool != (Tool{installed, `"make tools"`}) {
		t.Errorf("found %v", tool)
	}
	beside := program(t, bin, "segment-decoder")
	if tool, _ := findIn(bin, "segment-decoder", ownPlaces); tool != (Tool{beside, "the folder of stream-monitor"}) {
		t.Errorf("found %v", tool)
	}
	t.Run("else in PATH", func(t *testing.T) {
		t.Setenv("PATH", bin)
		if tool, is := (WatchingFlags{}).Decoder(); !is || tool != (Tool{beside, "PATH"}) {
			t.Errorf("found %v, %v", tool, is)
		}
		t.Setenv("PATH", t.TempDir())
		if tool, is := (WatchingFlags{}).Decoder(); !is || tool.FoundBy != "" {
			t.Errorf("found %v, %v without any", tool, is)
		}
	})
	t.Run("unless DECODER_PATH says otherwise", func(t *testing.T) {
		if tool, is := (WatchingFlags{DecoderPath: "/opt/x"}).Decoder(); !is || tool != (Tool{"/opt/x", "DECODER_PATH"}) {
			t.Errorf("found %v, %v", tool, is)
		}
		t.Setenv("PATH", bin)
		if tool, is := (WatchingFlags{DecoderPath: "off"}).Decoder(); is {
			t.Errorf("found %v, although it is off", tool)
		}
	})
}
