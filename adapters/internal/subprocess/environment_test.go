package subprocess_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
)

func TestAToolInheritsOnlyWhatItNeeds(t *testing.T) {
	kept := []string{"HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE", "LC_ALL", "TMPDIR", "TZ"}
	secret := []string{"API_KEY", "INTERNAL_API_KEY", "CALLBACK_URL", "DB_DSN", "EGRESS_PROXIES", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "SOMETHING_NEW"}
	for _, name := range slices.Concat(kept, secret) {
		t.Setenv(name, "/of-"+name)
	}
	resident, err := subprocess.Start(sh("env"))
	if err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(resident)
	resident.Stop()
	for how, got := range map[string]string{"run": string(mustRun(t, sh("env")).Stdout), "started": string(said)} {
		for _, name := range slices.Concat(kept, secret) {
			if has, want := strings.Contains(got, "\n"+name+"=/of-"+name+"\n"), slices.Contains(kept, name); has != want {
				t.Errorf("a tool that is %s has %s: %v, want %v", how, name, has, want)
			}
		}
		if !strings.Contains(got, "PATH=") {
			t.Errorf("a tool that is %s has no PATH: %s", how, got)
		}
	}
}
