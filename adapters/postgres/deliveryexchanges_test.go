package postgres_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
)

func TestAQueryWithArgumentsIsOneExchange(t *testing.T) {
	dsn := database(t)
	m := register(t, open(t, dsn), 1)
	proxied := startProxy(t, dsn)
	for dsn, want := range map[string]int64{proxied.dsn: 1, proxied.dsn + " binary_parameters=no": 2} {
		s := must(postgres.Open(t.Context(), dsn, postgres.Config{MaxConnections: 1}))(t)
		before := proxied.exchanges.Load()
		getMonitor(t, s, m.ID)
		if n := proxied.exchanges.Load() - before; n != want {
			t.Errorf("with %q a query takes %d exchanges, want %d", dsn, n, want)
		}
		check(t, s.Close())
	}
}
