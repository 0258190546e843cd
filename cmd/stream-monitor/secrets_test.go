package main

import (
	"bytes"
	"os"
	"testing"
)

// What the tools are called with has no key in it, whoever gave them.
func TestToolsInheritNoSecret(t *testing.T) {
	for _, command := range []string{"serve", "worker", "doctor", "migrate"} {
		t.Run("from "+command, func(t *testing.T) {
			alone(t)
			given := map[string]string{"API_KEY": "a", "INTERNAL_API_KEY": "b", "WEBHOOK_SIGNING_KEY": "c", "DB_DSN": "postgres://u:hunter2@db/x"}
			for name, value := range given {
				t.Setenv(name, value)
			}
			t.Setenv("MONITOR_ID", someMonitor)
			t.Setenv("GENERATION", "1")
			t.Setenv("GATEWAY_URL", "http://127.0.0.1:1")
			t.Setenv("LOG_LEVEL", "warn")
			_, chosen, err := parseArgs([]string{command}, &bytes.Buffer{})
			if err != nil {
				t.Fatal(err)
			}
			read := map[string]bool{}
			for _, flag := range chosen.Flags() {
				for _, name := range flag.Envs {
					read[name] = true
				}
			}
			forgetSecrets(chosen)
			for name := range given {
				if value, there := os.LookupEnv(name); there && read[name] {
					t.Errorf("%s is %q", name, value)
				}
			}
			if os.Getenv("LOG_LEVEL") != "warn" {
				t.Error("what is no secret is forgotten, too")
			}
		})
	}
}
