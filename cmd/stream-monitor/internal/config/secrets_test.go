package config

import (
	"bytes"
	"os"
	"testing"
)

func TestToolsInheritNoSecret(t *testing.T) {
	for _, command := range []string{"serve", "worker", "doctor", "migrate"} {
		t.Run("from "+command, func(t *testing.T) {
			clearEnvironment(t)
			given := map[string]string{"API_KEY": "an-api-key-for-tests", "INTERNAL_API_KEY": "an-internal-key-for-tests", "WEBHOOK_SIGNING_KEY": "c", "SECRETS_KEY": "0123456789abcdef", "DB_DSN": "postgres://u:hunter2@db/x"}
			for name, value := range given {
				t.Setenv(name, value)
			}
			t.Setenv("MONITOR_ID", "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d")
			t.Setenv("GENERATION", "1")
			t.Setenv("GATEWAY_URL", "http://127.0.0.1:1")
			t.Setenv("LOG_LEVEL", "warn")
			_, chosen, err := parse([]string{command}, &bytes.Buffer{})
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
				t.Error("a setting that is not secret was removed from the environment, too")
			}
		})
	}
}
