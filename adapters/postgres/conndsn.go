package postgres

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/lib/pq"
)

// sessionSettings make the server end a lost session, its transaction and its locks within
// seconds. The timeout ends a transaction whose client sends nothing more. A gateway with
// little CPU may pause for some seconds; meanwhile its locks hold back only the alerts of
// their own monitors. TCP keepalive probes end a session whose client is gone.
// Those of the DSN take precedence.
var sessionSettings = map[string]string{
	"idle_in_transaction_session_timeout": "5000", // ms
	"tcp_keepalives_idle":                 "5",    // s
	"tcp_keepalives_interval":             "2",    // s
	"tcp_keepalives_count":                "3",
}

// migrationSettings let a migration take as long as it needs. On a busy machine its client
// may also pause between two statements for longer than a transaction may idle. It gives up a
// lock soon and tries again, because reports to other gateways queue behind it, and none may
// be later than 1 s.
var migrationSettings = map[string]string{
	"lock_timeout":                        "500", // ms
	"statement_timeout":                   "0",
	"idle_in_transaction_session_timeout": "0",
}

// completeDSN adds the settings that dsn lacks: sslmode, connect_timeout, the application's name, and
// that a server must take changes. With
// binary_parameters a query with arguments is one exchange, instead of two. The driver then sends
// bytes as the binary format of their column, which is that of bytea alone.
func completeDSN(dsn string, cfg Config) (string, error) {
	given, err := pq.NewConfig(dsn)
	if err != nil {
		return "", withoutDSN(err)
	}
	missing := map[string]string{}
	if given.SSLMode == "" {
		missing["sslmode"] = string(sslMode(given))
	}
	if given.ConnectTimeout == 0 {
		missing["connect_timeout"] = strconv.Itoa(int(cfg.ConnectTimeout.Seconds()))
	}
	if given.ApplicationName == "" {
		missing["application_name"] = "stream-monitor"
	}
	if given.TargetSessionAttrs == "" { // a standby answers, but takes no change
		missing["target_session_attrs"] = string(pq.TargetSessionAttrsReadWrite)
	}
	if !strings.Contains(dsn, "binary_parameters") {
		missing["binary_parameters"] = "yes"
	}
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		u, err := url.Parse(dsn)
		if err != nil {
			return "", withoutDSN(err)
		}
		query := u.Query()
		for key, value := range missing {
			query.Set(key, value)
		}
		u.RawQuery = query.Encode()
		return u.String(), nil
	}
	var b strings.Builder
	b.WriteString(dsn)
	for key, value := range missing {
		fmt.Fprintf(&b, " %s='%s'", key, value)
	}
	return b.String(), nil
}

// sslMode returns the default sslmode: disable if all hosts are local, else require.
// The driver's own default differs between its versions.
func sslMode(c pq.Config) pq.SSLMode {
	hosts := []pq.ConfigMultihost{{Host: c.Host, Hostaddr: c.Hostaddr}}
	for _, h := range append(hosts, c.Multi...) {
		if !isLocal(h) {
			return pq.SSLModeRequire
		}
	}
	return pq.SSLModeDisable
}

func isLocal(h pq.ConfigMultihost) bool {
	if h.Hostaddr.IsValid() {
		return h.Hostaddr.IsLoopback()
	}
	if strings.HasPrefix(h.Host, "/") || strings.HasPrefix(h.Host, "@") || h.Host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(h.Host)
	return err == nil && addr.IsLoopback()
}

// withoutDSN removes the DSN, which contains the password, from a parser's error.
func withoutDSN(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("DB_DSN is not a valid URL: %w", u.Err)
	}
	return fmt.Errorf("DB_DSN: %w", err)
}
