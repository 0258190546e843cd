package config

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/secretbox"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
)

func load(t *testing.T, dir string, given KeyFlags) (Keys, bool) {
	t.Helper()
	keys, generated, err := LoadKeys(dir, given)
	if err != nil {
		t.Fatal(err)
	}
	return keys, generated
}

func TestMissingKeysAreGeneratedAndStored(t *testing.T) {
	t.Run("are generated at the first start and kept for the next", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a", "b")
		first, generated := load(t, dir, KeyFlags{})
		if !generated {
			t.Error("the first start generated nothing")
		}
		seen := map[string]bool{}
		for _, key := range []string{first.API, first.Internal, first.Signing[0], first.Links[0], first.Secrets[0]} {
			if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(key) || seen[key] {
				t.Errorf("%q is not 32 bytes in hexadecimal, or is there twice", key)
			}
			seen[key] = true
		}
		if again, generated := load(t, dir, KeyFlags{}); generated || !reflect.DeepEqual(again, first) {
			t.Error("the second start has other keys")
		}
		for path, want := range map[string]os.FileMode{dir: 0o700, KeysPath(dir): 0o600} {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != want {
				t.Errorf("%s has mode %04o, want %04o", path, info.Mode().Perm(), want)
			}
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 1 {
			t.Errorf("left behind: %v", entries)
		}
	})
	t.Run("that are given win over those kept", func(t *testing.T) {
		dir := t.TempDir()
		kept, _ := load(t, dir, KeyFlags{})
		got, _ := load(t, dir, KeyFlags{APIKey: "mine", WebhookSigningKey: webhook.Keys{"new", "old"}, EvidenceLinkKey: evidence.LinkKeys{"new", "old"}})
		if got.API != "mine" || !slices.Equal(got.Signing, []string{"new", "old"}) || !slices.Equal(got.Links, evidence.LinkKeys{"new", "old"}) || got.Internal != kept.Internal {
			t.Errorf("has %+v", got)
		}
		if got, _ := load(t, dir, KeyFlags{APIKey: "a", WebhookSigningKey: webhook.Keys{"b"}, InternalAPIKey: "c"}); !slices.Equal(got.Links, kept.Links) {
			t.Errorf("the keys of links are %q, want %q of the file", got.Links, kept.Links)
		}
	})
	t.Run("that are all given leave no file", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "none")
		load(t, dir, KeyFlags{APIKey: "a", WebhookSigningKey: webhook.Keys{"b"}, InternalAPIKey: "c"})
		if _, err := os.Stat(dir); err == nil {
			t.Error("made a directory")
		}
	})
	t.Run("are the same for all that start at once", func(t *testing.T) {
		dir := t.TempDir()
		got := make([]Keys, 16)
		var made atomic.Int32
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() {
				keys, generated := load(t, dir, KeyFlags{})
				if got[i] = keys; generated {
					made.Add(1)
				}
			})
		}
		wg.Wait()
		for _, k := range got {
			if !reflect.DeepEqual(k, got[0]) {
				t.Fatal("two processes have different keys")
			}
		}
		if n := made.Load(); n != 1 {
			t.Errorf("%d say that they generated them", n)
		}
	})
	t.Run("of links are derived where none is given and no file is kept", func(t *testing.T) {
		all := KeyFlags{APIKey: "a", WebhookSigningKey: webhook.Keys{"x"}, InternalAPIKey: "y"}
		first, _ := load(t, t.TempDir(), all)
		again, _ := load(t, t.TempDir(), all)
		all.APIKey = "b"
		other, _ := load(t, t.TempDir(), all)
		if len(first.Links) != 1 || !slices.Equal(first.Links, again.Links) || slices.Equal(first.Links, other.Links) {
			t.Errorf("the keys of links are %q, %q and %q", first.Links, again.Links, other.Links)
		}
	})
	t.Run("of secrets still open what was encrypted before another was given", func(t *testing.T) {
		dir := t.TempDir()
		all := KeyFlags{APIKey: "a", WebhookSigningKey: webhook.Keys{"b"}, InternalAPIKey: "c"}
		derived, _ := load(t, dir, all)
		if len(derived.Secrets) != 1 || len(derived.Secrets[0]) != 64 || derived.Secrets[0] == derived.Links[0] {
			t.Fatalf("the derived keys are %q", derived.Secrets)
		}
		stored, _ := load(t, dir, KeyFlags{APIKey: "a"})
		if !slices.Equal(stored.Secrets[1:], derived.Secrets) {
			t.Errorf("stored are %q, derived %q", stored.Secrets, derived.Secrets)
		}
		if again, _ := load(t, dir, all); !slices.Equal(again.Secrets, stored.Secrets) {
			t.Errorf("with a file the keys are %q, want %q", again.Secrets, stored.Secrets)
		}
		all.SecretsKey = secretbox.Keys{"new", "old"}
		for _, given := range []KeyFlags{all, {APIKey: "a", SecretsKey: all.SecretsKey}} {
			if got, _ := load(t, dir, given); !slices.Equal(got.Secrets, slices.Concat(all.SecretsKey, stored.Secrets)) {
				t.Errorf("given keys become %q", got.Secrets)
			}
		}
	})
	for name, c := range map[string]struct {
		content string
		mode    os.FileMode
		says    string
	}{
		"readable by others":      {`{}`, 0o640, "chmod 600"},
		"that is no JSON":         {`API_KEY=hunter2`, 0o600, "remove it"},
		"that lacks a key":        {`{"API_KEY":"hunter2","INTERNAL_API_KEY":"hunter2"}`, 0o600, "lacks one of"},
		"without a secrets key":   {`{"API_KEY":"0123456789api-key","INTERNAL_API_KEY":"hunter2-hunter2-hunter2","WEBHOOK_SIGNING_KEY":"c","EVIDENCE_LINK_KEY":"0123456789abcdef"}`, 0o600, "lacks one of"},
		"that is too large":       {strings.Repeat(" ", maxKeysFile+1), 0o600, "bytes"},
		"with a short API key":    {`{"API_KEY":"fifteen-letters","INTERNAL_API_KEY":"internal-key-123","WEBHOOK_SIGNING_KEY":"c","EVIDENCE_LINK_KEY":"0123456789abcdef","SECRETS_KEY":"0123456789abcdef"}`, 0o600, "less than 16"},
		"with a short worker key": {`{"API_KEY":"0123456789api-key","INTERNAL_API_KEY":"fifteen-letters","WEBHOOK_SIGNING_KEY":"c","EVIDENCE_LINK_KEY":"0123456789abcdef","SECRETS_KEY":"0123456789abcdef"}`, 0o600, "less than 16"},
		"with a bad link key":     {`{"API_KEY":"0123456789api-key","INTERNAL_API_KEY":"internal-key-123","WEBHOOK_SIGNING_KEY":"c","EVIDENCE_LINK_KEY":"hunter2","SECRETS_KEY":"0123456789abcdef"}`, 0o600, "EVIDENCE_LINK_KEY"},
		"with a bad secrets key":  {`{"API_KEY":"0123456789api-key","INTERNAL_API_KEY":"internal-key-123","WEBHOOK_SIGNING_KEY":"c","EVIDENCE_LINK_KEY":"0123456789abcdef","SECRETS_KEY":"hunter2"}`, 0o600, "SECRETS_KEY"},
		"with a bad key":          {`{"API_KEY":"0123456789api-key","INTERNAL_API_KEY":"internal-key-123","WEBHOOK_SIGNING_KEY":"hunter2,","EVIDENCE_LINK_KEY":"0123456789abcdef","SECRETS_KEY":"0123456789abcdef"}`, 0o600, "WEBHOOK_SIGNING_KEY"},
	} {
		t.Run("a file "+name+" is refused, and not touched", func(t *testing.T) {
			dir := t.TempDir()
			path := KeysPath(dir)
			if err := os.WriteFile(path, []byte(c.content), c.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			_, _, err := LoadKeys(dir, KeyFlags{})
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error is %v", err)
			}
			if after, _ := os.ReadFile(path); string(after) != c.content {
				t.Error("the file was changed")
			}
		})
	}
}

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
