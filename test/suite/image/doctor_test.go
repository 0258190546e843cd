//go:build image

package image_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/await"
	"github.com/stream-monitor/stream-monitor/test/harness/docker"
)

// The test gives doctor what the image does not have: a database and keys. It does
// not depend on the internet (--offline).
func TestDoctorFindsNothingWrongWithTheImage(t *testing.T) {
	name, _ := docker.NewNetwork(t)
	t.Cleanup(func() { _, _ = docker.Try("rm", "-f", "-v", name) })
	docker.Run(t, "run", "--detach", "--name", name, "--network", name, "--network-alias", "postgres",
		"--env", "POSTGRES_PASSWORD=secret", "postgres:17-trixie")
	await.True(t, "a database", func() bool {
		_, err := docker.Try("exec", name, "pg_isready", "-q", "-h", "127.0.0.1", "-U", "postgres")
		return err == nil
	})
	args := append([]string{"run", "--rm", "--network", name}, hardened...)
	report := docker.Run(t, append(args,
		"--env", "DB_DSN=postgres://postgres:secret@postgres/postgres?sslmode=disable",
		"--env", "API_KEY=an-api-key-for-tests", "--env", "INTERNAL_API_KEY=an-internal-key-for-tests",
		"--env", "WEBHOOK_SIGNING_KEY=a-signing-key-for-tests",
		"--tmpfs", "/var/lib/stream-monitor:uid=65532,mode=0700", image, "doctor", "--offline")...)
	t.Log("\n" + report)
	if !strings.Contains(report, "Everything is present.") {
		t.Error("doctor reports a problem")
	}
}
