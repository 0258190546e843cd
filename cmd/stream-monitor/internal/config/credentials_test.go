package config

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// credentials makes the directory that systemd makes for LoadCredential=.
func credentials(t *testing.T, files map[string]string) {
	t.Helper()
	clearEnvironment(t)
	dir := t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o400); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKeysAreReadFromCredentialsOfSystemd(t *testing.T) {
	credentials(t, map[string]string{
		"DB_DSN": "postgres://u:p@h/d\n", "API_KEY": "a-credential-of-systemd\n", "INTERNAL_API_KEY": "another-credential", "WEBHOOK_SIGNING_KEY": "c", "LISTEN_ADDR": ":1",
	})
	t.Setenv("INTERNAL_API_KEY", "a-variable-comes-first")
	t.Setenv("SECRETS_KEY", "0123456789abcdef")
	t.Setenv("LOG_LEVEL", "warn")
	command, err := Parse([]string{"serve"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got := command.(*Serve)
	if got.Keys.APIKey != "a-credential-of-systemd" || got.Keys.InternalAPIKey != "a-variable-comes-first" || got.Database.DBDSN != "postgres://u:p@h/d" || got.ListenAddr == ":1" {
		t.Errorf("the settings are %q, %q, %q, %q", got.Keys.APIKey, got.Keys.InternalAPIKey, got.Database.DBDSN, got.ListenAddr)
	}
	for _, name := range []string{"API_KEY", "DB_DSN", "INTERNAL_API_KEY", "WEBHOOK_SIGNING_KEY", "SECRETS_KEY"} {
		if value, set := os.LookupEnv(name); set {
			t.Errorf("tools would inherit %s=%s", name, value)
		}
	}
	if os.Getenv("LOG_LEVEL") != "warn" {
		t.Error("a setting that is not secret was removed from the environment, too")
	}
}

func TestACredentialThatCannotBeUsedIsNamed(t *testing.T) {
	for name, content := range map[string]string{"too long": strings.Repeat("a", 64<<10+1), "with a NUL": "a\x00b", "too short": "short"} {
		t.Run(name, func(t *testing.T) {
			credentials(t, map[string]string{"API_KEY": content})
			_, err := Parse([]string{"serve"}, io.Discard)
			if usage, is := errors.AsType[*UsageError](err); !is || !strings.Contains(usage.Error(), "API_KEY") {
				t.Errorf("the error is %v", err)
			}
			if value := os.Getenv("API_KEY"); value != "" {
				t.Errorf("API_KEY stays %d bytes", len(value))
			}
		})
	}
}
