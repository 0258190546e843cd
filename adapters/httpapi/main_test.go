package httpapi_test

import (
	"os"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/postgrestest"
)

// server is a real PostgreSQL that all tests share, whose clock stands.
var server *postgrestest.Server

func TestMain(m *testing.M) {
	os.Exit(postgrestest.Main(m, postgrestest.Config{Now: now}, func(s *postgrestest.Server) { server = s }))
}
