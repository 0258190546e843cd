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

// sessionLimits let the server notice within seconds that a session was lost
// without a word, and end it with its transaction and locks: where it waits for
// the next statement of one, and by probes, which a unix socket does without.
var sessionLimits = map[string]string{
	"idle_in_transaction_session_timeout": "5000", // ms
	"tcp_keepalives_idle":                 "5",    // s
	"tcp_keepalives_interval":             "2",    // s
	"tcp_keepalives_count":                "3",
}

// complete adds to dsn what it does not say: sslmode, time limits, a name.
func complete(dsn string, cfg Config) (string, error) {
	given, err := pq.NewConfig(dsn)
	if err != nil {
		return "", secretless(err)
	}
	missing := map[string]string{}
	if given.SSLMode == "" {
		missing["sslmode"] = string(sslMode(given))
	}
	if given.ConnectTimeout == 0 {
		missing["connect_timeout"] = strconv.Itoa(int(cfg.ConnectTimeout.Seconds()))
	}
	if given.Runtime["statement_timeout"] == "" {
		missing["statement_timeout"] = strconv.FormatInt(cfg.StatementTimeout.Milliseconds(), 10)
	}
	if given.ApplicationName == "" {
		missing["application_name"] = "stream-monitor"
	}
	for name, value := range sessionLimits {
		if given.Runtime[name] == "" {
			missing[name] = value
		}
	}
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		u, err := url.Parse(dsn)
		if err != nil {
			return "", secretless(err)
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

// sslMode is what a connection uses when nobody has said. The driver's own
// default is about to change, so it is never relied on.
func sslMode(c pq.Config) pq.SSLMode {
	hosts := []pq.ConfigMultihost{{Host: c.Host, Hostaddr: c.Hostaddr}}
	for _, h := range append(hosts, c.Multi...) {
		if !local(h) {
			return pq.SSLModeRequire
		}
	}
	return pq.SSLModeDisable
}

func local(h pq.ConfigMultihost) bool {
	if h.Hostaddr.IsValid() {
		return h.Hostaddr.IsLoopback()
	}
	if strings.HasPrefix(h.Host, "/") || strings.HasPrefix(h.Host, "@") || h.Host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(h.Host)
	return err == nil && addr.IsLoopback()
}

// secretless drops the DSN, which holds the password, from what a parser says.
func secretless(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("DB_DSN is not a valid URL: %w", u.Err)
	}
	return fmt.Errorf("DB_DSN: %w", err)
}
